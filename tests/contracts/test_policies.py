"""The battery every policy passes: what `Policy` promises, whoever the policy is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from recrawl import Sources, Visits, policies
from recrawl.errors import ContractError, MissingExtraError, ParameterError

SOURCES = Sources.ephemeral(
    arrival_rate=[250, 40, 10, 3, 90, 0, 17, 60],
    interest=[1, 0.7, 0.2, 2, 0.5, 1, 0.3, 0.9],
    decay=[0.7, 0.35, 0.7, 0.21, 0.05, 0.3, 1.5, 0.4],
)
TARGETS = len(SOURCES)


SMALL = {"hidden": (64, 8), "batch": 8}
"""Of networks: what they promise does not depend on their size, and one as published takes most of a test's time."""
DEEP = ("fg_dqn", "thompson_then_dqn")


def made(name: str, **options: object) -> policies.Policy:
    try:
        return policies.make(name, **(SMALL if name in DEEP else {}), **options)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=policies.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def policy(name: str) -> policies.Policy:
    fresh = made(name)
    fresh.start(TARGETS, 0.0, sources=SOURCES)
    return fresh


def visit(policy: policies.Policy, ids: np.ndarray, now: float) -> None:
    """What a crawl shows: everything a policy may ask for."""
    count = len(ids)
    policy.observe(
        Visits(
            ids,
            now,
            changed=(ids + int(now)) % 2 == 0,
            published=[np.array([now - 0.5]) if i % 2 else np.array([]) for i in ids],
            worth=np.linspace(1.0, 2.0, count),
        )
    )


def rounds(policy: policies.Policy, slots: int, budget: float = 2.0, observed: bool = False) -> Iterator[np.ndarray]:
    random = np.random.default_rng(5)
    for slot in range(slots):
        states = random.uniform(0, 1, TARGETS) * SOURCES.ceiling if observed else None
        ids = policy.choose(float(slot), budget, states)
        yield ids
        visit(policy, ids, float(slot))


def test_is_a_policy(policy: policies.Policy) -> None:
    assert isinstance(policy, policies.Policy)


@pytest.mark.parametrize("observed", [False, True])
def test_chooses_distinct_known_targets_within_the_budget(policy: policies.Policy, observed: bool) -> None:
    for ids in rounds(policy, 40, budget=3.0, observed=observed):
        assert ids.dtype == np.int64
        assert len(np.unique(ids)) == len(ids)
        assert ((ids >= 0) & (ids < TARGETS)).all()
        assert policy.soft_budget or len(ids) <= 3


def test_unequal_costs_are_paid_for_together(name: str) -> None:
    cost = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.0, 0.25, 4.0])
    dear = Sources.ephemeral(SOURCES.arrivals_per_slot, SOURCES.interest, SOURCES.decay_rate, cost=cost)
    policy = made(name)
    policy.start(TARGETS, 0.0, sources=dear)
    for ids in rounds(policy, 40, budget=4.0):
        assert policy.soft_budget or cost[ids].sum() <= 4.0 + 1e-9


def test_choosing_before_the_start_is_refused(name: str) -> None:
    with pytest.raises(ContractError, match="start"):
        made(name).choose(0.0, 1.0)


def test_mixed_observation_is_accepted(policy: policies.Policy) -> None:
    states = np.where(np.arange(TARGETS) % 2 == 0, SOURCES.ceiling / 2, np.nan)
    assert len(policy.choose(0.0, 2.0, states)) <= 2 or policy.soft_budget


def test_is_deterministic_under_its_seed(name: str) -> None:
    histories = []
    for _ in range(2):
        policy = made(name, seed=11)
        policy.start(TARGETS, 0.0, sources=SOURCES)
        histories.append([ids.tolist() for ids in rounds(policy, 60)])
    assert histories[0] == histories[1]


def test_start_resets(policy: policies.Policy) -> None:
    first = [ids.tolist() for ids in rounds(policy, 30)]
    policy.start(TARGETS, 0.0, sources=SOURCES)
    assert [ids.tolist() for ids in rounds(policy, 30)] == first


def test_inputs_are_not_changed(policy: policies.Policy) -> None:
    states = SOURCES.ceiling / 3
    kept = states.copy()
    ids = policy.choose(0.0, 2.0, states)
    visits = Visits(ids, 0.0, worth=np.ones(len(ids)), changed=np.ones(len(ids), dtype=bool))
    before = visits.ids.copy()
    policy.observe(visits)
    np.testing.assert_array_equal(states, kept)
    np.testing.assert_array_equal(visits.ids, before)
    assert visits.worth is not None
    assert (visits.worth == 1).all()


def test_what_is_in_flight_is_not_chosen_again(policy: policies.Policy) -> None:
    away = set(policy.choose(0.0, 3.0).tolist())
    again = set(policy.choose(1.0, 3.0).tolist())
    assert not away & again


def test_a_released_target_may_be_chosen_again(policy: policies.Policy) -> None:
    chosen = policy.choose(5.0, 2.0)
    policy.release(chosen)
    seen: set[int] = set()
    for slot in range(6, 200):
        ids = policy.choose(float(slot), float(TARGETS))
        seen |= set(ids.tolist())
        visit(policy, ids, float(slot))
    assert set(chosen.tolist()) <= seen


def test_held_targets_wait(policy: policies.Policy) -> None:
    everything = np.arange(TARGETS)
    policy.hold(everything[1:], until=50.0)
    for slot in range(20):
        ids = policy.choose(float(slot), float(TARGETS))
        assert set(ids.tolist()) <= {0}
        visit(policy, ids, float(slot))
    later: set[int] = set()
    for slot in range(50, 120):
        ids = policy.choose(float(slot), float(TARGETS))
        later |= set(ids.tolist())
        visit(policy, ids, float(slot))
    assert later - {0}


def test_removed_targets_are_never_chosen(policy: policies.Policy) -> None:
    policy.remove([0, 4])
    for ids in rounds(policy, 60, budget=float(TARGETS)):
        assert not {0, 4} & set(ids.tolist())


def test_groups_give_one_target_per_call_and_can_be_held(name: str) -> None:
    policy = made(name)
    groups = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    policy.start(TARGETS, 0.0, sources=SOURCES, groups=groups)
    policy.hold_groups([1], until=30.0)
    for slot in range(40):
        ids = policy.choose(float(slot), float(TARGETS))
        hosts = groups[ids]
        assert len(np.unique(hosts)) == len(hosts)
        assert slot >= 30 or 1 not in hosts
        visit(policy, ids, float(slot))


def test_goes_on_from_a_dump(name: str, policy: policies.Policy) -> None:
    for _ in rounds(policy, 25):
        pass
    twin = made(name)
    twin.start(TARGETS, 0.0, sources=SOURCES)
    twin.restore(policy.dump())
    for slot in range(25, 45):
        ids, same = policy.choose(float(slot), 2.0), twin.choose(float(slot), 2.0)
        np.testing.assert_array_equal(ids, same)
        visit(policy, ids, float(slot))
        visit(twin, same, float(slot))


def test_a_dump_is_a_copy(policy: policies.Policy) -> None:
    state = policy.dump()
    first = [ids.tolist() for ids in rounds(policy, 20)]
    policy.restore(state)
    assert [ids.tolist() for ids in rounds(policy, 20)] == first


def test_failed_visits_teach_nothing_and_end_the_flight(policy: policies.Policy) -> None:
    for _ in rounds(policy, 10):
        pass
    before = policy.beliefs(np.arange(TARGETS))
    ids = policy.choose(10.0, 2.0)
    policy.observe(Visits(ids, 10.0, failed=np.ones(len(ids), dtype=bool)))
    after = policy.beliefs(np.arange(TARGETS))
    np.testing.assert_array_equal(before.value, after.value)
    np.testing.assert_array_equal(before.rate, after.rate)
    seen: set[int] = set()
    for hour in range(1, 300):  # a schedule may wait hours before it tries again
        chosen = policy.choose(3600.0 * hour, float(TARGETS))
        seen |= set(chosen.tolist())
        visit(policy, chosen, 3600.0 * hour)
    assert set(ids.tolist()) <= seen


def test_lists_are_taken_out_of_flight_and_say_nothing_of_rates(policy: policies.Policy) -> None:
    for _ in rounds(policy, 10):
        pass
    before = policy.beliefs(np.arange(TARGETS))
    ids = policy.choose(10.0, 2.0)
    named = np.arange(TARGETS), np.linspace(-5.0, 9.5, TARGETS)
    policy.observe(Visits(ids, 10.0, sitemap=[named] * len(ids)))
    after = policy.beliefs(np.arange(TARGETS))
    np.testing.assert_array_equal(before.value, after.value)
    np.testing.assert_array_equal(before.rate, after.rate)
    seen: set[int] = set()
    for hour in range(1, 300):  # a schedule may wait hours before it looks again
        chosen = policy.choose(3600.0 * hour, float(TARGETS))
        seen |= set(chosen.tolist())
        visit(policy, chosen, 3600.0 * hour)
    assert set(ids.tolist()) <= seen


def test_lists_and_others_may_come_together(policy: policies.Policy) -> None:
    for _ in rounds(policy, 10):
        pass
    ids = policy.choose(10.0, 3.0)
    lists = [None if place else (np.array([0, 1]), np.array([9.0, np.nan])) for place in range(len(ids))]
    changed = np.arange(len(ids)) == 1
    policy.observe(Visits(ids, 10.0, changed=changed, worth=changed.astype(float), sitemap=lists))
    back: set[int] = set()
    for hour in range(1, 300):
        chosen = policy.choose(3600.0 * hour, float(TARGETS))
        back |= set(chosen.tolist())
        visit(policy, chosen, 3600.0 * hour)
    assert set(ids.tolist()) <= back


def test_signals_are_taken_and_start_no_visit(policy: policies.Policy) -> None:
    for _ in rounds(policy, 10):
        pass
    away = policy.choose(10.0, 2.0)
    policy.signal([0, 1], 10.5)
    policy.signal([2, 3], 10.5, at=9.0)
    policy.signal([4], 10.5, at=[8.0])
    policy.signal([], 10.5)
    assert not set(policy.choose(11.0, 2.0).tolist()) & set(away.tolist())


def test_says_whether_lists_are_of_use_to_it(policy: policies.Policy) -> None:
    assert policy.uses_lists in (True, False)


def test_beliefs_have_one_entry_per_id(policy: policies.Policy) -> None:
    beliefs = policy.beliefs([2, 0])
    for figure in (beliefs.value, beliefs.value_sd, beliefs.rate, beliefs.rate_sd):
        assert figure.shape == (2,)


def test_added_targets_get_new_ids_and_are_crawled(name: str) -> None:
    policy = made(name)
    if getattr(policy, "needs_sources", False):
        with pytest.raises(ParameterError, match="sources"):
            policy.start(3, 0.0)
        return
    policy.start(3, 0.0)
    assert policy.add(2).tolist() == [3, 4]
    seen: set[int] = set()
    for slot in range(400):
        ids = policy.choose(float(slot), 1.0)
        seen |= set(ids.tolist())
        visit(policy, ids, float(slot))
    assert {3, 4} <= seen


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda p: p.start(-1, 0.0, sources=None), "targets"),
        (lambda p: p.start(3, 0.0, sources=SOURCES), "sources"),
        (lambda p: p.remove([TARGETS]), "ids"),
        (lambda p: p.hold([-1], 5.0), "ids"),
        (lambda p: p.choose(0.0, 1.0, np.ones(3)), "states"),
        (lambda p: p.choose(0.0, float("nan")), "budget"),
        (lambda p: p.start(TARGETS, 0.0, sources=SOURCES, groups=[1, 2]), "groups"),
    ],
)
def test_wrong_input_is_named(policy: policies.Policy, call: object, argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        call(policy)  # type: ignore[operator]


def test_only_live_policies_start_with_an_empty_catalogue(policy: policies.Policy, name: str) -> None:
    if name in policies.LIVE:  # a person adds the first source after the program was started
        if name == "learned_whittle":
            policy = policies.live(name)
        policy.start(0, 0.0)
        assert len(policy.choose(1.0, 5.0)) == 0
        return
    with pytest.raises(ParameterError, match="targets"):
        policy.start(0, 0.0, sources=None)


def test_an_unknown_policy_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="whittle"):
        policies.make("whitle")


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(ParameterError, match="colour"):
        policies.make("whittle", colour="red")
