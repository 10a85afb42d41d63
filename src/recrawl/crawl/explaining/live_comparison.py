"""What two policies captured that ran side by side, from the crawl log: totals, and the difference with an interval.

*Whose is what a fetch brought?* Fetches are the policy's that made them. What they found is the policy's that had the
source while it was published: else, after a change of halves, one would collect what the other has left lying, and the
worse a policy is the more it would give its rival. Where a change lies between two fetches of a source, what the later
one brought is shared out by the time each policy had it, recent time weighing more, as it does in what was captured
(2^(-age/half-life)). Close to a change the one policy's items are thus found by the other, which makes the difference
look smaller than it is: by up to three quarters where a period is shorter than a round of all sources at the budget,
hardly where it is three rounds long (docs/design/013). `caution` says so.

*The interval.* Hosts are the units: what is found on one says little of another. Once every host has been under both
policies, each is its own control, and hosts are drawn with replacement, each with what it gave to both (a paired
bootstrap); 95 % of the differences lie within the interval. It is what to expect of hosts like these. Without changes
of halves the hosts of each half are drawn by themselves; then the luck of the halves is in the interval too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from recrawl.kernels.worth import faded
from recrawl.policies.ab_plan import Trial
from recrawl.records import FloatArray, IntArray
from recrawl.store.records import Crawl, Source
from recrawl.store.source_terms import Defaults
from recrawl.units import DAY_S, show_duration

DRAWS = 4000
FEWEST_HOSTS, FEWEST_ITEMS = 6, 50
"""Below these no interval is worth giving."""
ROUNDS = 3.0
"""A period should be so many rounds of all sources."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy did; `captured` and `new_items` of what was published under it.

    Parameters
        fetches: requests sent, robots.txt and redirects included
        captured_per_day: what all hosts would give it in a day at the whole budget, at this pace
    """

    policy: str
    fetches: int
    captured: float
    per_fetch: float
    new_items: float
    captured_per_day: float


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How much more the first captured than the second, in percent of the second, and a 95 % interval."""

    percent: float
    low: float
    high: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two policies side by side.

    Parameters
        seconds: how long they ran
        swap_s: how often they changed halves; 0 for never
        paired: whether every host has been under both
        difference: None while it is too early
        verdict: "too early", "no difference" or the name of the one that captured more
        why: the verdict in a sentence
        round_s: how long one fetch of every active source takes at the budget
        caution: what to bear in mind, in a sentence; empty for nothing
    """

    began: float
    seconds: float
    swap_s: float
    hosts: int
    paired: bool
    policies: list[Side]
    difference: Difference | None
    verdict: str
    why: str
    round_s: float
    caution: str


@dataclass
class _Counts:
    """Per policy and host."""

    fetches: FloatArray
    captured: FloatArray
    new: FloatArray
    half: IntArray


def compare(
    trial: Trial,
    sources: Iterable[Source],
    crawls: Iterable[Crawl],
    *,
    host_of: Callable[[str], str],
    defaults: Defaults,
    budget_per_s: float,
) -> Comparison:
    """Read the crawl log of a trial, in any order; crawls from before it say when sources were fetched last."""
    listed = list(sources)
    host = {source.id: host_of(source.url) for source in listed}
    place = {name: k for k, name in enumerate(dict.fromkeys(host.values()))}
    half_life = {source.id: source.terms(defaults).half_life_s for source in listed}
    counts = _tallied(trial, sorted(crawls, key=lambda crawl: crawl.at), host, place, half_life)
    exposed = np.array([[_exposed(trial, policy, half) for half in (0, 1)] for policy in (0, 1)])
    return _judged(trial, counts, exposed, round_of(listed, budget_per_s))


def round_of(sources: Iterable[Source], budget_per_s: float) -> float:
    """How long one fetch of every active source takes at a budget, in seconds."""
    return sum(source.cost for source in sources if source.state == "active") / budget_per_s


def caution(swap_s: float, round_s: float) -> str:
    """What to bear in mind about the length of the periods; empty for nothing."""
    if not swap_s:
        return (
            "The halves never change: the interval includes that they are not worth the same, and is only good for "
            "hundreds of hosts."
        )
    enough = ROUNDS * round_s
    if swap_s >= enough:
        return ""
    short = f"Periods of {show_duration(swap_s)} are short where a round of all sources takes {show_duration(round_s)}"
    better = f"--swap {show_duration(enough)} --for {show_duration(4 * enough)}"
    return f"{short} at this budget: the difference looks smaller than it is. Better: {better}."


def _tallied(
    trial: Trial, crawls: list[Crawl], host: Mapping[int, str], place: Mapping[str, int], half_life: Mapping[int, float]
) -> _Counts:
    shape = (2, len(place))
    counts = _Counts(np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(len(place), np.int64))
    for name, k in place.items():
        counts.half[k] = trial.half_of(name)
    last: dict[int, float] = {}
    for crawl in crawls:
        if crawl.source not in host:
            continue
        k = place[host[crawl.source]]
        half = int(counts.half[k])
        before = last.get(crawl.source, -math.inf)
        if crawl.outcome not in ("failed", "refused"):
            last[crawl.source] = crawl.at
        if not any(begun <= crawl.at <= ended for begun, ended in trial.spans):
            continue
        counts.fetches[trial.ruler(half, crawl.at), k] += crawl.requests
        if crawl.new and crawl.outcome != "first":
            for policy, share in _shares(trial, half, before, crawl.at, half_life[crawl.source]):
                counts.captured[policy, k] += share * crawl.captured
                counts.new[policy, k] += share * crawl.new
    return counts


def _shares(trial: Trial, half: int, since: float, at: float, half_life_s: float) -> list[tuple[int, float]]:
    """Of what was published since the last fetch and is there now, the part of each reign."""
    whole = faded(at - since, half_life_s)
    if whole <= 0.0:
        return [(trial.ruler(half, at), 1.0)]
    return [
        (policy, (faded(at - begun, half_life_s) - faded(at - ended, half_life_s)) / whole)
        for policy, begun, ended in trial.reigns(half, since, at)
    ]


def _exposed(trial: Trial, policy: int, half: int) -> float:
    """How long a policy had a half, in seconds."""
    return sum(to - since for who, since, to in trial.reigns(half, -math.inf, math.inf) if who == policy)


def _judged(trial: Trial, counts: _Counts, exposed: FloatArray, round_s: float) -> Comparison:
    half = counts.half
    paired = bool((exposed > 0.0).all())
    days = exposed[:, half] / DAY_S
    rates = np.divide(counts.captured, days, out=np.zeros_like(days), where=days > 0.0)
    reason = _too_early(trial, counts, exposed)
    difference = None if reason else _difference(rates, half, paired)
    verdict, why = _verdict(trial, difference, reason)
    scale = 1.0 if paired else 2.0
    return Comparison(
        began=trial.began,
        seconds=trial.ran_s,
        swap_s=trial.swap_s,
        hosts=len(half),
        paired=paired,
        policies=[
            Side(
                policy=name,
                fetches=round(float(counts.fetches[k].sum())),
                captured=float(counts.captured[k].sum()),
                per_fetch=float(counts.captured[k].sum() / max(counts.fetches[k].sum(), 1.0)),
                new_items=float(counts.new[k].sum()),
                captured_per_day=scale * float(rates[k].sum()),
            )
            for k, name in enumerate(trial.names)
        ],
        difference=difference,
        verdict=verdict,
        why=why,
        round_s=round_s,
        caution=caution(trial.swap_s, round_s),
    )


def _too_early(trial: Trial, counts: _Counts, exposed: FloatArray) -> str:
    """Why nothing can be said yet; empty if something can."""
    if trial.swap_s and exposed.min(initial=math.inf) < 0.9 * trial.swap_s:
        return "both policies have to have had both halves of the hosts for a whole period"
    fruitful = int(np.count_nonzero(counts.captured.sum(axis=0) > 0.0))
    if fruitful < FEWEST_HOSTS:
        return f"something was captured on {fruitful} hosts, and {FEWEST_HOSTS} are the least that tell anything"
    items = float(counts.new.sum(axis=1).min())
    if items < FEWEST_ITEMS:
        return f"one of the policies has {items:.0f} new items, and {FEWEST_ITEMS} are the least that tell anything"
    return ""


def _difference(rates: FloatArray, half: IntArray, paired: bool) -> Difference | None:
    """The first against the second, and what other hosts like these would have said."""
    random, hosts = np.random.default_rng(0), np.arange(rates.shape[1])
    if paired:
        drawn = random.choice(hosts, (DRAWS, len(hosts)))
        one, other = rates[0][drawn].sum(axis=1), rates[1][drawn].sum(axis=1)
    else:
        halves = (np.flatnonzero(half == k) for k in (0, 1))
        one, other = (rates[k][random.choice(mine, (DRAWS, len(mine)))].sum(axis=1) for k, mine in enumerate(halves))
    against = float(rates[1].sum())
    if against <= 0.0 or (other <= 0.0).any():
        return None
    low, high = np.percentile(100.0 * (one / other - 1.0), [2.5, 97.5])
    return Difference(percent=100.0 * (float(rates[0].sum()) / against - 1.0), low=float(low), high=float(high))


def _verdict(trial: Trial, difference: Difference | None, reason: str) -> tuple[str, str]:
    first, second = trial.names
    if difference is None:
        return "too early", f"Too early to tell: {reason or f'{second} has captured too little'}."
    between = f"between {difference.low:+.1f} % and {difference.high:+.1f} % (95 %)"
    if difference.low > 0.0:
        return first, f"{first} captures {difference.percent:.1f} % more than {second}: {between}."
    if difference.high < 0.0:
        return second, f"{first} captures {-difference.percent:.1f} % less than {second}: {between}."
    return "no difference", f"No difference can be told yet: {first} against {second}, {between}."
