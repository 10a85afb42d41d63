"""What the crawler thinks of lists, left in the store for other processes to show.

How far a list is to be believed, and what a fetch of it is worth, rests on all the pages that it names. Whoever looks
on does not read those: the crawler says it in a note, a line per list, together with its record of the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from recrawl.crawl.decider import Decider
from recrawl.learning.list_reports import ListBelief
from recrawl.policies.contract import Listening
from recrawl.records import FloatArray
from recrawl.store.roles import Notes
from recrawl.units import DAY_S

NOTE = "lists/"
"""Followed by the name of the writer where there are several."""
MOST = 1000
"""Lists in a note, those with the most pages."""
AGES: FloatArray = np.geomspace(60.0, 400.0 * DAY_S, 40)
"""Ages, in seconds, at which it is said what a fetch of a list is worth."""


class NotedList(msgspec.Struct, frozen=True, kw_only=True):
    """What is thought of one list. Times in Unix seconds.

    Parameters
        source: its id in the store; 0 for the pushes of a site
        name: its address, or the site of the pushes
        trust: probability that it tells anything at all
        recall, precision: share of the changes that it tells of, and of its signals that are true
        pages, said: watched pages that it names, and those of which it says when they were modified
        signals: that have come in it, of which old ones count less
        waiting: pages it has named that were not visited since
        visits: to its pages that it was judged by, of which old ones count less
        news_per_s: changes it is expected to name, per second since it was read last
        worth: what a fetch of it is worth at each of `AGES`
        at: when this was so
    """

    source: int
    name: str
    trust: float
    recall: float
    precision: float
    pages: int
    said: int
    signals: float
    waiting: int
    visits: float
    news_per_s: float
    worth: tuple[float, ...] = ()
    at: float = 0.0

    def worth_at(self, age: FloatArray) -> FloatArray:
        """What a fetch is worth so long after the last one, per unit of cost."""
        if not self.worth:
            return np.full(np.shape(age), math.nan)
        return np.interp(age, np.concatenate([[0.0], AGES]), [0.0, *self.worth])

    def crossing_age(self, price: float) -> float:
        """How old it is when a fetch is worth a price; inf for never, NaN if nobody knows."""
        if not self.worth or math.isnan(price):
            return math.nan
        worth = np.maximum.accumulate([0.0, *self.worth])
        if worth[-1] < price:
            return math.inf
        ages = np.concatenate([[0.0], AGES])
        k = max(int(np.searchsorted(worth, price)), 1)
        rise = worth[k] - worth[k - 1]
        return float(ages[k - 1] + (ages[k] - ages[k - 1]) * ((price - worth[k - 1]) / rise if rise > 0.0 else 0.0))


def noted(decider: Decider, now: float) -> list[NotedList]:
    """What the policy of a crawler thinks of all lists."""
    policy = decider.policy
    if not isinstance(policy, Listening):
        return []
    known = [each for each in policy.lists(now, MOST) if each.id < 0 or each.id in decider.roster]
    ids = [each.id for each in known if each.id >= 0]
    curves = dict(zip(ids, _curves(decider, ids), strict=True))
    return [_noted(each, decider, curves.get(each.id, ()), now) for each in known]


def _curves(decider: Decider, ids: list[int]) -> list[list[float]]:
    """What a fetch of each list is worth at `AGES`."""
    if not ids:
        return []
    index: Callable[..., FloatArray] = decider.policy.index  # of those that listen, at a time for each
    times = np.array([decider.roster.last(number) for number in ids])[:, None] + AGES
    worth = index(np.repeat(ids, len(AGES)), times.ravel())
    return [each.tolist() for each in worth.reshape(times.shape)]


def _noted(each: ListBelief, decider: Decider, worth: Sequence[float], now: float) -> NotedList:
    number, roster = each.id, decider.roster
    age = now - roster.last(number) if number >= 0 else math.nan
    return NotedList(
        source=roster.id(number) if number >= 0 else 0,
        name=roster.url(number) if number >= 0 else each.name,
        trust=each.trust,
        recall=each.recall,
        precision=each.precision,
        pages=each.pages,
        said=each.said,
        signals=each.signals,
        waiting=each.waiting,
        visits=each.visits,
        news_per_s=each.news / age if age > 0.0 else math.nan,
        worth=tuple(worth) if all(map(math.isfinite, worth)) else (),
        at=now,
    )


def judged_anew(lists: Sequence[NotedList], before: Mapping[int, float]) -> tuple[list[int], dict[int, float]]:
    """Sources that are lists and were judged by more visits since, and by how many all of them were.

    What is learned of a list has to be stored with it, though it is not visited itself.
    """
    judged = {each.source: each.visits for each in lists if each.source}
    return [source for source, visits in judged.items() if before.get(source, 0.0) != visits], judged


def write(store: Notes, lists: Sequence[NotedList]) -> None:
    """Leave them in the store, in the name of its part where it is one of several."""
    name = NOTE + str(getattr(store, "name", ""))
    store.write_note(name, msgspec.msgpack.encode(lists) if lists else None)


def read(store: Notes, writers: Iterable[str] = ("",)) -> Mapping[int, NotedList]:
    """By source, those of all writers; pushes count down from -1. What cannot be understood is left out."""
    found: dict[int, NotedList] = {}
    for writer in writers:
        text = store.note(NOTE + writer)
        try:
            lists = msgspec.msgpack.decode(text, type=list[NotedList]) if text else []
        except msgspec.MsgspecError:
            continue
        for each in lists:
            found[each.source or -1 - len(found)] = each
    return found
