"""How the budget is shared out, and how fast the fleet finds its price."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.cluster.budget_shares import Bids, Market, filled, newcomers_part
from recrawl.cluster.grants import Grants
from recrawl.cluster.messages import Grant, Report
from recrawl.errors import ParameterError
from recrawl.kernels.cadence import cadence
from recrawl.kernels.demand import demand

ROUNDS = 15
"""Reports of each shard within which price and rates have settled, from a first price a hundred times off."""


class Sketch:
    """A shard that has sources and reports, and fetches nothing."""

    def __init__(self, name: str, value: np.ndarray, rate: np.ndarray, own_price: float = math.nan) -> None:
        self.name, self.incarnation, self.value, self.rate = name, name + "1", value, rate
        self.own_price, self.able, self.newcomers, self.dearest = own_price, math.inf, 0, 1.0
        self.siblings = 0
        self.grant, self.sent, self.spent = Grant(leader=0, number=0), 0.0, 0.0

    def report(self, now: float) -> Report:
        wanted, slope = 0.0, 0.0
        if self.grant.price > 0.0:
            spent, slopes, _ = demand(self.value, self.rate, self.grant.price)
            wanted, slope = float(spent.sum()), float(slopes.sum())
        left = max(self.sent + self.grant.seconds - now, 0.0)
        return Report(
            shard=self.name,
            incarnation=self.incarnation,
            leader=self.grant.leader,
            granted=self.grant.number,
            rate=self.grant.rate if left else 0.0,
            burst=self.grant.burst if left else 0.0,
            left_s=left,
            able=self.able,
            demand=wanted,
            slope=slope,
            price=self.grant.price,
            own_price=self.own_price,
            newcomers=self.newcomers,
            siblings=self.siblings,
            dearest=self.dearest,
            sources=len(self.value) + self.newcomers,
            spent=self.spent,
        )

    def talk(self, grants: Grants, now: float, members: tuple[str, ...]) -> Grant:
        self.grant, self.sent = grants.hear(self.report(now), now, members), now
        return self.grant


def fleet(count: int, seed: int = 0, own_price: float = 1.0) -> list[Sketch]:
    """Shards of unlike sizes."""
    random = np.random.default_rng(seed)
    sizes = random.integers(20, 400, count)
    return [
        Sketch(f"s{k}", random.lognormal(0, 2, size), random.lognormal(-6, 1, size), own_price)
        for k, size in enumerate(sizes)
    ]


def exact(shards: list[Sketch], budget: float) -> tuple[float, np.ndarray]:
    """The price of one scheduler over everything, and what each shard's sources spend at it."""
    price, _ = cadence(np.concatenate([s.value for s in shards]), np.concatenate([s.rate for s in shards]), budget)
    return price, np.array([demand(s.value, s.rate, price)[0].sum() for s in shards])


def run(shards: list[Sketch], grants: Grants, start: float, rounds: int) -> float:
    """Everybody reports once a second, one after the other; the time afterwards."""
    members = tuple(shard.name for shard in shards)
    for k in range(rounds):
        for j, shard in enumerate(shards):
            shard.talk(grants, start + k + j / len(shards), members)
    return start + rounds


@pytest.mark.parametrize("off", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_price_and_shares_settle_within_fifteen_rounds(count: int, off: float) -> None:
    shards, budget = fleet(count), 0.3
    price, spent = exact(shards, budget)
    for shard in shards:
        shard.own_price = off * price
    grants = Grants(budget, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    run(shards, grants, 0.0, ROUNDS)
    assert grants.price == pytest.approx(price, rel=1e-3)
    rates = np.array([shard.grant.rate for shard in shards])
    assert rates == pytest.approx(spent, rel=0.02, abs=0.006 * budget / count)
    assert rates.sum() == pytest.approx(budget, rel=0.01)
    assert rates.sum() <= budget


def test_after_a_change_of_the_budget_the_fleet_settles_again() -> None:
    shards = fleet(8)
    grants = Grants(0.3, 20.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards, grants, 0.0, ROUNDS)
    for budget in (0.1, 1.2):
        grants.budget = budget
        now = run(shards, grants, now, ROUNDS)
        assert grants.price == pytest.approx(exact(shards, budget)[0], rel=1e-3)
        assert sum(shard.grant.rate for shard in shards) == pytest.approx(budget, rel=0.01)


def test_a_smaller_budget_holds_after_the_length_of_a_grant_and_nobody_is_cut_off() -> None:
    shards = fleet(6)
    grants = Grants(1.0, 20.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards, grants, 0.0, ROUNDS)
    grants.budget = 0.5
    for shard in shards:
        assert shard.talk(grants, now, tuple(s.name for s in shards)).rate > 0.0
    now = run(shards, grants, now, 10)
    assert grants._rates_out <= 0.5, "what anybody may still believe in"


def test_bursts_cover_the_dearest_crawl_and_the_rest_goes_by_rate() -> None:
    shards = fleet(3)
    shards[0].dearest = 5.0
    grants = Grants(0.3, 4.0, leader=1, now=0.0, vacant_s=math.inf)
    run(shards, grants, 0.0, 3)
    assert grants.fleet_burst == 7.0
    assert [shard.grant.burst for shard in shards] == [5.0, 1.0, 1.0]
    grants.burst = 107.0
    run(shards, grants, 3.0, 8)
    assert sum(shard.grant.burst for shard in shards) == pytest.approx(107.0, rel=0.02)


def test_the_rate_of_a_silent_shard_is_free_when_it_has_run_out() -> None:
    shards = fleet(4)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards, grants, 0.0, ROUNDS)
    lost, rest = shards[0], shards[1:]
    before = lost.grant.rate
    members = tuple(shard.name for shard in shards)
    for k in range(9):
        for shard in rest:
            shard.talk(grants, now + k, members)
    assert sum(shard.grant.rate for shard in rest) <= 0.3 - before
    now = run(rest, grants, now + 9, 4)
    assert sum(shard.grant.rate for shard in rest) == pytest.approx(0.3, rel=0.01)


def test_what_a_life_had_is_free_at_once_if_it_is_known_to_have_ended() -> None:
    shards = fleet(2)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards, grants, 0.0, ROUNDS)
    grants.forget(shards[0].incarnation)
    grants.forget("nobody")
    assert shards[1].talk(grants, now, ("s1",)).rate == pytest.approx(0.3)


def test_a_new_leader_confirms_what_is_held_and_shares_out_the_rest_later() -> None:
    shards = fleet(3)
    first = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards[:2], first, 0.0, ROUNDS)
    held = [shard.grant.rate for shard in shards[:2]]
    second = Grants(0.6, 5.0, leader=2, now=now)
    run(shards, second, now, 9)
    assert [shard.grant.rate for shard in shards] == [*held, 0.0]
    assert {shard.grant.leader for shard in shards} == {2}
    run(shards, second, now + 10.0, ROUNDS)
    assert sum(shard.grant.rate for shard in shards) == pytest.approx(0.6, rel=0.01)
    assert second.price == pytest.approx(exact(shards, 0.6)[0], rel=1e-3)


def test_a_leader_that_hears_of_its_successor_gives_nothing_more() -> None:
    grants = Grants(1.0, 5.0, leader=3, now=0.0, vacant_s=math.inf)
    grant = grants.hear(Report(shard="a", incarnation="a1", leader=4, granted=7, rate=1.0, left_s=5.0), 0.0, ("a",))
    assert (grant.rate, grant.seconds, grant.leader, grants.superseded) == (0.0, 0.0, 3, True)


def test_a_life_that_was_followed_by_another_gets_nothing() -> None:
    old, new = fleet(2)
    new.name, new.incarnation = old.name, "later"
    grants = Grants(1.0, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    assert old.talk(grants, 0.0, (old.name,)).rate > 0.9
    assert new.talk(grants, 0.1, (old.name,)).rate < 0.1
    assert old.talk(grants, 0.2, (old.name,)).rate == 0.0
    assert old.talk(grants, 0.3, (old.name,)).rate == 0.0
    assert new.talk(grants, 0.9, (old.name,)).rate > 0.9


def test_a_life_that_was_cut_off_and_comes_back_leaves_the_shard_to_the_one_that_has_the_buckets() -> None:
    grants = Grants(1.0, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    new, old = (
        Report(shard="a", incarnation="new", buckets=9, sources=9),
        Report(shard="a", incarnation="old", buckets=0),
    )
    grants.hear(new, 0.0, ("a",))
    for second in range(1, 9):
        assert grants.hear(old, float(second), ("a",)).rate == 0.0
        assert grants.hear(new, second + 0.5, ("a",)).rate > 0.9


def test_reports_that_arrive_twice_or_late_change_nothing() -> None:
    shards = fleet(3)
    members = tuple(shard.name for shard in shards)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    early = [shard.report(0.0) for shard in shards]
    now = run(shards, grants, 0.0, ROUNDS)
    price, rates = grants.price, [shard.grant.rate for shard in shards]
    for report in [*early, *early]:
        grants.hear(report, now, members)
    run(shards, grants, now, 2)
    assert grants.price == pytest.approx(price, rel=1e-4)
    assert [shard.grant.rate for shard in shards] == pytest.approx(rates, rel=0.02)


def test_what_a_shard_cannot_spend_goes_to_others_and_it_is_tried_again() -> None:
    shards = fleet(3)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    now = run(shards, grants, 0.0, ROUNDS)
    usual = shards[0].grant.rate
    shards[0].able = 0.2 * usual
    now = run(shards, grants, now, 4)
    assert shards[0].grant.rate == pytest.approx(0.22 * usual, rel=0.05)
    assert sum(shard.grant.rate for shard in shards) == pytest.approx(0.3, rel=0.02)
    shards[0].able = math.inf
    run(shards, grants, now, 10)
    assert shards[0].grant.rate == pytest.approx(usual, rel=0.05)


def test_a_shard_that_is_leaving_may_finish_what_is_under_way() -> None:
    shards = fleet(4)
    grants = Grants(4.0, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    run(shards, grants, 0.0, ROUNDS)
    members = ("s1", "s2", "s3")
    for k in range(4):
        for shard in shards:
            shard.talk(grants, ROUNDS + k, members)
    assert shards[0].grant.rate == pytest.approx(0.25)
    assert shards[0].grant.burst >= 1.0
    assert shards[0].grant.members == members
    alone = Grants(4.0, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    assert shards[0].talk(alone, 100.0, ()).rate == pytest.approx(1.0)


def test_newcomers_get_their_share_by_numbers_and_never_more_than_they_can_take() -> None:
    nothing, all_ = np.zeros(2), np.full(2, np.inf)
    many = Bids(nothing, nothing, nothing, nothing, np.array([3e4, 1e4]), np.array([5e4, 5e4]), np.ones(2), all_)
    assert newcomers_part(many, 100.0, 0.5).tolist() == [37.5, 12.5]
    most = Bids(nothing, nothing, nothing, nothing, np.array([5e4, 3e4]), np.array([5e4, 5e4]), np.ones(2), all_)
    assert newcomers_part(most, 100.0, 0.5).sum() == pytest.approx(80.0)
    few = Bids(nothing, nothing, nothing, nothing, np.array([3.0, 1.0]), np.array([5e4, 5e4]), np.ones(2), all_)
    assert newcomers_part(few, 100.0, 0.5).tolist() == [1.5, 0.5]


def test_a_shard_that_knows_nothing_of_its_sources_can_begin_and_one_without_any_needs_nothing() -> None:
    shards = fleet(3)
    shards[1].value, shards[2].value = np.zeros(20), np.empty(0)
    shards[1].rate, shards[2].rate = np.zeros(20), np.empty(0)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    run(shards, grants, 0.0, ROUNDS)
    assert shards[1].grant.rate == pytest.approx(0.005 * 0.3 / 3, rel=0.01)
    assert shards[2].grant.rate == 0.0


def test_without_any_price_the_budget_goes_by_numbers_of_sources() -> None:
    shards = fleet(3, own_price=math.nan)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    run(shards, grants, 0.0, 5)
    sizes = np.array([len(shard.value) for shard in shards])
    assert math.isnan(grants.price)
    assert [shard.grant.rate for shard in shards] == pytest.approx(0.3 * sizes / sizes.sum(), rel=0.02)


def test_the_price_does_not_run_away_where_none_spends_the_budget() -> None:
    market, own = Market(), np.array([2.0])
    for price in range(40):
        bids = Bids(np.array([5.0]), np.zeros(1), np.array([market.price or price]), own, np.zeros(1), np.ones(1),
                    np.ones(1), np.full(1, np.inf))  # fmt: skip
        market.trade(bids, 10.0, 0.5)
    assert market.price == pytest.approx(2.0 / 1000.0)


def test_filling_gives_out_everything_that_can_be_taken() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        count = random.integers(1, 8)
        weight, base = random.exponential(size=count), random.exponential(0.1, count)
        cap = np.maximum(random.exponential(2.0, count), base)
        given = filled(weight, base, cap, 3.0)
        assert given.sum() == pytest.approx(min(3.0, cap.sum()))
        assert (given <= cap * (1 + 1e-12)).all()


@pytest.mark.parametrize(("name", "value"), [("budget", 0.0), ("burst", -1.0), ("seconds", 0.0), ("cold_start", 2.0)])
def test_nonsense_is_named(name: str, value: float) -> None:
    good: dict[str, float] = {"budget": 1.0, "burst": 1.0, "seconds": 10.0, "cold_start": 0.5}
    with pytest.raises(ParameterError, match=name):
        Grants(**{**good, name: value}, leader=1, now=0.0)  # type: ignore[arg-type]


def test_spend_is_what_the_shards_said_they_spent() -> None:
    shards = fleet(2)
    grants = Grants(0.3, 5.0, leader=1, now=0.0, vacant_s=math.inf)
    for k in range(60):
        for shard in shards:
            shard.spent = 0.1 * k
            shard.talk(grants, float(k), ("s0", "s1"))
    assert grants.spend == pytest.approx(0.2, rel=1e-3)


def test_a_family_of_newcomers_draws_no_more_of_the_budget_to_its_shard_than_one_would() -> None:
    grants = Grants(10.0, 10.0, leader=1, now=0.0, vacant_s=math.inf)
    nothing = np.empty(0)
    crowded, other = Sketch("a", nothing, nothing), Sketch("b", nothing, nothing)
    crowded.newcomers, crowded.siblings, other.newcomers = 20_000, 19_999, 1
    for now in range(60):
        for shard in (crowded, other):
            shard.talk(grants, float(now), ("a", "b"))
    assert crowded.grant.rate == pytest.approx(other.grant.rate, rel=0.2)
