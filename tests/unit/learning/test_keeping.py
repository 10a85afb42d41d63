"""What is kept of beliefs, and how it is read where something has changed since."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from recrawl import Visits
from recrawl.learning.layouts import read
from recrawl.policies.learned_whittle import LearnedWhittle

NOW, HOUR = 1.75e9, 3600.0


def pages(half_life: float, objective: str = "ephemeral", count: int = 40) -> LearnedWhittle:
    """Pages that change every ten hours or so."""
    random = np.random.default_rng(0)
    policy = LearnedWhittle(objective=objective, half_life=half_life)  # type: ignore[arg-type]
    policy.start(count, NOW)
    for step in range(1, 60):
        changed = random.random(count) < -np.expm1(-0.5)
        policy.observe(Visits(np.arange(count), NOW + 5 * HOUR * step, changed=changed))
    return policy


def again(policy: LearnedWhittle, half_life: float, now: float) -> LearnedWhittle:
    """The policy after a restart with another half-life."""
    ids = np.arange(len(policy.kept))
    twin = LearnedWhittle(objective=policy.objective, half_life=half_life)
    twin.start(len(ids), now)
    assert twin.load_shared(policy.shared())
    assert twin.load_rows(ids, policy.rows(ids), policy.kept.since[ids]).all()
    return twin


def change_rate(policy: LearnedWhittle) -> float:
    return float(np.mean([reason.numbers["change_rate_per_s"] for reason in policy.reasons(np.arange(40), NOW)]))


def test_change_rates_stay_as_they_were_believed_through_restarts_with_other_half_lives() -> None:
    policy = pages(HOUR / 4)
    once = again(policy, 12 * HOUR, NOW + 1e6)
    twice = again(once, 12 * HOUR, NOW + 1e6)
    assert change_rate(once) == pytest.approx(change_rate(policy), rel=0.05)
    assert change_rate(twice) == pytest.approx(change_rate(once), rel=1e-6)


def test_time_the_program_was_off_does_not_count_in_the_pace_of_the_plan() -> None:
    policy = pages(HOUR, "freshness")
    twin = again(policy, HOUR, NOW + 90 * 86400.0)
    for step in range(1, 20):
        twin.observe(Visits(np.arange(40), NOW + 90 * 86400.0 + 5 * HOUR * step, changed=np.zeros(40, bool)))
    demand = twin.survey(twin.learned.models[2].plan.price, NOW + 1e7).demand  # type: ignore[attr-defined]
    assert demand * 5 * HOUR / 40 == pytest.approx(1.0, rel=0.1)


def test_pages_that_are_gone_have_no_part_in_the_plan() -> None:
    policy = pages(HOUR, "freshness")
    policy.remove(np.arange(20))
    for step in range(60, 70):
        policy.observe(Visits(np.arange(20, 40), NOW + 5 * HOUR * step, changed=np.zeros(20, bool)))
    plan = policy.learned.models[2].plan  # type: ignore[attr-defined]
    assert plan.rate[20:40].sum() * 5 * HOUR == pytest.approx(20.0, rel=0.1)


def test_a_catalogue_nobody_wants_is_not_planned_for() -> None:
    policy = LearnedWhittle(objective="freshness")
    policy.start(30, NOW)
    policy.configure(np.arange(30), importance=0.0)
    for step in range(1, 5):
        policy.observe(Visits(np.arange(30), NOW + HOUR * step, changed=np.ones(30, bool)))
    assert policy.survey(0.0, NOW + 5 * HOUR).demand >= 0.0


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda mind: mind["feeds"].update(hours=[[1.0] * 23] * 2),
        lambda mind: mind["feeds"].update(common=[1.0]),
        lambda mind: mind["feeds"].update(profile=[[1.0] * 24, [float("nan")] * 7]),
        lambda mind: mind["readers"].update(prior=[0.0]),
        lambda mind: mind.update(latest=9),
        lambda mind: mind.update(feeds=3),
        lambda mind: mind.pop("latest"),
    ],
)
def test_common_laws_of_another_form_are_refused(spoilt: object) -> None:
    policy = LearnedWhittle(half_life=6 * HOUR)
    policy.start(2, NOW)
    policy.observe(Visits(np.arange(2), NOW + 1, published=[[NOW - HOUR, NOW], [NOW]]))
    state = msgspec.msgpack.decode(policy.shared())
    spoilt(state["mind"])  # type: ignore[operator]
    twin = LearnedWhittle(half_life=6 * HOUR)
    twin.start(2, NOW + 1)
    assert not twin.load_shared(msgspec.msgpack.encode(state))
    twin.observe(Visits(np.arange(2), NOW + 2, published=[[NOW - HOUR, NOW], [NOW]]))
    assert np.isfinite(twin.beliefs([0, 1]).value).all()


@pytest.mark.parametrize("row", [b"\x02", b"\x02\x01", b"\x02\x02" + b"x" * 30, b"\x02\x09abc"])
def test_a_row_cut_short_is_not_read(row: bytes) -> None:
    assert read(row, NOW) == b""
