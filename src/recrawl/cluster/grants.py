"""What the fleet may spend: rates leased to incarnations of shards that together never exceed the budget.

A grant is (rate, burst) for `seconds`. An incarnation believes in it from when it arrives until `seconds` after it sent
the report that was answered; a later grant replaces it. `Grants` keeps for each incarnation every grant it may still
believe in: the last one it acknowledged and all later ones, each until `seconds` after it was *given*. That is never
before the incarnation gives it up (clocks differ in speed by less than `DRIFT`; nobody needs to know what time it is
elsewhere). With r_l the largest rate among those of incarnation l, and b_l the largest burst, at every moment::

    Σ r_l <= budget        Σ b_l <= max(burst, Σ max(1, dearest crawl of l))

A shard that could not save up for one crawl would never crawl: hence the second bound's other side. So whatever is
lost, late, doubled or dead, in any window the fleet spends at most that burst + budget × window. A rate is lowered at
one incarnation first, and raised at another when the lowering is acknowledged or what it replaced has run out. When a
bound is made smaller, the larger one may stand for `seconds`: everybody goes down in proportion (of bursts, to what it
needs), and nobody up until there is room.

*After a predecessor.* What it gave is in force for `seconds` after its lease ended, at most. Until then an incarnation
is confirmed exactly what its report says it still holds, and nothing is given to others; the predecessor kept the sum
of those. This relies on two habits of an incarnation. It has one report under way at a time and takes no answer to one
it has given up, so that what the report says is still true when the answer arrives. And it takes no grant of a smaller
leader, nor of a smaller number from the same one. It also relies on one habit of a coordinator: it gives nothing after
its lease ended by its own clock.

Reports of an incarnation that was followed by another are answered with nothing to spend; what it may still believe in
counts until it has run out. A shard that is no member any more is leaving: it gets a quarter of an equal share, for the
requests of visits under way that could not be foreseen (robots.txt, redirects). Its sources are gone, so it buys
nothing else, says so in `able`, and the rest is given to others.

How much each gets is the business of :mod:`~recrawl.cluster.budget_shares`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from recrawl.cluster.budget_shares import FLOOR, Bids, Market
from recrawl.cluster.members import FRESH_S, gives_way
from recrawl.cluster.messages import Grant, Report
from recrawl.records import checked

ROUND_S = 0.5
"""Time between two movements of the price."""
LEAVING = 0.25
"""What a shard that is leaving gets, of an equal share."""
SETTLED = 0.005
"""A rate is not lowered for a relative difference smaller than this, unless somebody waits for more than twice that:
lowering costs a round in which nobody has it."""
PROBE, REGAIN = 1.1, 1.5
"""A shard that could not spend its rate is offered so much more than it is able to; once it spends all, so much more
each round."""
SOON_S = 1e-3
"""Times the number of other incarnations: time between two rounds after changes."""
SMOOTHED_S = 5.0
"""Over which spend is averaged."""
DRIFT = 1e-3
"""By so much of its length everything is held to last longer than whoever has it counts."""
_MARGIN = 1e-9  # sums of floats are a little off


@dataclass(frozen=True, slots=True)
class Promise:
    """One grant an incarnation may believe in, until then by the coordinator's clock."""

    number: int
    rate: float
    burst: float
    until: float


@dataclass(slots=True)
class Account:
    """One incarnation of a shard.

    Parameters
        born: how many incarnations had been heard of before it
        promises: what it may believe in, by number
        rate, burst: the largest among them
        cap: tokens per second it seems able to spend
        target: its share as last computed
        ceiling: what it may keep of its rate while the budget, made smaller, is still exceeded
    """

    shard: str
    incarnation: str
    born: int
    heard: float
    report: Report
    promises: deque[Promise] = field(default_factory=deque)
    number: int = 0
    acknowledged: int = 0
    rate: float = 0.0
    burst: float = 0.0
    cap: float = math.inf
    target: float = 0.0
    target_burst: float = 0.0
    ceiling: float = 0.0
    spend: float = 0.0

    def promise(self, promise: Promise) -> None:
        """Remember a grant; one that is smaller in everything and ends no later need not be remembered besides."""
        while self.promises and _covers(promise, self.promises[-1]):
            self.promises.pop()
        self.promises.append(promise)
        self.number = promise.number
        self._count()

    def expire(self, now: float) -> None:
        """Forget what has run out, or was replaced by what is acknowledged."""
        before = len(self.promises)
        while self.promises and (self.promises[0].until <= now or self.promises[0].number < self.acknowledged):
            self.promises.popleft()
        if len(self.promises) != before:
            self._count()

    def _count(self) -> None:
        self.rate = max((promise.rate for promise in self.promises), default=0.0)
        self.burst = max((promise.burst for promise in self.promises), default=0.0)

    @property
    def need(self) -> float:
        """The burst without which its dearest crawl could not be bought."""
        return max(1.0, self.report.dearest)

    @property
    def granted(self) -> float:
        """The rate of the latest grant."""
        return self.promises[-1].rate if self.promises else 0.0

    def note(self, report: Report, now: float) -> None:
        """What a report says, unless it was overtaken by a later one."""
        last = self.report
        if (report.leader, report.granted, report.spent) < (last.leader, last.granted, last.spent):
            return
        elapsed = now - self.heard
        if elapsed > 0.0:
            pace = (report.spent - last.spent) / elapsed
            self.spend += (pace - self.spend) * -math.expm1(-elapsed / SMOOTHED_S)
        self._probe(report.able)
        self.report, self.heard = report, max(now, self.heard)

    def _probe(self, able: float) -> None:
        self.cap = max(able, 0.0) * PROBE if able < math.inf else self.cap * REGAIN


class Grants:
    """Of one coordinator, for its time as leader.

    Parameters
        budget: tokens per second that all shards together may spend, > 0
        burst: tokens they may have saved up together
        leader: epoch of its lease; larger than any predecessor's
        now: when it became leader, in seconds of a clock that never runs backwards
        seconds: for how long a grant holds
        cold_start: share of the budget for sources never crawled, while any wait
        vacant_s: how long nobody had been leader before; inf if nobody ever was

    >>> grants = Grants(budget=10.0, burst=4.0, leader=1, now=0.0, vacant_s=math.inf)
    >>> grant = grants.hear(Report(shard="a", incarnation="a1", sources=3, newcomers=3), 0.0, ("a",))
    >>> round(grant.rate, 6), grant.burst, grant.seconds
    (10.0, 4.0, 10.0)
    >>> grants.hear(Report(shard="b", incarnation="b1", sources=3, newcomers=3), 1.0, ("a", "b")).rate  # "a" has it
    0.0
    """

    def __init__(
        self,
        budget: float,
        burst: float,
        leader: int,
        now: float,
        seconds: float = 10.0,
        cold_start: float = 0.5,
        *,
        vacant_s: float = 0.0,
    ) -> None:
        self._accounts: dict[str, Account] = {}
        self._current: dict[str, Account] = {}
        self._rates_out = self._bursts_out = 0.0
        self.budget, self.burst = budget, burst
        self.leader, self.seconds = leader, float(checked("seconds", seconds, "finite and > 0", open_low=True))
        self.cold_start = float(checked("cold_start", cold_start, "a share >= 0 and <= 1", high=1.0))
        self.superseded = False
        """Whether a shard has heard of a later coordinator."""
        self._confirming_until = now + self.seconds * (1.0 + DRIFT) - max(vacant_s, 0.0)
        self._now = self._round_at = now
        self._born = 0
        self._calm = False
        self._members: tuple[str, ...] = ()
        self._market = Market()
        self.fleet_burst = self.burst
        """The bound that is kept: the burst, or as much as lets each shard save up for its dearest crawl."""

    # -- what is set and seen

    @property
    def budget(self) -> float:
        """Tokens per second for all shards together."""
        return self._budget

    @budget.setter
    def budget(self, amount: float) -> None:
        self._budget = float(checked("budget", amount, "finite and > 0", open_low=True))
        kept = min(self._budget / self._rates_out, 1.0) if self._rates_out > 0.0 else 0.0
        for account in self._accounts.values():
            account.ceiling = kept * account.rate
        self._stale = True

    @property
    def burst(self) -> float:
        """Tokens that all shards together may have saved up, as configured."""
        return self._burst

    @burst.setter
    def burst(self, amount: float) -> None:
        self._burst = float(checked("burst", amount, "finite and >= 0"))
        self._stale = True

    @property
    def price(self) -> float:
        """λ of the whole fleet; NaN before anything is known."""
        return self._market.price

    @property
    def spend(self) -> float:
        """Tokens per second spent by the shards heard of lately, smoothed over a few seconds."""
        return math.fsum(account.spend for account in self._present())

    def forget(self, incarnation: str) -> None:
        """This incarnation has ended for certain: its process is gone, and whatever it believed in is free at once."""
        account = self._accounts.pop(incarnation, None)
        if account is not None and self._current.get(account.shard) is account:
            del self._current[account.shard]
        self._add_up()
        self._stale = True

    # -- hearing

    def hear(self, report: Report, now: float, members: tuple[str, ...]) -> Grant:
        """Answer a report. `now` never runs backwards; `members` are the shards that share the sources."""
        self._now = max(self._now, now)
        if report.leader > self.leader:
            self.superseded = True
        if self.superseded:
            return Grant(leader=self.leader, number=0, price=self.price, members=members)
        account = self._account(report)
        if report.leader == self.leader:
            account.acknowledged = max(account.acknowledged, min(report.granted, account.number))
        account.note(report, self._now)
        self._recount(account)
        if self._round_is_due(members):
            self._members = members
            self._round()
        return self._grant(account, report, members)

    def _round_is_due(self, members: tuple[str, ...]) -> bool:
        """Now and then; sooner after a change, but not at every message of a large fleet."""
        soon = self._stale or members != self._members
        return self._now >= self._round_at + (min(ROUND_S, SOON_S * (len(self._accounts) - 1)) if soon else ROUND_S)

    def _account(self, report: Report) -> Account:
        """The incarnation's account, which is the shard's too if no other incarnation is."""
        account, first = self._accounts.get(report.incarnation), False
        if account is None:
            account, first = Account(report.shard, report.incarnation, self._born, self._now, report), True
            account.number = report.granted if report.leader == self.leader else 0  # silent for long, and forgotten
            self._born += 1
            self._accounts[report.incarnation] = account
        current = self._current.get(report.shard)
        if current is None or (
            current is not account and gives_way(current.report, self._now - current.heard, report, first=first)
        ):
            self._current[report.shard] = account
            self._stale = True
        return account

    def _grant(self, account: Account, report: Report, members: tuple[str, ...]) -> Grant:
        rate, burst = self._wanted(account, report)
        rate_room = self.budget * (1.0 - _MARGIN) - (self._rates_out - account.rate)
        burst_room = self.fleet_burst * (1.0 + _MARGIN) - (self._bursts_out - account.burst)
        rate = min(rate, max(rate_room, min(account.ceiling, account.rate)))
        burst = min(burst, max(burst_room, min(account.need, account.burst)))
        self._rates_out -= account.rate
        self._bursts_out -= account.burst
        account.promise(Promise(account.number + 1, rate, burst, self._now + self.seconds * (1.0 + DRIFT)))
        self._rates_out += account.rate
        self._bursts_out += account.burst
        return Grant(
            leader=self.leader,
            number=account.number,
            rate=rate,
            burst=burst,
            seconds=self.seconds,
            price=self.price,
            members=members,
        )

    def _wanted(self, account: Account, report: Report) -> tuple[float, float]:
        """Rate and burst for an incarnation, before it is looked whether they are free."""
        if self._now < self._confirming_until:
            return (report.rate, report.burst) if report.left_s > 0.0 else (0.0, 0.0)
        if self._current.get(account.shard) is not account:
            return 0.0, 0.0
        granted, target = account.granted, account.target
        keeps = self._calm and target < granted <= target * (1.0 + SETTLED)
        return granted if keeps else target, account.target_burst

    # -- sharing out

    def _present(self) -> list[Account]:
        return [account for account in self._current.values() if self._now - account.heard <= FRESH_S]

    def _round(self) -> None:
        """Move the price, share out the budget, forget what is over."""
        self._round_at, self._stale = self._now, False
        self._forget_the_gone()
        names, present = set(self._members), self._present()
        sharing = [account for account in present if account.shard in names]
        leaving = [account for account in present if account.shard not in names]
        for account in self._current.values():
            account.target = account.target_burst = 0.0
        least = FLOOR * self.budget / max(len(present), 1)
        for account in present:
            account.cap = math.inf if account.cap > self.budget else max(account.cap, least)
        for account in leaving:
            account.target = min(LEAVING * self.budget / len(present), account.cap)
        rest = self.budget - math.fsum(account.target for account in leaving)
        for account, share in zip(sharing, self._market.trade(_bids(sharing), rest, self.cold_start), strict=True):
            account.target = float(share)
        self._calm = all(account.target <= account.granted * (1.0 + 2.0 * SETTLED) for account in present)
        self._share_bursts(present)

    def _share_bursts(self, present: list[Account]) -> None:
        """What each needs to buy its dearest crawl, and the rest by rate."""
        needed = math.fsum(account.need for account in self._accounts.values())
        self.fleet_burst = max(self.burst, needed)
        rates = math.fsum(account.target for account in present)
        for account in present:
            part = account.target / rates if rates > 0.0 else 1.0 / len(present)
            account.target_burst = account.need + (self.fleet_burst - needed) * part

    def _forget_the_gone(self) -> None:
        """Let run out what has, and forget the incarnations that have nothing any more and are silent."""
        for account in list(self._accounts.values()):
            account.expire(self._now)
            if not account.promises and self._now - account.heard > FRESH_S:
                del self._accounts[account.incarnation]
                if self._current.get(account.shard) is account:
                    del self._current[account.shard]
        self._add_up()

    def _recount(self, account: Account) -> None:
        rate, burst = account.rate, account.burst
        account.expire(self._now)
        self._rates_out += account.rate - rate
        self._bursts_out += account.burst - burst

    def _add_up(self) -> None:
        self._rates_out = math.fsum(account.rate for account in self._accounts.values())
        self._bursts_out = math.fsum(account.burst for account in self._accounts.values())


def _covers(later: Promise, earlier: Promise) -> bool:
    return later.rate >= earlier.rate and later.burst >= earlier.burst and later.until >= earlier.until


def _bids(accounts: list[Account]) -> Bids:
    reports = [account.report for account in accounts]

    def column(name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([getattr(report, name) for report in reports], np.float64)

    return Bids(
        demand=column("demand"),
        slope=column("slope"),
        price=column("price"),
        own_price=column("own_price"),
        newcomers=column("newcomers") - column("siblings"),
        sources=np.maximum(column("sources"), column("newcomers")) - column("siblings"),
        dearest=column("dearest"),
        cap=np.array([account.cap for account in accounts]),
    )
