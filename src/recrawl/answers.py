"""What every face asks of a store, answered once: at what price, with what budget, when is a source due, why not now.

The commands, the pages and the API run in other processes than the crawler. Each of them asks here, so that no two say
different things. A `Scheduler` knows its own price and holds, and hands them to the same
:func:`recrawl.crawl.explanation.explain`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, NamedTuple

from recrawl.cluster.board import Board, common_record, is_up, read_board
from recrawl.config import Config
from recrawl.crawl import budget_note
from recrawl.crawl.deciding import FLOOR_ROUNDS, recall
from recrawl.crawl.explanation import Circumstances, Explanation, circumstances, explain
from recrawl.crawl.politeness import Slots
from recrawl.crawl.ranking import Ranking
from recrawl.crawl.settings_note import budget_told, in_force
from recrawl.crawl.whatif import Catalogue, believed, unbounded
from recrawl.crawl.wishes import made_in_vain, was_in_vain
from recrawl.errors import StoreVersionError
from recrawl.store.base import Hold, Price, Progress, Source, Store

Health = Literal["ok", "failing", "held", "paused", "retired", "new"]
SORTED = 2000
"""So many sources are put in the order in which they are due; of more, the store's order is shown, in which each is
where it belonged after its last fetch."""
AT_A_TIME = 5000
EXPLAINED = 10
"""Fetches an explanation looks back on."""


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """What all sources of a store share at a time.

    Parameters
        config: the settings with which it is crawled, or was last
        price: of a unit of cost; NaN before the first
        budget: requests per second, of whoever crawls or crawled last
        crawler: who is at work, in words; None if nobody is
        holds: on hosts, by name
        key_of: the name of what shares the holds of an address
        never_fetched: active sources that have not answered so far
        shared: what the learner knows of the catalogue as a whole
    """

    config: Config
    price: float
    budget: float
    crawler: str | None
    holds: Mapping[str, Hold]
    key_of: Callable[[str], str]
    never_fetched: int
    shared: bytes | None

    def around(self, source: Source, progress: Progress, now: float) -> Circumstances:
        """What one source shares with the others."""
        hold = self.holds.get(self.key_of(source.url))
        waiting = self.never_fetched if progress.last is None else 0
        return circumstances(self.config, source, now, price=self.price, hold=hold, waiting=waiting, budget=self.budget)

    def ranking(self, sources: Sequence[Source], progress: Sequence[Progress], now: float) -> Ranking:
        """Where sources stand, as whoever crawls them ranks them."""
        return recall(self.config, sources, progress, self.shared, now)


class Seen(NamedTuple):
    """A source with how far it has got, and when it is due and why."""

    source: Source
    progress: Progress
    found: Explanation


def health(source: Source, progress: Progress, now: float) -> Health:
    """How a source is doing, in a word."""
    if source.state != "active":
        return "paused" if source.state == "paused" else "retired"
    if progress.failures:
        return "failing"
    if progress.last is None:
        return "new"
    return "held" if progress.held_until > now else "ok"


def situation(store: Store, config: Config, now: float, never_fetched: int | None = None) -> Situation:
    """As the store has it; `config` counts where nobody has crawled it yet."""
    board = fleet(store, now)
    last = next(iter(store.prices(0.0, limit=1)), None)
    ruling = in_force(store, config)
    return Situation(
        config=ruling,
        price=_price(board, last),
        budget=_budget(store, ruling, board, last),
        crawler=_crawler(store, board),
        holds={hold.host: hold for hold in store.holds(now)},
        key_of=Slots(ruling.politeness, now, Random(0)).key_of,
        never_fetched=count_never_fetched(store) if never_fetched is None else never_fetched,
        shared=common_record(store, now),
    )


def fleet(store: Store, now: float) -> Board | None:
    """The fleet that is at work, if there is one whose words can be understood."""
    try:
        board = read_board(store)
    except StoreVersionError:
        return None
    return board if is_up(board, now) else None


def count_never_fetched(store: Store) -> int:
    """Active sources that have not answered so far."""
    return store.count(state="active", never_fetched=True)


def _price(board: Board | None, last: Price | None) -> float:
    if board is not None and board.price is not None:
        return board.price
    return math.nan if last is None else last.price


def _budget(store: Store, ruling: Config, board: Board | None, last: Price | None) -> float:
    """Of the fleet; else of whoever crawls or crawled last, as changed while it runs; else of the settings."""
    if board is not None and board.budget > 0.0:
        return board.budget
    run = budget_note.read(store)
    if run is not None:
        return run.per_second
    if last is None or budget_told(store) or not 0.0 < last.budget < math.inf:
        return ruling.budget_per_s
    return last.budget


def _crawler(store: Store, board: Board | None) -> str | None:
    if board is not None:
        return f"a fleet of {len(board.shards)} shards, led by {board.leader}"
    return store.claimed()


def seen(store: Store, at: Situation, sources: Sequence[Source], now: float) -> list[Seen]:
    """When each of these is due, and why not now, in the order given."""
    found: list[Seen] = []
    for start in range(0, len(sources), AT_A_TIME):
        some = sources[start : start + AT_A_TIME]
        progress = {each.source: each for each in store.progress([source.id for source in some])}
        here = [source for source in some if source.id in progress]  # others may have been removed meanwhile
        known = [progress[source.id] for source in here]
        standings = at.ranking(here, known, now).standings(known, now, at.price)
        made = set(made_in_vain(store, zip(here, known, strict=True), now, at.config.retention.crawls_s))
        for source, each in zip(here, known, strict=True):
            around, standing = at.around(source, each, now), standings[source.id]
            why = explain(source, each, now, around, standing, in_vain=source.id in made)
            found.append(Seen(source, each, why))
    return found


def explained(store: Store, at: Situation, source: Source, progress: Progress, now: float) -> Explanation:
    """All there is to say of one source."""
    around = at.around(source, progress, now)
    standing = at.ranking([source], [progress], now).standing(progress, now, at.price)
    crawls = store.crawls(source=source.id, limit=EXPLAINED)
    in_vain = was_in_vain(store, source, progress, now, at.config.retention.crawls_s)
    return explain(source, progress, now, around, standing, crawls, in_vain)


def in_order(
    store: Store, at: Situation, now: float, order: str, limit: int | None = None, offset: int = 0, **which: Any
) -> list[Seen]:
    """Sources of the catalogue in an order of the store's; those due next by when they are due now, if not too many.

    `which` is said as to `Store.count`.
    """
    if order.removeprefix("-") != "due" or store.count(**which) > SORTED:
        return seen(store, at, store.sources(order=order, limit=limit, offset=offset, **which), now)
    everyone = seen(store, at, store.sources(**which), now)
    sign = -1.0 if order.startswith("-") else 1.0
    everyone.sort(key=lambda each: (not math.isfinite(each.found.due), sign * _known(each.found.due), each.source.id))
    return everyone[offset : None if limit is None else offset + limit]


def _known(due: float) -> float:
    return due if math.isfinite(due) else 0.0


def catalogue(store: Store, at: Situation, sources: Sequence[Source], now: float) -> tuple[list[Source], Catalogue]:
    """What is believed of these sources by whoever crawls them, and how it would treat them; those still there."""
    known = {each.source: each for each in store.progress([each.id for each in sources])}
    here = [each for each in sources if each.id in known]
    progress = [known[each.id] for each in here]
    ranking = at.ranking(unbounded(here), progress, now)
    return here, believed(ranking, here, progress, at.config, FLOOR_ROUNDS)
