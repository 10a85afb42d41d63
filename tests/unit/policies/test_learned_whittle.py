"""The learned index from no knowledge, on the papers' instances and in continuous time."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Sources, Visits, policies, relaxed_bound, simulate
from recrawl.errors import ParameterError
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.sim.noise import Noise
from recrawl.sim.worlds import SlottedWorld

TABLE_I = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
GROUPS = Sources.changing(
    change_probability=[0.1] * 5 + [0.002] * 80 + [0.005] * 10 + [0.05] * 5,
    importance=[5] * 5 + [0.2] * 80 + [1] * 10 + [0.5] * 5,
)


def random_pages(count: int, seed: int) -> Sources:
    random = np.random.default_rng(seed)
    return Sources.changing(np.exp(random.uniform(np.log(1e-3), np.log(0.5), count)), random.lognormal(0.0, 1.0, count))


def expected_rewards(
    sources: Sources, policy: LearnedWhittle, budget: float, slots: int, noise: Noise, run: int = 0
) -> np.ndarray:
    """What each slot's crawls are worth on average, given the policy's gaps: the reward without its noise."""
    policy = policy.spawn(run)
    policy.start(len(sources), 0.0)
    world, last, out = SlottedWorld(sources, noise, 0, run), np.full(len(sources), -1.0), np.empty(slots)
    for slot in range(slots):
        if slot:
            world.advance()
        ids = policy.choose(float(slot), budget)
        out[slot] = (sources.ceiling[ids] * -np.expm1(-sources.decay_rate[ids] * (slot - last[ids]))).sum()
        last[ids] = slot
        policy.observe(world.crawl(ids, float(slot)))
    return out


@pytest.mark.parametrize("noise", [None, "poisson"])
@pytest.mark.parametrize("run", [0, 1])
def test_table_I_from_no_knowledge_is_within_one_per_cent_of_the_index(noise: Noise, run: int) -> None:
    known = simulate(TABLE_I, "whittle", steps=10_000).mean_between(1000, 10_000)
    learned = expected_rewards(TABLE_I, LearnedWhittle(), 1, 10_000, noise, run)[1000:].mean()
    assert learned >= 0.99 * known


@pytest.mark.long
@pytest.mark.parametrize("noise", [None, "poisson", "item"])
def test_table_I_in_every_run(noise: Noise) -> None:
    known = simulate(TABLE_I, "whittle", steps=10_000).mean_between(1000, 10_000)
    for run in range(10):
        assert expected_rewards(TABLE_I, LearnedWhittle(), 1, 10_000, noise, run)[1000:].mean() >= 0.99 * known


def test_grouped_pages_from_no_knowledge_reach_the_bound() -> None:
    bound = relaxed_bound(GROUPS, 1).value
    assert bound == pytest.approx(2.0549, abs=5e-5)
    rewards = expected_rewards(GROUPS, LearnedWhittle(objective="changes"), 1, 20_000, "change")
    assert rewards[10_000:].mean() >= 0.99 * bound


@pytest.mark.parametrize(
    "slots", [pytest.param(20_000, marks=pytest.mark.long), 3000], ids=["in full", "a seventh of the time"]
)
def test_random_pages_from_no_knowledge_reach_the_bound(slots: int) -> None:
    sources = random_pages(1000, seed=1)
    rewards = expected_rewards(sources, LearnedWhittle(objective="changes"), 50, slots, "change")
    assert rewards[slots // 2 :].mean() >= 0.99 * relaxed_bound(sources, 50).value


def test_at_a_high_price_pages_of_unknown_worth_are_still_looked_into() -> None:
    sources = random_pages(300, seed=5)
    rewards = expected_rewards(sources, LearnedWhittle(objective="changes"), 1, 8000, "change")
    assert rewards[4000:].mean() >= 0.99 * relaxed_bound(sources, 1).value


@pytest.mark.parametrize("act", ["thompson", "optimism"])
def test_other_ways_to_act_learn_too(act: str) -> None:
    sources = random_pages(100, seed=2)
    policy = LearnedWhittle(objective="changes", act=act)  # type: ignore[arg-type]
    rewards = expected_rewards(sources, policy, 5, 3000, "change")
    assert rewards[1500:].mean() >= 0.97 * relaxed_bound(sources, 5).value


def test_beliefs_approach_the_truth_with_honest_spread() -> None:
    sources = random_pages(60, seed=3)
    policy = LearnedWhittle(objective="changes")
    policy.start(60, 0.0)
    world = SlottedWorld(sources, "change", 0, 0)
    for slot in range(3000):
        world.advance()
        policy.observe(world.crawl(policy.choose(float(slot), 6), float(slot)))
    beliefs = policy.beliefs(np.arange(60))
    often = sources.decay_rate > 0.05
    off = (beliefs.rate - sources.decay_rate) / beliefs.rate_sd
    assert np.abs(off[often]).max() < 5.0
    np.testing.assert_allclose(beliefs.value[often], sources.ceiling[often], rtol=0.01)


def test_no_source_is_starved_beyond_its_maximum_age() -> None:
    policy = LearnedWhittle(objective="changes", max_age=40.0)
    policy.start(20, 0.0)
    world, last = SlottedWorld(Sources.changing([0.5] + [1e-4] * 19, [100] + [0.01] * 19), "change", 0, 0), np.zeros(20)
    oldest = 0.0
    for slot in range(600):
        ids = policy.choose(float(slot), 1)
        oldest = max(oldest, (slot - last).max())
        last[ids] = slot
        policy.observe(world.crawl(ids, float(slot)))
        world.advance()
    assert oldest <= 40.0 + 19.0


def run_feeds(policy: LearnedWhittle, rates: np.ndarray, ticks: int, tick: float, now: float) -> np.ndarray:
    """Feeds with dated items, one crawl per tick; crawls per feed in the second half."""
    random = np.random.default_rng(0)
    items = [np.sort(now + random.uniform(0, ticks * tick, random.poisson(r * ticks * tick))) for r in rates]
    policy.start(len(rates), now)
    seen, crawls = np.full(len(rates), now), np.zeros(len(rates))
    for k in range(1, ticks + 1):
        t = now + k * tick
        ids = policy.choose(t, 1)
        news = [items[i][(items[i] > seen[i]) & (items[i] <= t)] for i in ids]
        policy.observe(Visits(ids, t, published=news))
        seen[ids] = t
        if k > ticks // 2:
            crawls[ids] += 1
    return crawls


@pytest.mark.parametrize(
    ("objective", "half_life"), [("ephemeral", 4 * 3600.0), ("ephemeral", None), ("discovery", None)]
)
def test_feeds_that_publish_more_are_crawled_more(objective: str, half_life: float | None) -> None:
    rates = np.array([0.1, 0.5, 2.0, 8.0]) / 3600.0
    policy = LearnedWhittle(objective=objective, half_life=half_life)  # type: ignore[arg-type]
    crawls = run_feeds(policy, rates, ticks=2000, tick=1200.0, now=1.7e9)
    assert (np.diff(crawls) > 0).all()
    if objective == "discovery":
        # Λτ²/2 equal for all means crawls in proportion to √Λ.
        np.testing.assert_allclose(crawls / crawls.sum(), np.sqrt(rates) / np.sqrt(rates).sum(), atol=0.03)


def test_fresh_copies_are_kept_of_pages_that_change_neither_too_seldom_nor_too_often() -> None:
    random = np.random.default_rng(0)
    rates = np.repeat([0.001, 0.05, 20.0], 10)
    policy = LearnedWhittle(objective="freshness")
    policy.start(30, 0.0)
    last, crawls = np.zeros(30), np.zeros(30)
    for slot in range(1, 3000):
        ids = policy.choose(float(slot), 1)
        changed = random.random(len(ids)) < -np.expm1(-rates[ids] * (slot - last[ids]))
        policy.observe(Visits(ids, float(slot), changed=changed & (last[ids] > 0)))
        last[ids] = slot
        crawls[ids] += 1
    seldom, sometimes, always = crawls.reshape(3, 10).sum(axis=1)
    assert sometimes > 2 * seldom
    # Nobody is starved, so pages that cannot be kept fresh still cost something, but less than those that can.
    assert sometimes > always


def test_feeds_pages_and_bare_worth_are_ranked_together() -> None:
    policy = LearnedWhittle(half_life=10.0)
    policy.start(3, 0.0)
    for t in np.arange(1.0, 200.0):
        ids = policy.choose(t, 3)
        assert sorted(ids) == [0, 1, 2]
        policy.observe(Visits(np.array([0]), t, published=[np.array([t - 0.5])]))
        policy.observe(Visits(np.array([1]), t, changed=np.array([True])))
        policy.observe(Visits(np.array([2]), t, worth=np.array([5.0])))
    beliefs = policy.beliefs([0, 1, 2])
    assert np.isfinite([beliefs.value, beliefs.rate, beliefs.value_sd, beliefs.rate_sd]).all()
    assert beliefs.value[0] == pytest.approx(1.0 / (np.log(2) / 10.0), rel=0.1)


def test_undated_items_are_counts_and_a_first_backlog_teaches_only_by_its_dates() -> None:
    policy = LearnedWhittle(objective="discovery")
    policy.start(2, 100.0)
    policy.observe(Visits(np.array([0]), 110.0, published=[np.arange(10.0, 110.0, 10.0)]))
    policy.observe(Visits(np.array([1]), 110.0, new=np.array([1000])))
    policy.observe(Visits(np.array([1]), 210.0, new=np.array([10])))
    np.testing.assert_allclose(policy.beliefs([0, 1]).value, 0.1, rtol=0.2)


def test_a_failed_visit_teaches_nothing_and_waits_its_turn_again() -> None:
    policy = LearnedWhittle(objective="changes")
    policy.start(2, 0.0)
    policy.observe(Visits(np.array([0, 1]), 1.0, changed=np.array([False, False])))
    before = policy.beliefs([0, 1])
    policy.observe(Visits(np.array([1]), 5.0, changed=np.array([False]), failed=np.array([True])))
    np.testing.assert_array_equal(policy.beliefs([0, 1]).rate, before.rate)
    assert policy.choose(6.0, 1).tolist() == [0]


def test_restored_it_goes_on_as_if_nothing_had_happened() -> None:
    sources = random_pages(30, seed=4)
    policy = LearnedWhittle(objective="changes", act="thompson")
    expected_rewards(sources, policy, 3, 50, "change")
    policy.start(30, 0.0)
    world = SlottedWorld(sources, "change", 0, 0)
    for slot in range(100):
        policy.observe(world.crawl(policy.choose(float(slot), 3), float(slot)))
        world.advance()
    twin = LearnedWhittle(objective="changes", act="thompson")
    twin.restore(policy.dump())
    for slot in range(100, 150):
        ids = policy.choose(float(slot), 3)
        assert twin.choose(float(slot), 3).tolist() == ids.tolist()
        visits = world.crawl(ids, float(slot))
        policy.observe(visits)
        twin.observe(visits)
        world.advance()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"objective": "fame"}, "objective"),
        ({"act": "wait"}, "act"),
        ({"half_life": 0.0}, "half_life"),
        ({"max_age": -1.0}, "max_age"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        policies.make("learned_whittle", **options)
