"""The deep learner: its state, its schedule, and that it learns."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import recrawl
from recrawl import Visits, policies
from recrawl.errors import ParameterError
from recrawl.policies.fg_dqn import FgDqn
from recrawl.policies.thompson_then_dqn import ThompsonThenDqn

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="the extra `deep` is not installed")
ONE_PAGE = recrawl.GroupedPages([1] * 4, [0.6, 0.08, 0.01, 0.3], [5, 0.2, 1, 0.5])
SMALL = {"hidden": (64, 8), "batch": 8}


def started(**options: object) -> FgDqn:
    policy = FgDqn(**(SMALL | options))  # type: ignore[arg-type]
    policy.start(3, 0.0)
    return policy


def test_the_state_is_slots_since_chosen_and_whether_a_change_was_found() -> None:
    policy = started(elapsed_scale=1.0)
    assert policy.state_at(0.0).tolist() == [1, 1, 1, 0, 0, 0]
    policy.observe(Visits([1], 0.0, changed=[True]))
    assert policy.state_at(1.0).tolist() == [2, 1, 2, 0, 1, 0]
    policy.observe(Visits([1], 1.0, changed=[False]))
    assert policy.state_at(4.0).tolist() == [5, 3, 5, 0, 0, 0]


def test_a_transition_joins_a_choice_its_reward_and_the_next_state() -> None:
    policy = started(elapsed_scale=1.0)
    first = policy.choose(0.0, 1.0)
    policy.observe(Visits(first, 0.0, changed=[True], worth=[5.0]))
    policy.choose(1.0, 1.0)
    rows = policy.memory.rows
    assert len(policy.memory) == 1
    assert rows.states[0].tolist() == [1, 1, 1, 0, 0, 0]
    assert np.flatnonzero(rows.taken[0]).tolist() == first.tolist()
    assert rows.rewards[0] == 5.0
    assert rows.next_states[0].tolist() == policy.state_at(1.0).tolist()


def test_several_arms_per_slot_are_one_transition() -> None:
    policy = started()
    both = policy.choose(0.0, 2.0)
    policy.observe(Visits(both, 0.0, worth=[1.0, 2.0]))
    policy.choose(1.0, 2.0)
    assert policy.memory.rows.taken[0].sum() == 2
    assert policy.memory.rows.rewards[0] == 3.0


@pytest.mark.parametrize("way", ["release", "fail"])
def test_a_crawl_that_did_not_happen_is_no_transition(way: str) -> None:
    policy = started()
    ids = policy.choose(0.0, 1.0)
    if way == "release":
        policy.release(ids)
    else:
        policy.observe(Visits(ids, 0.0, failed=[True]))
    policy.choose(1.0, 1.0)
    assert len(policy.memory) == 0


def test_exploration_falls_from_first_to_last() -> None:
    policy = started(exploration_slots=100)
    levels = []
    for choices in (0, 50, 100, 1000):
        policy.choices = choices
        levels.append(policy.epsilon())
    assert levels == pytest.approx([0.7, 0.4, 0.1, 0.1])


def test_training_waits_for_a_full_batch() -> None:
    policy = started(batch=8)
    for slot in range(20):
        ids = policy.choose(float(slot), 1.0)
        policy.observe(Visits(ids, float(slot), worth=[1.0], changed=[True]))
    assert policy.steps == 12  # 19 transitions, from the eighth on


def test_noise_shrinks_with_the_steps() -> None:
    policy = started(noise=1e-2, noise_exponent=1.0)
    first = np.abs(policy._noise()).max()
    policy.steps = 99
    later = np.abs(policy._noise()).max()
    assert first == pytest.approx(1e-2, rel=0.02)
    assert later == pytest.approx(1e-4, rel=0.02)


def test_matched_errors_are_averages_over_alike_traces() -> None:
    policy = started(matched=True)
    state = np.ones(6, np.float32)
    for reward in (0.0, 1.0, 5.0):
        policy.memory.store(state, np.array([1, 0, 0], np.float32), reward, state)
    policy.memory.store(state, np.array([0, 1, 0], np.float32), 7.0, state)
    averaged = policy._averaged(np.array([0, 3]))
    each = policy.network.errors(*policy.memory.at(np.arange(4)), discount=policy.discount)
    np.testing.assert_allclose(averaged, [each[:3].mean(), each[3]], rtol=1e-5)


@pytest.mark.parametrize("matched", [False, True])
def test_it_learns_to_prefer_the_page_that_brings_most(matched: bool) -> None:
    policy = policies.make("fg_dqn", hidden=(256, 8), exploration_slots=300, step=3e-3, matched=matched)
    found = recrawl.simulate(ONE_PAGE, policy, steps=1200, noise="change")
    assert found.mean_between(0, 100) < 2.0
    assert found.mean_between(800, 1200) > 2.4


def test_new_arms_keep_what_was_learnt_of_the_old() -> None:
    policy = started()
    state = np.concatenate([policy.state_at(0.0)[:3], [0, 0], policy.state_at(0.0)[3:], [0, 0]]).astype(np.float32)
    before = policy.network.values(policy.state_at(0.0)[None])[0]
    policy.add(2)
    np.testing.assert_allclose(policy.network.values(state[None])[0][:3], before, rtol=1e-5)


def test_thompson_comes_first_then_values() -> None:
    policy = ThompsonThenDqn(switch=5, **SMALL)
    policy.start(3, 0.0)
    assert policy.epsilon() == 0.0
    for slot in range(5):
        ids = policy.choose(float(slot), 1.0)
        policy.observe(Visits(ids, float(slot), worth=[1.0], changed=[True]))
    assert policy.thompson.successes.sum() == 5
    assert policy.epsilon() == 0.1
    assert len(policy.memory) == 4


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"discount": 1.5}, "discount"),
        ({"exploration": (0.7, -1.0)}, "exploration"),
        ({"batch": 0}, "batch"),
        ({"elapsed_scale": 0.0}, "elapsed_scale"),
        ({"step": -1.0}, "step"),
    ],
)
def test_wrong_options_are_named(options: dict, argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        policies.make("fg_dqn", **options)
