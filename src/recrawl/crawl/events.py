"""What is handed on: the bodies of events, as documented in docs/events.md.

An event is built with the crawl that found something and committed with it, so its body never changes afterwards: a
delivery that is repeated repeats the very same bytes, and the `id` inside tells a reader that it has seen them before.
Pure functions; nothing here delivers anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from recrawl.crawl.reading.diffs import without_noise
from recrawl.crawl.reading.findings import Number
from recrawl.redaction import without_credentials
from recrawl.store.records import Event, Item, Source, Version
from recrawl.store.rows import mended

SCHEMA_VERSION = 1
"""Grows when a field changes its meaning or goes away; new fields may come at any time."""

Happening = Literal["moved", "retired"]


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


class _Item(msgspec.Struct, frozen=True):
    title: str
    link: str
    summary: str
    published: float | None
    first_seen: float


class _ItemBody(msgspec.Struct, frozen=True):
    type: str
    v: int
    id: str
    at: float
    source: msgspec.Raw
    worth: float
    item: _Item


def item_events(source: Source, found: Sequence[tuple[Item, float]], now: float) -> list[Event]:
    """New items were found, each with the interest captured by it, 0 in the backlog of a first visit.

    What they say of the source is written once.

    >>> item = Item(source=7, key=-1, title="News")
    >>> (event,) = item_events(Source(id=7, url="https://a.example/feed"), [(item, 0.5)], 60.0)
    >>> msgspec.json.decode(event.body)["id"]
    'item:7:ffffffffffffffff'
    """
    if not found:
        return []
    try:
        origin = msgspec.Raw(_encoder.encode(_origin(source)))
        return [_item_event(source.id, origin, item, worth, now) for item, worth in found]
    except UnicodeEncodeError:  # half a surrogate pair: text from the web may hold one
        origin = msgspec.Raw(_encoder.encode(mended(_origin(source))))
        return [_item_event(source.id, origin, mended(item), worth, now) for item, worth in found]


def _item_event(source: int, origin: msgspec.Raw, item: Item, worth: float, now: float) -> Event:
    id = f"item:{source}:{item.key & 0xFFFF_FFFF_FFFF_FFFF:016x}"
    told = _Item(item.title, item.link, item.summary, item.published, item.first_seen)
    return Event(at=now, body=_encoder.encode(_ItemBody("item", SCHEMA_VERSION, id, now, origin, worth, told)))


def change_event(
    source: Source, version: Version, worth: float, now: float, number: Number | None = None, met: str = ""
) -> Event:
    """A page changed: the diff of its text without what is noise, and the digest of the new one.

    A page that changes back changes again. With the number that is watched, and the condition that is met, if any.
    """
    more: dict[str, object] = {"worth": worth, "digest": version.digest, "diff": without_noise(version.diff)}
    if number is not None:
        more["number"] = {name: getattr(number, name) for name in ("name", "value", "unit", "said")}
    if met:
        more["condition"] = met
    return _event("change", f"{_milliseconds(now)}", source, now, **more)


def source_event(source: Source, what: Happening, now: float) -> Event:
    """A source moved to another address, or is gone; `source` as it is from now on, its note saying why."""
    name, note = f"{what}:{_milliseconds(now)}", without_credentials(source.note)
    return _event("source", name, source, now, what=what, note=note)


def addressed(event: Event, names: Sequence[str]) -> Event:
    """The same event, for these notifications only (`to` in its body)."""
    body = event.body[:-1] + b',"to":' + _encoder.encode(names) + b"}"
    return msgspec.structs.replace(event, body=body)


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


def _milliseconds(now: float) -> int:
    return round(now * 1000.0)


def _event(type: str, name: str, source: Source, now: float, **more: object) -> Event:
    """An event of a source."""
    id = f"{type}:{source.id}:{name}"
    body = {"type": type, "v": SCHEMA_VERSION, "id": id, "at": now, "source": _origin(source), **more}
    try:
        return Event(at=now, body=_encoder.encode(body))
    except UnicodeEncodeError:  # half a surrogate pair: text from the web may hold one
        return Event(at=now, body=_encoder.encode(mended(body)))


def _origin(source: Source) -> dict[str, object]:
    """The source as far as a reader needs it, never its headers."""
    url = without_credentials(source.url)
    return {"id": source.id, "url": url, "title": source.title, "tags": source.tags}
