"""What signals do to what is believed and wanted of a catalogue.

A source of whose changes a trusted list tells is looked at less on its own account: only the `hidden` share of its
changes has to be found by looking. One that is signalled is wanted for what the signal is likely to mean::

    index + P(the signal is true) × what a page that has changed is worth

Freshness: E[1/(Δ + ρ/2)], the time until the next change or the next planned visit. Changes: 1. News that fade: what is
left of them since the signal. Discovery: τh − H with one known to wait, which is how late after the last visit it came.

A list is a source, with a worth and a price of its own (:mod:`recrawl.learning.list_worth`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recrawl.learning import list_rows
from recrawl.learning.feed_model import FeedModel
from recrawl.learning.list_names import key_of, push_key
from recrawl.learning.list_reports import Heard, ListReports
from recrawl.learning.list_visits import ListVisits
from recrawl.learning.list_worth import ListWorth
from recrawl.learning.lists import Lists
from recrawl.learning.page_model import PageModel, saw_change
from recrawl.learning.rates import rate_grid
from recrawl.learning.signal_worth import changed_worth
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

if TYPE_CHECKING:
    from recrawl.learning.beliefs import CatalogueBeliefs

KEPT_DAYS, AT_A_TIME = 0.5, 2048
"""So often the beliefs of all pages of a list are brought in line with it, so many pages at a time."""
FIRST_COPY_DAYS = 30.0
"""How long the first copy of a page is taken to be kept."""
MOMENTS, NEAR, FOREVER = 40, 1e-4, 1e300
"""When a signalled source meets a price is found in so many steps, or up to this share of the time it takes."""


class Signals:
    """Lists, and the catalogue whose sources they name."""

    def __init__(self, beliefs: CatalogueBeliefs) -> None:
        self._beliefs = beliefs
        self.lists = Lists(beliefs.setting.now, rate_grid(beliefs.setting.rates))
        self.lists.grow(beliefs.size)
        self._visits = ListVisits(self.lists)
        self.worth, self.reports = ListWorth(beliefs, self.lists), ListReports(beliefs, self.lists)
        self._sweep: tuple[int, int] | None = None
        """The list whose pages are being brought in line, and how many are."""
        self._rest = KEPT_DAYS * self.lists.day
        self._hurried = 0
        """How many lists' pages cannot wait for that."""
        self._kept_to, self._owing, self._rest_until = beliefs.setting.now, 0.0, -math.inf
        """Up to when it is counted how many pages should be in line, how many are missing, and when the next is due."""

    # -- what is said

    def read(self, target: int, now: float, ids: IntArray, lastmod: FloatArray, last: FloatArray) -> IntArray:
        """A list was read; the sources of which that changes what is believed."""
        row = self.lists.row(key_of(self._beliefs.label(target), target), target)
        self._answered(np.array([target]), now)
        named = self.lists.read(row, now, ids, lastmod, last, self._evidence)
        if self.lists.rows.reads[row] == 1:
            self._hurry()
        if self._beliefs.labels is not None:
            self.lists.split(row, self._labels)
        touched = self._heard(ids, named)
        self.worth.appraise(row, now)
        return touched

    def same(self, target: int, now: float) -> None:
        """A list was read again, and says what it said."""
        row = self.lists.row_of[target]
        self._answered(np.array([target]), now)
        self.lists.same(row, now)
        self.worth.appraise(row, now)

    def failed(self, target: int) -> None:
        """A list could not be read."""
        row = self.lists.row_of[target]
        if self.lists.failed(row):
            self.lists.rows.kept_at[row], self.lists.rows.flow[row] = -math.inf, 0.0
            self._hurry()

    def _hurry(self) -> None:
        """All pages of a list are to be brought in line with it, now."""
        self._hurried, self._rest_until = self._hurried + 1, -math.inf

    def push(self, ids: IntArray, now: float, at: FloatArray, last: FloatArray) -> IntArray:
        """Something outside says that these changed; the sources of which that changes what is believed."""
        keys = np.array([push_key(self._beliefs.label(target)) for target in ids.tolist()], np.int64)
        named = [
            self.lists.push(int(key), now, ids[keys == key], at[keys == key], last[keys == key], self._evidence)
            for key in np.unique(keys)
        ]
        return self._heard(ids, np.concatenate([*named, np.empty(0, np.int64)]))

    def _answered(self, ids: IntArray, now: float) -> None:
        """These were visited, which answers whatever was said of them: of a list perhaps by an index of lists."""
        self.lists.answered(self.lists.sources.rings(ids)[1], now)

    def _heard(self, ids: IntArray, named: IntArray) -> IntArray:
        """Something was said of sources, of some that they changed; those of which something else is believed now."""
        moved = self._listen(ids)
        touched = named if not len(moved) else np.union1d(named, moved)
        self._bring_in_line(touched)
        return touched

    def are_lists(self, ids: IntArray) -> BoolArray:
        """Which targets have turned out to be lists."""
        found: BoolArray = self.lists.is_list[ids]
        return found

    def forget(self, ids: IntArray) -> IntArray:
        """Some sources are gone; of which others something else is believed now that lists among them are."""
        touched = self.lists.forget(ids)
        self._listen(np.union1d(ids, touched))
        self._bring_in_line(touched)
        return touched

    def _labels(self, ids: IntArray) -> Sequence[str]:
        return [self._beliefs.label(target) for target in ids.tolist()]

    def _evidence(self, ids: IntArray) -> npt.NDArray[np.float32]:
        """What visits said of the rates of some sources before anybody named them."""
        found = np.zeros((len(ids), len(self.lists.rates)), np.float32)
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                found[mine] = model.changes.evidence[rows]
        return found

    def _listen(self, ids: IntArray) -> IntArray:
        """Let each source listen to the list that tells it most, and tell models; which listen to another one now."""
        moved = self.lists.elect(ids)
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                model.listen(rows, self.lists.sources.places(ids[mine]), self.lists)
        return moved

    def entered(self, ids: IntArray) -> None:
        """Sources have come to a model that may be named already."""
        self._listen(ids[self.lists.sources.place[ids] >= 0])

    def _bring_in_line(self, ids: IntArray) -> None:
        """What is believed of some sources, after what lists said."""
        for model, mine, rows in self._beliefs.parts(ids):
            if isinstance(model, PageModel):
                model.condense(rows)
            elif isinstance(model, FeedModel):
                self._beliefs.agree(ids[mine])

    # -- what visits find

    def visited(self, visits: Visits, since: FloatArray, first: BoolArray) -> float:
        """Judge lists by visits; how many of these, to pages visited before, were made because of signals."""
        self.worth.visits += len(visits)
        changed, ids = saw_change(visits), visits.ids
        positions, places = self.lists.sources.rings(ids)
        if changed is None or not len(places):
            self._answered(ids, visits.now)
            return 0.0
        prompted = float(self._chance(ids)[~first].sum())
        judged = ~first[positions] & (since[positions] < visits.now)
        if judged.any():
            told = self._visits.told(places[judged], visits.now, since[positions[judged]])
            self._visits.visited(told, changed[positions[judged]], self._shares)
        self.lists.answered(places, visits.now)
        self._listen(np.unique(ids[positions]))
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
        """How likely each source has changed as it was signalled; 0 for those that nobody names."""
        chance, places = np.zeros(len(ids)), self.lists.sources.places(ids)
        named = places >= 0
        chance[named] = self._chance_of_named(ids[named], places[named])
        return chance

    def _chance_of_named(self, ids: IntArray, places: IntArray) -> FloatArray:
        out = np.zeros(len(ids))
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
        out, places = np.ones(len(ids)), self.lists.sources.places(ids)
        named = places >= 0
        out[named] = self.lists.hidden(places[named])
        return out

    def _waiting(self, ids: IntArray) -> IntArray:
        """Which of some sources were signalled since their last visit."""
        places = self.lists.sources.places(ids)
        named = np.flatnonzero(places >= 0)
        return named[self.lists.sources.waits(places[named])]

    def _lists_among(self, ids: IntArray) -> IntArray:
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
            own = np.where(np.isnan(index[lists]), 0.0, index[lists])
            index[lists] = own + self.worth.index(ids[lists], now[lists])

    def levels(self, ids: IntArray, since: FloatArray, now: float, level: FloatArray) -> FloatArray:
        """What is left of a level each for the index without signals, whose part never grows after `now`."""
        out, waiting = level.copy(), self._waiting(ids)
        if len(waiting):
            out[waiting] -= self._extra(ids[waiting], since[waiting], np.maximum(self._came(ids, since)[waiting], now))
        out[self._lists_among(ids)] *= 0.5
        return np.maximum(out, 0.0)

    def meets(self, ids: IntArray, since: FloatArray, level: FloatArray, latest: FloatArray) -> FloatArray:
        """When the index of some sources, last looked at at `since`, meets a level; `latest` if not before."""
        levels = level.copy()
        levels[self._lists_among(ids)] *= 0.5
        out, waiting = self._beliefs.meets_alone(ids, since, levels, latest), self._waiting(ids)
        if len(waiting):
            some = ids[waiting], since[waiting], levels[waiting], latest[waiting]
            out[waiting] = np.minimum(out[waiting], self._meets_signalled(*some))
        return np.minimum(self.wakes(out, ids, since, level), latest)

    def _meets_signalled(self, ids: IntArray, since: FloatArray, levels: FloatArray, latest: FloatArray) -> FloatArray:
        """The same of sources that wait, from when they were signalled on.

        What signals add at a moment is at least what they add later: so whatever is left of the level then is met no
        later than the level, and from there the next moment is found.
        """
        came = when = self._came(ids, since)
        for _ in range(MOMENTS):
            left = np.maximum(levels - self._extra(ids, since, np.minimum(when, FOREVER)), 0.0)
            later = np.maximum(self._beliefs.meets_alone(ids, since, left, latest), came)
            found = when >= later - NEAR * np.minimum(later - since, FOREVER)
            when = np.maximum(when, later)
            if found.all():
                break
        return when

    def _came(self, ids: IntArray, since: FloatArray) -> FloatArray:
        """When the latest signal of each came; never before it was last looked at."""
        return np.maximum(self.lists.sources.signalled[self.lists.sources.places(ids)], since)

    def wakes(self, until: FloatArray, ids: IntArray, since: FloatArray, level: FloatArray) -> FloatArray:
        """Times at which sources meet a level each without lists and signals, made right for those that are lists."""
        lists = self._lists_among(ids)
        if len(lists):
            some = ids[lists]
            both = self._two_sided(some)
            by_list = since[lists] + self.worth.age(some, np.where(both, 0.5 * level[lists], level[lists]))
            until[lists] = np.where(both, np.minimum(until[lists], by_list), by_list)
        return until

    def list_intervals(self, intervals: FloatArray, ids: IntArray, price: float) -> None:
        """How long lists are left alone at a price."""
        lists = self._lists_among(ids)
        if len(lists):
            age = self.worth.age(ids[lists], np.full(len(lists), price))
            intervals[lists] = np.minimum(intervals[lists], age)

    def _extra(self, ids: IntArray, since: FloatArray, now: FloatArray) -> FloatArray:
        """What signals add to the index of some sources, which wait."""
        when = np.minimum(self._came(ids, since), np.maximum(since, now))
        return self._chance(ids) * changed_worth(self._beliefs, ids, when, since, now)

    # -- upkeep

    def keep_up(self, now: float) -> IntArray:
        """Bring a few pages in line with their list, at a pace that serves all of them in `KEPT_DAYS`; which those are.

        Lists take turns, the one that was longest left alone first.
        """
        count = self._owed(now)
        if count < 1 or (self._sweep is None and not self._begin_sweep(now)):
            return np.empty(0, np.int64)
        assert self._sweep is not None
        row, begin = self._sweep
        members = self.lists.members[row]
        ids = members[begin : begin + count]
        self._listen(ids)
        self._bring_in_line(ids)
        self._owing -= count
        self._sweep = row, begin + count
        if begin + count >= len(members):
            self._hurried = max(self._hurried - 1, 0)
            self.worth.appraise(row, now)
            self.lists.rows.kept_at[row], self._sweep = now, None
        return ids

    def _owed(self, now: float) -> int:
        """How many pages are to be brought in line now."""
        passed, self._kept_to = max(now - self._kept_to, 0.0), max(now, self._kept_to)
        if self._sweep is None and now < self._rest_until:
            self._owing = 0.0
            return 0
        if self._hurried:
            return AT_A_TIME
        self._owing = min(self._owing + 1.0 + len(self.lists.sources) * passed / self._rest, float(AT_A_TIME))
        return int(self._owing)

    def _begin_sweep(self, now: float) -> bool:
        """Turn to the list that was longest left alone, if it is time."""
        rows = np.array(list(self.lists.by_key.values()), np.int64)
        kept_at = self.lists.rows.kept_at[rows]
        if not len(rows) or now - kept_at.min() < self._rest:
            self._rest_until = now + self._rest if not len(rows) else kept_at.min() + self._rest
            return False
        self._sweep = int(rows[np.argmin(kept_at)]), 0
        self.lists.pass_silence(self._sweep[0], now)
        return True

    def promise(self, ids: IntArray) -> FloatArray:
        """How much more a first copy of sources is worth than that of one nobody names, for what lists say of them."""
        out, places = np.ones(len(ids)), self.lists.sources.places(ids)
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

    # -- over a restart

    def pack(self, ids: IntArray) -> list[bytes]:
        """What is kept with some sources; empty where nothing was said."""
        return list_rows.pack(self.lists, ids)

    def unpack(self, ids: IntArray, rows: list[bytes]) -> None:
        """Go on with sources as `pack` gave them."""
        list_rows.unpack(self.lists, ids, [self._beliefs.label(target) for target in ids.tolist()], rows)
        self._listen(ids)

    def shared(self) -> dict[str, Any]:
        """What belongs to no single source."""
        return list_rows.shared(self.lists)

    def load_shared(self, state: dict[str, Any]) -> None:
        """Go on from `shared`."""
        list_rows.load_shared(self.lists, state)

    def find_folders(self) -> None:
        """Know again which parts of lists have an account of their own, after pages and lists were loaded."""
        if self._beliefs.labels is not None:
            for row in self.lists.row_of.values():
                self.lists.split(row, self._labels)

    def recompute(self) -> None:
        """Bring what lists are worth in line with what was loaded."""
        for row in self.lists.by_key.values():
            self.worth.appraise(row, self._beliefs.now)

    # -- queries

    def heard(self, ids: IntArray) -> list[Heard | None]:
        """What lists and pushes have said of some sources; None for one that nobody names."""
        return self.reports.heard(ids, self._chance(ids))


def _mean(log_shares: FloatArray, of: FloatArray) -> FloatArray:
    shares = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
    result: FloatArray = (shares @ of) / shares.sum(axis=1)
    return result
