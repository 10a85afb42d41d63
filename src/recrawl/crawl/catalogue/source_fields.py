"""What owners say about their sources, checked: the same rules for the command line, columns of a CSV file and the web.

Fields are flat: those of a `Source` and those of its `SourceOptions` side by side, each under its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from recrawl.config.conditions import needs_a_number
from recrawl.config.option_rules import OPTIONS, selector, some_time
from recrawl.config.page_secrets import MARK, PREFIX, names_another
from recrawl.config.source_options import NONE, USUAL
from recrawl.errors import ParameterError
from recrawl.store.records import Source

KINDS = ("auto", "feed", "sitemap", "page")
LONGEST_TAG = 100
UNSAID: Mapping[str, Any] = {
    "importance": 1.0, "half_life": None, "max_age": None, "cost": 1.0, "select": "",
    **{name: getattr(USUAL, name) for name in OPTIONS},
}  # fmt: skip
"""What a field is where nothing was said."""
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
        **OPTIONS,
    }
    return {name: rules[name](name, value) for name, value in given.items()}


def given_to(source: Source, fields: Mapping[str, Any]) -> Source:
    """A source with other fields; what is not among them stays.

    >>> given_to(Source(url="u"), {"importance": 2.0, "robots": False}).options.robots
    False
    """
    if not fields:
        return source
    options = {name: value for name, value in fields.items() if name in OPTIONS}
    own = {name: value for name, value in fields.items() if name not in OPTIONS}
    given = msgspec.structs.replace(source, options=msgspec.structs.replace(source.options, **options), **own)
    if fields.keys() & {"when", "number", "tags"}:
        _check_number(given)
    return given


def _check_number(source: Source) -> None:
    """ParameterError if a condition is about a number, and nobody says which. Tags may say it, now or later."""
    lacking = [text for text in source.options.when if needs_a_number(text)]
    number = source.options.number
    if lacking and (number == NONE or not (number or source.tags)):
        expected = "said together with the number that it is about (number: price, stock, version or a selector)"
        raise ParameterError("when", expected, repr(lacking[0]))


def positive(name: str, value: str | float) -> float:
    """A finite number above 0."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise ParameterError(name, "a number > 0", repr(value))
    return number


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
        if names_another(value):
            raise ParameterError(name, f"{MARK}{PREFIX}NAME for what the environment holds", f"another name for {key}")
        headers[key] = value
    return headers
