"""The calendar chooses exactly what looking at everybody would choose, whatever happens in between."""

import math
import os
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from recrawl import continuous_index
from recrawl.scheduling import capacity
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.state import NOW, ORIGIN

UNIX = 1.8e9


class Oracle:
    """The ranking by looking at everybody: obvious, and sharing nothing with the calendar but the index."""

    columns = ("value", "rate", "cost", "last", "max_age", "not_before", "group")

    def __init__(self):
        self.table = {name: np.empty(0) for name in self.columns}
        self.gone = np.empty(0, bool)
        self.until = {}

    def add(self, value, rate, cost, last, group, max_age):
        count = len(value)
        new = (value, rate, cost, last, max_age, -np.inf, group)
        for name, column in zip(self.columns, new, strict=True):
            self.table[name] = np.append(self.table[name], np.broadcast_to(column, count))
        self.gone = np.append(self.gone, np.zeros(count, bool))

    def alive(self):
        return np.flatnonzero(~self.gone)

    def choose(self, now, budget):
        t = self.table
        index = continuous_index(t["value"], t["rate"], np.maximum(now - t["last"], 0.0), t["cost"])
        due = np.where(np.isinf(t["max_age"]), np.inf, t["last"] + np.where(np.isinf(t["max_age"]), 0.0, t["max_age"]))
        overdue = due <= now
        held = np.isin(t["group"], [g for g, until in self.until.items() if until > now])
        able = ~self.gone & (t["not_before"] <= now) & ~held & (overdue | (index > 0))
        ids = np.flatnonzero(able)
        order = ids[np.lexsort((ids, -index[ids], np.where(overdue, due, 0.0)[ids], ~overdue[ids]))]
        picked, used, spent = [], set(), 0.0
        for i in order.tolist():
            group, cost = t["group"][i], t["cost"][i]
            if group >= 0 and group in used:
                continue
            if spent + cost > budget * (1 + 1e-12):
                break
            spent += cost
            used.add(group)
            picked.append(i)
        t["last"][picked] = now
        return picked


VALUES = st.one_of(st.sampled_from([0.0, 1.0, 1.0, 2.0]), st.floats(1e-3, 1e3))
RATES = st.one_of(st.sampled_from([0.0, 0.01, 0.1]), st.floats(1e-5, 10.0))
SPANS = st.one_of(st.sampled_from([0.0, 1.0, 1.0, 10.0]), st.floats(0.0, 1e4))
GROUPS = st.integers(0, 5)


class CalendarMachine(RuleBasedStateMachine):
    kind: type[Calendar] = Calendar
    folder: Path
    stats: ClassVar[dict[str, int]]
    """Of all runs together: how many there were, the sources of the largest, and those of its largest group."""

    def teardown(self):
        if hasattr(self, "oracle"):
            group = self.oracle.table["group"]
            crowd = np.bincount(group[group >= 0].astype(int)).max(initial=0)
            self.stats["examples"] = self.stats.get("examples", 0) + 1
            for name, size in (("sources", len(group)), ("of one group", int(crowd))):
                self.stats[name] = max(self.stats.get(name, 0), size)

    @initialize(
        seed=st.integers(0, 2**32 - 1),
        size=st.sampled_from([1, 5, 60, 400, 3000]),
        grouped=st.booleans(),
        even=st.booleans(),
        aged=st.booleans(),
        quadratic=st.booleans(),
        start=st.sampled_from([0.0, UNIX]),
    )
    def build(self, seed, size, grouped, even, aged, quadratic, start):
        rng = np.random.default_rng(seed)
        self.now, self.grouped, self.even = start, grouped, even
        value = rng.lognormal(0, 2, size)
        rate = np.zeros(size) if quadratic else rng.lognormal(-4, 1.5, size)
        cost = np.full(size, 1.0) if even else rng.choice([0.1, 0.5, 1.0, 3.0], size)
        last = start - rng.exponential(300, size)
        last[rng.random(size) < rng.choice([0.0, 0.1, 1.0])] = -np.inf
        group = rng.integers(0, rng.choice([1, 3, 50, 1000]), size) if grouped else None
        max_age = np.where(rng.random(size) < 0.02, 900.0, np.inf) if aged else np.full(size, np.inf)
        self.calendar = self.kind(
            value, rate, 1.0 if even else cost, last=last, group=group, now=start, max_age=max_age
        )
        self.oracle = Oracle()
        self.oracle.add(value, rate, cost, last, -1 if group is None else group, max_age)

    def some(self, share, seed):
        alive = self.oracle.alive()
        return alive[np.random.default_rng(seed).random(len(alive)) < share]

    @rule(span=SPANS, budget=st.one_of(st.integers(0, 40), st.sampled_from([0.5, 2.5, 1000])), calls=st.integers(1, 6))
    def choose(self, span, budget, calls):
        for _ in range(calls):
            self.now += span / calls
            chosen = self.calendar.choose(self.now, budget)
            assert chosen.tolist() == self.oracle.choose(self.now, budget)

    @rule(seed=st.integers(0, 999), share=st.sampled_from([0.01, 0.3]), value=VALUES, rate=RATES)
    def update(self, seed, share, value, rate):
        ids = self.some(share, seed)
        self.calendar.update(ids, value=value, rate=rate)
        self.oracle.table["value"][ids], self.oracle.table["rate"][ids] = value, rate

    @rule(seed=st.integers(0, 999), factor=st.floats(0.5, 2.0))
    def drift(self, seed, factor):
        ids = self.some(0.2, seed)
        self.oracle.table["value"][ids] *= factor
        self.calendar.update(ids, value=self.oracle.table["value"][ids])

    @rule(value=VALUES, rate=RATES, age=st.one_of(st.just(math.inf), SPANS), group=GROUPS, count=st.integers(1, 20))
    def add(self, value, rate, age, group, count):
        ids = self.calendar.add(
            [value] * count, rate, last=self.now - age, group=[group] * count if self.grouped else None
        )
        assert ids.tolist() == list(range(len(self.oracle.gone), len(self.oracle.gone) + count))
        self.oracle.add([value] * count, rate, 1.0, self.now - age, group if self.grouped else -1, math.inf)

    @rule(
        seed=st.integers(0, 999),
        count=st.sampled_from([100, 500, 1500]),
        portions=st.integers(1, 6),
        group=GROUPS,
        new=st.booleans(),
        called=st.booleans(),
    )
    def flood(self, seed, count, portions, group, new, called):
        """A sitemap's worth of sources of one group, in portions, looked at in between or not."""
        rng = np.random.default_rng(seed)
        for _ in range(portions):
            if len(self.oracle.gone) > MOST:
                return
            value = rng.lognormal(0, 2, count)
            last = np.full(count, -np.inf) if new else self.now - rng.exponential(300, count)
            self.calendar.add(value, 0.01, last=last, group=np.full(count, group) if self.grouped else None)
            self.oracle.add(value, 0.01, 1.0, last, group if self.grouped else -1, math.inf)
            if called:
                self.choose(1.0, 5, 1)

    @rule(seed=st.integers(0, 999), share=st.sampled_from([0.001, 0.1, 0.7]))
    def remove(self, seed, share):
        ids = self.some(share, seed)
        self.calendar.remove(ids)
        self.oracle.gone[ids] = True
        assert len(self.calendar) == len(self.oracle.alive())

    @rule(seed=st.integers(0, 999), share=st.sampled_from([0.01, 0.5]), span=st.floats(-100.0, 2000.0))
    def defer(self, seed, share, span):
        ids = self.some(share, seed)
        self.calendar.defer(ids, self.now + span)
        self.oracle.table["not_before"][ids] = self.now + span

    @precondition(lambda self: self.grouped)
    @rule(groups=st.sets(st.integers(0, 60), max_size=30), span=st.one_of(SPANS, st.just(-1.0)))
    def hold(self, groups, span):
        self.calendar.hold(np.array(sorted(groups), dtype=np.int64), self.now + span)
        for group in groups:
            self.oracle.until[group] = self.now + span

    @rule(seed=st.integers(0, 999), age=st.floats(-10.0, 1000.0))
    def crawled(self, seed, age):
        ids = self.some(0.05, seed)
        self.calendar.crawled(ids, self.now - age)
        self.oracle.table["last"][ids] = self.now - age

    @rule(span=st.floats(0.0, 50.0))
    def step_back(self, span):
        self.now -= span

    @rule()
    def restart(self):
        path = self.folder / "calendar"
        self.calendar.save(path)
        self.calendar = self.kind.load(path)


MOST = 12_000
EXAMPLES = int(os.environ.get("CALENDAR_EXAMPLES", "40"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def test_every_choice_is_exactly_the_top_of_the_ranking(tmp_path, monkeypatch):
    # never more room than was counted for one call: a miscount shows
    monkeypatch.setattr(capacity, "generous", lambda needed, present: needed)

    class Machine(CalendarMachine):
        folder = tmp_path
        stats: ClassVar = {}

    run_state_machine_as_test(Machine, settings=SETTINGS)
    print("calendar:", ", ".join(f"{size} {name}" for name, size in Machine.stats.items()))
    assert Machine.stats["examples"] >= EXAMPLES


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_one_group_are_ranked_as_exactly(tmp_path, monkeypatch, seed):
    """Which examples are drawn depends on what else is loaded, so such a crowd is made on purpose."""
    monkeypatch.setattr(capacity, "generous", lambda needed, present: needed)

    class Machine(CalendarMachine):
        folder = tmp_path
        stats: ClassVar = {}

    rng = np.random.default_rng(seed)
    machine = Machine()
    machine.build(seed, 400, grouped=True, even=seed == 0, aged=True, quadratic=False, start=UNIX)
    machine.flood(seed, 1500, 2, 0, new=seed == 1, called=True)
    for step in range(12):
        machine.update(step, 0.3, rng.lognormal(), rng.lognormal(-4, 1.5))
        machine.hold({0} if step % 3 == 0 else {1}, float(rng.exponential(10)))
        machine.crawled(step, 10.0)
        machine.choose(float(rng.exponential(20)), int(rng.integers(1, 40)), 3)
        machine.remove(step, 0.001)
    machine.restart()
    machine.choose(1e4, 5, 6)
    machine.teardown()
    assert Machine.stats["of one group"] > 2000


class Oversleeping(Calendar):
    """A calendar whose clock runs at half speed: its sleepers wake late."""

    def choose(self, now, budget):
        before = self._wards.dial[:, NOW].copy()
        picked = super().choose(now, budget)
        self._wards.dial[:, ORIGIN] += 0.5 * (self._wards.dial[:, NOW] - before[: len(self._wards.dial)].max())
        return picked


def test_the_same_test_catches_a_calendar_that_oversleeps(tmp_path):
    class Machine(CalendarMachine):
        folder = tmp_path
        kind = Oversleeping
        stats: ClassVar = {}

    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=settings(SETTINGS, max_examples=100, phases=[Phase.generate]))
