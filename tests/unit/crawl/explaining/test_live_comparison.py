"""What two policies captured side by side, and how sure that is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl import Visits, policies
from recrawl.crawl.explaining.live_comparison import Comparison, compare
from recrawl.policies import LivePolicy
from recrawl.policies.ab_plan import Trial
from recrawl.policies.ab_policy import Split
from recrawl.store.records import Crawl, Source
from recrawl.store.source_terms import Defaults

BEGAN, HOUR, DAY = 1.8e9, 3600.0, 86400.0
HALF_LIFE = 6 * HOUR


def host_of(url: str) -> str:
    return url.split("/")[2]


class World:
    """Feeds on hosts, with the times of all they publish."""

    def __init__(self, seed: int, hosts: int = 30, days: float = 4.0, per_host: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.end, self.count = BEGAN + days * DAY, hosts * per_host
        self.groups = np.repeat(np.arange(hosts), per_host)
        self.urls = [f"https://h{seed}-{g}.example/{k}" for k, g in enumerate(self.groups.tolist())]
        pace = np.exp(random.normal(math.log(0.1), 1.0, hosts))[self.groups] / HOUR
        pace *= np.exp(random.normal(0.0, 1.0, self.count))
        whole = self.end - BEGAN + 2 * DAY
        self.items = [
            np.sort(random.uniform(BEGAN - 2 * DAY, self.end, random.poisson(rate * whole))) for rate in pace.tolist()
        ]
        self.sources = [Source(id=k + 1, url=url) for k, url in enumerate(self.urls)]

    def played(self, policy: LivePolicy, per_hour: float, step_s: float = 900.0) -> list[Crawl]:
        """The crawl log of a policy at so many fetches an hour."""
        policy.start(self.count, BEGAN, groups=self.groups, labels=self.urls)
        policy.configure(np.arange(self.count), cost=np.ones(self.count), max_age=np.full(self.count, 30 * DAY))
        last, crawls, now, tokens = np.full(self.count, np.nan), [], BEGAN, 0.0
        while now < self.end:
            now, tokens = now + step_s, min(tokens + per_hour * step_s / HOUR, 2.0 + per_hour * step_s / HOUR)
            ids = policy.choose(now, tokens)
            tokens -= len(ids)
            published = []
            for i in ids.tolist():
                first = math.isnan(last[i])
                new = self.items[i][(self.items[i] <= now) & (self.items[i] > (now - 2 * DAY if first else last[i]))]
                worth = 0.0 if first else float((2.0 ** (-(now - new) / HALF_LIFE)).sum())
                outcome = "first" if first else "new" if len(new) else "unchanged"
                crawls.append(Crawl(source=i + 1, at=now, outcome=outcome, new=len(new), captured=worth))
                published.append(new)
                last[i] = now
            if len(ids):
                policy.observe(Visits(ids, now, published=published))
        return crawls


def tried(world: World, names: tuple[str, str], per_hour: float, swap_s: float) -> Comparison:
    trial = Trial(names=names, began=BEGAN, swap_s=swap_s, spans=[(BEGAN, world.end)])
    parts = {f"{place}{name}": policies.live(name) for place, name in enumerate(names)}
    rate = per_hour / HOUR
    split = Split(parts, trial, host_of, rate, burst=2.0 + rate * 900.0)
    log = world.played(split, per_hour)
    return compare(
        trial, world.sources, log, host_of=host_of, defaults=Defaults(half_life_s=HALF_LIFE), budget_per_s=rate
    )


def test_the_same_policy_twice_differs_as_seldom_as_the_interval_says() -> None:
    told = [tried(World(seed), ("round_robin", "round_robin:seed=1"), 12.0, 6 * HOUR) for seed in range(25)]
    assert all(each.paired and each.difference is not None for each in told)
    wrong = sum(each.verdict != "no difference" for each in told)
    assert wrong <= 5  # 1.25 expected; six or more in one run of 600
    assert abs(np.mean([each.difference.percent for each in told if each.difference])) < 5.0


def test_the_better_policy_is_told_and_by_about_how_much() -> None:
    world = World(3, hosts=60, days=8.0)
    alone = {
        name: sum(crawl.captured for crawl in world.played(policies.live(name), 12.0))
        for name in ("learned_whittle", "round_robin")
    }
    truth = 100.0 * (alone["learned_whittle"] / alone["round_robin"] - 1.0)
    told = tried(world, ("learned_whittle", "round_robin"), 12.0, DAY)
    assert told.verdict == "learned_whittle"
    assert told.difference is not None
    assert told.difference.low > 0.0
    assert 0.5 * truth < told.difference.percent < 1.5 * truth


@pytest.mark.parametrize("swap_s", [0.0, 6 * HOUR])
def test_each_spends_half_of_the_budget(swap_s: float) -> None:
    told = tried(World(1), ("round_robin", "thompson"), 12.0, swap_s)
    one, other = told.policies
    assert one.fetches == pytest.approx(4 * 24 * 6, rel=0.03)
    assert other.fetches == pytest.approx(one.fetches, rel=0.03)


def test_what_one_leaves_the_other_does_not_get() -> None:
    told = tried(World(1, hosts=8), ("nutch_adaptive", "round_robin"), 24.0, 0.0)
    timers, turns = told.policies
    assert timers.fetches < 100
    assert turns.fetches <= 4 * 24 * 12 + 8


def test_halves_that_never_change_are_said_not_to_be_paired() -> None:
    told = tried(World(2), ("round_robin", "uniform"), 12.0, 0.0)
    assert not told.paired
    assert told.difference is not None
    paired = tried(World(2), ("round_robin", "uniform"), 12.0, 6 * HOUR)
    assert paired.difference is not None
    assert paired.difference.high - paired.difference.low < told.difference.high - told.difference.low


# -- by hand

SOURCES = [Source(id=1, url="https://a.example/1"), Source(id=2, url="https://b.example/1")]


def trial_of(swap_s: float, *spans: tuple[float, float]) -> Trial:
    return Trial(names=("one", "two"), began=0.0, swap_s=swap_s, spans=list(spans))


def found(trial: Trial, *crawls: Crawl, half_life_s: float = 1e9) -> Comparison:
    return compare(
        trial, SOURCES, crawls, host_of=host_of, defaults=Defaults(half_life_s=half_life_s), budget_per_s=1.0
    )


def brought(at: float, captured: float = 1.0, new: int = 1, source: int = 1) -> Crawl:
    return Crawl(source=source, at=at, outcome="new", new=new, captured=captured, requests=2)


def test_what_was_published_before_a_change_is_the_others() -> None:
    trial = trial_of(10.0, (0.0, 20.0))
    mine = trial.ruler(trial.half_of("a.example"), 5.0)
    told = found(trial, brought(8.0, 3.0), brought(12.0, 4.0))
    # From 8 to 12, half of the time is of each; the first fetch has no fetch before it in the trial, and is whole.
    assert told.policies[mine].captured == pytest.approx(3.0 * _since_ever(8.0) + 2.0)
    assert told.policies[1 - mine].captured == pytest.approx(2.0)
    assert (told.policies[mine].fetches, told.policies[1 - mine].fetches) == (2, 2)


def _since_ever(age: float, half_life_s: float = 1e9) -> float:
    return float(-np.expm1(-age * np.log(2.0) / half_life_s))


def test_recent_time_weighs_more() -> None:
    trial = trial_of(10.0, (0.0, 20.0))
    mine = trial.ruler(trial.half_of("a.example"), 15.0)
    told = found(trial, brought(5.0, 0.0), brought(15.0, 1.0), half_life_s=1.0)
    assert told.policies[mine].captured == pytest.approx((1 - 2.0**-5) / (1 - 2.0**-10))


def test_what_was_published_while_it_did_not_run_is_nobodys() -> None:
    trial = trial_of(0.0, (0.0, 10.0), (30.0, 40.0))
    told = found(trial, brought(10.0, 0.0), brought(20.0, 5.0), brought(40.0, 4.0))
    assert sum(side.captured for side in told.policies) == pytest.approx(2.0)
    assert sum(side.fetches for side in told.policies) == 4


def test_first_looks_and_sources_that_are_gone_do_not_count() -> None:
    told = found(
        trial_of(0.0, (0.0, 10.0)),
        Crawl(source=1, at=5.0, outcome="first", new=20, captured=0.0),
        Crawl(source=9, at=6.0, outcome="new", new=20, captured=9.0),
    )
    assert sum(side.new_items for side in told.policies) == 0
    assert sum(side.fetches for side in told.policies) == 1
    assert told.verdict == "too early"
    assert "hosts" in told.why


def test_it_is_too_early_before_the_halves_have_changed() -> None:
    told = found(trial_of(10.0, (0.0, 15.0)), *(brought(float(t)) for t in range(1, 15)))
    assert told.verdict == "too early"
    assert told.difference is None
    assert "both halves" in told.why


def test_short_periods_are_cautioned_against() -> None:
    assert "--swap 6s --for 24s" in found(trial_of(5.0, (0.0, 15.0))).caution
    assert found(trial_of(6.0, (0.0, 15.0))).caution == ""
    assert "halves never change" in found(trial_of(0.0, (0.0, 15.0))).caution


@given(
    st.floats(0.5, 50.0),
    st.lists(st.tuples(st.floats(0.0, 500.0), st.floats(0.1, 60.0)), max_size=5),
    st.floats(0.0, 500.0),
    st.floats(0.0, 500.0),
    st.integers(0, 1),
)
def test_reigns_follow_each_other_without_gaps_within_what_ran(
    swap_s: float, ran: list[tuple[float, float]], one: float, other: float, half: int
) -> None:
    spans, at = [], 0.0
    for wait, length in ran:
        spans.append((at + wait, at + wait + length))
        at += wait + length
    trial = Trial(names=("one", "two"), began=0.0, swap_s=swap_s, spans=spans)
    since, until = sorted((one, other))
    reigns = list(trial.reigns(half, since, until))
    expected = sum(max(min(to, until) - max(start, since), 0.0) for start, to in spans)
    assert sum(to - start for _, start, to in reigns) == pytest.approx(expected, abs=1e-6)
    for who, start, to in reigns:
        assert since <= start < to <= until
        if to - start > 1e-6:
            assert who == trial.ruler(half, (start + to) / 2)
            assert who != trial.ruler(1 - half, (start + to) / 2)
