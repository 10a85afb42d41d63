"""A plugin for others' own tests: what they gave to their reader, and what it said, written down as it happened.

Run by pytest in a process of its own; `CORPORA_RECORDED` is the file to write.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from protego import Protego
from scrapy.utils import sitemap

_recorded: dict[str, list[Any]] = {"robots": [], "sitemaps": []}
_parse, _can_fetch, _crawl_delay = Protego.parse.__func__, Protego.can_fetch, Protego.crawl_delay


class RecordedSitemap(sitemap.Sitemap):
    """Scrapy's reader, which remembers what it was given."""

    def __init__(self, xmltext: Any) -> None:
        super().__init__(xmltext)
        text = xmltext if isinstance(xmltext, bytes) else xmltext.encode()
        places = [entry["loc"] for entry in self]
        _recorded["sitemaps"].append([text.decode("latin-1"), self.type, places])
        super().__init__(xmltext)


def parse(cls: type[Protego], content: str) -> Protego:
    rules = _parse(cls, content)
    rules.content = content
    return rules


def can_fetch(self: Protego, url: str, user_agent: str) -> bool:
    answer = _can_fetch(self, url, user_agent)
    _recorded["robots"].append([self.content, user_agent, url, answer])
    return answer


Protego.parse = classmethod(parse)
Protego.can_fetch = can_fetch
sitemap.Sitemap = RecordedSitemap


def pytest_sessionfinish() -> None:
    """Whatever became of the tests."""
    Path(os.environ["CORPORA_RECORDED"]).write_text(json.dumps(_recorded))
