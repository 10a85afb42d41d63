"""Whatever is lost, late, doubled, reordered or dead: what all lives believe they may spend is within the budget.

The machine below is the fleet without anything but its messages. A life believes in the grant it last heeded until
`SECONDS` after it sent the report that was answered; lives that were replaced go on believing (the worst case: they
hang and wake up). Leaders are replaced at any moment; the successor hears whatever is still under way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from recrawl.cluster.grants import Account, Grants
from recrawl.cluster.messages import Grant, Report

BUDGET, BURST, SECONDS = 100.0, 6.0, 10.0
SHARDS = ("a", "b", "c", "d")


@dataclass
class Life:
    """One life of a shard, and what it believes."""

    shard: str
    name: str
    dearest: float
    grant: Grant = field(default_factory=lambda: Grant(leader=0, number=0))
    until: float = -math.inf
    asked: int = 0
    sent: float = 0.0
    spent: float = 0.0
    demand: float = 10.0
    newcomers: int = 0
    able: float = math.inf

    def believes(self, now: float) -> tuple[float, float]:
        return (self.grant.rate, self.grant.burst) if now < self.until else (0.0, 0.0)

    def report(self, now: float) -> Report:
        """Ask anew; whatever answers an earlier question will not be heeded."""
        self.asked += 1
        self.sent = now
        rate, burst = self.believes(now)
        return Report(
            shard=self.shard,
            incarnation=self.name,
            leader=self.grant.leader,
            granted=self.grant.number,
            rate=rate,
            burst=burst,
            left_s=max(self.until - now, 0.0),
            able=self.able,
            demand=self.demand,
            slope=-0.5 * self.demand,
            price=self.grant.price,
            own_price=1.0,
            newcomers=self.newcomers,
            dearest=self.dearest,
            sources=100,
            spent=self.spent,
        )

    def heed(self, asked: int, grant: Grant) -> None:
        if asked == self.asked and (grant.leader, grant.number) > (self.grant.leader, self.grant.number):
            self.grant, self.until = grant, self.sent + grant.seconds


class Fleet(RuleBasedStateMachine):
    """A fleet whose messages take any way they like."""

    grants: type[Grants] = Grants
    successor_waits = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.leader = self.grants(BUDGET, BURST, 1, self.now, SECONDS, vacant_s=math.inf)
        self.lives = {shard: [Life(shard, f"{shard}0", 1.0 + 2.0 * (shard == "d"))] for shard in SHARDS}
        self.reports: list[tuple[Life, int, Report]] = []
        self.answers: list[tuple[Life, int, Grant]] = []
        self.members = SHARDS
        self.bursts = [(self.now, BURST)]

    def every_life(self) -> list[Life]:
        return [life for lives in self.lives.values() for life in lives]

    @rule(shard=st.sampled_from(SHARDS), back=st.integers(0, 2))
    def ask(self, shard: str, back: int) -> None:
        """The present life, or one that was thought to be over."""
        lives = self.lives[shard]
        life = lives[max(len(lives) - 1 - back, 0)]
        self.reports.append((life, life.asked + 1, life.report(self.now)))

    @rule(pick=st.integers(0, 50), again=st.booleans())
    def hear(self, pick: int, again: bool) -> None:
        """Any report under way arrives, and may arrive once more."""
        if self.reports:
            life, asked, report = self.reports[pick % len(self.reports)]
            if not again:
                self.reports.pop(pick % len(self.reports))
            self.answers.append((life, asked, self.leader.hear(report, self.now, self.members)))
            self.bursts.append((self.now, self.leader.fleet_burst))

    @rule(pick=st.integers(0, 50), again=st.booleans())
    def answer(self, pick: int, again: bool) -> None:
        """Any answer under way arrives, and may arrive once more."""
        if self.answers:
            life, asked, grant = self.answers[pick % len(self.answers)]
            if not again:
                self.answers.pop(pick % len(self.answers))
            life.heed(asked, grant)

    @rule(shard=st.sampled_from(SHARDS))
    def talk(self, shard: str) -> None:
        """Ask and be answered at once: what happens almost always."""
        life = self.lives[shard][-1]
        asked = life.asked + 1
        life.heed(asked, self.leader.hear(life.report(self.now), self.now, self.members))
        self.bursts.append((self.now, self.leader.fleet_burst))

    @rule(shard=st.sampled_from(SHARDS))
    def talk_in_vain(self, shard: str) -> None:
        """Ask and be heard; the answer is late, or never comes."""
        life = self.lives[shard][-1]
        report = life.report(self.now)
        self.answers.append((life, life.asked, self.leader.hear(report, self.now, self.members)))
        self.bursts.append((self.now, self.leader.fleet_burst))

    @rule(seconds=st.sampled_from([0.1, 0.5, 0.5, 1.0, 1.0, 1.0, 3.0, 6.0, 9.9, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        shard=st.sampled_from(SHARDS),
        what=st.sampled_from(["lose", "restart", "succeed", "tire", "regroup"]),
        pick=st.integers(0, 50),
    )
    def mishap(self, shard: str, what: str, pick: int) -> None:
        """What happens more rarely."""
        lives, under_way = self.lives[shard], self.reports if pick % 2 else self.answers
        if what == "lose" and under_way:
            under_way.pop(pick % len(under_way))
        elif what == "restart":
            lives.append(Life(shard, f"{shard}{len(lives)}", lives[0].dearest))
        elif what == "succeed":
            waits, epoch = self.successor_waits, self.leader.leader + 1
            self.leader = self.grants(BUDGET, BURST, epoch, self.now, SECONDS, vacant_s=0.0 if waits else math.inf)
        elif what == "tire":
            lives[-1].able = (0.0, 5.0, math.inf)[pick % 3]
        elif what == "regroup":
            self.members = tuple(name for k, name in enumerate(SHARDS) if pick & 1 << k)

    @rule(shard=st.sampled_from(SHARDS), demand=st.sampled_from([0.0, 1.0, 50.0, 1e4]), newcomers=st.integers(0, 60))
    def want(self, shard: str, demand: float, newcomers: int) -> None:
        self.lives[shard][-1].demand, self.lives[shard][-1].newcomers = demand, newcomers

    @invariant()
    def within_the_budget(self) -> None:
        rates, bursts = zip(*(life.believes(self.now) for life in self.every_life()), strict=True)
        assert math.fsum(rates) <= BUDGET
        bound = max(burst for at, burst in self.bursts if at >= self.now - SECONDS or at == self.bursts[0][0])
        assert math.fsum(bursts) <= bound * (1 + 1e-6)
        assert min(rates) >= 0.0

    @invariant()
    def the_bound_of_bursts_is_as_stated(self) -> None:
        assert self.leader.fleet_burst <= max(BURST, sum(life.dearest for life in self.every_life()))


QUICK = settings(
    max_examples=120,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def test_lives_never_believe_in_more_than_the_budget() -> None:
    """The invariants of `Fleet` are asserted after every step."""
    run_state_machine_as_test(Fleet, settings=QUICK)


@pytest.mark.long
def test_lives_never_believe_in_more_than_the_budget_for_long() -> None:
    """The same, over many more steps."""
    run_state_machine_as_test(Fleet, settings=settings(QUICK, max_examples=5000, stateful_step_count=100))


class RaisesFirst(Grants):
    """Gives what it wants to give, whoever else has it still."""

    def _add_up(self) -> None:
        self._rates_out = self._bursts_out = 0.0


class Believes(Grants):
    """Takes a lowered rate for lowered as soon as it has said so."""

    def _grant(self, account: Account, report: Report, members: tuple[str, ...]) -> Grant:
        account.promises.clear()
        self._recount(account)
        return super()._grant(account, report, members)

    def _recount(self, account: Account) -> None:
        account._count()
        self._add_up()


class RaisesFirstFleet(Fleet):
    grants = RaisesFirst


class BelievesFleet(Fleet):
    grants = Believes


class HastySuccessorFleet(Fleet):
    successor_waits = False


def test_a_lowered_rate_counts_until_it_is_known_to_be_lowered() -> None:
    for machine, sound in ((Fleet, True), (BelievesFleet, False)):
        fleet = machine()
        fleet.talk("a")
        fleet.wait(0.5)
        fleet.talk("b")
        fleet.wait(0.5)
        fleet.talk_in_vain("a")
        fleet.talk("b")
        believed = math.fsum(life.believes(fleet.now)[0] for life in fleet.every_life())
        assert (believed <= BUDGET) == sound


@pytest.mark.parametrize("broken", [RaisesFirstFleet, HastySuccessorFleet])
def test_a_budget_that_is_raised_too_soon_is_caught(broken: type[Fleet]) -> None:
    once = settings(QUICK, max_examples=2000, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(broken, settings=once)
