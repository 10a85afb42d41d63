"""Follows edits of the catalogue by others: sources that come, with or without a past, change, and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from recrawl.clock import Clock
from recrawl.crawl.decider import Decider
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.requested_crawls import made_in_vain
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.store_writer import StoreWriter
from recrawl.store.records import Batch, Hold, Progress, Source
from recrawl.store.roles import Catalogue, CrawlLog

PORTION = 500
"""So many lines are given to the decider at once."""


class CatalogueWatcher:
    """Keeps the decider's catalogue in step with the store's.

    Parameters
        learning: held from learning to the end of the commit
        revision: up to which the decider knows it
        under_way: says the ids of the sources that are being visited, or whose visit is not committed yet
        told: called when something has changed
        came: told of the ids of sources that were not known
    """

    def __init__(
        self,
        decider: Decider,
        store_writer: StoreWriter,
        clock: Clock,
        *,
        learning: asyncio.Lock,
        revision: int,
        under_way: Callable[[], Collection[int]],
        told: Callable[[], None],
        came: Callable[[list[int]], None] = lambda ids: None,
    ) -> None:
        self._decider, self._store_writer, self._clock = decider, store_writer, clock
        self._learning = learning
        self._revision, self._under_way, self._told, self._came = revision, under_way, told, came
        self._roster_store = RosterStore(decider.roster, store_writer)
        self._postponed: set[int] = set()
        self._turn = asyncio.Lock()
        self._closed = False

    async def watch(self, every_s: float) -> None:
        """Look again and again."""
        await keep_looking(self._clock, every_s, self.refresh, "the catalogue could not be read")

    async def refresh(self) -> None:
        """Look now, unless it has been closed."""
        async with self._turn:
            if not self._closed:
                await self._follow()

    async def close(self) -> None:
        """Let a look under way end; there will be no other."""
        async with self._turn:
            self._closed = True

    async def _follow(self) -> None:
        """Pass on what changed. A source that comes back while its last visit is under way waits for the end of it.

        Nothing counts as followed before all of it is passed on: whoever is interrupted begins again.
        """
        revision, since = await self._store_writer.ask(lambda store: store.revision()), self._revision
        back = self._postponed.difference(self._under_way()) if self._postponed else set()
        if revision == since and not back:
            return
        edited, removed = await self._store_writer.ask(lambda store: _edited(store, since, back))
        self._decider.remove(removed)
        postponed = self._postponed.difference(back, removed)
        under_way = self._under_way()
        postponed.update(each.id for each in edited if each.id in under_way and self._is_new(each))
        edited = [source for source in edited if source.id not in postponed]
        fresh = [source.id for source in edited if self._is_new(source)]
        now = self._clock.now()
        progress, holds = await self._store_writer.ask(lambda store: _past(store, fresh, now))
        asked = [(each, progress[each.id]) for each in edited if each.id in progress]
        log_s = self._decider.rules.log_s
        in_vain = await self._store_writer.ask(lambda store: set(made_in_vain(store, asked, now, log_s)))
        await self._upsert(edited, progress, holds, in_vain)
        self._revision, self._postponed = revision, postponed
        self._came(fresh)

    async def _upsert(
        self, edited: list[Source], progress: dict[int, Progress], holds: list[Hold], in_vain: set[int]
    ) -> None:
        """In portions, so that others get on meanwhile; first those whose past tells of their host's."""
        edited = sorted(edited, key=lambda source: not _has_past(progress.get(source.id)))
        for start in range(0, len(edited), PORTION):
            portion = edited[start : start + PORTION]
            past = [progress.pop(source.id) for source in portion if source.id in progress]
            known = self._decider.looked_at(portion, self._clock.now())
            async with self._learning:
                async with self._roster_store.at_hand(progress=known):
                    with self._decider.roster.at_hand(portion):
                        self._decider.upsert(portion, self._clock.now(), past, holds)
                        self._decider.requests_made(each.id for each in portion if each.id in in_vain)
                self._told()
                if lifted := self._decider.drain_lifted():
                    await self._roster_store.commit(Batch(progress=lifted))
            await asyncio.sleep(0)

    def _is_new(self, source: Source) -> bool:
        return source.id not in self._decider.roster.numbers


def _edited(store: Catalogue, since: int, back: Collection[int]) -> tuple[list[Source], list[int]]:
    """Lines of the catalogue that changed, with those that were postponed, and ids of those removed."""
    edited = store.sources(since_revision=since)
    listed = {source.id for source in edited}
    edited += store.sources(ids=[id for id in back if id not in listed]) if back else []
    return edited, store.removed(since)


def _past(store: CrawlLog, ids: list[int], now: float) -> tuple[dict[int, Progress], list[Hold]]:
    """What has become of sources before they came here, and of all hosts."""
    return ({each.source: each for each in store.progress(ids)}, store.holds(now)) if ids else ({}, [])


def _has_past(progress: Progress | None) -> bool:
    return progress is not None and (progress.last is not None or progress.failures > 0)
