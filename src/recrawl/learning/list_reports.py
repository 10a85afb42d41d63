"""What is thought of lists, and what they have said of single sources, for people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.learning.feed_model import FeedModel
from recrawl.learning.lists import Lists
from recrawl.learning.page_model import PageModel
from recrawl.learning.signal_batches import ALONE
from recrawl.records import FloatArray, IntArray

if TYPE_CHECKING:
    from recrawl.learning.beliefs import CatalogueBeliefs


@dataclass(frozen=True)
class ListBelief:
    """What is thought of one list.

    Parameters
        id: its number as a target; -1 for the pushes of a site
        name: its label, or the site of the pushes
        trust: probability that it tells anything at all
        recall: share of the changes that it announces
        precision: share of its signals that are true, over its pages
        pages: that it names; `said` those of which it says when they were modified
        signals: that have come in it, and have not faded
        waiting: pages it has named that were not visited since
        news: changes it is expected to name if it were read now
        visits: to its pages that it was judged by, of which old ones count less
    """

    id: int
    name: str
    trust: float
    recall: float
    precision: float
    pages: int
    said: int
    signals: float
    waiting: int
    news: float
    visits: float


@dataclass(frozen=True)
class Heard:
    """What lists and pushes have said of one source.

    Parameters
        list: that it listens to, by its number as a target; -1 for the pushes of its site
        name: the label of that list, or of a source of the site
        stated: when the list says it was modified last; NaN if it does not say
        signalled: the time of the latest signal since the last visit; -inf if there was none
        signals: since the last visit; a batch counts once
        chance: that it has changed as it was signalled
        told: share of its changes that the list is expected to name
        precision: share of the signals about it that are true, if the list is right; NaN if none would come
    """

    list: int
    name: str
    stated: float
    signalled: float
    signals: int
    chance: float
    told: float
    precision: float


class ListReports:
    """Answers about lists and about the sources they name."""

    def __init__(self, beliefs: CatalogueBeliefs, lists: Lists) -> None:
        self._beliefs, self._lists = beliefs, lists

    def lists(self, now: float, most: int | None = None) -> list[ListBelief]:
        """What is thought of the lists that are there, of so many at most: those that name most."""
        kept, members = self._lists.rows, self._lists.members
        here = [row for row in self._lists.by_key.values() if kept.pushed[row] or kept.target[row] >= 0]
        here.sort(key=lambda row: -len(members[row]))
        return [self._of_list(row, now) for row in here[:most]]

    def _of_list(self, row: int, now: float) -> ListBelief:
        lists, kept, trust = self._lists, self._lists.rows, self._lists.trust
        ids, places = lists.places_of(row)
        sources, change = lists.sources, self._mean_change(ids)
        said = sources.says(places)
        recall, per_change, per_time, _ = lists.law(places)
        true, false = (recall * change)[said].sum(), (per_change * change + per_time)[said].sum()
        return ListBelief(
            id=int(kept.target[row]),
            name=self._name(row, ids),
            trust=float(trust.trust[row]),
            recall=float(trust.recall[row]),
            precision=float(true / (true + false)) if true + false > 0.0 else math.nan,
            pages=len(ids),
            said=int(np.count_nonzero(said)),
            signals=float(sources.count[places].sum()),
            waiting=int(np.count_nonzero(sources.waits(places))),
            news=float(true * max(now - kept.read[row], 0.0)) if np.isfinite(kept.read[row]) else math.nan,
            visits=float(trust.visits[row]),
        )

    def heard(self, ids: IntArray, chance: FloatArray) -> list[Heard | None]:
        """What was said of some sources, by the list each listens to; `chance` that each has changed as signalled."""
        out: list[Heard | None] = [None] * len(ids)
        sources, places = self._lists.sources, self._lists.sources.places(ids)
        named = np.flatnonzero(places >= 0)
        places, change, waits = places[named], self._mean_change(ids[named]), sources.waits(places[named])
        recall, per_change, per_time, trusted = self._lists.law(places)
        true, false = recall * change, per_change * change + per_time
        for k, (position, place) in enumerate(zip(named.tolist(), places.tolist(), strict=True)):
            row = int(sources.owner[place])
            out[position] = Heard(
                list=int(self._lists.rows.target[row]),
                name=self._name(row, ids[position : position + 1]),
                stated=float(sources.stated[place]),
                signalled=float(sources.signalled[place]) if waits[k] else -math.inf,
                signals=int(sources.pending[place]) + int(sources.batch[place] != ALONE),
                chance=float(chance[position]),
                told=float(trusted[k] * recall[k]),
                precision=float(true[k] / (true[k] + false[k])) if true[k] + false[k] > 0.0 else math.nan,
            )
        return out

    def _name(self, row: int, ids: IntArray) -> str:
        """The label of a list, or for the pushes of a site that of a source they are about."""
        target = int(self._lists.rows.target[row])
        return self._beliefs.label(target if target >= 0 else int(ids[0])) if target >= 0 or len(ids) else ""

    def _mean_change(self, ids: IntArray) -> FloatArray:
        """The mean of what is believed of the change rate of some sources."""
        change = np.zeros(len(ids))
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                mass, rate = model.change_atoms(rows)
                change[mine] = (mass * rate).sum(axis=1)
            elif isinstance(model, FeedModel):
                change[mine] = model.rates(rows)
        return change
