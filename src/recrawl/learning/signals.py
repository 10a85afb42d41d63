"""What signals do to what is believed and wanted of a catalogue.

A source of whose changes a trusted list tells is looked at less on its own account: only the `hidden` share of its
changes has to be found by looking. One that is signalled is wanted for what the signal is likely to mean::

    index + P(the signal is true) × what a page that has changed is worth

Freshness: E[1/(Δ + ρ/2)], the time until the next change or the next planned visit. Changes: 1. News that fade: what is
left of them since the signal. Discovery: τh − H with one known to wait, which is how late after the last visit it came.

**A list is a source.** What it tells is found late by as much as it is read late, and each change that it would name
counts by what a visit to the page then is worth over the price. Told at `flow` per time, since T ago: under freshness
and discovery flow·T²/2 is the delay saved, otherwise flow is what fades (docs/design/019). A list that tells nothing
falls asleep: it is read once in `REST_DAYS`, or less often where lists are so many that this would cost more than a
small share of all visits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recrawl.kernels.continuous_index import continuous_index, crossing_age
from recrawl.kernels.worth import decay_of
from recrawl.learning.feed_model import FeedModel
from recrawl.learning.listed_sources import NOBODY
from recrawl.learning.lists import Heard, ListBelief, Lists, key_of, push_key
from recrawl.learning.page_model import PageModel, saw_change
from recrawl.learning.rates import rate_grid
from recrawl.learning.signal_batches import ALONE
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

if TYPE_CHECKING:
    from recrawl.learning.beliefs import CatalogueBeliefs

PLANNED_SHARE = 0.5
"""A page that has changed is worth the time to its next change, or to a planned visit in such a share of it."""
REST_DAYS, REST_UNPLANNED_DAYS = 60.0, 5.0
"""After so long a list is worth the price whatever it told; sooner before anybody knows the price."""
REST_SHARE = 0.02
"""What lists are read for that tell nothing is at most this share of all visits."""
KEPT_DAYS, AT_A_TIME = 0.5, 2048
"""So often the beliefs of all pages of a list are brought in line with it, so many pages at a time."""
FIRST_COPY_DAYS = 30.0
"""How long the first copy of a page is taken to be kept."""


class Signals:
    """Lists, and the catalogue whose sources they name."""

    def __init__(self, beliefs: CatalogueBeliefs) -> None:
        self._beliefs = beliefs
        setting = beliefs.setting
        self.lists = Lists(setting.now, rate_grid(setting.rates))
        self.price = float("nan")
        """What the last token bought."""
        self.begun, self.visits = setting.now, 0.0
        self._sweep: tuple[int, int] | None = None
        """The list whose pages are being brought in line, and how many are."""

    # -- what is said

    def read(self, target: int, now: float, ids: IntArray, lastmod: FloatArray, last: FloatArray) -> IntArray:
        """A list was read; the sources of which that changes what is believed."""
        self.lists.grow(self._beliefs.size)
        row = self.lists.row(key_of(self._label(target), target), target)
        new = self.lists.rows.reads[row] == 0
        named = self.lists.read(row, now, ids, lastmod, last, self._evidence)
        if new and self._beliefs.labels is not None:
            self.lists.split(row, self._labels)
        self._listen(self.lists.members[row] if new else ids)
        self._bring_in_line(named)
        self._appraise(row, now)
        return named

    def same(self, target: int, now: float) -> None:
        """A list was read again, and says what it said."""
        row = self.lists.row_of[target]
        self.lists.same(row, now)
        self._appraise(row, now)

    def push(self, ids: IntArray, now: float, at: FloatArray, last: FloatArray) -> IntArray:
        """Something outside says that these changed; those of which that is news."""
        self.lists.grow(self._beliefs.size)
        keys = np.array([push_key(self._label(target)) for target in ids.tolist()])
        named = [
            self.lists.push(int(key), now, ids[keys == key], at[keys == key], last[keys == key], self._evidence)
            for key in np.unique(keys)
        ]
        self._listen(ids)
        touched = np.concatenate([*named, np.empty(0, np.int64)])
        self._bring_in_line(touched)
        return touched

    def are_lists(self, ids: IntArray) -> BoolArray:
        """Which targets have turned out to be lists."""
        self.lists.grow(self._beliefs.size)
        found: BoolArray = self.lists.is_list[ids]
        return found

    def forget(self, ids: IntArray) -> None:
        """Some sources are gone."""
        self.lists.grow(self._beliefs.size)
        self.lists.forget(ids)

    def _label(self, target: int) -> str:
        labels = self._beliefs.labels
        return "" if labels is None else labels[target]

    def _labels(self, ids: IntArray) -> Sequence[str]:
        return [self._label(target) for target in ids.tolist()]

    def _evidence(self, ids: IntArray) -> npt.NDArray[np.float32]:
        """What visits said of the rates of some sources before anybody named them."""
        found = np.zeros((len(ids), len(self.lists.rates)), np.float32)
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                found[mine] = model.changes.evidence[rows]
        return found

    def _listen(self, ids: IntArray) -> None:
        """Tell models which of their sources are named."""
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                model.listen(rows, self.lists.places(ids[mine]), self.lists)

    def entered(self, ids: IntArray) -> None:
        """Sources have come to a model that may be named already."""
        self.lists.grow(self._beliefs.size)
        self._listen(ids[self.lists.place[ids] >= 0])

    def _bring_in_line(self, ids: IntArray) -> None:
        """What is believed of some sources, after what lists said."""
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                model.condense(rows)
            elif isinstance(model, FeedModel):
                self._beliefs.agree(ids[mine])

    # -- what visits find

    def visited(self, visits: Visits, since: FloatArray, first: BoolArray) -> float:
        """Judge lists by visits; how many of these, to pages, were made because of signals."""
        self.visits += len(visits)
        self.lists.grow(self._beliefs.size)
        changed = saw_change(visits)
        places = self.lists.places(visits.ids)
        named = np.flatnonzero(places >= 0)
        if changed is None or not len(named):
            return 0.0
        prompted = float(self._chance(visits.ids[named]).sum())
        judged = named[~first[named] & (since[named] < visits.now) & (self.lists.sources.owner[places[named]] >= 0)]
        if len(judged):
            told = self.lists.told(places[judged], visits.now, since[judged])
            self.lists.visited(told, changed[judged], self._shares)
        self.lists.answered(places[named])
        return prompted

    def _shares(self, places: IntArray, trust: FloatArray) -> FloatArray:
        """What is believed of the rates of listed sources, if their lists are right with these probabilities."""
        out, ids = np.empty((len(places), len(self.lists.rates))), self.lists.sources.target[places]
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                out[mine] = model.shares(rows, places[mine], trust[mine])
            elif isinstance(model, FeedModel):
                out[mine] = model.rate_shares(rows, self.lists.rates)
            else:
                out[mine] = 1.0 / len(self.lists.rates)
        return out

    # -- ranking

    def _chance(self, ids: IntArray) -> FloatArray:
        """How likely each source has changed as it was signalled."""
        out, places = np.zeros(len(ids)), self.lists.places(ids)
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                mass, change = model.change_atoms(rows)
            elif isinstance(model, FeedModel):
                change = model.rates(rows)[:, None].astype(np.float32)
                mass = np.ones_like(change)
            else:
                continue
            out[mine] = self.lists.chance(places[mine], mass, change)
        return out

    def hidden(self, ids: IntArray) -> FloatArray:
        """Which share of the changes of each source nobody will tell of."""
        self.lists.grow(self._beliefs.size)
        out, places = np.ones(len(ids)), self.lists.places(ids)
        named = places >= 0
        out[named] = self.lists.hidden(places[named])
        return out

    def _waiting(self, ids: IntArray) -> IntArray:
        """Which of some sources were signalled since their last visit."""
        self.lists.grow(self._beliefs.size)
        places = self.lists.places(ids)
        named = np.flatnonzero(places >= 0)
        return named[self.lists.sources.waits(places[named])]

    def _lists_among(self, ids: IntArray) -> IntArray:
        self.lists.grow(self._beliefs.size)
        return np.flatnonzero(self.lists.is_list[ids])

    def _two_sided(self, ids: IntArray) -> BoolArray:
        """Which lists are wanted for themselves too: each side then counts up to half of a level."""
        return np.isin(self._beliefs.kind[ids], list(self._beliefs.models))

    def add_to_index(self, index: FloatArray, ids: IntArray, since: FloatArray, now: FloatArray) -> None:
        """Add what signals, and what lists would tell, to the index of some sources."""
        waiting = self._waiting(ids)
        if len(waiting):
            index[waiting] += self._extra(ids[waiting], since[waiting], now[waiting])
        lists = self._lists_among(ids)
        if len(lists):
            index[lists] = np.where(np.isnan(index[lists]), 0.0, index[lists]) + self.list_index(ids[lists], now[lists])

    def levels(self, ids: IntArray, since: FloatArray, now: float, level: float) -> FloatArray:
        """What is left of a level for the index without signals, whose part never grows.

        As of `now`, or with -inf as of when the signals came.
        """
        out, waiting = np.full(len(ids), level), self._waiting(ids)
        if len(waiting):
            some = ids[waiting]
            when = np.maximum(self.lists.sources.signalled[self.lists.places(some)], since[waiting])
            out[waiting] -= self._extra(some, since[waiting], np.maximum(when, now))
        out[self._lists_among(ids)] *= 0.5
        return np.maximum(out, 0.0)

    def wakes(self, until: FloatArray, ids: IntArray, since: FloatArray, level: float) -> FloatArray:
        """Times at which sources meet a level without lists and signals, made right for those that are lists."""
        lists = self._lists_among(ids)
        if len(lists):
            some = ids[lists]
            both = self._two_sided(some)
            by_list = since[lists] + self.list_age(some, np.where(both, 0.5 * level, level))
            until[lists] = np.where(both, np.minimum(until[lists], by_list), by_list)
        return until

    def list_intervals(self, intervals: FloatArray, ids: IntArray, price: float) -> None:
        """How long lists are left alone at a price."""
        lists = self._lists_among(ids)
        if len(lists):
            age = self.list_age(ids[lists], np.full(len(lists), price))
            intervals[lists] = np.minimum(intervals[lists], age)

    def _extra(self, ids: IntArray, since: FloatArray, now: FloatArray) -> FloatArray:
        """What signals add to the index of some sources, which wait."""
        when = self.lists.sources.signalled[self.lists.places(ids)]
        return self._chance(ids) * self._changed_worth(ids, np.clip(when, since, now), since, now)

    def _changed_worth(self, ids: IntArray, when: FloatArray, since: FloatArray, now: FloatArray) -> FloatArray:
        """What a visit to a source is worth that has changed at `when`, per cost."""
        objective, worth = self._beliefs.setting.objective, self._beliefs.weight[ids].copy()
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                worth[mine] = model.worth(rows)
                if objective == "freshness":
                    worth[mine] *= _kept_fresh(model, rows)
        if objective == "discovery":
            worth *= when - since
        elif objective == "ephemeral":
            own = decay_of(self._beliefs.half_life[ids])
            fading = np.where(np.isnan(own), decay_of(self._beliefs.usual_half_life), own)
            worth *= np.exp(-fading * (now - when))
        return worth

    # -- lists as sources

    def list_index(self, ids: IntArray, now: FloatArray) -> FloatArray:
        """What reading some lists is worth."""
        flow, fading, read, weight = self._terms(ids)
        waited = np.maximum(now - read, 0.0)
        told = 0.5 * flow * waited**2
        faded = fading > 0.0
        if faded.any():
            told[faded] = continuous_index(flow[faded] / fading[faded], fading[faded], waited[faded])
        price = self._price()
        return weight * np.maximum(told, 0.0 if np.isnan(price) else price * waited / self._rest())

    def list_age(self, ids: IntArray, level: FloatArray) -> FloatArray:
        """How long after its last reading each list is worth a level."""
        flow, fading, _, weight = self._terms(ids)
        wanted = level / np.maximum(weight, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            age = np.where(flow > 0.0, np.sqrt(2.0 * wanted / flow), np.inf)
            faded = (fading > 0.0) & (flow > 0.0)
            if faded.any():
                age[faded] = crossing_age(flow[faded] / fading[faded], fading[faded], wanted[faded])
            price = self._price()
            return age if np.isnan(price) else np.minimum(age, wanted / price * self._rest())

    def _terms(self, ids: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        rows = np.array([self.lists.row_of[target] for target in ids.tolist()], np.int64)
        kept = self.lists.rows
        return kept.flow[rows], kept.fading[rows], kept.read[rows], self._beliefs.weight[ids]

    def _plan_price(self) -> float:
        model = self._beliefs.models.get(self._beliefs.page_kind)
        plan = model.plan if isinstance(model, PageModel) else None
        return plan.price if plan is not None and plan.made else float("nan")

    def _price(self) -> float:
        planned = self._plan_price()
        return self.price if np.isnan(planned) else planned

    def _rest(self) -> float:
        """After which time a list is worth the price whatever it told."""
        freshness = self._beliefs.setting.objective == "freshness"
        days = REST_UNPLANNED_DAYS if freshness and np.isnan(self._plan_price()) else REST_DAYS
        elapsed = max(self._beliefs.now - self.begun, self.lists.day)
        pace = max(self.visits, 1.0) / elapsed
        return max(days * self.lists.day, len(self.lists) / (REST_SHARE * pace))

    def _appraise(self, row: int, now: float) -> None:
        """What a list is expected to tell that is worth more than the price."""
        kept, beliefs = self.lists.rows, self._beliefs
        ids, price = self.lists.members[row], self._price()
        kept.flow[row] = kept.fading[row] = 0.0
        for model, mine, rows in beliefs.parts(ids):
            if not isinstance(model, PageModel) or np.isnan(price):
                continue
            mass, change = model.change_atoms(rows)
            mean = (mass * change).sum(axis=1, dtype=np.float64)
            recall, per_change, per_time, trusted = self.lists.law(self.lists.places(ids[mine]))
            true = recall * mean
            precision = true / np.maximum(true + per_change * mean + per_time, 1e-300)
            moment = np.full(len(rows), now)
            worth = self._changed_worth(ids[mine], moment, moment - 1.0 / np.maximum(mean, 1e-300), moment)
            useful = precision * worth > price
            told = np.where(useful, trusted * true, 0.0)
            if beliefs.setting.objective in ("freshness", "discovery"):
                kept.flow[row] = (told * model.worth(rows)).sum()
            else:
                kept.flow[row] = (told * (worth - price)).sum()
                fading = mean if beliefs.setting.objective == "changes" else model.terms.fading[rows] + mean
                kept.fading[row] = (told * fading).sum() / max(told.sum(), 1e-300)

    # -- upkeep

    def keep_up(self, now: float) -> IntArray:
        """Bring some of the pages of the list that was longest left alone in line with it; which those are."""
        kept, lists = self.lists.rows, self.lists
        if self._sweep is None:
            rows = np.array(list(lists.by_key.values()), np.int64)
            if not len(rows):
                return rows
            row = int(rows[np.argmin(kept.kept_at[rows])])
            if now - kept.kept_at[row] < KEPT_DAYS * lists.day:
                return np.empty(0, np.int64)
            self._sweep = row, 0
        row, begin = self._sweep
        ids = lists.members[row][begin : begin + AT_A_TIME]
        self._bring_in_line(ids)
        if begin + AT_A_TIME >= len(lists.members[row]):
            self._appraise(row, now)
            kept.kept_at[row], self._sweep = now, None
        else:
            self._sweep = row, begin + AT_A_TIME
        return ids

    def promise(self, ids: IntArray) -> FloatArray:
        """How much more a first copy of sources is worth than that of one nobody names, for what lists say of them."""
        out, places = np.ones(len(ids)), self.lists.places(ids)
        said = np.flatnonzero(places >= 0)
        said = said[self.lists.sources.says(places[said])]
        if self._beliefs.setting.objective != "freshness" or not len(said):
            return out
        model = self._beliefs.model(self._beliefs.page_kind)
        assert isinstance(model, PageModel)
        sources, rates, where = self.lists.sources, self.lists.rates, places[said]
        recall, per_change, per_time, _ = (column[:, None] for column in self.lists.law(where))
        told = (recall + per_change) * rates + per_time + 1e-12
        logs = sources.count[where][:, None] * np.log(told) - told * sources.time[where][:, None]
        kept = 1.0 / (rates + 1.0 / (FIRST_COPY_DAYS * self.lists.day))
        out[said] = _mean(model.changes.log_prior + logs, kept) / _mean(model.changes.log_prior[None], kept)
        return out

    # -- queries

    def beliefs(self, now: float) -> list[ListBelief]:
        """What is thought of every list."""
        return [self.belief(row, now) for row in self.lists.by_key.values()]

    def belief(self, row: int, now: float) -> ListBelief:
        """What is thought of one list."""
        lists, kept, trust = self.lists, self.lists.rows, self.lists.trust
        ids = lists.members[row]
        places = lists.places(ids)
        ids, places = ids[places >= 0], places[places >= 0]
        sources, change = lists.sources, self._mean_change(ids)
        said = sources.says(places)
        recall, per_change, per_time, _ = lists.law(places)
        true, false = (recall * change)[said].sum(), (per_change * change + per_time)[said].sum()
        return ListBelief(
            id=int(kept.target[row]),
            name=self._name(row, ids),
            trust=float(trust.trust[row]),
            recall=float(trust.recall[row]),
            precision=float(true / (true + false)) if true + false > 0.0 else float("nan"),
            pages=len(ids),
            said=int(np.count_nonzero(said)),
            signals=float(sources.count[places].sum()),
            waiting=int(np.count_nonzero(sources.waits(places))),
            news=float(true * max(now - kept.read[row], 0.0)) if np.isfinite(kept.read[row]) else float("nan"),
            visits=float(trust.visits[row]),
        )

    def heard(self, ids: IntArray) -> list[Heard | None]:
        """What lists and pushes have said of some sources; None for one that nobody names."""
        self.lists.grow(self._beliefs.size)
        out: list[Heard | None] = [None] * len(ids)
        places = self.lists.places(ids)
        named = np.flatnonzero(places >= 0)
        named = named[self.lists.sources.owner[places[named]] != NOBODY]
        mine, where, sources = ids[named], places[named], self.lists.sources
        change, chance, waits = self._mean_change(mine), self._chance(mine), sources.waits(where)
        recall, per_change, per_time, trusted = self.lists.law(where)
        true, false = recall * change, per_change * change + per_time
        for k, place in enumerate(named.tolist()):
            row = int(sources.owner[where[k]])
            out[place] = Heard(
                list=int(self.lists.rows.target[row]),
                name=self._name(row, mine[k : k + 1]),
                stated=float(sources.stated[where[k]]),
                signalled=float(sources.signalled[where[k]]) if waits[k] else -math.inf,
                signals=int(sources.pending[where[k]]) + int(sources.batch[where[k]] != ALONE),
                chance=float(chance[k]),
                told=float(trusted[k] * recall[k]),
                precision=float(true[k] / (true[k] + false[k])) if true[k] + false[k] > 0.0 else math.nan,
            )
        return out

    def _name(self, row: int, ids: IntArray) -> str:
        """The label of a list, or for the pushes of a site that of a source they are about."""
        target = int(self.lists.rows.target[row])
        return self._label(target) if target >= 0 else self._label(int(ids[0])) if len(ids) else ""

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


def _mean(log_shares: FloatArray, of: FloatArray) -> FloatArray:
    shares = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
    result: FloatArray = (shares @ of) / shares.sum(axis=1)
    return result


def _kept_fresh(model: PageModel, rows: IntArray) -> FloatArray:
    """How long a copy that is fresh now stays so, or until it is visited anyway."""
    mass, change = model.change_atoms(rows)
    plan = model.plan
    if plan is None:
        planned = np.zeros(len(rows))
    elif plan.made:
        planned = plan.rate[rows]
    else:
        planned = np.full(len(rows), plan.pace_each(model.now))
    rate = np.maximum(change.astype(np.float64) + PLANNED_SHARE * planned[:, None], 1e-300)
    return (mass / rate).sum(axis=1)
