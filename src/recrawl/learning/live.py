"""Beliefs about a catalogue of feeds and pages, learned visit by visit and kept source by source.

Every source is a feed (its visits list items) or a page (its visits say whether it changed); which, its latest visit
decides, and one not visited yet is believed to be like the kind met last. What is believed of a source is one
(value, rate), in one unit for both kinds: interest captured [docs/design/002].

*Readers.* Where clicks are told of, the value is multiplied by the source's appeal, and the decay of interest is the
one clicks show where its owner gave none (:mod:`recrawl.learning.readership`). Without clicks neither has any effect.

*Doubt.* The value is raised by a share of its standard deviation, so that of two sources of equal mean the one less
known is looked at sooner; what is reported is the raised value.

*Keeping.* A source's row is bytes of fixed layout: a version, the kind, the numbers of that kind, and, once anybody has
clicked, those of its readers. What belongs to
the whole catalogue (priors, pooled profiles) is kept apart, as plain numbers. Both say in which layout they are
written; what was written in another one is not loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from recrawl.learning.columns import Column, Columns
from recrawl.learning.live_feeds import LiveFeeds, flattened
from recrawl.learning.live_pages import LivePages
from recrawl.learning.model import DEFAULT_HALF_LIFE_S, Moments, Objective
from recrawl.learning.rates import UNIX_TIMES, YEAR, default_range
from recrawl.learning.readership import Clicked, Readership
from recrawl.records import BoolArray, FloatArray, IntArray, Visits

LAYOUT = 2
"""Version of rows and shared state."""
UNKNOWN, FEED, PAGE = 0, 1, 2
DOUBT = 0.0
"""By how many standard deviations the value is raised."""
OPTIMISM = 1.0
FASTEST_PER_FADING, SLOWEST_PER_FADING = 100.0, 1e-7
"""Change rates told apart, at the usual half-life and shorter ones, as multiples of the decay of interest."""


def live_range(now: float, half_life: float) -> tuple[float, float]:
    """Slowest and fastest change rate told apart: those of :func:`default_range`, faster where interest fades faster.

    >>> live_range(1.7e9, half_life=6.0)[1] > 10.0
    True
    """
    slowest, fastest = default_range(now)
    if now <= UNIX_TIMES:
        return slowest, fastest
    fading = math.log(2.0) / half_life
    return max(1 / (50 * YEAR), SLOWEST_PER_FADING * fading), max(fastest, FASTEST_PER_FADING * fading)


class LiveBeliefs(Columns):
    """What is believed of every source of a live catalogue.

    Parameters
        size: number of sources
        now: the time, which decides the range of rates
        objective: as of :class:`~recrawl.policies.learned_whittle.LearnedWhittle`
        half_life: of interest, in seconds, for sources without one of their own; None for six hours
        memory: half-life of evidence about pages; None for never forgetting
        span: slowest and fastest change rate of pages told apart, per second; None for :func:`live_range`
        optimistic: raise values by a whole standard deviation
        labels: URLs of the first sources
    """

    columns: ClassVar[dict[str, Column]] = {"kind": Column(np.int8, UNKNOWN), "half_life": Column(np.float64, np.nan)}
    kind: npt.NDArray[np.int8]
    half_life: FloatArray

    def __init__(
        self,
        size: int,
        now: float,
        objective: Objective,
        half_life: float | None = None,
        memory: float | None = None,
        span: tuple[float, float] | None = None,
        optimistic: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None:
        super().__init__(size)
        self.objective = objective
        self.usual_half_life = half_life or DEFAULT_HALF_LIFE_S
        self.doubt = OPTIMISM if optimistic else DOUBT
        self.flags_only = objective in ("changes", "freshness")
        self.latest = PAGE if self.flags_only else FEED
        self.feeds = LiveFeeds(size, discovery=objective == "discovery")
        rates = live_range(now, self.usual_half_life) if span is None else span
        self.pages = LivePages(size, objective, rates, memory, labels)
        self.readers = Readership(size, self.usual_half_life)

    def grow(self, count: int) -> None:
        """Room for new sources."""
        super().grow(count)
        if hasattr(self, "feeds"):
            self.feeds.grow(count)
            self.pages.grow(count)
            self.readers.grow(count)

    def kind_of(self, visits: Visits) -> int:
        """What a batch of visits shows."""
        if not self.flags_only and (visits.published is not None or visits.new is not None):
            return FEED
        told = visits.changed, visits.published, visits.new, visits.worth
        return UNKNOWN if all(field is None for field in told) else PAGE

    def learn(self, visits: Visits, since: FloatArray) -> bool:
        """Successful visits; `since` is when each was last looked at. True if everybody's beliefs have changed."""
        kind = self.kind_of(visits)
        if kind == UNKNOWN or len(visits) == 0:
            return False
        self.kind[visits.ids] = self.latest = kind
        if kind == PAGE:
            return self.pages.learn(visits, since)
        undated = np.zeros(len(visits)) if visits.new is None else np.maximum(visits.new.astype(np.float64), 0.0)
        self.readers.find(visits.ids, *flattened(visits.published, len(visits), visits.now), undated, visits.now)
        fitted = self.readers.keep_up(visits.now)
        return self.feeds.learn(visits, since) or fitted

    def listen(self, ids: IntArray, told: Clicked, now: float) -> bool:
        """Clicks on items of feeds; True if everybody's beliefs have changed."""
        return not self.flags_only and self.readers.listen(ids, told, now)

    def appeal(self, ids: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Interest in items compared with the catalogue's mean, its relative standard deviation, and μ per second."""
        return self.readers.appeal(ids, math.log(2.0) / self.half_life[ids])

    def fading(self, ids: IntArray) -> FloatArray:
        """μ of some sources, per second."""
        return self.appeal(ids)[2]

    def beliefs(self, ids: IntArray, since: FloatArray, now: float) -> Moments:
        """Value (doubt included) and rate, each with its standard deviation, at the beginning of this hour."""
        kind = np.where(self.kind[ids] == UNKNOWN, self.latest, self.kind[ids])
        (appeal, unsure, fading), result = self.appeal(ids), tuple(np.empty(len(ids)) for _ in range(4))
        for own, model in ((FEED, self.feeds), (PAGE, self.pages)):
            mine = np.flatnonzero(kind == own)
            if len(mine):
                for whole, part in zip(result, model.beliefs(ids[mine], since[mine], fading[mine], now), strict=True):
                    whole[mine] = part
        value, value_sd, rate, rate_sd = result
        if self.readers.heard:
            value_sd = appeal * np.hypot(value_sd, value * unsure)
            value = appeal * value
        return value + self.doubt * value_sd, value_sd, rate, rate_sd

    # -- keeping

    def rows(self, ids: IntArray) -> list[bytes]:
        """All that is known of some sources; empty for one never learned from."""
        out = [b""] * len(ids)
        for kind, model in ((FEED, self.feeds), (PAGE, self.pages)):
            mine = np.flatnonzero(self.kind[ids] == kind)
            packed, size = model.pack(ids[mine]).tobytes(), model.layout.itemsize
            head = bytes((LAYOUT, kind))
            for k, place in enumerate(mine.tolist()):
                out[place] = head + packed[k * size : (k + 1) * size]
        if self.readers.heard:
            known = [k for k, row in enumerate(out) if row]
            packed, size = self.readers.pack(ids[known]).tobytes(), self.readers.layout.itemsize
            for k, place in enumerate(known):
                out[place] += packed[k * size : (k + 1) * size]
        return out

    def load_rows(self, ids: IntArray, rows: Sequence[bytes]) -> BoolArray:
        """Put rows back; which of them could be used. One of another layout leaves its source unknown."""
        used = np.array([len(row) == 0 for row in rows], dtype=bool)
        for kind, model in ((FEED, self.feeds), (PAGE, self.pages)):
            head, size, more = bytes((LAYOUT, kind)), model.layout.itemsize + 2, self.readers.layout.itemsize
            mine = [k for k, row in enumerate(rows) if len(row) in (size, size + more) and row[:2] == head]
            if mine:
                packed = np.frombuffer(b"".join([rows[k][2:size] for k in mine]), model.layout)
                model.unpack(ids[mine], packed)
                self.kind[ids[mine]] = kind
                used[mine] = True
            read = [k for k in mine if len(rows[k]) == size + more]
            self.readers.unpack(ids[read], np.frombuffer(b"".join([rows[k][size:] for k in read]), self.readers.layout))
        self.feeds.settle()
        return used

    def shared(self) -> dict[str, Any]:
        """What belongs to no single source."""
        return {
            "latest": self.latest,
            "feeds": self.feeds.shared(),
            "pages": self.pages.shared(),
            "readers": self.readers.shared(),
        }

    def load_shared(self, state: dict[str, Any]) -> bool:
        """Go on from `shared`; False, and nothing done, if rates of pages were told apart otherwise."""
        mine = self.pages.shared()
        if not np.allclose(mine["span"], state["pages"]["span"], rtol=1e-6) or len(mine["prior"]) != len(
            state["pages"]["prior"]
        ):
            return False
        self.latest = int(state["latest"])
        self.feeds.load_shared(state["feeds"])
        self.pages.load_shared(state["pages"])
        self.readers.load_shared(state["readers"])
        self.feeds.settle()
        return True
