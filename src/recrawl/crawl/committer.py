"""Commits what finished visits lead to, in batches, one after the other.

First the store says which items nobody has seen, then the decider learns, then everything is committed in one
transaction, and only then told to anybody. From learning to the end of the commit nobody else learns (`learning`): what
is written later was learned later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import structs

from recrawl.clock import Clock
from recrawl.crawl import page_changes
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.reading import items
from recrawl.crawl.reading.findings import FoundItem
from recrawl.crawl.roster_store import RosterStore
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.visit_outcome import outcome_of
from recrawl.crawl.visits import Visit, VisitOutcome
from recrawl.store.records import Batch, Item, item_key, keys_in
from recrawl.store.roles import Catalogue, Items

CROWDED, PIECE = 2000, 500
"""A visit that lists so many items or sitemaps is committed apart, its items in pieces of so many, as are the schedules
of sources that lists name."""
LONGER, QUICK, ENOUGH = 10, 5, 192
"""Visits are collected up to so many times longer while so many end in that time, or until there are so many."""

Begin = Callable[[Coroutine[None, None, None]], asyncio.Task[None]]
"""Starts a task that the end of the run waits for."""


class SourcesAndItems(Catalogue, Items, Protocol):
    """Where it is looked up what visits mean."""


class Committer:
    """Takes in visits; `run` commits what they lead to until it is closed and none is left.

    Parameters
        batch_s: how long finished visits are collected before they are committed together
        concluded: told of every visit and what it led to once that is committed
        begin: starts what must be seen through: the commit of very long listings
        foretold: awaited with every visit before that is committed
    """

    def __init__(
        self,
        decider: Decider,
        fetcher: Fetcher,
        store_writer: StoreWriter,
        clock: Clock,
        *,
        batch_s: float,
        concluded: Callable[[list[Visit], list[VisitOutcome]], None],
        begin: Begin,
        foretold: Callable[[list[Visit]], Awaitable[None]] | None = None,
    ) -> None:
        self._decider, self._fetcher, self._store_writer, self._clock = decider, fetcher, store_writer, clock
        self._batch_s, self._foretold, self._concluded, self._begin = batch_s, foretold, concluded, begin
        self._roster_store = RosterStore(decider.roster, store_writer)
        self._finished: list[Visit] = []
        self._news = asyncio.Event()
        self._closing = False
        self.learning = asyncio.Lock()
        self.committing: list[Visit] = []
        """What was learned of these is not stored yet."""
        self.failure: Exception | None = None
        """What ended the commit of a long listing."""

    @property
    def waiting(self) -> int:
        """Visits to be committed."""
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
        """Commit what is finished, until closed and nothing is left."""
        while not (self._closing and not self._finished):
            await self._news.wait()
            await self._gather()
            self._news.clear()
            visits, self._finished = self._finished, []
            usual = [visit for visit in visits if not _is_crowded(visit)]
            if usual:
                await self._commit(usual)
            for visit in visits:
                if _is_crowded(visit):
                    self._begin(self._commit_crowded(visit))

    async def _gather(self) -> None:
        """Wait for others to finish: a transaction costs as much as ten visits in it."""
        for _ in range(LONGER):
            before = len(self._finished)
            if not self._closing:
                await asyncio.sleep(self._batch_s)
            if self._closing or not before + QUICK <= len(self._finished) < ENOUGH:
                return

    async def _commit(self, visits: list[Visit]) -> None:
        known = await self._store_writer.persist(lambda store: look_up(store, visits))
        async with self.learning:
            async with self._answered(known):
                outcomes = self._decider.learn_from(known, self._clock.now())
            await self._commit_named(known)
            await self._conclude(known, outcomes)

    async def _commit_crowded(self, visit: Visit) -> None:
        """A visit with very many items: in pieces, between which others are committed.

        Items are committed with their events, so that a crash in between neither loses nor repeats any; the end of the
        run waits for the last piece.
        """
        try:
            await self._commit_in_pieces(visit)
        except Exception as error:
            self.failure = error

    async def _commit_in_pieces(self, visit: Visit) -> None:
        (visit,) = await self._store_writer.persist(lambda store: look_up(store, [visit]))
        outcome = await asyncio.to_thread(outcome_of, visit, self._decider.rules)
        items, events = outcome.items, outcome.events
        for start in range(0, len(items), PIECE):
            end = start + PIECE
            await self._store_writer.commit(Batch(items=items[start:end], events=events[start:end]))
        outcome.items, outcome.events = [], events[len(items) :]
        async with self.learning:
            async with self._answered([visit]):
                self._decider.learn([visit.intent.number], [outcome], self._clock.now())
            await self._commit_named([visit])
            await self._conclude([visit], [outcome])

    def _answered(self, visits: list[Visit]) -> AbstractAsyncContextManager[None]:
        """Inside, what owners say of those whose crawls they asked for is at hand: the policy is told it anew."""
        asked = self._decider.schedules.asked(visit.intent.number for visit in visits)
        return self._roster_store.at_hand(lines=asked)

    async def _commit_named(self, visits: list[Visit]) -> None:
        """The schedules of sources that visited lists name: before the lists, which will not name them again."""
        named = self._decider.named_anew(visit.intent.number for visit in visits)
        for start in range(0, len(named), PIECE):
            piece = named[start : start + PIECE]
            async with self._roster_store.at_hand(progress=piece):
                schedules = self._decider.scheduled(piece)
            await self._roster_store.commit(Batch(progress=schedules))

    async def _conclude(self, visits: list[Visit], outcomes: list[VisitOutcome]) -> None:
        """Commit what visits led to, and let others know."""
        holds, robots = self._fetcher.drain_holds(), self._fetcher.drain_robots()
        bounds, turn = self._decider.rules.discovery, self._decider.roster.turn
        self.committing = visits
        if self._foretold is not None:
            await self._foretold(visits)
        await self._store_writer.commit(Batch(updates=[*outcomes], holds=holds, robots=robots, discovery=bounds))
        self._decider.roster.stored([visit.intent.source.id for visit in visits], turn)
        self.committing = []
        self._concluded(visits, outcomes)


def _is_crowded(visit: Visit) -> bool:
    return len(visit.keys) + len(visit.findings.children if visit.findings else ()) >= CROWDED


def look_up(store: SourcesAndItems, visits: list[Visit]) -> list[Visit]:
    """Visits with what their outcomes rest on in the store: which items are new, how a page differs, who is where.

    In the store's own thread: a diff may take hundredths of a second.
    """
    listed = []
    for visit in visits:
        known = set(keys_in(visit.intent.progress.listing))
        listed.append((visit.intent.source.id, [key for key in visit.keys if key not in known]))
    return [_looked_up(store, visit, new) for visit, new in zip(visits, store.unseen(listed), strict=True)]


def _looked_up(store: SourcesAndItems, visit: Visit, unseen: set[int]) -> Visit:
    visit = structs.replace(visit, unseen=unseen, taken=_moves_onto_another(store, visit))
    findings, before = visit.findings, visit.intent.progress
    if findings is not None and findings.kind == "page":
        return page_changes.looked_up(store, visit, findings)
    if findings is None or before.last is None:
        return visit
    if renamed := items.renamed_since(findings.items, visit.keys, unseen):
        visit = structs.replace(visit, unseen=unseen - _known_by_former_keys(store, visit, renamed))
    if findings.kind == "feed" and before.listing and items.may_be_renamed(visit.keys, visit.unseen):
        return _known_by_links(store, visit, findings.items, before.last)
    return visit


def _moves_onto_another(store: Catalogue, visit: Visit) -> bool:
    """Whether the address it was seen to move to before is another source's, whoever crawls that one."""
    moved, source = visit.fetched.moved_to, visit.intent.source
    if not moved or moved != visit.intent.progress.moved_to:
        return False
    twin = store.source(moved)
    return twin is not None and twin.id != source.id


def _known_by_former_keys(store: Items, visit: Visit, renamed: dict[int, FoundItem]) -> set[int]:
    """The keys of items that are stored under those that older rules gave them."""
    former = [item_key(item.formerly) for item in renamed.values()]
    (gone,) = store.unseen([(visit.intent.source.id, former)])
    return items.known_before(renamed, gone, _stored(store, visit)) if len(gone) < len(set(former)) else set()


def _known_by_links(store: Items, visit: Visit, listed: tuple[FoundItem, ...], last: float) -> Visit:
    """Nothing listed is known by its id: perhaps it is by its link."""
    links = {item.link for item in _stored(store, visit)}
    keys = items.links_instead(listed, links, last)
    if keys is None:
        return visit
    (unseen,) = store.unseen([(visit.intent.source.id, keys)])
    met = items.known_links(listed, links)
    new = {key for key, known in zip(keys, met, strict=True) if not known}
    return structs.replace(visit, keys=keys, unseen=unseen & new, renamed=True)


def _stored(store: Items, visit: Visit) -> list[Item]:
    """Items of its source found before."""
    most = items.LOOK_BACK + 2 * len(visit.keys)
    return store.items(source=visit.intent.source.id, kind="item", limit=most)
