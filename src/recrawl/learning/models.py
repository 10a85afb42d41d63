"""Which belief model serves which source: by the objective, and by what its crawls show.

Under "ephemeral" a catalogue may hold feeds, pages and sources of which only the worth is known; all are ranked in one
unit, interest captured. Each kind gets its model when it is first met.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recrawl.learning.collected import WorthModel
from recrawl.learning.feeds import FeedModel
from recrawl.learning.items import ItemModel
from recrawl.learning.model import BeliefModel, Moments, Setting
from recrawl.learning.pages import PageModel
from recrawl.learning.rates import UNIX_TIMES
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

UNKNOWN, ITEMS, FEEDS, WORTH, PAGES = range(5)
_MAKERS: dict[int, Callable[[Setting], BeliefModel]] = {
    ITEMS: ItemModel,
    FEEDS: FeedModel,
    WORTH: WorthModel,
    PAGES: PageModel,
}


def kind_of(visits: Visits, setting: Setting) -> int:
    """What a batch of visits shows, as far as the objective cares."""
    objective = setting.objective
    if objective in ("changes", "freshness"):
        return PAGES
    if visits.published is not None or visits.new is not None:
        learns_decay = objective == "ephemeral" and setting.half_life is None
        shows_decay = visits.interest is not None or visits.worth is not None
        return ITEMS if setting.now < UNIX_TIMES or (learns_decay and shows_decay) else FEEDS
    if visits.worth is not None and objective == "ephemeral":
        return WORTH
    return UNKNOWN if visits.changed is None else PAGES


class MixedModel:
    """One model per kind of source met, each answering for its own."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.models: dict[int, BeliefModel] = {}
        self.kind = np.zeros(setting.targets, dtype=np.int8)
        self.latest = UNKNOWN

    def learn(self, visits: Visits, since: FloatArray, first: BoolArray) -> None:
        """Hand visits to the model of their kind."""
        kind = kind_of(visits, self.setting)
        if kind == UNKNOWN:
            return
        if kind not in self.models:
            self.models[kind] = _MAKERS[kind](self.setting)
            self.models[kind].grow(len(self.kind) - self.setting.targets)
        self.models[kind].learn(visits, since, first)
        self.kind[visits.ids] = kind
        self.latest = kind

    def index(self, now: float, since: FloatArray, tick: float) -> FloatArray:
        """Every source by its own model; one not met yet by that of the latest visit, or by age before any."""
        if not self.models:
            return now - since
        scores = self.models[self.latest].index(now, since, tick)
        for kind, model in self.models.items():
            if kind != self.latest:
                scores = np.where(self.kind == kind, model.index(now, since, tick), scores)
        return scores

    def moments(self, ids: IntArray) -> Moments:
        """Value and rate by each source's own model; NaN before any visit."""
        if not self.models:
            nothing = np.full(len(ids), np.nan)
            return nothing, nothing, nothing, nothing
        result = self.models[self.latest].moments(ids)
        for kind, model in self.models.items():
            if kind != self.latest:
                mine = self.kind[ids] == kind
                pairs = zip(model.moments(ids), result, strict=True)
                result = tuple(np.where(mine, own, other) for own, other in pairs)  # type: ignore[assignment]
        return result

    def grow(self, count: int) -> None:
        """Room for new sources."""
        self.kind = np.concatenate([self.kind, np.zeros(count, dtype=np.int8)])
        for model in self.models.values():
            model.grow(count)
