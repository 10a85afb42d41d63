"""While pushes work polling thins out by itself, and it comes back when they stop: nobody sets that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from recrawl import policies
from recrawl.records import Visits

DAY, START, STEP = 86400.0, 1_700_000_000.0, 1800.0
SOURCES, PER_DAY, DELAY = 20, 2.0, 30.0
"""Half of the sources are pushed; each has so many items a day, told after so many seconds."""
BEGIN, DEATH, END = (START + days * DAY for days in (10, 25, 31))
"""When the hub begins to tell, when it dies, and the end."""
UNPUSHED = 2 * PER_DAY + 0.8
"""Visits per day to each source where nobody tells anything: the budget, all sources being alike."""


@dataclass
class Life:
    """A catalogue under a budget that is just enough for it."""

    policy: Any
    items: list[np.ndarray]
    visits: list[tuple[float, int]] = field(default_factory=list)
    late_s: list[tuple[float, float]] = field(default_factory=list)

    def per_day(self, since: float, until: float) -> float:
        """Visits to each of the pushed sources."""
        made = [target for at, target in self.visits if since <= at < until and target < SOURCES // 2]
        return len(made) / (SOURCES // 2) / ((until - since) / DAY)


def pushes(items: list[np.ndarray]) -> Iterator[tuple[float, int]]:
    told = [(at + DELAY, k) for k in range(SOURCES // 2) for at in items[k].tolist() if BEGIN <= at < DEATH]
    yield from sorted(told)


def lived(objective: str, kind: str, *, same_site: bool = True) -> Life:
    draw = np.random.default_rng(0)
    items = [START + np.sort(draw.uniform(0.0, END - START, draw.poisson(PER_DAY * 31))) for _ in range(SOURCES)]
    life = Life(policies.make("learned_whittle", objective=objective), items)
    labels = [f"https://{'a' if same_site else f'h{k}'}.example/{k}" for k in range(SOURCES)]
    life.policy.start(SOURCES, START, labels=labels)
    waiting, last, tokens = [*pushes(items)], np.full(SOURCES, np.nan), 0.0
    for now in np.arange(START + STEP, END, STEP).tolist():
        while waiting and waiting[0][0] <= now:
            at, target = waiting.pop(0)
            life.policy.signal([target], at)
        earned = 5.0 * SOURCES * STEP / DAY
        tokens = min(tokens + earned, max(2.0, earned))
        for target in life.policy.choose(now, tokens).tolist():
            tokens -= 1.0
            since = last[target] if last[target] > 0.0 else now - 5 * DAY
            new = items[target][(items[target] > since) & (items[target] <= now)]
            known = last[target] > 0.0
            if kind == "feed":
                life.policy.observe(Visits([target], now, published=[new], new=np.array([0])))
            else:
                life.policy.observe(Visits([target], now, changed=np.array([known and len(new) > 0])))
            life.late_s += [(now, now - at) for at in new.tolist() if known]
            life.visits.append((now, target))
            last[target] = now
    return life


@pytest.mark.parametrize(
    ("objective", "kind", "same_site"),
    [("ephemeral", "feed", True), ("ephemeral", "feed", False), ("freshness", "page", True)],
)
def test_polling_thins_out_and_comes_back_in_days(objective: str, kind: str, same_site: bool) -> None:
    """Of each pushed source, visits per day: 4.8 without pushes, 2 of the 2.1 to 2.8 with them because of one, and half
    of the first figure again on the third day after the last push at the latest."""
    life = lived(objective, kind, same_site=same_site)
    before, pushed = life.per_day(BEGIN - 7 * DAY, BEGIN), life.per_day(DEATH - 5 * DAY, DEATH)
    assert before == pytest.approx(UNPUSHED, rel=0.15)
    assert pushed - PER_DAY < 0.25 * before
    assert life.per_day(DEATH + 2 * DAY, DEATH + 3 * DAY) > 0.5 * before
    assert life.per_day(DEATH + 4 * DAY, END) > 0.6 * before


def test_what_is_pushed_is_found_within_the_hour_and_what_is_not_no_later_than_before() -> None:
    life = lived("ephemeral", "feed")

    def mean_h(since: float, until: float) -> float:
        return float(np.mean([late for at, late in life.late_s if since <= at < until])) / 3600.0

    assert mean_h(DEATH - 10 * DAY, DEATH) < 0.5 * mean_h(BEGIN - 7 * DAY, BEGIN)
    assert mean_h(DEATH, DEATH + 5 * DAY) < 1.5 * mean_h(BEGIN - 7 * DAY, BEGIN)
