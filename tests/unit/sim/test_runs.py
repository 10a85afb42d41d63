"""The simulator: two paths that agree, worlds with the laws they claim, budgets that hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl import Sources, Visits, policies, relaxed_bound, simulate, stochastic_index
from recrawl.errors import ContractError, ParameterError
from recrawl.kernels.price import periods_at
from recrawl.policies.round_robin import RoundRobin
from recrawl.sim.noise import EXACT_ITEMS, sample_inflow
from recrawl.sim.randomness import streams

DECAY = -np.log(0.8)
TABLE = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


def catalogue(size: int = 30, *, cost: object = 1.0, lifetime: object = np.inf) -> Sources:
    random = np.random.default_rng(7)
    return Sources.ephemeral(
        arrival_rate=random.lognormal(0, 1.5, size),
        interest=random.lognormal(0, 0.5, size),
        decay=random.lognormal(-1.5, 1, size),
        cost=cost,
        lifetime=lifetime,
    )


def pages(size: int = 30) -> Sources:
    random = np.random.default_rng(8)
    return Sources.changing(random.uniform(0, 0.5, size), random.lognormal(0, 1, size))


COSTS = np.random.default_rng(3).choice([0.5, 1.0, 2.0, 3.25], 30)
LIFETIMES = np.random.default_rng(4).choice([1.0, 3.0, 10.0, np.inf], 30)
WORLDS = {
    "steady": (catalogue(), None),
    "poisson": (catalogue(), "poisson"),
    "item": (catalogue(), "item"),
    "epoch": (catalogue(), "epoch"),
    "costly": (catalogue(cost=COSTS), "poisson"),
    "dropping": (catalogue(lifetime=LIFETIMES), "poisson"),
    "pages": (pages(), "change"),
    "expected pages": (pages(), None),
}


@pytest.mark.parametrize("observed", [False, True, "some"])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    "name", ["whittle", "ceiled", "relaxed", "periodic", "greedy", "myopic", "round_robin", "single"]
)
def test_compiled_and_generic_runs_agree_step_by_step(name: str, world: str, observed: bool | str) -> None:
    sources, noise = WORLDS[world]
    mask = np.arange(len(sources)) % 2 == 0 if observed == "some" else observed

    def policy() -> policies.Policy:
        if name == "ceiled":
            return policies.make("whittle", index="ceiled")
        return policies.make(name)

    kwargs = {"budget": 2.5, "steps": 70, "runs": 2, "seed": 5, "noise": noise, "observed": mask}
    fast, slow = simulate(sources, policy(), **kwargs), simulate(sources, policy(), compiled=False, **kwargs)
    np.testing.assert_array_equal(fast.actions, slow.actions)
    np.testing.assert_allclose(fast.states, slow.states, rtol=0, atol=0)
    np.testing.assert_allclose(fast.rewards, slow.rewards, rtol=1e-12)
    np.testing.assert_allclose(fast.crawl_share, slow.crawl_share)
    assert fast.spend == pytest.approx(slow.spend, rel=1e-6)


def test_stochastic_tables_agree_on_both_paths() -> None:
    sources = catalogue(6)
    samples = sample_inflow(sources, "poisson", 2000)
    tables = [stochastic_index(samples[:, i], sources.decay_factor[i]) for i in range(len(sources))]
    kwargs = {"budget": 2, "steps": 200, "noise": "poisson", "observed": True}
    fast = simulate(sources, policies.make("whittle", index=tables), **kwargs)
    slow = simulate(sources, policies.make("whittle", index=tables), compiled=False, **kwargs)
    np.testing.assert_array_equal(fast.actions, slow.actions)


def test_observed_whittle_is_exact_despite_its_shortcut() -> None:
    """Hundreds of sources, so that the bound that skips sources is at work in nearly every slot."""
    sources = catalogue(400)
    kwargs = {"budget": 20, "steps": 120, "noise": "epoch", "observed": True}
    fast, slow = simulate(sources, "whittle", **kwargs), simulate(sources, "whittle", compiled=False, **kwargs)
    np.testing.assert_array_equal(fast.actions, slow.actions)


@pytest.mark.parametrize("name", ["whittle", "greedy", "round_robin", "periodic"])
def test_those_asleep_are_never_missed(name: str) -> None:
    """Hundreds of sources and a budget that does not divide, so that the mark rises, and falls again."""
    kwargs = {"budget": 17.3, "steps": 250, "noise": "poisson"}
    fast, slow = simulate(catalogue(300), name, **kwargs), simulate(catalogue(300), name, compiled=False, **kwargs)
    np.testing.assert_array_equal(fast.actions, slow.actions)
    np.testing.assert_allclose(fast.rewards, slow.rewards, rtol=1e-12)


class Stream:
    """SplitMix64, one number at a time."""

    def __init__(self, state: int) -> None:
        self.state = state

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (((z ^ (z >> 31)) >> 11) + 0.5) / 2**53

    def inflow(self, arrivals: float, decay: float, noise: str) -> float:
        u, count, term = self.uniform(), 0, math.exp(-arrivals)
        below = term
        while u > below and term > 0:
            count += 1
            term *= arrivals / count
            below += term
        total = 0.0
        for _ in range(count):
            fading = math.exp(-decay * self.uniform())
            total += fading * (-math.log(self.uniform()) if noise == "item" else 1.0)
        return total * -math.log(self.uniform()) if noise == "epoch" else total


@pytest.mark.parametrize("noise", ["poisson", "item", "epoch"])
def test_items_are_those_of_one_stream_per_source_number_for_number(noise: str) -> None:
    arrivals = np.array([0.01, 0.3, 2.0, 9.0, 31.0])
    drawn = sample_inflow(Sources.ephemeral(arrivals, 1.0, 0.7), noise, 500, seed=6)
    one_by_one = [Stream(int(state)) for state in streams(6, 0, len(arrivals))]
    expected = [[s.inflow(a, 0.7, noise) for s, a in zip(one_by_one, arrivals, strict=True)] for _ in range(500)]
    np.testing.assert_allclose(drawn, expected, rtol=1e-12)


def test_runs_without_chance_are_all_the_same() -> None:
    result = simulate(catalogue(), "whittle", budget=2, steps=50, runs=3)
    assert (result.rewards == simulate(catalogue(), "whittle", budget=2, steps=50).rewards).all()
    assert result.ci95 == pytest.approx((result.mean_reward, result.mean_reward))


@pytest.mark.parametrize(("budget", "reward"), [(1, 260.301), (2, 337.651), (3, 372.392)])
def test_table_one(budget: int, reward: float) -> None:
    assert simulate(TABLE, "whittle", budget=budget, steps=1000).mean_reward == pytest.approx(reward, abs=1e-3)


def test_table_one_takes_the_first_two_sources_in_turn() -> None:
    result = simulate(TABLE, "whittle", budget=1, steps=1000)
    assert result.crawl_share.tolist() == [0.5, 0.5, 0.0, 0.0]
    assert result.never_crawled == 0.5
    assert result.actions[:4, :2].tolist() in ([[True, False], [False, True]] * 2, [[False, True], [True, False]] * 2)


def test_a_saturated_source_is_crawled() -> None:
    """With Theorem 1 as printed a source at its ceiling has index 0 and is never crawled again."""
    policy = policies.make("whittle")
    policy.start(4, 0.0, sources=TABLE)
    assert policy.choose(0.0, 1.0, TABLE.ceiling).tolist() == [1]


@pytest.mark.parametrize("noise", ["poisson", "item", "epoch"])
@pytest.mark.parametrize("arrivals", [0.3, 5.0, EXACT_ITEMS * 0.9, EXACT_ITEMS * 1.1, 250.0])
def test_inflow_has_the_mean_and_variance_of_its_law(noise: str, arrivals: float) -> None:
    decay, interest, size = 0.7, 1.3, 40_000
    sources = Sources.ephemeral(arrivals, interest, decay)
    sample = sample_inflow(sources, noise, size, seed=2)[:, 0]
    once = arrivals * interest**2 * -np.expm1(-2 * decay) / (2 * decay)
    variance = {"poisson": once, "item": 2 * once, "epoch": 2 * once + sources.inflow[0] ** 2}[noise]
    assert abs(sample.mean() - sources.inflow[0]) < 4.5 * np.sqrt(variance / size)
    assert sample.var() == pytest.approx(variance, rel=0.12)
    assert (sample >= 0).all()


def test_the_two_ways_of_drawing_items_meet_in_skewness() -> None:
    def skewness(arrivals: float) -> float:
        sample = sample_inflow(Sources.ephemeral(arrivals, 1.0, 0.7), "item", 200_000, seed=3)[:, 0]
        return float(((sample - sample.mean()) ** 3).mean() / sample.std() ** 3)

    assert skewness(EXACT_ITEMS) == pytest.approx(skewness(EXACT_ITEMS + 0.01), abs=0.03)


def test_changes_come_with_their_probability_and_stay_until_crawled() -> None:
    sources = Sources.changing([0.2, 1.0, 0.0], [3.0, 2.0, 5.0])
    result = simulate(sources, policies.make("single", source=0), steps=20_000, noise="change")
    assert result.mean_reward == pytest.approx(0.2 * 3, rel=0.05)
    assert (result.states[:, 1] == 2.0).all()
    assert (result.states[:, 2] == 0.0).all()


def test_an_exact_lifetime_caps_the_worth() -> None:
    sources = Sources.ephemeral(arrival_rate=[1.0, 1.0], interest=1.0, decay=0.2, lifetime=[4, np.inf])
    states = simulate(sources, policies.make("single", source=1), steps=40).states
    grown = sources.inflow[0] * (1 - np.exp(-0.2 * np.minimum(np.arange(1, 41), 4))) / -np.expm1(-0.2)
    np.testing.assert_allclose(states[:, 0], grown, rtol=1e-12)


def test_every_policy_meets_the_same_world() -> None:
    first = simulate(catalogue(), "round_robin", steps=30, noise="item", seed=9).states[0]
    second = simulate(catalogue(), "greedy", steps=30, noise="item", seed=9).states[0]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, simulate(catalogue(), "greedy", steps=30, noise="item", seed=10).states[0])


@pytest.mark.parametrize("budget", [1 / 3, 0.5, 1, 2.5, 7])
def test_the_budget_is_spent_and_never_exceeded(budget: float) -> None:
    result = simulate(catalogue(), "round_robin", budget=budget, steps=300)
    assert result.spend == pytest.approx(budget)
    spent = np.cumsum(result.actions.sum(axis=1))
    assert (spent <= budget * np.arange(1, 301) + 1e-9).all()


def test_costly_sources_are_paid_for_by_what_was_kept() -> None:
    sources = Sources.ephemeral(arrival_rate=[9.0, 1.0], interest=1.0, decay=0.1, cost=[3.0, 1.0])
    result = simulate(sources, policies.make("single", source=0), budget=1, steps=300)
    assert result.actions[:, 0].sum() == 100
    assert result.spend == pytest.approx(1.0)


def test_intervals_cover_the_mean_over_runs() -> None:
    result = simulate(TABLE, "whittle", steps=200, runs=40, noise="poisson", observed=True)
    low, high = result.ci95 or (np.nan, np.nan)
    assert low < result.mean_reward < high
    assert result.rewards.shape == (40, 200)
    assert simulate(TABLE, "whittle", steps=10).ci95 is None


def test_any_object_with_the_contract_runs() -> None:
    class Stubborn(RoundRobin):
        """Not one of the built-in types, so it takes the generic path."""

        def learn(self, visits: Visits) -> None:
            assert visits.worth is not None

    ours, builtin = simulate(TABLE, Stubborn(), steps=50), simulate(TABLE, "round_robin", steps=50)
    assert ours.mean_reward == pytest.approx(builtin.mean_reward)


def test_a_policy_that_breaks_the_contract_is_caught() -> None:
    class Greedy(RoundRobin):
        def choose(self, now: float, budget: float, states: object = None) -> np.ndarray:
            return np.arange(3)

    class Twice(RoundRobin):
        def choose(self, now: float, budget: float, states: object = None) -> np.ndarray:
            return np.zeros(2, dtype=np.int64)

    class Lost(RoundRobin):
        def choose(self, now: float, budget: float, states: object = None) -> np.ndarray:
            return np.array([7])

    with pytest.raises(ContractError, match="unknown target"):
        simulate(TABLE, Lost(), budget=2, steps=5)
    with pytest.raises(ContractError, match="more than the budget"):
        simulate(TABLE, Greedy(), budget=2, steps=5)
    with pytest.raises(ContractError, match="twice"):
        simulate(TABLE, Twice(), budget=2, steps=5)


def test_progress_is_told_run_by_run() -> None:
    told: list[int] = []
    simulate(TABLE, "whittle", steps=5, runs=4, noise="poisson", progress=told.append)
    assert told == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("kwargs", "argument"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 5}, "budget"),
        ({"budget": float("nan")}, "budget"),
        ({"steps": 0}, "steps"),
        ({"runs": 0}, "runs"),
        ({"noise": "snow"}, "noise"),
        ({"noise": "change"}, "noise"),
        ({"observed": [True]}, "observed"),
        ({"observed": "no"}, "observed"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"noise": ["poisson"]}, "noise"),
        ({"policy": 42}, "policy"),
        ({"world": [1, 2]}, "world"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, object], argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        simulate(**{"world": TABLE, "policy": "whittle", **kwargs})  # type: ignore[arg-type]


def test_periodic_plans_for_the_budget_it_is_given() -> None:
    bound = relaxed_bound(TABLE, 2).value
    assert simulate(TABLE, "periodic", budget=2, steps=2000).mean_reward > 0.97 * bound


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_only_the_ratio_of_budget_to_cost_matters(scale: float) -> None:
    sources = catalogue(cost=COSTS * scale)
    result = simulate(sources, "whittle", budget=2.5 * scale, steps=100)
    np.testing.assert_array_equal(result.actions, simulate(catalogue(cost=COSTS), "whittle", 2.5, 100).actions)
    assert result.spend == pytest.approx(simulate(catalogue(cost=COSTS), "whittle", 2.5, 100).spend * scale)


def test_a_tiny_budget_is_saved_up_for_a_crawl() -> None:
    assert simulate(TABLE, "whittle", budget=1e-3, steps=5000).crawl_share.sum() == pytest.approx(1e-3)


@pytest.mark.parametrize("noise", ["poisson", "item", "epoch"])
@pytest.mark.parametrize("decay", [1e-6, 1.0, 1e3, 1e6])
def test_many_items_that_fade_at_once_still_have_their_mean(noise: str, decay: float) -> None:
    sources = Sources.ephemeral(100.0, 1.0, decay)
    sample = sample_inflow(sources, noise, 20_000, seed=4)[:, 0]
    spread = max(sample.std(), sources.inflow[0])
    assert abs(sample.mean() - sources.inflow[0]) < 6 * spread / np.sqrt(len(sample))


def test_relaxed_control_waits_for_the_price_with_lifetimes_too() -> None:
    sources = Sources.ephemeral(1.0, 1.0 / -np.expm1(-DECAY) * DECAY, DECAY, lifetime=5)
    policy = policies.make("relaxed", price=1.0, step=1e-12)
    actions = simulate(sources, policy, steps=40).actions[:, 0]
    assert np.diff(np.flatnonzero(actions)).tolist() == [int(periods_at(sources, 1.0)[0])] * (actions.sum() - 1)
