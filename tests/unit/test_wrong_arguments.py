"""Whatever is wrong with an argument of the public interface is recrawl's own error, names it, and does no harm.

`tests/first_day/test_4_own_errors.py` has the table for `Scheduler`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recrawl
from recrawl.policies import NAMES

NAN = math.nan
SOURCES = recrawl.Sources.ephemeral(arrival_rate=[1.0, 2.0, 3.0], interest=1.0, decay=0.5)
make, live = recrawl.policies.make, recrawl.policies.live
ephemeral, changing = recrawl.Sources.ephemeral, recrawl.Sources.changing
Call = Callable[[], object]
FUNCTIONS: list[tuple[str, Call]] = [
    ("arrival_rate", lambda: ephemeral(arrival_rate=-1, interest=1, decay=1)),
    ("arrival_rate", lambda: ephemeral(arrival_rate="many", interest=1, decay=1)),
    ("arrival_rate", lambda: ephemeral(arrival_rate=None, interest=1, decay=1)),
    ("interest", lambda: ephemeral(arrival_rate=1, interest=[1, NAN], decay=1)),
    ("decay", lambda: ephemeral(arrival_rate=1, interest=1, decay=0)),
    ("cost", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, cost=0)),
    ("period", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, period=[1, 2])),
    ("period", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, period="slot")),
    ("lifetime", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, lifetime=2.5)),
    ("lifetime_form", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, lifetime_form="exakt")),
    ("lifetime_form", lambda: ephemeral(arrival_rate=1, interest=1, decay=1, lifetime_form=["exact"])),
    ("shapes", lambda: ephemeral(arrival_rate=[1, 2], interest=[1, 2, 3], decay=1)),
    ("arrival_rate", lambda: ephemeral(arrival_rate=[[1], [2, 3]], interest=1, decay=1)),
    ("change_probability", lambda: changing(change_probability=1.5, importance=1)),
    ("change_probability", lambda: changing(change_probability={}, importance=1)),
    ("importance", lambda: changing(change_probability=0.5, importance=NAN)),
    ("ids", lambda: SOURCES.take([5])),
    ("ids", lambda: SOURCES.take([-1])),
    ("ids", lambda: SOURCES.take(["one"])),
    ("ids", lambda: SOURCES.take([0.5])),
    ("pages_per_group", lambda: recrawl.GroupedPages([0], [0.5], [1.0])),
    ("pages_per_group", lambda: recrawl.GroupedPages("two", [0.5], [1.0])),
    ("change_probability", lambda: recrawl.GroupedPages([2], [NAN], [1.0])),
    ("world", lambda: recrawl.simulate([1, 2], "whittle")),
    ("policy", lambda: recrawl.simulate(SOURCES, "witle")),
    ("policy", lambda: recrawl.simulate(SOURCES, None)),
    ("policy", lambda: recrawl.simulate(SOURCES, 42)),
    ("budget", lambda: recrawl.simulate(SOURCES, "whittle", budget=-1)),
    ("budget", lambda: recrawl.simulate(SOURCES, "whittle", budget=NAN)),
    ("budget", lambda: recrawl.simulate(SOURCES, "whittle", budget="60/min")),
    ("budget", lambda: recrawl.simulate(SOURCES, "whittle", budget=True)),
    ("steps", lambda: recrawl.simulate(SOURCES, "whittle", steps=0)),
    ("steps", lambda: recrawl.simulate(SOURCES, "whittle", steps=2.5)),
    ("runs", lambda: recrawl.simulate(SOURCES, "whittle", runs="many")),
    ("seed", lambda: recrawl.simulate(SOURCES, "whittle", seed=-1)),
    ("noise", lambda: recrawl.simulate(SOURCES, "whittle", noise="poison")),
    ("noise", lambda: recrawl.simulate(SOURCES, "whittle", noise=3)),
    ("observed", lambda: recrawl.simulate(SOURCES, "whittle", observed="yes")),
    ("observed", lambda: recrawl.simulate(SOURCES, "whittle", observed=[True])),
    ("progress", lambda: recrawl.simulate(SOURCES, "whittle", steps=1, progress=3)),
    ("sources", lambda: recrawl.relaxed_bound([1, 2], budget=1)),
    ("budget", lambda: recrawl.relaxed_bound(SOURCES, budget=NAN)),
    ("budget", lambda: recrawl.relaxed_bound(SOURCES, budget="one")),
    ("budget", lambda: recrawl.relaxed_bound(SOURCES, budget=None)),
    ("value", lambda: recrawl.continuous_index(value=-1, rate=1, age=1)),
    ("value", lambda: recrawl.continuous_index(value="dear", rate=1, age=1)),
    ("rate", lambda: recrawl.continuous_index(value=1, rate=NAN, age=1)),
    ("age", lambda: recrawl.continuous_index(value=1, rate=1, age=None)),
    ("cost", lambda: recrawl.continuous_index(value=1, rate=1, age=1, cost=0)),
    ("price", lambda: recrawl.crossing_age(value=1, rate=1, price=NAN)),
    ("rate", lambda: recrawl.crossing_age(value=1, rate="fast", price=1)),
    ("sample", lambda: recrawl.stochastic_index(sample=[-1.0], decay_factor=0.5)),
    ("sample", lambda: recrawl.stochastic_index(sample="few", decay_factor=0.5)),
    ("decay_factor", lambda: recrawl.stochastic_index(sample=[1.0], decay_factor=1.5)),
    ("decay_factor", lambda: recrawl.stochastic_index(sample=[1.0], decay_factor=None)),
    ("cost", lambda: recrawl.stochastic_index(sample=[1.0], decay_factor=0.5, cost=NAN)),
    ("method", lambda: recrawl.stochastic_index(sample=[1.0], decay_factor=0.5, method="renew")),
    ("seed", lambda: recrawl.stochastic_index([1.0], 0.5, method="approximation", seed="a")),
    ("sources", lambda: recrawl.whittle_index([1], state=1)),
    ("state", lambda: recrawl.whittle_index(SOURCES, state=-1)),
    ("state", lambda: recrawl.whittle_index(SOURCES, state=[1.0, 2.0])),
    ("sources", lambda: recrawl.whittle_index_after([1], slots=1)),
    ("slots", lambda: recrawl.whittle_index_after(SOURCES, slots=-1)),
    ("slots", lambda: recrawl.whittle_index_after(SOURCES, slots="one")),
    ("name", lambda: make("learned_witle")),
    ("name", lambda: make(None)),
    ("name", lambda: make(["whittle"])),
    ("options", lambda: make("learned_whittle", half_live=3)),
    ("options", lambda: make("whittle", objective="freshness")),
    ("objective", lambda: make("learned_whittle", objective="fresh")),
    ("objective", lambda: make("learned_whittle", objective=["freshness"])),
    ("act", lambda: make("learned_whittle", act="avarage")),
    ("half_life", lambda: make("learned_whittle", half_life="6 parsecs")),
    ("half_life", lambda: make("learned_whittle", half_life=NAN)),
    ("half_life", lambda: make("learned_whittle", half_life=0)),
    ("half_life", lambda: make("learned_whittle", half_life=[1, 2])),
    ("max_age", lambda: make("learned_whittle", max_age=-1)),
    ("memory", lambda: make("learned_whittle", memory="for ever")),
    ("rates", lambda: make("learned_whittle", rates=(1.0,))),
    ("rates", lambda: make("learned_whittle", rates="fast")),
    ("rates", lambda: make("learned_whittle", rates=(2.0, 1.0))),
    ("cold_start", lambda: make("learned_whittle", cold_start=2)),
    ("cold_start", lambda: make("learned_whittle", cold_start="half")),
    ("rounds", lambda: make("learned_whittle", rounds=-1)),
    ("seed", lambda: make("learned_whittle", seed="a")),
    ("seed", lambda: make("uniform", seed=-1)),
    ("seed", lambda: make("round_robin", seed=2.5)),
    ("factor", lambda: make("miniflux", factor="a")),
    ("factor", lambda: make("miniflux", factor=-1)),
    ("filled", lambda: make("miniflux", filled="yes")),
    ("scale", lambda: make("nutch_adaptive", scale=0)),
    ("floor", lambda: make("azar", floor=NAN)),
    ("objective", lambda: make("static", objective="fresh")),
    ("policy", lambda: live("minflux")),
    ("policy", lambda: live(None)),
    ("policy", lambda: live("miniflux:fild")),
    ("policy", lambda: live("whittle")),
    ("filled", lambda: live("miniflux:filled=maybe")),
    ("ids", lambda: recrawl.Visits(["a"], 1.0)),
    ("ids", lambda: recrawl.Visits([0.5], 1.0)),
    ("ids", lambda: recrawl.Visits([0, 0], 1.0)),
    ("ids", lambda: recrawl.Visits([-1], 1.0)),
    ("now", lambda: recrawl.Visits([0], NAN)),
    ("now", lambda: recrawl.Visits([0], "now")),
    ("now", lambda: recrawl.Visits([0], None)),
    ("changed", lambda: recrawl.Visits([0], 1.0, changed="no")),
    ("changed", lambda: recrawl.Visits([0], 1.0, changed=["no"])),
    ("changed", lambda: recrawl.Visits([0], 1.0, changed=[0.5])),
    ("new", lambda: recrawl.Visits([0], 1.0, new=[2.7])),
    ("new", lambda: recrawl.Visits([0], 1.0, new=[-3])),
    ("new", lambda: recrawl.Visits([0], 1.0, new=["three"])),
    ("new", lambda: recrawl.Visits([0], 1.0, new=[1, 2])),
    ("published", lambda: recrawl.Visits([0], 1.0, published=[["today"]])),
    ("published", lambda: recrawl.Visits([0], 1.0, published=[[NAN]])),
    ("published", lambda: recrawl.Visits([0], 1.0, published=12.0)),
    ("worth", lambda: recrawl.Visits([0], 1.0, worth=[NAN])),
    ("worth", lambda: recrawl.Visits([0], 1.0, worth=["much"])),
    ("interest", lambda: recrawl.Visits([0], 1.0, published=[[0.5]], interest=[[NAN]])),
    ("failed", lambda: recrawl.Visits([0], 1.0, failed=["no"])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=5)),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[5])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[None, None])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1, 2],)])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1, 2], [3.0])])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1, 1], [3.0, 4.0])])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([-1], [3.0])])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1.5], [3.0])])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1], ["today"])])),
    ("sitemap", lambda: recrawl.Visits([0], 1.0, sitemap=[([1], [float("inf")])])),
    ("value", lambda: recrawl.Calendar("dear", 1.0)),
    ("value", lambda: recrawl.Calendar([-1.0], 1.0)),
    ("rate", lambda: recrawl.Calendar([1.0], NAN)),
    ("cost", lambda: recrawl.Calendar([1.0], 1.0, cost=0.0)),
    ("last", lambda: recrawl.Calendar([1.0], 1.0, last=NAN)),
    ("group", lambda: recrawl.Calendar([1.0], 1.0, group=[0.5])),
    ("group", lambda: recrawl.Calendar([1.0], 1.0, group=["host"])),
    ("now", lambda: recrawl.Calendar([1.0], 1.0, now=NAN)),
    ("now", lambda: recrawl.Calendar([1.0], 1.0, now="now")),
    ("max_age", lambda: recrawl.Calendar([1.0], 1.0, max_age="6 parsecs")),
    ("max_age", lambda: recrawl.Calendar([1.0], 1.0, max_age=0.0)),
    ("shapes", lambda: recrawl.Calendar([1.0, 2.0], [1.0, 2.0, 3.0])),
]
CALENDAR: list[tuple[str, Callable[[recrawl.Calendar], object]]] = [
    ("now", lambda c: c.choose(NAN, 1)),
    ("now", lambda c: c.choose("now", 1)),  # type: ignore[arg-type]
    ("now", lambda c: c.choose(None, 1)),  # type: ignore[arg-type]
    ("budget", lambda c: c.choose(1.0, -1)),
    ("budget", lambda c: c.choose(1.0, NAN)),
    ("budget", lambda c: c.choose(1.0, "fast")),  # type: ignore[arg-type]
    ("value", lambda c: c.add("dear", 1.0)),
    ("group", lambda c: c.add(1.0, 1.0, group=1)),
    ("ids", lambda c: c.update([9], 1.0)),
    ("ids", lambda c: c.update(["a"], 1.0)),
    ("ids", lambda c: c.update([0, 0], 1.0)),
    ("value", lambda c: c.update([0], NAN)),
    ("value", lambda c: c.update([0], [1.0, 2.0])),
    ("rate", lambda c: c.update([0], rate="fast")),
    ("cost", lambda c: c.configure([0], cost=-1)),
    ("max_age", lambda c: c.configure([0], max_age="often")),
    ("max_age", lambda c: c.configure([0], cost=5.0, max_age=NAN)),
    ("at", lambda c: c.crawled([0], NAN)),
    ("at", lambda c: c.crawled([0], "now")),
    ("until", lambda c: c.defer([0], NAN)),
    ("ids", lambda c: c.remove([7])),
    ("ids", lambda c: c.remove([[0, 1]])),
    ("groups", lambda c: c.hold([0], 1.0)),
    ("path", lambda c: c.save(42)),  # type: ignore[arg-type]
]
POLICY: list[tuple[str, Callable[[Any], object]]] = [
    ("now", lambda p: p.choose(NAN, 1)),
    ("now", lambda p: p.choose("now", 1)),
    ("now", lambda p: p.choose(None, 1)),
    ("budget", lambda p: p.choose(20.0, -1)),
    ("budget", lambda p: p.choose(20.0, NAN)),
    ("budget", lambda p: p.choose(20.0, "60/min")),
    ("budget", lambda p: p.choose(20.0, None)),
    ("states", lambda p: p.choose(20.0, 1, states=[1.0])),
    ("states", lambda p: p.choose(20.0, 1, states="none")),
    ("visits", lambda p: p.observe([0])),
    ("ids", lambda p: p.observe(recrawl.Visits([99], 20.0, worth=[1.0], changed=[False]))),
    ("sitemap", lambda p: p.observe(recrawl.Visits([0], 20.0, sitemap=[([1, 99], [1.0, 2.0])]))),
    ("ids", lambda p: p.signal([99], 20.0)),
    ("now", lambda p: p.signal([0], NAN)),
    ("at", lambda p: p.signal([0], 20.0, at=NAN)),
    ("at", lambda p: p.signal([0], 20.0, at=[1.0, 2.0])),
    ("at", lambda p: p.signal([0], 20.0, at="then")),
    ("count", lambda p: p.add(-1)),
    ("count", lambda p: p.add(1.5)),
    ("count", lambda p: p.add("two")),
    ("ids", lambda p: p.remove([99])),
    ("ids", lambda p: p.remove(["a"])),
    ("ids", lambda p: p.remove([0.5])),
    ("ids", lambda p: p.release([-1])),
    ("until", lambda p: p.hold([0], NAN)),
    ("until", lambda p: p.hold([0], "later")),
    ("until", lambda p: p.hold([0], [1.0, 2.0])),
    ("groups", lambda p: p.hold_groups(["host"], 1.0)),
    ("ids", lambda p: p.beliefs([99])),
    ("targets", lambda p: p.start(-1, 0.0)),
    ("targets", lambda p: p.start("three", 0.0)),
    ("targets", lambda p: p.start(2.5, 0.0)),
    ("now", lambda p: p.start(3, NAN, sources=SOURCES)),
    ("labels", lambda p: p.start(3, 0.0, sources=SOURCES, labels=["a"])),
    ("groups", lambda p: p.start(3, 0.0, sources=SOURCES, groups=[0, "b", 1])),
    ("groups", lambda p: p.start(3, 0.0, sources=SOURCES, groups=[0])),
    ("sources", lambda p: p.start(3, 0.0, sources=[1, 2, 3])),
]
TERMS: list[tuple[str, dict[str, Any]]] = [
    ("max_age", {"max_age": "6 parsecs"}),
    ("max_age", {"max_age": 0.0}),
    ("cost", {"cost": NAN}),
    ("cost", {"cost": "dear"}),
]


def check(argument: str, call: Call) -> None:
    with pytest.raises(recrawl.RecrawlError) as told:
        call()
    assert argument in getattr(told.value, "argument", "") or argument in str(told.value)


@pytest.mark.parametrize(("argument", "call"), FUNCTIONS, ids=[f"{k}-{name}" for k, (name, _) in enumerate(FUNCTIONS)])
def test_functions_and_constructors(argument: str, call: Call) -> None:
    check(argument, call)


@pytest.mark.parametrize(("argument", "call"), CALENDAR, ids=[f"{k}-{name}" for k, (name, _) in enumerate(CALENDAR)])
def test_a_calendar_chooses_as_if_it_had_not_been_asked(
    argument: str, call: Callable[[recrawl.Calendar], object]
) -> None:
    asked, twin = (recrawl.Calendar([1.0, 5.0, 3.0], 0.1, last=0.0) for _ in range(2))
    check(argument, lambda: call(asked))
    for now in (10.0, 11.0, 30.0):
        assert asked.choose(now, 2).tolist() == twin.choose(now, 2).tolist()


def started(name: str) -> Any:
    policy: Any = make(name, **({"hidden": (4,)} if name in ("fg_dqn", "thompson_then_dqn") else {}))
    policy.start(3, 0.0, sources=SOURCES)
    return policy


def played(policy: Any) -> list[list[int]]:
    chosen = []
    for now in (20.0, 21.0, 40.0):
        ids = policy.choose(now, 1)
        chosen.append(ids.tolist())
        policy.observe(recrawl.Visits(ids, now, changed=[True] * len(ids), worth=[1.0] * len(ids)))
    return chosen


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_chooses_as_if_it_had_not_been_asked(name: str) -> None:
    if name in ("fg_dqn", "thompson_then_dqn"):
        pytest.importorskip("torch")
    asked, twin, wrong = started(name), started(name), []
    for place, (argument, call) in enumerate(POLICY):
        try:
            check(argument, lambda call=call: call(asked))  # type: ignore[misc]
        except (AssertionError, pytest.fail.Exception, Exception) as error:
            wrong.append((place, argument, repr(error)[:120]))
    assert wrong == []
    assert played(asked) == played(twin)


@pytest.mark.parametrize("name", recrawl.policies.LIVE)
@pytest.mark.parametrize(("argument", "terms"), TERMS)
def test_terms_of_a_policy_that_runs_live(name: str, argument: str, terms: dict[str, Any]) -> None:
    policy: Any = make(name)
    policy.start(3, 0.0)
    check(argument, lambda: policy.configure([0], **terms))
    policy.configure([0], max_age="6h", cost=2.0)
    assert len(policy.choose(10.0, 2)) > 0


def test_times_and_moments_as_people_write_them(tmp_path: Path) -> None:
    then = datetime(2026, 11, 16, 12, tzinfo=UTC)
    policy: Any = make("learned_whittle", half_life="6h", max_age=timedelta(days=30), memory="2w")
    assert (policy.half_life, policy.max_age, policy.memory) == (21600.0, 2592000.0, 1209600.0)
    policy.start(3, then)
    policy.configure([0, 1], half_life=["6h", 60.0], max_age="30d", importance=np.float32(2))
    policy.hold([0], then + timedelta(hours=1))
    ids = policy.choose(then, np.int64(1))
    policy.observe(recrawl.Visits(ids, then, published=[[then, np.float64(then.timestamp() - 60)]]))
    calendar = recrawl.Calendar([1.0, 2.0], 0.1, now=then, max_age="6h")
    assert calendar.choose(then + timedelta(seconds=5), np.float32(2)).tolist() == [1, 0]
    calendar.save(tmp_path / "calendar.npz")
