"""The reading page: what one reader has not read yet, the rest behind it, and what items say in full.

Whoever may see the page is a reader like those with programs of their own: one of those in the store, chosen on the
page where there are several. Where there is none, one is made when something is subscribed to.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from recrawl.crawl.reading.content import unpacked
from recrawl.crawl.reading.same_story import stories
from recrawl.errors import ParameterError
from recrawl.store.reader_records import MOST_SUBSCRIPTIONS, Reader, Reading, Stream, Wanted
from recrawl.store.records import Click, Source
from recrawl.web.context import Context

PAGE = 50
OWN = "me"
Shown = Literal["unread", "all", "starred"]
Act = Literal["read", "unread", "star", "unstar", "article"]


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry: an item as its reader has it, its source, whether it is kept in full, and others that tell the same."""

    reading: Reading
    source: Source
    author: str
    in_full: bool
    others: list[tuple[Reading, Source, str]]


@dataclass(frozen=True, slots=True)
class ReadingPage:
    """What is shown; `older` is the number to go on from, None at the end."""

    reader: Reader
    readers: list[Reader]
    shown: Shown
    source: int | None
    grouped: bool
    pieces: list[Piece]
    unread: int
    subscribed: int
    older: int | None


def reader_of(context: Context, name: str = "") -> Reader:
    """Who reads; ParameterError for somebody unknown. With number 0 where there is nobody yet."""
    store = context.store
    known = store.readers()
    if name:
        found = next((each for each in known if each.name == name), None)
        if found is None:
            raise ParameterError("reader", "the name of a reader", repr(name[:80]))
        return found
    own = next((each for each in known if each.name == OWN), None)
    if own is not None or known:
        return own or known[0]
    # Nobody can log in as this one elsewhere: no password has this hash.
    return Reader(name=OWN, password="!", key=secrets.token_hex(32), added=context.now())


def reading_page(
    context: Context, reader: Reader, shown: Shown, source: int | None, before: int | None, grouped: bool
) -> ReadingPage:
    """The page that was asked for: unread ones first, the latest of them at the top."""
    store = context.store
    sources = None if source is None else [source]
    some = {"sources": sources, "after": before, "limit": PAGE + 1}
    if shown == "starred":
        ids = store.stream(reader.id, Stream(starred=True, **some))  # type: ignore[arg-type]
    else:
        ids = store.stream(reader.id, Stream(read=False if shown == "unread" else None, **some))  # type: ignore[arg-type]
    more, ids = len(ids) > PAGE, ids[:PAGE]
    readings = store.reading(reader.id, ids)
    readings.sort(key=lambda each: (each.read and shown == "all", -each.item.id))
    counts = store.unread(reader.id)
    return ReadingPage(
        reader=reader,
        readers=store.readers(),
        shown=shown,
        source=source,
        grouped=grouped,
        pieces=_pieces(context, readings, grouped),
        unread=sum(each.count for each in counts if source in (None, each.source)),
        subscribed=len(counts),
        older=min(ids) if more else None,
    )


def _pieces(context: Context, readings: Sequence[Reading], grouped: bool) -> list[Piece]:
    ids = [each.item.id for each in readings]
    contents = context.store.contents(ids) if ids else {}
    wanted = sorted({each.item.source for each in readings})
    sources = {each.id: each for each in context.store.sources(ids=wanted)} if wanted else {}
    by_id = {each.item.id: each for each in readings if each.item.source in sources}
    found = []
    for items, why in _told(list(by_id.values()), grouped):
        first = by_id[items[0]]
        said = contents.get(items[0])
        others = [(by_id[id], sources[by_id[id].item.source], why[id]) for id in items[1:]]
        author, in_full = (said.author, bool(said.record)) if said is not None else ("", False)
        found.append(Piece(first, sources[first.item.source], author, in_full, others))
    return found


def _told(readings: Sequence[Reading], grouped: bool) -> list[tuple[list[int], dict[int, str]]]:
    if not grouped:
        return [([each.item.id], {}) for each in readings]
    return [([item.id for item in story.items], story.why) for story in stories([each.item for each in readings])]


def act(context: Context, reader: Reader, item: int, what: Act) -> bool:
    """Mark an item, or have its page fetched for what it says in full; whether there was one.

    Opening and starring say what interests readers.
    """
    store, now = context.store, context.now()
    if what == "article":
        seen = bool(store.reading(reader.id, [item]))
        if seen:
            store.ask_for_article(item, now)
        return seen
    if what in ("read", "unread"):
        changed = store.mark_read(reader.id, [item], what == "read")
    else:
        changed = store.star(reader.id, [item], now if what == "star" else None)
    if changed and what in ("read", "star"):
        client = f"{'reader' if what == 'read' else 'star'}:{reader.id}"
        store.record_clicks([Click(item=item, at=now, client=client)])
    return bool(changed)


def read_everything(context: Context, reader: Reader) -> int:
    """Subscribe to all feeds of the catalogue, and keep what they say in full; how many that are."""
    id = reader.id or context.store.add_reader(reader)
    feeds = [source for source in context.store.sources(state="active", limit=MOST_SUBSCRIPTIONS) if _may_read(source)]
    context.store.subscribe(id, [Wanted(source=source) for source in feeds], context.now())
    silent = [source for source in feeds if source.options.content is None and source.kind != "page"]
    if silent:
        context.store.edit([_with_content(source) for source in silent])
    context.cached.forget()
    return len(feeds)


def _may_read(source: Source) -> bool:
    return source.kind in ("feed", "auto", "page")


def _with_content(source: Source) -> Source:
    return msgspec.structs.replace(source, options=msgspec.structs.replace(source.options, content=True))


def full_text(context: Context, reader: Reader, item: int) -> tuple[Reading, str] | None:
    """An item of a reader's with what it says in full; empty where that is not kept."""
    found = context.store.reading(reader.id, [item])
    if not found:
        return None
    said = context.store.contents([item]).get(item)
    return found[0], unpacked(said.record) if said is not None else ""
