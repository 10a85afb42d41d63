"""How the crawl of a store stands: at what price, with what budget, when is a source due, and why not now.

The commands, the pages and the API run in other processes than the crawler. Each of them asks here, so that no two say
different things. A `Scheduler` knows its own price and holds, and hands them to the same
:func:`recrawl.crawl.explaining.explanation.explain`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Literal, Self, TypeVar

import msgspec

from recrawl.cluster.status import FleetStatus, common_record, is_up, read_status
from recrawl.config import Config
from recrawl.crawl import list_notes, live_budget
from recrawl.crawl.decider_setup import FLOOR_ROUNDS, recall
from recrawl.crawl.explaining.explanation import Circumstances, Explanation, circumstances, explain
from recrawl.crawl.explaining.list_evidence import ranked_as_noted, with_lists
from recrawl.crawl.explaining.page_rendering import page_rendering
from recrawl.crawl.explaining.ranking import Rank, Ranking
from recrawl.crawl.explaining.restless_text import RestlessText, restless_texts
from recrawl.crawl.explaining.watched_pages import watched_in_words
from recrawl.crawl.explaining.whatif import BelievedSources, believed, unbounded
from recrawl.crawl.fetching.politeness import HostSlots, authority_of, site_of
from recrawl.crawl.list_notes import NotedList
from recrawl.crawl.push.subscriptions import in_words
from recrawl.crawl.requested_crawls import made_in_vain, was_in_vain
from recrawl.crawl.stored_settings import budget_told, in_force
from recrawl.errors import StoreVersionError
from recrawl.records import FloatArray
from recrawl.store.records import Crawl, Hold, Price, Progress, Source, SourceState
from recrawl.store.roles import Catalogue, CrawlLog, Notes, Store
from recrawl.store.source_terms import Defaults

Health = Literal["ok", "failing", "held", "paused", "retired", "new"]
STATES: tuple[SourceState, ...] = ("active", "paused", "retired")
SORTED = 2000
"""So many sources are put in the order in which they are due; of more, the store's order is shown, in which each is
where it belonged after its last fetch."""
AT_A_TIME = 5000
LISTS_READ = 100
"""So many lists are read beside the sources that are looked at."""
EXPLAINED = 10
"""Fetches an explanation looks back on."""

Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source with how far it has got, when it is due and why, and how it is doing in a word."""

    source: Source
    progress: Progress
    found: Explanation
    health: Health

    @property
    def cadence_s(self) -> float:
        """Seconds between two crawls at this price, within what is least and most; NaN if not known."""
        found = self.found
        if math.isnan(found.crossing_age_s) or found.state != "active":
            return math.nan
        return max(min(found.crossing_age_s, found.max_age_s), found.min_interval_s)


def health(source: Source, progress: Progress, now: float) -> Health:
    """How a source is doing, in a word."""
    if source.state != "active":
        return "paused" if source.state == "paused" else "retired"
    if progress.failures:
        return "failing"
    if progress.last is None:
        return "new"
    return "held" if progress.is_held(now) else "ok"


@dataclass(frozen=True, slots=True, eq=False)
class CrawlState:
    """What all sources of a store share at a time, and what follows from it for each.

    Parameters
        config: the settings with which it is crawled, or was last
        price: of a unit of cost; NaN before the first
        budget: requests per second, of whoever crawls or crawled last
        crawler: who is at work, in words; None if nobody is
        holds: on hosts, by name
        key_of: the name of what shares the holds of an address
        never_fetched: active sources that have not answered so far
        shared: what the learner knows of the catalogue as a whole
        lists: what the crawler thinks of each, by source; pushes have numbers below 0
    """

    store: Store
    config: Config
    price: float
    budget: float
    crawler: str | None
    holds: Mapping[str, Hold]
    key_of: Callable[[str], str]
    never_fetched: int
    shared: bytes | None
    lists: Mapping[int, NotedList]

    @classmethod
    def read(cls, store: Store, config: Config, now: float, never_fetched: int | None = None) -> Self:
        """As the store has it; `config` counts where nobody has crawled it yet."""
        told = readable(read_status, store)
        status = told if is_up(told, now) else None
        last = next(iter(store.prices(0.0, limit=1)), None)
        ruling = in_force(store, config)
        return cls(
            store=store,
            config=ruling,
            price=_price(status, last),
            budget=_budget(store, ruling, status, last),
            crawler=_crawler(store, status),
            holds={hold.host: hold for hold in store.holds(now)},
            key_of=HostSlots(ruling.politeness, now, Random(0)).key_of,
            never_fetched=count_never_fetched(store) if never_fetched is None else never_fetched,
            shared=common_record(store, now),
            lists=list_notes.read(store, ["", *(each.name for each in (told.shards if told is not None else ()))]),
        )

    def hold_of(self, source: Source) -> Hold | None:
        """The hold on its host."""
        return self.holds.get(self.key_of(source.url))

    def ranking(self, sources: Sequence[Source], progress: Sequence[Progress], now: float) -> Ranking:
        """Where sources stand, as whoever crawls them ranks them: by what the lists of their sites have told, too."""
        here = {source.id for source in sources}
        more, known = self._with_progress(self.store.sources(ids=self._lists_beside(sources, here)))
        return recall(self.config, [*sources, *more], [*progress, *known], self.shared, now)

    def curve(self, source: Source, progress: Progress, now: float) -> Callable[[FloatArray], FloatArray]:
        """What a fetch of a source is worth at times from its last one on."""
        noted, last = self.lists.get(source.id), progress.last
        if noted is not None and noted.worth and last is not None:
            return lambda times: noted.worth_at(times - last)
        return partial(self.ranking([source], [progress], now).curve, source.id)

    def lists_of(self, site: str) -> list[NotedList]:
        """The lists that are found on a site, and its pushes, those with the most pages first."""
        found = [each for each in self.lists.values() if site_of(each.name) == site]
        return sorted(found, key=lambda each: -each.pages)

    def _lists_beside(self, sources: Sequence[Source], here: Container[int]) -> list[int]:
        """Lists that may have told of some sources: all, or if they are many those of the same sites."""
        others = [id for id in self.lists if id > 0 and id not in here]
        if len(others) <= LISTS_READ:
            return others
        sites = {site_of(source.url) for source in sources}
        return [id for id in others if site_of(self.lists[id].name) in sites][:LISTS_READ]

    def _ranked(self, standing: Rank, progress: Progress, now: float) -> Rank:
        return ranked_as_noted(standing, self.lists.get(progress.source), progress, now, self.price)

    def explained(self, source: Source, progress: Progress, now: float) -> Explanation:
        """All there is to say of one source."""
        ranking = self.ranking([source], [progress], now)
        standing = self._ranked(ranking.standing(progress, now, self.price), progress, now)
        crawls = self.store.crawls(source=source.id, limit=EXPLAINED)
        in_vain = was_in_vain(self.store, source, progress, now, self.config.retention.crawls_s)
        around, kept = self._around(source, progress, now), self.store.subscriptions(sources=[source.id])
        found = explain(source, progress, now, around, standing, crawls, in_vain)
        found = msgspec.structs.replace(
            found,
            hub=in_words(kept, now),
            restless=self._restless(source),
            rendering=page_rendering(self.store.rendering(source.id)) if source.kind == "page" else None,
        )
        if source.kind == "page":
            watched = watched_in_words(self.store, source, source.terms(Defaults.of(self.config)), now)
            found = msgspec.structs.replace(found, **watched._asdict())
        return with_lists(found, ranking, self.lists.get(source.id), now)

    def _restless(self, source: Source) -> list[RestlessText]:
        if source.kind != "page" or not source.terms(Defaults.of(self.config)).restless:
            return []
        return restless_texts(self.store.restless(source.id))

    def statuses(self, sources: Sequence[Source], now: float) -> list[SourceStatus]:
        """When each of these is due, and why not now, in the order given."""
        found: list[SourceStatus] = []
        for start in range(0, len(sources), AT_A_TIME):
            here, known = self._with_progress(sources[start : start + AT_A_TIME])
            standings = self.ranking(here, known, now).standings(known, now, self.price)
            made = set(made_in_vain(self.store, zip(here, known, strict=True), now, self.config.retention.crawls_s))
            for source, each in zip(here, known, strict=True):
                around, standing = self._around(source, each, now), self._ranked(standings[source.id], each, now)
                why = explain(source, each, now, around, standing, in_vain=source.id in made)
                found.append(SourceStatus(source, each, why, health(source, each, now)))
        return found

    def of_ids(self, ids: Sequence[int], now: float) -> list[SourceStatus]:
        """Those of these that are still there, in the order given."""
        found = {source.id: source for source in self.store.sources(ids=list(ids))}
        return self.statuses([found[id] for id in ids if id in found], now)

    def in_order(
        self, now: float, order: str, limit: int | None = None, offset: int = 0, **which: Any
    ) -> list[SourceStatus]:
        """Sources in an order of the store's; those due next by when they are due now, if not too many.

        `which` is said as to `Store.count`.
        """
        if order.removeprefix("-") != "due" or self.store.count(**which) > SORTED:
            return self.statuses(self.store.sources(order=order, limit=limit, offset=offset, **which), now)
        everyone = self.statuses(self.store.sources(**which), now)
        sign = -1.0 if order.startswith("-") else 1.0
        everyone.sort(key=lambda each: (*_place(each.found.due, sign), each.source.id))
        return everyone[offset : None if limit is None else offset + limit]

    def believed(self, sources: Sequence[Source], now: float) -> tuple[list[Source], BelievedSources]:
        """What is believed of these sources by whoever crawls them, and how it would treat them; those still there."""
        here, progress = self._with_progress(sources)
        ranking = self.ranking(unbounded(here), progress, now)
        return here, believed(ranking, here, progress, self.config, FLOOR_ROUNDS)

    def _with_progress(self, sources: Sequence[Source]) -> tuple[list[Source], list[Progress]]:
        """Those that nobody has removed meanwhile."""
        progress = {each.source: each for each in self.store.progress([source.id for source in sources])}
        here = [source for source in sources if source.id in progress]
        return here, [progress[source.id] for source in here]

    def _around(self, source: Source, progress: Progress, now: float) -> Circumstances:
        """What one source shares with the others."""
        hold, waiting = self.hold_of(source), self.never_fetched if progress.last is None else 0
        return circumstances(self.config, source, now, price=self.price, hold=hold, waiting=waiting, budget=self.budget)


def readable(read: Callable[[Notes], Told | None], store: Notes) -> Told | None:
    """What another version of the program may have written, where it can be understood."""
    try:
        return read(store)
    except StoreVersionError:
        return None


def count_never_fetched(store: Catalogue) -> int:
    """Active sources that have not answered so far."""
    return store.count(state="active", never_fetched=True)


def count_by_state(store: Catalogue) -> dict[str, int]:
    """How many sources are active, paused and retired."""
    return {state: store.count(state=state) for state in STATES}


def crawls_by_host(store: Catalogue, crawls: Sequence[Crawl]) -> dict[str, list[Crawl]]:
    """Crawls of sources that are still there, by host and port; by the address where it has none."""
    urls = {each.id: each.url for each in store.sources(ids=list({crawl.source for crawl in crawls}))}
    by_host: dict[str, list[Crawl]] = {}
    for crawl in crawls:
        if (url := urls.get(crawl.source)) is not None:
            by_host.setdefault(authority_of(url) or url, []).append(crawl)
    return by_host


def _price(status: FleetStatus | None, last: Price | None) -> float:
    if status is not None and status.price is not None:
        return status.price
    return math.nan if last is None else last.price


def _budget(store: Notes, ruling: Config, status: FleetStatus | None, last: Price | None) -> float:
    """Of the fleet; else of whoever crawls or crawled last, as changed while it runs; else of the settings."""
    if status is not None and status.budget > 0.0:
        return status.budget
    run = live_budget.read(store)
    if run is not None:
        return run.per_second
    if last is None or budget_told(store) or not 0.0 < last.budget < math.inf:
        return ruling.budget_per_s
    return last.budget


def _crawler(store: CrawlLog, status: FleetStatus | None) -> str | None:
    if status is not None:
        return f"a fleet of {len(status.shards)} shards, led by {status.leader}"
    return store.claimed()


def _place(due: float, sign: float) -> tuple[bool, float]:
    """What is due at no known time comes last."""
    return (False, sign * due) if math.isfinite(due) else (True, 0.0)
