"""Sources whose finds are visible only later: what the learned policy makes of delays and batches."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.kernels.indexing_engine import batch_wait
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.policies.round_robin import RoundRobin
from recrawl.records import FloatArray, Visits

HOUR, DAY = 3600.0, 86400.0
MIDNIGHT = 20_250 * DAY
HALF_LIFE = 6 * HOUR
IDS = np.arange(6)


def known(kind: str = "page", **terms: object) -> LearnedWhittle:
    """Six sources, visited ten times, five hours apart, that bring something each time; last at midnight."""
    policy = LearnedWhittle(half_life=HALF_LIFE)
    policy.start(len(IDS), MIDNIGHT - 51 * HOUR)
    if terms:
        policy.configure(IDS, **terms)  # type: ignore[arg-type]
    for k in range(11):
        now = MIDNIGHT + 5 * HOUR * (k - 10)
        if kind == "feed":
            policy.observe(Visits(IDS, now, published=[now - HOUR * np.array([0.5, 3.0])] * len(IDS)))
        else:
            policy.observe(Visits(IDS, now, changed=np.ones(len(IDS), bool)))
    return policy


def left(wait: object, half_life: float = HALF_LIFE) -> FloatArray:
    return 2.0 ** (-np.asarray(wait, np.float64) / half_life)


@pytest.mark.parametrize("kind", ["page", "feed"])
def test_a_delay_takes_what_fades_meanwhile(kind: str) -> None:
    plain, late = known(kind), known(kind, index_delay=[0.0, HOUR, HALF_LIFE, DAY, 0.0, 0.0])
    now, share = MIDNIGHT + 3 * HOUR, left([0.0, HOUR, HALF_LIFE, DAY, 0.0, 0.0])
    np.testing.assert_allclose(late.index(IDS, now), plain.index(IDS, now) * share)
    np.testing.assert_allclose(late.beliefs(IDS).value, plain.beliefs(IDS).value)
    price = float(plain.index(IDS, now)[0])
    np.testing.assert_allclose(
        late.intervals(IDS, 0.1 * price), [plain.intervals([0], 0.1 * price / each)[0] for each in share]
    )


def test_a_delay_for_all_that_fade_alike_moves_nobody() -> None:
    importance = np.array([1.0, 5.0, 2.0, 4.0, 3.0, 0.5])
    plain, late = known(importance=importance), known(importance=importance, index_delay=2 * HOUR)
    for k in range(1, 6):
        now = MIDNIGHT + k * HOUR
        np.testing.assert_array_equal(plain.choose(now, 1.0), late.choose(now, 1.0))


def test_with_a_delay_what_fades_fast_goes_after_what_fades_slowly() -> None:
    half_life = np.array([HOUR, 1.5 * DAY, HOUR, 1.5 * DAY, HOUR, 1.5 * DAY])
    plain = known(half_life=half_life, importance=np.where(half_life > DAY, 0.1, 1.0))
    late = known(half_life=half_life, importance=np.where(half_life > DAY, 0.1, 1.0), index_delay=6 * HOUR)
    now = MIDNIGHT + 4 * HOUR
    assert set(plain.choose(now, 3.0).tolist()) == {0, 2, 4}
    assert set(late.choose(now, 3.0).tolist()) == {1, 3, 5}


def test_owners_may_differ_and_may_take_it_back() -> None:
    policy = known(index_delay=HOUR, index_batch=DAY)
    policy.configure([0], index_delay=0.0, index_batch=0.0)
    now = MIDNIGHT + 3 * HOUR
    index = policy.index([0, 1], now)
    assert index[1] == pytest.approx(index[0] * left(22 * HOUR))
    assert "index_wait_s" not in policy.reasons([0], now)[0].numbers
    assert policy.reasons([1], now)[0].numbers["index_wait_s"] == pytest.approx(22 * HOUR)


@pytest.mark.parametrize("kind", ["page", "feed"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8, 0.99])
def test_a_source_is_due_when_its_index_meets_the_price_within_its_batches(kind: str, share: float) -> None:
    """Searched for minute by minute; found to the minute where the index grows with age, else to 15."""
    policy = known(kind, index_batch=[0.0, HOUR, 3 * HOUR, 12 * HOUR, DAY, 5000.0], index_delay=600.0)
    price = share * float(policy.index([0], MIDNIGHT + 30 * HOUR)[0])
    times = MIDNIGHT + 60.0 * np.arange(1, 4000)
    for i, due in zip(IDS.tolist(), policy.due(IDS, price).tolist(), strict=True):
        index = policy.index(np.full(len(times), i), times)
        met = times[np.argmax(index >= price)] if (index >= price).any() else np.inf
        assert due == pytest.approx(met, abs=61.0 if kind == "page" else 901.0) or (np.isinf(met) and due > times[-1])


def test_after_a_batch_nothing_is_due_before_it_is_worth_it_again() -> None:
    policy = known(index_batch=12 * HOUR)
    price = 0.9 * float(policy.index([0], MIDNIGHT + 12 * HOUR)[0])
    before = policy.due([0], price)[0]
    assert MIDNIGHT + 10 * HOUR < before < MIDNIGHT + 12 * HOUR
    policy.release(policy.choose(MIDNIGHT + 12 * HOUR + 60.0, 0.0))
    after = policy.due([0], price)[0]
    assert after > MIDNIGHT + 12.5 * HOUR
    assert policy.index([0], after)[0] >= price > policy.index([0], after - 120.0)[0]


def test_what_fades_fast_is_fetched_right_before_the_batch_and_what_fades_slowly_after_it() -> None:
    """Twelve equal finds, half fading within hours and half within days; a fetch every half an hour, batches daily."""
    policy, ids = LearnedWhittle(half_life=HALF_LIFE), np.arange(24)
    policy.start(len(ids), MIDNIGHT)
    half_life = np.where(ids % 2, 4 * DAY, 4 * HOUR)
    policy.configure(ids, half_life=half_life, importance=np.where(ids % 2, 1.0, 6.0), index_batch=DAY)
    waits: dict[int, list[float]] = {0: [], 1: []}
    for k in range(1, 20 * 48):
        now = MIDNIGHT + 0.5 * HOUR * k
        chosen = policy.choose(now, 1.0)
        policy.observe(Visits(chosen, now, changed=np.ones(len(chosen), bool)))
        if k > 8 * 48:
            waits[int(chosen[0]) % 2].append(float(batch_wait(now, DAY)))
    assert len(waits[0]) > 100
    assert np.mean(waits[0]) < 0.6 * np.mean(waits[1])


def test_other_objectives_and_other_policies_know_no_engine() -> None:
    for objective in ("discovery", "changes", "freshness"):
        policy = LearnedWhittle(objective=objective)  # type: ignore[arg-type]
        policy.start(2, MIDNIGHT)
        policy.configure([0, 1], index_delay=[0.0, DAY], index_batch=DAY)
        policy.observe(Visits(np.array([0, 1]), MIDNIGHT + HOUR, changed=np.ones(2, bool)))
        one, other = policy.index([0, 1], MIDNIGHT + 5 * HOUR)
        assert one == other
    turns = RoundRobin()
    turns.start(2, MIDNIGHT)
    turns.configure([0, 1], index_delay=HOUR, index_batch=DAY)
    assert turns.choose(MIDNIGHT, 1.0).tolist() == [0]


def test_wrong_waits_are_named() -> None:
    with pytest.raises(ParameterError, match="index_delay"):
        known().configure([0], index_delay=-1.0)
    with pytest.raises(ParameterError, match="index_batch"):
        known().configure([0], index_batch=np.nan)
