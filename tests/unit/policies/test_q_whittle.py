"""The index learnt without a model: its states, what counts as a lesson, and that it finds the index."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl import Visits, policies
from recrawl.errors import ParameterError
from recrawl.policies.q_whittle import QWhittle
from recrawl.sim.worlds import SlottedWorld

TABLE = recrawl.Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


def started(**options: object) -> QWhittle:
    policy = QWhittle(**options)  # type: ignore[arg-type]
    policy.start(3, 0.0)
    return policy


def step(policy: QWhittle, now: float, worth: float = 1.0) -> np.ndarray:
    ids = policy.choose(now, 1.0)
    policy.observe(Visits(ids, now, worth=np.full(len(ids), worth)))
    return ids


def test_the_state_is_the_slots_since_the_crawl_up_to_the_last_one() -> None:
    policy = started(states=4)
    assert policy.state_at(0.0).tolist() == [0, 0, 0]
    policy.observe(Visits([1], 0.0, worth=[1.0]))
    assert policy.state_at(1.0).tolist() == [1, 0, 1]
    assert policy.state_at(50.0).tolist() == [3, 3, 3]


def test_every_slot_teaches_about_every_target() -> None:
    policy = started()
    first = step(policy, 0.0)
    policy.choose(1.0, 1.0)
    passive = np.setdiff1d(np.arange(3), first)
    assert policy.tables.visits[first, 0, 1].tolist() == [1]
    assert policy.tables.visits[passive, 0, 0].tolist() == [1, 1]


@pytest.mark.parametrize("way", ["release", "fail", "list", "in flight"])
def test_a_crawl_that_brought_no_answer_teaches_nothing(way: str) -> None:
    policy = started()
    ids = policy.choose(0.0, 1.0)
    if way == "release":
        policy.release(ids)
    elif way == "fail":
        policy.observe(Visits(ids, 0.0, failed=[True]))
    elif way == "list":
        policy.observe(Visits(ids, 0.0, sitemap=[(np.array([0]), np.array([0.0]))]))
    policy.choose(1.0, 1.0)
    assert policy.tables.visits[ids].sum() == 0
    assert policy.tables.visits.sum() == 2


def test_a_subsidy_waits_until_both_actions_were_tried() -> None:
    policy = started(exploration=(1.0, 1.0))
    for slot in range(200):
        step(policy, float(slot))
    tried = (policy.tables.visits > 0).all(axis=2)
    assert tried.any()
    assert (policy.tables.indices[~tried] == 0).all()


def test_it_finds_the_index_of_the_states_that_matter() -> None:
    """On Table I with M = 1 these are one and two slots after a crawl of sources 1 and 2."""
    policy = QWhittle(states=6, exploration=(1.0, 1.0), step=0.5, index_halving=300)
    policy.start(4, 0.0)
    world = SlottedWorld(TABLE, None, 0, 0)
    for slot in range(6000):
        ids = policy.choose(float(slot), 1.0)
        policy.observe(world.crawl(ids, float(slot)))
        world.advance()
    right = recrawl.whittle_index_after(TABLE, [[1], [2]]).T
    np.testing.assert_allclose(policy.tables.indices[:2, :2], right[:2], rtol=0.05)


def test_the_unit_of_worth_does_not_matter() -> None:
    kept = []
    for unit in (1.0, 1024.0):
        policy = started(seed=3)
        history = [step(policy, float(slot), worth=unit).tolist() for slot in range(800)]
        kept.append((history, policy.tables.indices / unit))
    assert kept[0][0] == kept[1][0]
    np.testing.assert_allclose(kept[0][1], kept[1][1])


@pytest.mark.parametrize("network", [None, (32, 32)])
def test_it_learns_to_earn_on_table_one(network: tuple[int, ...] | None) -> None:
    if network:
        pytest.importorskip("torch", reason="the extra `deep` is not installed")
    policy = policies.make("q_whittle", network=network)
    found = recrawl.simulate(TABLE, policy, steps=1000)
    assert found.mean_between(0, 100) < 215
    assert found.mean_between(800, 1000) > 230


@pytest.mark.parametrize("network", [None, (16,)])
def test_new_targets_leave_what_was_learnt_of_the_others(network: tuple[int, ...] | None) -> None:
    if network:
        pytest.importorskip("torch", reason="the extra `deep` is not installed")
    policy = started(network=network)
    for slot in range(100):
        step(policy, float(slot))
    before = policy.indices(100.0)
    values = None if policy.network is None else policy.network.values_of(0)
    policy.add(2)
    assert policy.indices(100.0)[:3].tolist() == before.tolist()
    if policy.network is not None and values is not None:
        np.testing.assert_allclose(policy.network.values_of(0), values, rtol=1e-5)
    assert len(step(policy, 101.0)) == 1


def test_a_network_goes_on_from_a_dump() -> None:
    pytest.importorskip("torch", reason="the extra `deep` is not installed")
    policy, twin = started(network=(16,)), started(network=(16,))
    for slot in range(120):
        step(policy, float(slot))
    twin.restore(policy.dump())
    for slot in range(120, 160):
        assert step(policy, float(slot)).tolist() == step(twin, float(slot)).tolist()


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"states": 1}, "states"),
        ({"exploration": (0.5, 2.0)}, "exploration"),
        ({"exploration": (0.5,)}, "exploration"),
        ({"exploration_slots": 0}, "exploration_slots"),
        ({"step": 1.5}, "step"),
        ({"index_step": 0.0}, "index_step"),
        ({"network": (0,)}, "network"),
        ({"network": ()}, "network"),
        ({"slot": -1.0}, "slot"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        policies.make("q_whittle", **options)
