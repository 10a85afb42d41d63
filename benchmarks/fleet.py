"""A fleet without HTTP: how close many shards with one price come to one scheduler, and what the coordinator bears.

    python -m benchmarks.fleet [--sources 1e7] [--shards 64 1000] [--hours 6]

Real are the grants, the messages as they are encoded, the placing of buckets and the demand of every source. The rest
is mathematics of the relaxed problem: a shard with a rate spends it on the top of its ranking, which at rest is every
source at its crossing age for the shard's own price [tcns2018, (21)], and captures what that brings per second. Nobody
fetches, learns or waits for the network; every shard reports once a second, one after the other. Sources belong to
domains of unlike sizes and worths. Shards that are lost are silent from one moment on; after 15 s they are no members
any more and their buckets belong to others.
"""

from __future__ import annotations

import argparse
import copy
import math
import resource
import time
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec
import numpy as np

from recrawl.cluster.coordinator import GRANT_S
from recrawl.cluster.grants import Grants
from recrawl.cluster.messages import Grant, Report, membership_of
from recrawl.cluster.placement import BUCKETS, owners
from recrawl.kernels.cadence import cadence, captured_per_time
from recrawl.kernels.demand import demands_at_price, ripening_table
from recrawl.records import FloatArray, IntArray

GUESS = 100.0
"""What the shards' last tokens bought, before anything is known."""
SILENT_S = 15
"""As the list of members has it."""
MOMENTS = 10
"""In so many moments of a second spend is looked at."""
WARM_S, AFTER_S = 20, 35
LOST = (64, 16, 4)
"""One of so many shards is lost."""
BYTES_PER_SOURCE = 42.0  # of a calendar: docs/scale.md
LIVE_BYTES = 2940.0  # of a running shard: docs/fleet.md


@dataclass
class Catalogue:
    """Sources in the order of their buckets.

    Parameters
        start: where each bucket begins, and the end
    """

    value: FloatArray
    rate: FloatArray
    start: IntArray

    def __len__(self) -> int:
        return len(self.value)


def catalogue(size: int, seed: int = 1) -> Catalogue:
    """Domains of unlike sizes and worths, hashed into buckets; arrivals over four decades."""
    random = np.random.default_rng(seed)
    domains = max(size // 20, 1)
    domain = (domains * random.random(size) ** 2).astype(np.int64)
    bucket = random.integers(0, BUCKETS, domains)[domain]
    order = np.argsort(bucket, kind="stable")
    rate = np.log(2.0) / 21600.0 * 10 ** random.normal(0.0, 0.25, size)
    value = (10 ** random.normal(0.0, 0.5, domains))[domain] * 10 ** random.normal(0.0, 0.8, size)
    start = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=BUCKETS))])
    return Catalogue(value[order], rate[order], start)


@dataclass
class Shard:
    """A shard's part of the catalogue, what it holds, and what it last counted."""

    name: str
    value: FloatArray
    rate: FloatArray
    incarnation: str = ""
    grant: Grant = field(default_factory=lambda: Grant(leader=0, number=0))
    counted: tuple[float, float, float, float] = (math.nan, 0.0, 0.0, 0.0)
    own_price: float = math.nan
    spent: float = 0.0
    membership: int = 0

    def __deepcopy__(self, memo: dict[int, object]) -> Shard:
        return copy.copy(self)

    def survey(self, price: float) -> tuple[float, float, float, float]:
        """Price, demand, slope, backlog; counted anew only where the price has moved."""
        if not price > 0.0:
            return (math.nan, 0.0, 0.0, 0.0)
        if not abs(price / self.counted[0] - 1.0) < 1e-9:
            count = len(self.value)
            demand, slope, one, zero = np.empty(count), np.empty(count), np.ones(count), np.zeros(count)
            columns = (self.value, self.rate, one, zero, np.full(count, math.inf), zero)
            demands_at_price(price, *columns, ripening_table(), demand, slope)
            self.counted = (price, float(demand.sum()), float(slope.sum()), 0.0)
        return self.counted

    def report(self) -> Report:
        """As a shard words it."""
        price, demand, slope, backlog = self.survey(self.grant.price)
        if demand > 0.0 and slope < 0.0 and self.grant.rate > 0.0:
            far = np.clip(math.log(self.grant.rate / demand) * demand / slope, -7.0, 7.0)
            self.own_price = price * math.exp(far)  # what its last token buys, by the same elasticity
        held = self.grant
        count, done = len(self.value), int(self.spent)
        return Report(
            shard=self.name,
            incarnation=self.incarnation,
            node="node-0",
            pid=12345,
            leader=held.leader,
            granted=held.number,
            rate=held.rate,
            burst=held.burst,
            left_s=held.seconds and held.seconds - 1.0,
            demand=demand,
            slope=slope,
            price=price,
            own_price=self.own_price,
            backlog=backlog,
            sources=count,
            hosts=count // 20,
            buckets=count // 10000,
            spent=self.spent,
            requests=done,
            crawls=done,
            captured=self.spent,
            membership=self.membership,
        )

    def heed(self, grant: Grant) -> None:
        """Put a grant in force."""
        self.grant = grant
        if grant.members is not None:
            self.membership = membership_of(grant.members)


@dataclass
class Post:
    """What goes through the coordinator, and what it costs there."""

    messages: int = 0
    up: int = 0
    down: int = 0
    cpu_s: float = 0.0
    slowest_s: float = 0.0


class Fleet:
    """Shards over a catalogue and their grants."""

    def __init__(self, sources: Catalogue, count: int, budget: float) -> None:
        self.sources, self.budget = sources, budget
        self.members = tuple(f"shard-{k}" for k in range(count))
        self.membership = membership_of(self.members)
        self.grants = Grants(budget, 2.0 * budget, leader=1, now=0.0, vacant_s=math.inf, seconds=GRANT_S)
        self.now = 0.0
        self.post = Post()
        self.shards = [
            Shard(name, *self._part(name), incarnation=f"{name}/{1:032x}", own_price=GUESS) for name in self.members
        ]

    def _part(self, name: str) -> tuple[FloatArray, FloatArray]:
        start, mine = self.sources.start, [k for k, owner in enumerate(owners(self.members)) if owner == name]
        parts = [slice(start[k], start[k + 1]) for k in mine]
        empty = [np.empty(0)]
        return (
            np.concatenate([self.sources.value[part] for part in parts] or empty),
            np.concatenate([self.sources.rate[part] for part in parts] or empty),
        )

    def second(self) -> list[float]:
        """Everybody reports once; what was spent per second at some moments of it."""
        seen, begun, rates = [], self.now, sum(shard.grant.rate for shard in self.shards)
        edges = np.linspace(0, len(self.shards), MOMENTS + 1).astype(int)
        for low, high in pairwise(edges):
            for k in range(low, high):
                shard = self.shards[k]
                shard.spent += shard.grant.rate
                rates -= shard.grant.rate
                shard.heed(self._exchange(shard.report(), begun + k / len(self.shards)))
                rates += shard.grant.rate
            seen.append(rates)
        self.now = begun + 1.0
        return seen

    def _exchange(self, report: Report, now: float) -> Grant:
        """A report there and a grant back, as the coordinator does it, and what that took."""
        message = msgspec.msgpack.encode(report)
        began = time.process_time()
        heard = msgspec.msgpack.decode(message, type=Report)
        grant = self.grants.hear(heard, now, self.members)
        if heard.membership == self.membership:
            grant.members = None
        answer = msgspec.msgpack.encode(grant)
        took = time.process_time() - began
        post = self.post
        post.messages, post.cpu_s, post.slowest_s = post.messages + 2, post.cpu_s + took, max(post.slowest_s, took)
        post.up, post.down = post.up + len(message), post.down + len(answer)
        return msgspec.msgpack.decode(answer, type=Grant)

    def lose(self, count: int) -> None:
        """These are silent from now on; every so many-th, so that large and small ones are among them."""
        gone = {shard.name for shard in self.shards[:: len(self.shards) // count][:count]}
        self.shards = [shard for shard in self.shards if shard.name not in gone]

    def regroup(self) -> None:
        """Those that are left are the members: the others' buckets move."""
        self.members = tuple(shard.name for shard in self.shards)
        self.membership = membership_of(self.members)
        for shard in self.shards:
            value, rate = self._part(shard.name)
            if len(value) != len(shard.value):
                shard.value, shard.rate, shard.counted = value, rate, (math.nan, 0.0, 0.0, 0.0)

    def captured(self) -> float:
        """Per second at rest: every shard spends its rate on the top of its own ranking."""
        price = self.grants.price
        return sum(captured(shard.value, shard.rate, shard.grant.rate, price) for shard in self.shards)


def captured(value: FloatArray, rate: FloatArray, budget: float, guess: float) -> float:
    if len(value) == 0 or budget <= 0.0:
        return 0.0
    _, interval = cadence(value, rate, budget, guess=guess, precision=1e-7)
    return float(captured_per_time(value, rate, interval).sum())


@dataclass(frozen=True)
class Settling:
    """After the loss of some shards: how long until spend was within 10 % and 1 % of the budget, and stayed so."""

    lost: int
    spend_at_once: float
    within_10_s: float
    within_1_s: float
    moved_10_s: float
    moved_1_s: float
    price_error: float
    value: float
    highest: float


def settled(seen: list[float], budget: float, within: float, begin: int = 0) -> float:
    """Seconds after `begin` from which on all moments are within a relative error of the budget."""
    wrong = [k for k in range(begin * MOMENTS, len(seen)) if abs(seen[k] / budget - 1.0) > within]
    return (wrong[-1] + 1) / MOMENTS - begin if wrong else 0.0


def lose(fleet: Fleet, count: int, exact_price: float, exact_value: float) -> Settling:
    """Lose some shards and watch."""
    fleet = copy.copy(fleet)
    fleet.shards, fleet.grants = copy.deepcopy(fleet.shards), copy.deepcopy(fleet.grants)
    fleet.lose(count)
    seen = []
    for k in range(AFTER_S):
        if k == SILENT_S:
            fleet.regroup()
        seen += fleet.second()
    before = seen[: SILENT_S * MOMENTS]
    return Settling(
        count,
        seen[0] / fleet.budget,
        settled(before, fleet.budget, 0.1),
        settled(before, fleet.budget, 0.01),
        settled(seen, fleet.budget, 0.1, SILENT_S),
        settled(seen, fleet.budget, 0.01, SILENT_S),
        fleet.grants.price / exact_price - 1.0,
        fleet.captured() / exact_value,
        max(seen) / fleet.budget,
    )


@dataclass(frozen=True)
class Outcome:
    """One size of fleet."""

    shards: int
    largest: int
    price_error: float
    budget_error: float
    value: float
    settled_s: int
    post: Post
    seconds: int
    losses: list[Settling]
    highest: float

    @property
    def cpu_per_round(self) -> float:
        """Seconds of the coordinator's processor in which everybody reports once."""
        return self.post.cpu_s / self.seconds


def simulate(sources: Catalogue, count: int, budget: float, exact: tuple[float, float]) -> Outcome:
    """Warm up from a price that is far off, look, and lose some shards, each time from the same state."""
    price, value = exact
    fleet = Fleet(sources, count, budget)
    errors, all_seen = [], []
    for k in range(WARM_S):
        if k == WARM_S - 5:
            fleet.post = Post()
        seen = fleet.second()
        all_seen += seen
        errors.append(abs(fleet.grants.price / price - 1.0))
    post = copy.copy(fleet.post)
    off = [k for k, error in enumerate(errors) if error > 0.01]
    return Outcome(
        count,
        max(len(shard.value) for shard in fleet.shards),
        fleet.grants.price / price - 1.0,
        max(abs(rate / budget - 1.0) for rate in seen),
        fleet.captured() / value,
        off[-1] + 1 if off else 0,
        post,
        5,
        losses := [lose(fleet, max(count // part, 1), price, value) for part in LOST],
        max(max(all_seen) / budget, *(loss.highest for loss in losses)),
    )


def show(outcome: Outcome) -> None:
    post, seconds = outcome.post, outcome.seconds
    print(f"\n{outcome.shards} shards, the largest with {outcome.largest:,} sources")
    print(f"  price error           {outcome.price_error:+.2e}, within 1 % after {outcome.settled_s} s")
    print(f"  budget error          {outcome.budget_error:.2e}")
    print(f"  highest spend         {outcome.highest:.9f} of the budget, at any moment")
    print(f"  value captured        {outcome.value:.5f} of one scheduler's")
    print(f"  messages              {post.messages / seconds:,.0f} per second")
    print(f"  bytes                 {(post.up + post.down) / seconds:,.0f} per second")
    print(f"    per report / grant  {2 * post.up / post.messages:,.0f} / {2 * post.down / post.messages:,.0f}")
    print(f"  coordinator           {1e3 * outcome.cpu_per_round:.1f} ms CPU per second,", end=" ")
    print(f"{2e6 * post.cpu_s / post.messages:.0f} µs per report, the slowest {1e3 * post.slowest_s:.1f} ms")
    for loss in outcome.losses:
        print(f"  {loss.lost} lost: spend falls to {loss.spend_at_once:.3f}")
        print(f"    within 10 % / 1 %   {loss.within_10_s:.1f} s / {loss.within_1_s:.1f} s after the loss")
        print(f"    after the move      {loss.moved_10_s:.1f} s / {loss.moved_1_s:.1f} s")
        print(f"    in the end          price {loss.price_error:+.1e}, value {loss.value:.5f}")


def arithmetic(outcome: Outcome, shards: int = 1000, hours: float = 24.0) -> None:
    """From what was measured to 10¹⁰ sources; nothing below was run."""
    total, post = 1e10, outcome.post
    reports = post.messages / 2
    report, grant = post.up / reports, post.down / reports
    fetches = total / (hours * 3600.0)
    memory, cpu = total * LIVE_BYTES, post.cpu_s / reports * shards
    print(f"\n10¹⁰ sources by arithmetic: {shards:,} shards, a fetch of each source every {hours:.0f} h on average")
    print(f"  memory                {memory / 1e12:,.1f} TB, {memory / shards / 1e9:.0f} GB per shard;", end=" ")
    print(f"calendars are {total * BYTES_PER_SOURCE / 1e9:,.0f} GB of it")
    print(f"  coordinator           {2 * shards:,} messages/s, {shards * (report + grant) / 1e6:.2f} MB/s,", end=" ")
    print(f"{cpu:.2f} s CPU per second")
    print(f"  lease renewals        {BUCKETS / 2:,.0f} rows/s in at most {shards / 2:,.0f} statements/s")
    print(f"  fetches               {fetches:,.0f}/s, {fetches / shards:,.0f}/s per shard")
    print(
        f"  commits               {min(shards * 1.0, fetches):,.0f}/s at one a second and shard, {fetches:,.0f} rows/s"
    )
    print(f"  network               {fetches * 20e3 * 8 / 1e9:,.1f} Gbit/s at 20 kB per fetch,", end=" ")
    print(f"{fetches / shards * 20e3 * 8 / 1e6:.0f} Mbit/s per shard")


def run(size: int, shards: list[int], hours: float) -> list[Outcome]:
    """Everything for one catalogue."""
    sources, budget = catalogue(size), size / (hours * 3600.0)
    began = time.process_time()
    some = slice(None, None, max(size // 100_000, 1))
    guess, _ = cadence(sources.value[some], sources.rate[some], budget * len(sources.value[some]) / size)
    price, interval = cadence(sources.value, sources.rate, budget, guess=guess)
    value = float(captured_per_time(sources.value, sources.rate, interval).sum())
    print(f"{size:,} sources, {budget:,.1f} tokens per second; one scheduler: price {price:.4g}", end=", ")
    print(
        f"{np.isfinite(interval).mean():.1%} of the sources are worth a fetch ({time.process_time() - began:.1f} s CPU)"
    )
    del interval
    outcomes = []
    for count in shards:
        outcomes.append(simulate(sources, count, budget, (price, value)))
        show(outcomes[-1])
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=float, default=1e7)
    parser.add_argument("--shards", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--hours", type=float, default=6.0, help="mean time between two fetches of a source")
    options = parser.parse_args()
    outcomes = run(int(options.sources), options.shards, options.hours)
    arithmetic(outcomes[-1])
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main()
