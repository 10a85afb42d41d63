"""Holds lifted by hand: in the store where nobody crawls, and through a note to whoever does.

A crawler keeps its holds in memory and writes them down as it goes, so it has to lift them itself: it looks for the
note every second or so, and a `Scheduler` when it is told to (`refresh`). Releases are numbered; one that begins later
has read a store without the holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from recrawl.clock import Clock
from recrawl.crawl import hold_causes
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.urls import origin
from recrawl.store.records import Batch, Hold, Progress, Source
from recrawl.store.roles import CrawlLog, Notes

NOTE = "crawler/released"
KEPT = 20
"""So many releases are remembered: a crawler looks every second or so."""
ASKED_FOR = (*hold_causes.ROUTINE, hold_causes.RETRY_AFTER, hold_causes.CRAWL_DELAY)
"""Holds that somebody asked for; they are lifted only where they are named."""


class LogAndNotes(CrawlLog, Notes, Protocol):
    """Where holds are, and notes to whoever crawls."""


class Release(msgspec.Struct, kw_only=True):
    """Holds to be lifted.

    Parameters
        number: larger than those before
        sources, hosts: whose
        rules: origins whose robots.txt is to be read anew
    """

    number: int = 0
    sources: list[int] = []
    hosts: list[str] = []
    rules: list[str] = []


def release(
    store: LogAndNotes, held: Sequence[tuple[Source, Progress]], holds: Sequence[Hold], now: float, *, crawled: bool
) -> None:
    """Lift the holds of sources and of hosts; `crawled` says whether somebody is at work who will do so."""
    refused = (source for source, progress in held if progress.held_cause == "robots")
    rules = sorted({origin(source.url) for source in refused if source.kind != "key"})
    known = _releases(store)
    told = Release(
        number=_last(known) + 1,
        sources=[source.id for source, _ in held],
        hosts=[hold.host for hold in holds],
        rules=rules,
    )
    store.write_note(NOTE, msgspec.json.encode([*known, told][-KEPT:]))
    if not crawled:  # whoever crawls writes what it knows, which is more
        _write(store, [progress for _, progress in held], holds, rules, now)


def _write(store: CrawlLog, held: Sequence[Progress], holds: Sequence[Hold], rules: Sequence[str], now: float) -> None:
    freed = [msgspec.structs.replace(progress) for progress in held]
    for progress in freed:
        progress.end_hold(now)
    expired = [msgspec.structs.replace(copy, expires=0.0) for each in rules if (copy := store.robots(each))]
    store.commit(Batch(progress=freed, holds=[Hold(host=hold.host, until=0.0) for hold in holds], robots=expired))


def _releases(store: Notes) -> list[Release]:
    said = store.note(NOTE)
    try:
        return msgspec.json.decode(said, type=list[Release]) if said else []
    except msgspec.MsgspecError:  # another version's
        return []


def _last(known: Sequence[Release]) -> int:
    return max((each.number for each in known), default=0)


def last_release(store: Notes) -> int:
    """The number of the last release so far: read before holds are, of which none may be missed."""
    return _last(_releases(store))


def released_since(store: Notes, number: int) -> list[Release]:
    """Releases with larger numbers."""
    return [each for each in _releases(store) if each.number > number]


class Releases:
    """Lifts in a running crawler what was released in the store.

    Parameters
        learning: held from learning to the end of the commit
        seen: the last release before its holds were read (`last_release`)
        told: called when something was lifted
    """

    def __init__(
        self,
        decider: Decider,
        fetcher: Fetcher,
        store_writer: StoreWriter,
        clock: Clock,
        *,
        learning: asyncio.Lock,
        seen: int,
        told: Callable[[], None],
    ) -> None:
        self._decider, self._fetcher, self._store_writer, self._clock = decider, fetcher, store_writer, clock
        self._roster_store = RosterStore(decider.roster, store_writer)
        self._learning, self._seen, self._told = learning, seen, told

    async def watch(self, every_s: float) -> None:
        """Look again and again."""
        await keep_looking(self._clock, every_s, self._look, "what was released could not be read")

    async def _look(self) -> None:
        for each in await self._store_writer.ask(lambda store: released_since(store, self._seen)):
            await self._lift(each)
            self._seen = each.number

    async def _lift(self, released: Release) -> None:
        for each in released.rules:
            self._fetcher.forget_rules(each)
        numbers = self._decider.roster.numbers_of(released.sources)
        async with self._learning:
            async with self._roster_store.at_hand(progress=numbers):
                lifted = self._decider.release(released.sources, released.hosts, self._clock.now())
            self._told()
            batch = Batch(progress=lifted, holds=self._fetcher.drain_holds(), robots=self._fetcher.drain_robots())
            await asyncio.shield(self._roster_store.commit(batch))
