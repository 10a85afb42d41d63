"""Settles finished visits in batches, one after the other, and commits what they lead to.

First the store says which items nobody has seen, then the decider learns, then everything is committed in one
transaction, and only then told to anybody. From learning to the end of the commit nobody else learns (`learning`): what
is written later was learned later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from recrawl.clock import Clock
from recrawl.crawl import renaming
from recrawl.crawl.clerk import Clerk
from recrawl.crawl.courier import Courier
from recrawl.crawl.decider import Decider
from recrawl.crawl.intents import Visit
from recrawl.crawl.page_changes import compare_with_kept
from recrawl.crawl.settling import settle
from recrawl.crawl.tasks import Tasks
from recrawl.store.base import Batch, Settlement, Store, item_key, keys_in

CROWDED, PIECE = 2000, 500
"""A visit that lists so many items or sitemaps is settled apart, its items in pieces of so many."""


class Registrar:
    """Takes in visits; `run` settles them until it is closed and none is left.

    Parameters
        batch_s: how long finished visits are collected before they are settled together
        concluded: told of every visit and what it led to once that is committed
        crowded: where the settling of very long listings is begun; it must be seen through
    """

    def __init__(
        self,
        decider: Decider,
        courier: Courier,
        clerk: Clerk,
        clock: Clock,
        *,
        batch_s: float,
        concluded: Callable[[list[Visit], list[Settlement]], None],
        crowded: Tasks,
    ) -> None:
        self._decider, self._courier, self._clerk, self._clock = decider, courier, clerk, clock
        self._batch_s, self._concluded, self._crowded = batch_s, concluded, crowded
        self._finished: list[Visit] = []
        self._news = asyncio.Event()
        self._closing = False
        self.learning = asyncio.Lock()
        self.failure: Exception | None = None
        """What ended the settling of a long listing."""

    @property
    def waiting(self) -> int:
        """Visits to be settled."""
        return len(self._finished)

    def take(self, visit: Visit) -> None:
        """A visit is finished."""
        self._finished.append(visit)
        self._news.set()

    def close(self) -> None:
        """No visit will follow."""
        self._closing = True
        self._news.set()

    async def run(self) -> None:
        """Settle what is finished, until closed and nothing is left."""
        while not (self._closing and not self._finished):
            await self._news.wait()
            if not self._closing:
                await asyncio.sleep(self._batch_s)
            self._news.clear()
            visits, self._finished = self._finished, []
            usual = [visit for visit in visits if not _is_crowded(visit)]
            if usual:
                await self._settle(usual)
            for visit in visits:
                if _is_crowded(visit):
                    self._crowded.begin(self._settle_crowded(visit))

    async def _settle(self, visits: list[Visit]) -> None:
        await self._clerk.persist(lambda store: look_up(store, visits))
        async with self.learning:
            await self._conclude(visits, self._decider.settle(visits, self._clock.now()))

    async def _settle_crowded(self, visit: Visit) -> None:
        """A visit with very many items: in pieces, between which others are settled.

        Items are committed with their events, so that a crash in between neither loses nor repeats any; the end of the
        run waits for the last piece.
        """
        try:
            await self._settle_in_pieces(visit)
        except Exception as error:
            self.failure = error

    async def _settle_in_pieces(self, visit: Visit) -> None:
        await self._clerk.persist(lambda store: look_up(store, [visit]))
        settled = await asyncio.to_thread(settle, visit, self._decider.terms)
        settlement = settled.settlement
        items, events = settlement.items, settlement.events
        for start in range(0, len(items), PIECE):
            await self._clerk.commit(Batch(items=items[start : start + PIECE], events=events[start : start + PIECE]))
        settlement.items, settlement.events = [], events[len(items) :]
        async with self.learning:
            await self._conclude([visit], self._decider.absorb([visit.intent.number], [settled], self._clock.now()))

    async def _conclude(self, visits: list[Visit], settlements: list[Settlement]) -> None:
        """Commit what visits led to, and let others know."""
        holds, robots = self._courier.drain_holds(), self._courier.drain_robots()
        bounds = self._decider.terms.discovery
        await self._clerk.commit(Batch(settlements=settlements, holds=holds, robots=robots, discovery=bounds))
        self._concluded(visits, settlements)


def _is_crowded(visit: Visit) -> bool:
    return len(visit.keys) + len(visit.findings.children if visit.findings else ()) >= CROWDED


def look_up(store: Store, visits: list[Visit]) -> None:
    """What settling needs to know from the store: which items are new, how a page differs, who is where.

    In the store's own thread: a diff may take hundredths of a second.
    """
    listed = []
    for visit in visits:
        known = set(keys_in(visit.intent.progress.listing))
        listed.append((visit.intent.source.id, [key for key in visit.keys if key not in known]))
    for visit, unseen in zip(visits, store.unseen(listed), strict=True):
        visit.unseen, visit.taken = unseen, _moves_onto_another(store, visit)
        _recall(store, visit)
        if renaming.suspected(visit):
            _recognise(store, visit)
        compare_with_kept(store, visit)


def _moves_onto_another(store: Store, visit: Visit) -> bool:
    """Whether the address it was seen to move to before is another source's, whoever crawls that one."""
    moved, source = visit.delivery.moved_to, visit.intent.source
    if not moved or moved != visit.intent.progress.moved_to:
        return False
    twin = store.source(moved)
    return twin is not None and twin.id != source.id


def _recall(store: Store, visit: Visit) -> None:
    """Items may be stored under the keys that older rules gave them."""
    renamed, source = renaming.renamed_since(visit), visit.intent.source.id
    former = [item_key(item.formerly) for item in renamed.values()]
    if not former:
        return
    (gone,) = store.unseen([(source, former)])
    if len(gone) < len(set(former)):
        stored = store.items(source=source, kind="item", limit=renaming.LOOK_BACK + 2 * len(visit.keys))
        visit.unseen -= renaming.known_before(renamed, gone, stored)


def _recognise(store: Store, visit: Visit) -> None:
    """Nothing listed is known by its id: perhaps it is by its link."""
    findings, source, last = visit.findings, visit.intent.source.id, visit.intent.progress.last
    assert findings is not None
    assert last is not None
    found = store.items(source=source, kind="item", limit=renaming.LOOK_BACK + 2 * len(visit.keys))
    links = {item.link for item in found}
    keys = renaming.links_instead(findings.items, links, last)
    if keys is not None:
        (unseen,) = store.unseen([(source, keys)])
        known = renaming.known_links(findings.items, links)
        new = {key for key, met in zip(keys, known, strict=True) if not met}
        visit.keys, visit.unseen, visit.renamed = keys, unseen & new, True
