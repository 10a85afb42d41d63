"""Two policies at once over one catalogue."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl import Visits, policies
from recrawl.learning.readership import Clicked
from recrawl.policies import LivePolicy
from recrawl.policies.ab_plan import Trial
from recrawl.policies.ab_policy import Split
from recrawl.policies.contract import Readers
from recrawl.policies.stored_state import Memory, parted

NOW, HOUR = 1.8e9, 3600.0
HOSTS = np.repeat(np.arange(12), 2)
LABELS = [f"https://h{host}.example/{n}" for n, host in enumerate(HOSTS.tolist())]
COUNT = len(HOSTS)
EVERYBODY = np.arange(COUNT)


def split_of(one: str = "round_robin", other: str = "thompson", swap_s: float = HOUR, burst: float = 4.0) -> Split:
    trial = Trial(names=(one, other), began=NOW, swap_s=swap_s)
    parts = {name: policies.live(name) for name in (one, other)}
    return Split(parts, trial, lambda url: url.split("/")[2], per_second=0.01, burst=burst)


@pytest.fixture
def split() -> Split:
    policy = split_of()
    policy.start(COUNT, NOW, groups=HOSTS, labels=LABELS)
    return policy


def visit(policy: LivePolicy, ids: np.ndarray, now: float, **told: object) -> None:
    if len(ids):
        policy.observe(Visits(ids, now, **(told or {"published": [np.array([now - 60.0])] * len(ids)})))


def test_is_a_live_policy_that_listens_to_readers(split: Split) -> None:
    assert isinstance(split, LivePolicy)
    assert isinstance(split, Readers)
    assert split.mark == 0
    touched = split.feedback([0], Clicked(born=NOW, found=NOW, at=NOW, clicks=1.0), now=NOW, mark=7)
    assert touched.tolist() == []
    assert split.mark == 7


def test_both_hear_signals_and_visits_to_lists(split: Split) -> None:
    heard: list[list[int]] = []
    for part in split.parts:
        part.hear = lambda ids, now, at: heard.append(ids.tolist())  # type: ignore[attr-defined]
    split.signal([1, 2], NOW)
    assert heard == [[1, 2]] * 2
    ids = split.choose(NOW + HOUR, 8.0)
    visit(split, ids, NOW + HOUR, sitemap=[(np.array([0]), np.array([NOW]))] * len(ids))
    assert (split.maker == -1).all()
    assert not split.uses_lists


def test_each_chooses_only_on_its_own_hosts(split: Split) -> None:
    assert 0 < split.half.sum() < COUNT
    for hour in range(1, 60):
        now = NOW + hour * HOUR / 3
        ids = split.choose(now, 8.0)
        assert len(np.unique(HOSTS[ids])) == len(ids)
        for i in ids.tolist():
            assert split.maker[i] == split.trial.ruler(split.half[i], now)
        visit(split, ids, now)
    assert (split.maker == -1).all()


def test_all_of_a_host_are_of_one_half(split: Split) -> None:
    for host in range(12):
        assert len(set(split.half[host == HOSTS].tolist())) == 1
    ids = split.add(1, groups=[3], labels=["https://h3.example/more"])
    assert split.half[ids[0]] == split.half[6]


@given(st.lists(st.tuples(st.floats(0.0, 2000.0), st.floats(0.0, 20.0)), min_size=1, max_size=40))
def test_no_part_spends_more_than_half_and_both_no_more_than_there_is(steps: list[tuple[float, float]]) -> None:
    policy = split_of()
    policy.start(COUNT, NOW, groups=EVERYBODY, labels=LABELS)
    now, spent = NOW, [0, 0]
    for wait, offered in steps:
        now += wait
        ids = policy.choose(now, offered)
        assert len(ids) <= offered + 1e-6
        for part in (0, 1):
            spent[part] += int((policy.maker[ids] == part).sum())
            assert spent[part] <= 0.005 * (now - NOW) + 1e-6
        visit(policy, ids, now)


def test_where_there_is_one_token_they_take_turns(split: Split) -> None:
    makers = []
    for step in range(1, 21):
        now = NOW + 100.0 * step
        ids = split.choose(now, 1.0)
        makers += split.maker[ids].tolist()
        visit(split, ids, now)
    assert abs(makers.count(0) - makers.count(1)) <= 1
    assert len(makers) >= 18


def test_what_is_in_flight_when_halves_change_is_not_chosen_by_the_other() -> None:
    policy = split_of(burst=100.0)
    policy.start(COUNT, NOW, groups=EVERYBODY, labels=LABELS)
    first = policy.choose(NOW + HOUR - 1.0, 100.0)
    away = policy.choose(NOW + HOUR - 0.5, 100.0)
    later = policy.choose(NOW + 2.5 * HOUR, 100.0)
    flying = {*first.tolist(), *away.tolist()}
    assert flying
    assert not flying & {*later.tolist()}
    visit(policy, first, NOW + 2.6 * HOUR)
    policy.release(away)
    again = policy.choose(NOW + 5.9 * HOUR, 100.0)
    assert flying & {*again.tolist()}


def test_holds_stand_whoever_rules(split: Split) -> None:
    split.hold(EVERYBODY[:20], np.full(20, NOW + 50 * HOUR))
    split.hold_groups([10], math.inf)
    for hour in range(1, 49):
        ids = split.choose(NOW + hour * HOUR, 50.0)
        assert (ids >= 22).all()
        visit(split, ids, NOW + hour * HOUR)
    assert (split.choose(NOW + 60 * HOUR, 50.0) < 20).any()


def test_both_learn_from_every_visit(split: Split) -> None:
    thompson = split.parts[1]
    for hour in range(1, 10):
        visit(split, split.choose(NOW + hour * HOUR, 50.0), NOW + hour * HOUR)
    seen = np.isfinite(split.parts[0].last)
    assert seen.any()
    np.testing.assert_array_equal(seen, np.isfinite(thompson.last))
    assert thompson.successes[seen].min() >= 1.0


def test_rules_that_answer_to_their_own_visits_are_only_told_of_the_others() -> None:
    policy = split_of("round_robin", "stormcrawler_adaptive", swap_s=0.0, burst=100.0)
    policy.start(COUNT, NOW, groups=EVERYBODY, labels=LABELS)
    timers = policy.parts[1]
    for hour in (3, 6, 9):
        ids = policy.choose(NOW + hour * HOUR, 100.0)
        visit(policy, ids, NOW + hour * HOUR, changed=np.zeros(len(ids), dtype=bool))
    others = EVERYBODY[(policy.half == 0) & np.isfinite(timers.last)]
    own = EVERYBODY[policy.half == 1]
    assert len(others)
    assert (timers.interval[others] == timers.first_interval).all()
    assert (timers.date[others] == timers.last[others] + timers.first_interval).all()
    assert np.isfinite(timers.last[own]).all()


def test_each_policy_finds_its_own_records_again() -> None:
    policy = split_of("learned_whittle", "miniflux")
    policy.start(COUNT, NOW, groups=HOSTS, labels=LABELS)
    for hour in range(1, 12):
        visit(policy, policy.choose(NOW + hour * HOUR, 50.0), NOW + hour * HOUR)
    rows, shared = policy.rows(EVERYBODY), policy.shared()
    seen = np.isfinite(policy.parts[1].last)
    assert set(parted(rows[int(np.argmax(seen))])) == {"learned_whittle", "miniflux"}
    for name in ("learned_whittle", "miniflux"):
        alone = policies.live(name)
        alone.start(COUNT, NOW + 12 * HOUR, groups=HOSTS, labels=LABELS)
        memory = Memory({name: alone})
        memory.load_shared(shared)
        memory.load_rows(EVERYBODY, rows, np.where(seen, policy.parts[1].last, np.nan))
        assert not memory.unread
        again = memory.rows(EVERYBODY)
        assert [parted(row) for row in again] == [parted(row) for row in rows]


def test_what_was_not_fetched_costs_nothing(split: Split) -> None:
    ids = split.choose(NOW + HOUR, 50.0)
    assert len(split.choose(NOW + HOUR, 50.0)) == 0
    split.release(ids)
    assert len(split.choose(NOW + HOUR, 50.0)) == len(ids) > 0


def test_goes_on_from_a_dump(split: Split) -> None:
    twin = split_of()
    twin.start(COUNT, NOW, groups=HOSTS, labels=LABELS)
    visit(split, split.choose(NOW + HOUR, 50.0), NOW + HOUR)
    twin.restore(split.dump())
    np.testing.assert_array_equal(twin.choose(NOW + 9 * HOUR, 4.0), split.choose(NOW + 9 * HOUR, 4.0))


def test_looks_at_each_source_as_its_ruler_does() -> None:
    policy = split_of("miniflux", "round_robin", swap_s=0.0, burst=100.0)
    policy.start(COUNT, NOW, groups=EVERYBODY, labels=LABELS)
    visit(policy, policy.choose(NOW + 9 * HOUR, 100.0), NOW + 9 * HOUR)
    timed = policy.half == 0
    assert np.isfinite(policy.due(EVERYBODY[timed])).all()
    assert np.isnan(policy.due(EVERYBODY[~timed])).all()
    np.testing.assert_array_equal(policy.index(EVERYBODY[~timed], NOW + 10 * HOUR), HOUR)
    forms = [reason.form for reason in policy.reasons(EVERYBODY, NOW + 10 * HOUR)]
    assert forms == ["timer" if mine else "rule" for mine in timed.tolist()]
    assert math.isnan(policy.price)
    assert policy.survey(math.nan, NOW + 10 * HOUR).sources == COUNT
