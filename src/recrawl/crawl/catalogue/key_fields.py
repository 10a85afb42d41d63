"""What may be said about a key of a `Scheduler`, checked: the counterpart of `source_fields` for others' fetchers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recrawl.arguments import meant, number, several, shown, text
from recrawl.config.option_rules import some_time
from recrawl.crawl.catalogue.source_fields import tag_list
from recrawl.errors import ParameterError
from recrawl.store.records import Source

TERMS = ("importance", "half_life", "max_age", "cost", "tags", "memo")


def key_text(key: Any) -> str:
    """A key that can be one."""
    return text("key", key, "text that is not empty, such as the address to fetch", empty=False)


def key_source(key: Any, terms: Any, now: float) -> Source:
    """A key with its terms as a line of the catalogue; ParameterError names the term that is wrong."""
    line = Source(url=key_text(key), kind="key", added=now)
    for name, value in checked_terms(terms).items():
        setattr(line, name, value)
    return line


def checked_terms(terms: Any) -> dict[str, Any]:
    """Terms as fields of a `Source`."""
    if not isinstance(terms, Mapping):
        raise ParameterError("terms", "a dictionary such as {'importance': 2.0}", shown(terms))
    out: dict[str, Any] = {}
    for name, value in terms.items():
        if name in ("importance", "cost"):
            out[name] = number(name, value, "a finite number > 0", open_low=True)
        elif name in ("half_life", "max_age"):
            out[name] = None if value is None else some_time(name, value)
        elif name == "tags":
            words = several(name, value, "a list of words")
            out[name] = tag_list(name, [text(name, word, "a list of words") for word in words])
        elif name == "memo":
            out[name] = text(name, value)
        else:
            raise ParameterError("terms", f"some of {', '.join(TERMS)}", shown(name) + meant(name, TERMS))
    return out
