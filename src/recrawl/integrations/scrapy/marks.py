"""What a mark says, and requests as text.

A mark is ``meta={"recrawl": True}``, or a dictionary of terms instead of True. The request of a source is kept as JSON
with its callbacks by name, as Scrapy does in its job directory; what JSON does not give back as it was is not kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from recrawl.arguments import meant, shown
from recrawl.crawl import urls
from recrawl.errors import ParameterError

MARK = "recrawl"
TERMS = ("importance", "half_life", "max_age", "cost", "tags")
FORGOTTEN = '{"forgotten":true}'
"""The memo of a request that could not be written down."""
_DEFAULTS: dict[str, Any] = {
    "method": "GET",
    "headers": {},
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
    "errback": None,
    "callback": None,
    "flags": [],
    "cb_kwargs": {},
}


class Mark(NamedTuple):
    """The key of a marked request, and the terms given with it."""

    key: str
    terms: dict[str, Any]


def read_mark(request: Request) -> Mark:
    """What a marked request says; ParameterError if it cannot be a source."""
    said = request.meta[MARK]
    if request.method != "GET" or request.body:
        raise ParameterError("method", "GET without a body: only that can be repeated at will", request.method)
    if said is not True and not isinstance(said, dict):
        raise ParameterError(f"meta[{MARK!r}]", "True or a dictionary of terms", shown(said))
    terms = {} if said is True else dict(said)
    for name in terms:
        if name not in TERMS:
            expected = f"some of {', '.join(TERMS)}"
            raise ParameterError(f"meta[{MARK!r}]", expected, shown(name) + meant(name, TERMS))
    return Mark(urls.normalise(request.url), terms)


def key_of(request: Request) -> str | None:
    """The key a request would have; None for one that can have none."""
    try:
        return urls.normalise(request.url)
    except ParameterError:
        return None


def memo_of(request: Request, key: str, spider: Spider) -> str:
    """All that is needed to make a request again; `FORGOTTEN` if it cannot be written down."""
    try:
        said = request.to_dict(spider=spider)
    except ValueError:  # a callback that is no method of the spider
        return FORGOTTEN
    said["headers"] = {_text(name): [_text(each) for each in values] for name, values in said["headers"].items()}
    said["meta"] = {name: value for name, value in said["meta"].items() if name != MARK}
    kept = {name: value for name, value in said.items() if _DEFAULTS.get(name, _DEFAULTS) != value}
    if kept.get("url") == key:
        del kept["url"]
    try:
        text = msgspec.json.encode(kept)
        if msgspec.json.decode(text) != kept:
            return FORGOTTEN
    except (TypeError, ValueError, RecursionError):
        return FORGOTTEN
    return text.decode()


def request_of(memo: str, key: str, spider: Spider) -> Request:
    """The request again; ValueError if the spider has no such callback. Without a memo, what `parse` is to be given."""
    said: dict[str, Any] = {"url": key, **(msgspec.json.decode(memo) if memo else {})}
    return request_from_dict(said, spider=spider)


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else str(name)
