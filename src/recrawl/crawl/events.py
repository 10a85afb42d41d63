"""What is handed on: the bodies of events, as documented in docs/events.md.

An event is built with the crawl that found something and committed with it, so its body never changes afterwards: a
delivery that is repeated repeats the very same bytes, and the `id` inside tells a reader that it has seen them before.
Pure functions; nothing here delivers anything.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from recrawl.redaction import without_credentials
from recrawl.store.base import Event, Item, Source, Version

SCHEMA_VERSION = 1
"""Grows when a field changes its meaning or goes away; new fields may come at any time."""

Happening = Literal["moved", "retired"]


class _Origin(msgspec.Struct, frozen=True):
    """The source, as far as a reader needs it; never its headers."""

    id: int
    url: str
    title: str
    tags: tuple[str, ...]


class _Found(msgspec.Struct, frozen=True):
    title: str
    link: str
    summary: str
    published: float | None
    first_seen: float


class _ItemBody(msgspec.Struct, frozen=True, tag_field="type", tag="item"):
    v: int
    id: str
    at: float
    source: _Origin
    worth: float
    item: _Found


class _ChangeBody(msgspec.Struct, frozen=True, tag_field="type", tag="change"):
    v: int
    id: str
    at: float
    source: _Origin
    worth: float
    digest: str
    diff: str


class _SourceBody(msgspec.Struct, frozen=True, tag_field="type", tag="source"):
    v: int
    id: str
    at: float
    source: _Origin
    what: str
    note: str


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of any event in a line: its `link` and `title` are the item's, or else the source's."""

    id: str
    type: str
    link: str = ""
    title: str = ""


class _Envelope(msgspec.Struct, frozen=True):
    id: str = ""
    type: str = ""
    source: dict[str, Any] = {}
    item: dict[str, Any] = {}


_encoder = msgspec.json.Encoder()
_envelope = msgspec.json.Decoder(_Envelope)


def item_event(source: Source, item: Item, worth: float, now: float) -> Event:
    """A new item was found; `worth` is the interest captured by it, 0 in the backlog of a first visit.

    >>> event = item_event(Source(id=7, url="https://a.example/feed"), Item(source=7, key=-1, title="News"), 0.5, 60.0)
    >>> msgspec.json.decode(event.body)["id"]
    'item:7:ffffffffffffffff'
    """
    found = _Found(item.title, item.link, item.summary, item.published, item.first_seen)
    id = f"item:{source.id}:{item.key & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    return _event(_ItemBody(SCHEMA_VERSION, id, now, _origin(source), worth, found), now)


def change_event(source: Source, version: Version, worth: float, now: float) -> Event:
    """A page changed: the diff of its text, and the digest of the new one. A page that changes back changes again."""
    id = f"change:{source.id}:{_milliseconds(now)}"
    body = _ChangeBody(SCHEMA_VERSION, id, now, _origin(source), worth, version.digest, version.diff)
    return _event(body, now)


def source_event(source: Source, what: Happening, now: float) -> Event:
    """A source moved to another address, or is gone; `source` as it is from now on, its note saying why."""
    id = f"source:{source.id}:{what}:{_milliseconds(now)}"
    note = without_credentials(source.note)
    return _event(_SourceBody(SCHEMA_VERSION, id, now, _origin(source), what, note), now)


def heading(event: Event) -> Heading:
    """An event in a line, for those who do not read its JSON."""
    body = _envelope.decode(event.body)
    link, title = body.item.get("link"), body.item.get("title")
    return Heading(
        id=body.id,
        type=body.type,
        link=str(link or body.source.get("url") or ""),
        title=str(title or body.source.get("title") or ""),
    )


def _origin(source: Source) -> _Origin:
    return _Origin(source.id, without_credentials(source.url), source.title, source.tags)


def _milliseconds(now: float) -> int:
    return round(now * 1000.0)


def _event(body: msgspec.Struct, now: float) -> Event:
    try:
        return Event(at=now, body=_encoder.encode(body))
    except UnicodeEncodeError:  # half a surrogate pair: text from the web may hold one
        return Event(at=now, body=_encoder.encode(_encodable(msgspec.to_builtins(body))))


def _encodable(value: Any) -> Any:
    """The same with every text in it made encodable."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _encodable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value
