"""What is believed of a catalogue: every source by the model of its kind, and by its readers.

Which kind a source is of, its latest visit decides: items (dated or counted), the worth collected, or only whether
something changed. Under "ephemeral" all of them are ranked in one unit, interest captured. A model counts only the
sources that are of its kind, so that nobody takes room for what it is not.

*Readers.* Where clicks are told of, the worth of a feed is multiplied by its appeal, and the decay of interest is the
one clicks show where its owner gave none (:mod:`recrawl.learning.readership`). Without clicks neither has any effect.

*Lists and pushes.* What they say of sources changes what is wanted of those, as far as each is trusted, and a list is
wanted for what it tells (:mod:`recrawl.learning.signals`).

*The indexing engine.* Where owners say that what is found is visible only later, the index is what is left of it then
(:mod:`recrawl.learning.engine_waits`). Only "ephemeral" asks for that: nothing fades under the other objectives.

What is kept of it over a restart is the matter of :mod:`recrawl.learning.belief_rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.kernels.rhythm_index import HOURS, WEEK
from recrawl.kernels.worth import decay_of
from recrawl.learning import drift
from recrawl.learning.columns import Column, Columns
from recrawl.learning.engine_waits import EngineWaits, Waits
from recrawl.learning.feed_model import FeedModel
from recrawl.learning.items import ItemModel
from recrawl.learning.labels import Labels
from recrawl.learning.model import DEFAULT_HALF_LIFE_S, BeliefModel, Moments, Reason, Setting, Times
from recrawl.learning.page_model import PageModel
from recrawl.learning.rates import POINTS, UNIX_TIMES
from recrawl.learning.readership import Clicked, Readership
from recrawl.learning.signals import Signals
from recrawl.learning.worth_model import WorthModel
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

SLEEP_HALVINGS, MEET_HALVINGS = 4, 12
"""How exactly times between two batches are found: to 2^−n of a batch."""
UNKNOWN, FEEDS, PAGES, WORTH, ITEMS = range(5)
_MAKERS: dict[int, Callable[[Setting], BeliefModel]] = {
    FEEDS: FeedModel,
    PAGES: PageModel,
    WORTH: WorthModel,
    ITEMS: ItemModel,
}
NAMES = {FEEDS: "feeds", PAGES: "pages", WORTH: "worth", ITEMS: "items"}
SUMMARIES = {"feeds": drift.SUMMARY + 2 * (HOURS + WEEK), "pages": POINTS}
"""What shards tell each other about, and how many numbers that takes."""


def kind_of(visits: Visits, setting: Setting) -> int:
    """What a batch of visits shows, as far as the objective cares."""
    objective = setting.objective
    if objective in ("changes", "freshness"):
        told = visits.changed, visits.published, visits.new, visits.worth
        return UNKNOWN if all(field is None for field in told) else PAGES
    if _lists_items(visits):
        learns_decay = objective == "ephemeral" and setting.half_life is None
        shows_decay = visits.interest is not None or visits.worth is not None
        return ITEMS if setting.now < UNIX_TIMES or (learns_decay and shows_decay) else FEEDS
    if visits.worth is not None and objective == "ephemeral":
        return WORTH
    return UNKNOWN if visits.changed is None else PAGES


def _lists_items(visits: Visits) -> bool:
    return visits.published is not None or visits.new is not None


class CatalogueBeliefs(Columns):
    """What is believed of every source.

    `since` is when a source was last looked at, or when it became known, one time per id named.
    """

    columns: ClassVar[Mapping[str, Column]] = {
        "kind": Column(np.int8, UNKNOWN),
        "place": Column(np.int32, 0),
        "half_life": Column(np.float64, np.nan, alike=True),
        "weight": Column(np.float64, 1.0, alike=True),
    }
    kind: npt.NDArray[np.int8]
    place: npt.NDArray[np.int32]
    half_life: FloatArray
    weight: FloatArray
    page_kind: ClassVar[int] = PAGES

    def __init__(self, setting: Setting) -> None:
        super().__init__(0)
        self.setting, self.now = setting, setting.now
        self.usual_half_life = setting.half_life or DEFAULT_HALF_LIFE_S
        self.models: dict[int, BeliefModel] = {}
        self.free: dict[int, list[int]] = {}
        """Rows of each model whose sources have turned out to be of another kind."""
        self.labels: Labels | None = None
        self.readers = Readership(0, self.usual_half_life)
        self.hears_readers = False
        """Whether anybody has clicked: until then readers take no room."""
        self.signals: Signals | None = None
        """Once anybody has said something."""
        self.engine: EngineWaits | None = None
        """Once any owner has said that it makes something wait."""
        self.others: dict[str, FloatArray] = {}
        """The summaries of other catalogues."""
        self.latest = PAGES if setting.objective in ("changes", "freshness") else FEEDS
        if setting.now < UNIX_TIMES and self.latest == FEEDS:
            self.latest = ITEMS

    # -- who is of which kind

    def enter(self, count: int, labels: Sequence[str] | None = None) -> None:
        """New sources; `labels` are URLs or paths along which priors are pooled."""
        before = self.size
        if labels is not None and self.labels is None:
            # Those of a live program are the roster's own, which grow with it.
            self.labels = labels if isinstance(labels, Labels) and not before else Labels([""] * before)
        self.grow(count)
        if self.signals is not None:
            self.signals.lists.grow(self.size)
        if self.engine is not None:
            self.engine.grow(count)
        if self.labels is not None and len(self.labels) < self.size:
            self.labels.extend(labels if labels is not None else [""] * count)

    def label(self, target: int) -> str:
        """What a source is called; empty if nobody said."""
        return "" if self.labels is None else self.labels[target]

    def model(self, kind: int) -> BeliefModel:
        """The model of a kind, made when it is first met."""
        if kind not in self.models:
            self.models[kind] = _MAKERS[kind](self.setting)
            self.free[kind] = []
            self._adopt(kind)
        return self.models[kind]

    def know(self, ids: IntArray, last: FloatArray) -> None:
        """Some sources were crawled at these times: those nothing is known of are taken for the kind met last."""
        unknown = self.kind[ids] == UNKNOWN
        if self.signals is not None:
            unknown &= ~self.signals.are_lists(ids)
        if unknown.any():
            rows, model = self.rows_in(self.latest, ids[unknown]), self.models[self.latest]
            if isinstance(model, FeedModel):
                model.looked_at(rows, last[unknown])

    def rows_in(self, kind: int, ids: IntArray) -> IntArray:
        """The rows of some sources in the model of a kind, which they are of from now on."""
        strangers = ids[self.kind[ids] != kind]
        if len(strangers):
            self._move(kind, strangers)
        return self.place[ids].astype(np.int64)

    def _move(self, kind: int, ids: IntArray) -> None:
        model, free = self.model(kind), self.free[kind]
        for old in np.unique(self.kind[ids]).tolist():
            if old != UNKNOWN:
                self.free[old].extend(self.place[ids[self.kind[ids] == old]].tolist())
        self.leave(ids)
        reused = [free.pop() for _ in range(min(len(free), len(ids)))]
        more = len(ids) - len(reused)
        first = len(model)
        model.clear(np.array(reused, np.int64))
        model.grow(more)
        if kind == FEEDS and self.hears_readers:
            self.readers.clear(np.array(reused, np.int64))
            self.readers.grow(more)
        self.kind[ids], self.place[ids] = kind, [*reused, *range(first, first + more)]
        rows = self.place[ids].astype(np.int64)
        model.enter(rows, None if self.labels is None else [self.labels[i] for i in ids.tolist()])
        if self.signals is not None:
            self.signals.entered(ids)
        self.agree(ids)

    def leave(self, ids: IntArray) -> None:
        """Some sources are gone, or of another kind: what they showed no longer counts in what is common to all."""
        for model, _, rows in self.parts(ids):
            if isinstance(model, FeedModel | PageModel):
                model.leave(rows)

    def parts(self, ids: IntArray) -> Iterator[tuple[BeliefModel, Any, IntArray]]:
        """Each model, where its sources are among the ids, and their rows."""
        kinds = self.kind[ids]
        for kind, model in self.models.items():
            mine = kinds == kind
            if mine.all():
                yield model, slice(None), self.place[ids].astype(np.int64)
            elif mine.any():
                yield model, mine, self.place[ids[mine]].astype(np.int64)

    # -- terms

    def agree(self, ids: IntArray) -> None:
        """Hand the terms of some sources to their models: decay of interest and what they are worth per cost."""
        own, fading = decay_of(self.half_life[ids]), self.fading(ids)
        for model, mine, rows in self.parts(ids):
            weight = self.weight[ids[mine]]
            if model is self.models.get(FEEDS):
                appeal, _, fading[mine] = self.readers.appeal(rows, own[mine])
                weight = weight * appeal * self._hidden(ids[mine])
            model.agree(rows, fading[mine], weight)
        if self.engine is not None:
            self.engine.fading[ids] = fading

    def wait(self, ids: IntArray, delay: FloatArray | None, batch: FloatArray | None) -> None:
        """How long what is found in some sources takes to become visible, and how often it is indexed; 0 for at once.

        To be agreed on afterwards (`agree`).
        """
        if self.engine is None:
            if self.setting.objective != "ephemeral" or not any(x is not None and x.any() for x in (delay, batch)):
                return
            self.engine = EngineWaits(self.size)
        if delay is not None:
            self.engine.delay[ids] = delay
        if batch is not None:
            self.engine.batch[ids] = batch

    def _waits(self, ids: IntArray) -> Waits:
        """How long what is found in some sources waits; what a list tells is of use to the crawler at once."""
        if self.engine is None:
            return Waits.none(len(ids))
        waits = self.engine.of(ids)
        return waits if self.signals is None else waits.without(self.signals.are_lists(ids))

    def lasting(self, ids: IntArray) -> FloatArray:
        """The share of the interest in some sources that is left when it is visible, over all hours of a batch."""
        return self._waits(ids).even()

    def fading(self, ids: IntArray) -> FloatArray:
        """Decay of interest as owners gave it, or the usual one, per time unit."""
        own = decay_of(self.half_life[ids])
        return np.where(np.isnan(own), decay_of(self.usual_half_life), own)

    def _hidden(self, ids: IntArray) -> FloatArray:
        """Which share of what feeds bring nobody will tell of."""
        return np.ones(len(ids)) if self.signals is None else self.signals.hidden(ids)

    def appeal(self, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """What clicks have taught: interest in items compared with the catalogue's mean, and μ per time unit."""
        appeal, own, fading = np.ones(len(ids)), decay_of(self.half_life[ids]), self.fading(ids)
        mine = self.kind[ids] == FEEDS
        if mine.any():
            appeal[mine], _, fading[mine] = self.readers.appeal(self.place[ids[mine]].astype(np.int64), own[mine])
        return appeal, fading

    # -- learning

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> bool:
        """Successful visits; True if everybody's beliefs have changed."""
        kind = kind_of(visits, self.setting) or self.latest
        self.latest = kind
        ids = visits.ids
        rows = self.rows_in(kind, ids)
        model, self.now = self.models[kind], max(self.now, visits.now)
        prompted = 0.0 if self.signals is None else self.signals.visited(visits, since, first)
        if isinstance(model, PageModel):
            everybody = model.learn(visits.renumbered(rows), since, first, prompted)
        else:
            everybody = model.learn(visits.renumbered(rows), since, first)
        if self.hears_readers and isinstance(model, FeedModel) and _lists_items(visits):
            self.readers.find(rows, *model.shown, visits.now)
            everybody |= self._follow_readers(ids, self.readers.keep_up(visits.now))
        return everybody

    def listen(self, ids: IntArray, told: Clicked, now: float) -> bool:
        """Clicks on items of feeds; True if everybody's beliefs have changed."""
        mine = self.kind[ids] == FEEDS
        if not mine.any():
            return False
        if not self.hears_readers:
            self.hear_readers()
            model = self.models[FEEDS]
            assert isinstance(model, FeedModel)
            self.readers.expect(*model.found_so_far())
        rows = self.place[ids[mine]].astype(np.int64)
        fitted = self.readers.listen(rows, Clicked(*(column[mine] for column in told)), now)
        return self._follow_readers(np.unique(ids[mine]), fitted)

    def hear_readers(self) -> None:
        """Somebody has clicked, now or before a restart."""
        self.hears_readers = True
        if FEEDS in self.models:
            self.readers.grow(len(self.models[FEEDS]) - len(self.readers))

    def _follow_readers(self, ids: IntArray, fitted: bool) -> bool:
        if self.readers.heard:
            self.agree(np.flatnonzero(self.kind[: self.size] == FEEDS) if fitted else ids)
        return fitted

    def told(self) -> Signals:
        """What has been said, from now on."""
        if self.signals is None:
            self.signals = Signals(self)
        return self.signals

    # -- ranking

    def index(self, ids: IntArray, since: FloatArray, now: Times, tick: float = 0.0) -> FloatArray:
        """How much a crawl of some sources is wanted at `now`; NaN for those nothing is known of."""
        out = np.full(len(ids), np.nan)
        for model, mine, rows in self.parts(ids):
            out[mine] = model.index(rows, since[mine], now if isinstance(now, float) else now[mine], tick)
        if self.signals is not None:
            self.signals.add_to_index(out, ids, since, np.broadcast_to(np.asarray(now, np.float64), ids.shape))
        return out if self.engine is None else out * self._waits(ids).share(now)

    def asleep_until(self, ids: IntArray, since: FloatArray, now: float, level: float) -> FloatArray:
        """Times before which the index of some sources is surely below a level."""

        def reach(some: IntArray, levels: FloatArray) -> FloatArray:
            mine, begun, out = ids[some], since[some], np.full(len(some), now)
            left = levels if self.signals is None else self.signals.levels(mine, begun, now, levels)
            for model, part, rows in self.parts(mine):
                out[part] = model.asleep_until(rows, begun[part], now, left[part])
            return out if self.signals is None else self.signals.wakes(out, mine, begun, levels)

        if self.engine is None:
            return reach(np.arange(len(ids)), np.full(len(ids), level))
        return self._waits(ids).first_met(level, reach, SLEEP_HALVINGS, now)[0]

    def meets(
        self, ids: IntArray, since: FloatArray, level: float, latest: FloatArray, now: float = -math.inf
    ) -> FloatArray:
        """When the index of some sources, last looked at at `since`, meets a level; `latest` if not before.

        Where there are batches, when it does so from `now` on: what was worth it before the last one need not be now.
        """

        def reach(some: IntArray, levels: FloatArray) -> FloatArray:
            mine, begun, end = ids[some], since[some], latest[some]
            if self.signals is None:
                return self.meets_alone(mine, begun, levels, end)
            return self.signals.meets(mine, begun, levels, end)

        if self.engine is None:
            return reach(np.arange(len(ids)), np.full(len(ids), level))
        waits = self._waits(ids)
        met = waits.first_met(level, reach, MEET_HALVINGS, now)[1]
        return waits.looked_up(met, level, latest, lambda some, when: self.index(ids[some], since[some], when))

    def meets_alone(self, ids: IntArray, since: FloatArray, level: FloatArray, latest: FloatArray) -> FloatArray:
        """The same without what lists, signals and the engine change, at a level each."""
        out = latest.copy()
        for model, mine, rows in self.parts(ids):
            out[mine] = model.meets(rows, since[mine], level[mine], latest[mine])
        return out

    def intervals(self, ids: IntArray, price: float) -> FloatArray:
        """At which age the index of some sources reaches a price, at no special hour; inf for never."""
        out = np.full(len(ids), math.inf)
        levels = price / self.lasting(ids)
        for model, mine, rows in self.parts(ids):
            out[mine] = model.ages(rows, price if self.engine is None else levels[mine])
        if self.signals is not None:
            self.signals.list_intervals(out, ids, price)
        return out

    # -- queries

    def moments(self, ids: IntArray) -> Moments:
        """Mean and standard deviation of value, then of rate; NaN for sources nothing is known of."""
        result = tuple(np.full(len(ids), np.nan) for _ in range(4))
        for model, mine, rows in self.parts(ids):
            for whole, part in zip(result, model.moments(rows), strict=True):
                whole[mine] = part
        value, value_sd, rate, rate_sd = result
        if self.readers.heard:
            appeal = self.appeal(ids)[0]
            value, value_sd = appeal * value, appeal * value_sd
        return value, value_sd, rate, rate_sd

    def reasons(self, ids: IntArray, since: FloatArray, now: float) -> list[Reason]:
        """The numbers behind the index of each."""
        found = [Reason("unknown") for _ in ids]
        for model, mine, rows in self.parts(ids):
            places = np.arange(len(ids))[mine].tolist()
            for place, reason in zip(places, model.reasons(rows, since[mine], now), strict=True):
                found[place] = reason
        if self.engine is not None:
            waits = self._waits(ids)
            for reason, seconds, best in zip(found, waits.seconds(now), waits.best(), strict=True):
                if seconds > 0.0:
                    reason.numbers.update({"index_wait_s": float(seconds), "visible_share": float(best)})
        return found

    # -- what shards of a fleet tell each other

    def summary(self) -> dict[str, FloatArray]:
        """Sums over sources to which all common laws are fitted: those of several catalogues are added up."""
        found = {}
        for kind, model in self.models.items():
            if isinstance(model, FeedModel | PageModel):
                found[NAMES[kind]] = model.summary()
        return found

    def adopt(self, others: dict[str, FloatArray]) -> None:
        """Count what other catalogues know; replaces what was adopted before."""
        self.others = {name: np.zeros_like(row) for name, row in self.others.items()} | others
        for kind in self.models:
            self._adopt(kind)

    def _adopt(self, kind: int) -> None:
        model, others = self.models[kind], self.others
        if NAMES[kind] in others and isinstance(model, FeedModel | PageModel):
            model.adopt(np.asarray(others[NAMES[kind]], np.float64))

    # -- after a restart

    def recompute(self) -> None:
        """Bring everything in line with rows and common laws, after either was loaded."""
        if self.signals is not None:
            self.signals.find_folders()
        for model in self.models.values():
            model.recompute()
        if self.readers.heard or self.signals is not None:
            self.agree(np.flatnonzero(self.kind[: self.size] == FEEDS))
        if self.signals is not None:
            self.signals.recompute()

    def forget_laws(self) -> None:
        """What was loaded in part is not used: models that know no source yet begin anew."""
        self.models = {kind: model for kind, model in self.models.items() if len(model)}
        if not len(self.readers):
            self.readers, self.hears_readers = Readership(0, self.usual_half_life), False
