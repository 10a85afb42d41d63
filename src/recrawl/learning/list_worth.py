"""What reading lists is worth: a list is a source, with an index and a price like everybody.

What a list tells is found late by as much as it is read late, and each change that it would name counts by what a visit
to the page then is worth over the price. Told at `flow` per time, since T ago: under freshness and discovery flow·T²/2
is the delay saved, otherwise flow is what fades (docs/design/019). A list that tells nothing falls asleep: it is read
once in `REST_DAYS`, or less often where lists are so many that this would cost more than a small share of all visits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.kernels.continuous_index import continuous_index, crossing_age
from recrawl.learning.lists import Lists
from recrawl.learning.page_model import PageModel
from recrawl.learning.signal_worth import changed_worth
from recrawl.records import FloatArray, IntArray

if TYPE_CHECKING:
    from recrawl.learning.beliefs import CatalogueBeliefs

REST_DAYS, REST_NEW_DAYS = 60.0, 5.0
"""After so long a list is worth the price whatever it told; sooner before anybody knows the price, or the list."""
JUDGED_VISITS, JUDGED_READS = 20.0, 12
"""A list is new until it was judged by so many visits, or was read so often."""
REST_SHARE = 0.01
"""What lists are read for that tell nothing is at most this share of all visits."""


class ListWorth:
    """What reading each list is worth, and when it is worth the price."""

    def __init__(self, beliefs: CatalogueBeliefs, lists: Lists) -> None:
        self._beliefs, self._lists = beliefs, lists
        self.price = float("nan")
        """What the last token bought."""
        self.begun, self.visits = beliefs.now, 0.0

    def index(self, ids: IntArray, now: FloatArray) -> FloatArray:
        """What reading some lists is worth."""
        flow, fading, read, weight = self._terms(ids)
        waited = np.maximum(now - read, 0.0)
        told = 0.5 * flow * waited**2
        faded = fading > 0.0
        if faded.any():
            told[faded] = continuous_index(flow[faded] / fading[faded], fading[faded], waited[faded])
        price = self._price()
        return weight * np.maximum(told, 0.0 if np.isnan(price) else price * waited / self._rest(ids))

    def age(self, ids: IntArray, level: FloatArray) -> FloatArray:
        """How long after its last reading each list is worth a level."""
        flow, fading, _, weight = self._terms(ids)
        wanted = level / np.maximum(weight, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            age = np.where(flow > 0.0, np.sqrt(2.0 * wanted / flow), np.inf)
            faded = (fading > 0.0) & (flow > 0.0)
            if faded.any():
                age[faded] = crossing_age(flow[faded] / fading[faded], fading[faded], wanted[faded])
            price = self._price()
            return age if np.isnan(price) else np.minimum(age, wanted / price * self._rest(ids))

    def _terms(self, ids: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        rows = np.array([self._lists.row_of[target] for target in ids.tolist()], np.int64)
        kept = self._lists.rows
        return kept.flow[rows], kept.fading[rows], kept.read[rows], self._beliefs.weight[ids]

    def _plan_price(self) -> float:
        model = self._beliefs.models.get(self._beliefs.page_kind)
        plan = model.plan if isinstance(model, PageModel) else None
        return plan.price if plan is not None and plan.made else float("nan")

    def _price(self) -> float:
        planned = self._plan_price()
        return self.price if np.isnan(planned) else planned

    def _rest(self, ids: IntArray) -> FloatArray:
        """After which time each list is worth the price whatever it told: sooner while nobody could judge it."""
        freshness = self._beliefs.setting.objective == "freshness"
        rows = np.array([self._lists.row_of[target] for target in ids.tolist()], np.int64)
        new = (self._lists.trust.visits[rows] < JUDGED_VISITS) & (self._lists.rows.reads[rows] < JUDGED_READS)
        soon = new | (freshness and np.isnan(self._plan_price()))
        elapsed = max(self._beliefs.now - self.begun, self._lists.day)
        pace = max(self.visits, 1.0) / elapsed
        days = np.where(soon, REST_NEW_DAYS, REST_DAYS)
        return np.maximum(days * self._lists.day, len(self._lists.row_of) / (REST_SHARE * pace))

    def _named(self, places: IntArray, expected: FloatArray) -> FloatArray:
        """How often a list names its pages, by what it did and, as if it had done so once, by what is expected of it.

        What visits alone say of a page's changes, a list that is silent about it does not tell, however little it is
        trusted: read again and again instead of pages, it would never be judged.
        """
        sources = self._lists.sources
        return (sources.count[places] + 1.0) / (sources.time[places] + 1.0 / np.maximum(expected, 1e-300))

    def appraise(self, row: int, now: float) -> None:
        """What a list is expected to tell that is worth more than the price."""
        kept, beliefs = self._lists.rows, self._beliefs
        ids, places = self._lists.places_of(row)
        listening = self._lists.sources.places(ids) == places
        ids, places, price = ids[listening], places[listening], self._price()
        kept.flow[row] = kept.fading[row] = 0.0
        for model, mine, rows in beliefs.parts(ids):
            if not isinstance(model, PageModel) or np.isnan(price):
                continue
            mass, change = model.change_atoms(rows)
            mean = (mass * change).sum(axis=1, dtype=np.float64)
            recall, per_change, per_time, trusted = self._lists.law(places[mine])
            true = np.minimum(recall * mean, self._named(places[mine], recall * mean))
            precision = true / np.maximum(true + per_change * mean + per_time, 1e-300)
            moment = np.full(len(rows), now)
            worth = changed_worth(beliefs, ids[mine], moment, moment - 1.0 / np.maximum(mean, 1e-300), moment)
            useful = precision * worth > price
            told = np.where(useful, trusted * true, 0.0)
            if beliefs.setting.objective in ("freshness", "discovery"):
                kept.flow[row] = (told * model.worth(rows)).sum()
            else:
                kept.flow[row] = (told * (worth - price)).sum()
                fading = mean if beliefs.setting.objective == "changes" else model.terms.fading[rows] + mean
                kept.fading[row] = (told * fading).sum() / max(told.sum(), 1e-300)
