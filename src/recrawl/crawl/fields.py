"""What owners say about their sources, checked: the same rules for options and for columns of a CSV file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from recrawl.errors import ParameterError
from recrawl.units import parse_duration

KINDS = ("auto", "feed", "sitemap", "page")
LONGEST_TAG, LONGEST_SELECTOR = 100, 500
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = {"host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "accept-encoding",
         "if-none-match", "if-modified-since"}  # fmt: skip


def checked_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a `Source` from what was written for them; ParameterError names the one that is wrong.

    >>> checked_fields({"importance": "2", "half_life": "6h", "tags": ["news"], "headers": ["Accept: text/html"]})
    {'importance': 2.0, 'half_life': 21600.0, 'tags': ('news',), 'headers': {'Accept': 'text/html'}}
    """
    rules = {
        "importance": positive,
        "cost": positive,
        "half_life": some_time,
        "max_age": some_time,
        "tags": tag_list,
        "kind": kind,
        "headers": header_table,
        "select": selector,
    }
    return {name: rules[name](name, value) for name, value in given.items()}


def positive(name: str, value: str | float) -> float:
    """A finite number above 0."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise ParameterError(name, "a number > 0", repr(value))
    return number


def some_time(name: str, value: str | float) -> float:
    """Seconds, more than 0."""
    seconds = parse_duration(name, value)
    if seconds <= 0.0:
        raise ParameterError(name, "a time longer than nothing", repr(value))
    return seconds


def kind(name: str, value: str) -> str:
    """What a source can be."""
    if value.lower() not in KINDS:
        raise ParameterError(name, f"one of {', '.join(KINDS)}", repr(value))
    return value.lower()


def tag_list(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Tags without doubles, in order."""
    tags = [" ".join(value.split()) for value in values]
    for tag in tags:
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable():
            raise ParameterError(name, f"plain text of 1 to {LONGEST_TAG} characters", repr(tag))
    return tuple(dict.fromkeys(tags))


def header_table(name: str, values: Iterable[str]) -> dict[str, str]:
    """Headers from `Name: value`; those that make up the request itself are refused. The value is never repeated."""
    headers = {}
    for text in values:
        key, colon, value = text.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or not _TOKEN.fullmatch(key):
            raise ParameterError(name, "'Name: value'", "a header without a proper name")
        if key.lower() in _OURS:
            raise ParameterError(name, "a header the crawler does not set itself", key)
        if not value or not value.isprintable() or not value.isascii():
            raise ParameterError(name, "'Name: value' with a printable ASCII value", f"another value for {key}")
        headers[key] = value
    return headers


def selector(name: str, text: str) -> str:
    """A CSS selector that can be used."""
    from cssselect import HTMLTranslator, SelectorError

    try:
        if not text.strip() or len(text) > LONGEST_SELECTOR or "::" in text:
            raise ValueError
        HTMLTranslator().css_to_xpath(text)
    except (SelectorError, ValueError, RecursionError, TypeError) as error:
        raise ParameterError(name, "a CSS selector such as main, #prices or div.news > p", repr(text[:80])) from error
    return text.strip()
