"""Follows edits of the catalogue by others: sources that come, with or without a past, change, and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import structlog

from recrawl.clock import Clock
from recrawl.crawl.clerk import Clerk
from recrawl.crawl.decider import Decider
from recrawl.crawl.wishes import made_in_vain
from recrawl.errors import StoreError
from recrawl.store.base import Batch, Hold, Progress, Source, Store

PORTION = 500
"""So many lines are taken in at once."""


class Follower:
    """Keeps the decider's catalogue in step with the store's.

    Parameters
        revision: up to which the decider knows it
        under_way: ids of the sources that are being visited or settled, as of whenever it is looked at
        told: called when something has changed
    """

    def __init__(
        self,
        decider: Decider,
        clerk: Clerk,
        clock: Clock,
        *,
        revision: int,
        under_way: Collection[int],
        told: Callable[[], None],
    ) -> None:
        self._decider, self._clerk, self._clock = decider, clerk, clock
        self._revision, self._under_way, self._told = revision, under_way, told
        self._postponed: set[int] = set()
        self._turn = asyncio.Lock()
        self._closed = False
        self._log = structlog.get_logger("recrawl")

    async def watch(self, every_s: float) -> None:
        """Look again and again."""
        while True:
            await self._clock.sleep(every_s)
            try:
                await self.refresh()
            except StoreError as error:
                self._log.warning("the catalogue could not be read", reason=str(error))

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
        """Take in what changed. A source that comes back while its last visit is under way waits for the end of it.

        Nothing counts as followed before all of it is read: whoever is interrupted begins again.
        """
        revision, since = await self._clerk.ask(lambda store: store.revision()), self._revision
        back = [id for id in self._postponed if id not in self._under_way]
        if revision == since and not back:
            return
        edited, removed = await self._clerk.ask(lambda store: _edited(store, since, back))
        self._decider.dismiss(removed)
        postponed = self._postponed.difference(back, removed)
        postponed.update(each.id for each in edited if each.id in self._under_way and self._is_new(each))
        edited = [source for source in edited if source.id not in postponed]
        fresh = [source.id for source in edited if self._is_new(source)]
        now = self._clock.now()
        progress, holds = await self._clerk.ask(lambda store: _past(store, fresh, now))
        asked = [(each, progress[each.id]) for each in edited if each.id in progress]
        log_s = self._decider.terms.log_s
        in_vain = await self._clerk.ask(lambda store: set(made_in_vain(store, asked, now, log_s)))
        self._revision, self._postponed = revision, postponed
        await self._admit(edited, progress, holds, in_vain)

    async def _admit(
        self, edited: list[Source], progress: dict[int, Progress], holds: list[Hold], in_vain: set[int]
    ) -> None:
        """In portions, so that others get on meanwhile; first those whose past tells of their host's."""
        edited = sorted(edited, key=lambda source: not _has_past(progress.get(source.id)))
        for start in range(0, len(edited), PORTION):
            portion = edited[start : start + PORTION]
            past = [progress.pop(source.id) for source in portion if source.id in progress]
            self._decider.admit(portion, self._clock.now(), past, holds)
            self._decider.grant(each.id for each in portion if each.id in in_vain)
            self._told()
            if lifted := self._decider.drain_lifted():
                await self._clerk.commit(Batch(progress=lifted))
            await asyncio.sleep(0)

    def _is_new(self, source: Source) -> bool:
        return not self._decider.knows(source.id)


def _edited(store: Store, since: int, back: list[int]) -> tuple[list[Source], list[int]]:
    """Lines of the catalogue that changed, with those that were postponed, and ids of those removed."""
    edited = store.sources(since_revision=since)
    listed = {source.id for source in edited}
    edited += store.sources(ids=[id for id in back if id not in listed]) if back else []
    return edited, store.removed(since)


def _past(store: Store, ids: list[int], now: float) -> tuple[dict[int, Progress], list[Hold]]:
    """What has become of sources before they came here, and of all hosts."""
    return ({each.source: each for each in store.progress(ids)}, store.holds(now)) if ids else ({}, [])


def _has_past(progress: Progress | None) -> bool:
    return progress is not None and (progress.last is not None or progress.failures > 0)
