"""What a crawl log is worth on a trace, over the scored window [scored_from, ends_at).

freshness
    A page is fresh at t if it was crawled and has not changed since its last crawl. The score is the time average of
    the share of fresh pages; `captured` the share of the window's changes whose version was crawled before the next.
news
    A change is worth 2^{−(t − changed)/half-life} at the first crawl t of its version, nothing if the next change came
    before, or after 30 days. The score is the mean over the window's changes; `with_overwritten` counts those that the
    next one had overwritten too, as if they were items.
ephemeral
    An item seen at t is worth 2^{−(t − published)/half-life}, nothing if older than 30 days or never seen. The score is
    the mean over the window's items.
discovery
    The mean delay in hours from publication to the crawl that sees the item (never: to ends_at); lower is better.

Every score is a ratio of sums over targets, Σ gain / Σ weight. Both sums are kept for 20 groups of targets: leaving out
one group at a time (the jackknife) gives the standard error of a score, and of the difference of two scores on the
same trace, without assuming anything about how one target's events hang together.

Crawls of lists spend budget and are worth nothing by themselves.

Beside these, `changes_found` scores pages by what icc2021 rewards: crawls that find a change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from recrawl.kernels.worth import remaining
from recrawl.records import BoolArray, FloatArray, IntArray
from recrawl.sim.replay import ReplayedCrawls
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.traces import Trace

GROUPS = 20
WORTHLESS_S = 30 * DAY_S
"""An item found later than this is worth nothing."""
HOUR_S = 3600
_TIME_BITS = 33


@dataclass(frozen=True, eq=False)
class Score:
    """A score with what its doubt is computed from.

    Parameters
        gain, weight: per group of targets, the sums whose ratio is the score
        used_share: share of the budget spent in the scored window, on lists too
        never_visited: share of the targets no crawl ever reached
        details: the kind's further figures by name; where there are lists, how often they were crawled
    """

    gain: FloatArray
    weight: FloatArray
    used_share: float
    never_visited: float
    details: dict[str, float | None] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The score: a share for freshness and ephemeral, hours for discovery; NaN if nothing was to be scored."""
        return _ratio(self.gain.sum(), self.weight.sum())

    @property
    def standard_error(self) -> float:
        """Of the score, over groups of targets."""
        return _jackknife(_left_out(self))


def difference(one: Score, other: Score) -> tuple[float, float]:
    """Score of one minus score of the other on the same trace, and the standard error of that."""
    return one.value - other.value, _jackknife(_left_out(one) - _left_out(other))


def _ratio(gain: float, weight: float) -> float:
    return float(gain / weight) if weight > 0 else float("nan")


def _left_out(score: Score) -> FloatArray:
    """The score without each group in turn; groups without weight leave it as it is and are skipped."""
    gain, weight = score.gain.sum() - score.gain, score.weight.sum() - score.weight
    filled = score.weight > 0
    return np.divide(gain, weight, out=np.full(len(gain), np.nan), where=filled & (weight > 0))


def _jackknife(estimates: FloatArray) -> float:
    known = estimates[np.isfinite(estimates)]
    count = len(known)
    return float(np.sqrt((count - 1) / count * ((known - known.mean()) ** 2).sum())) if count > 1 else float("nan")


_Parts = tuple[FloatArray, FloatArray, dict[str, float | None]]
"""Gain and weight by target, and further figures."""


def score(scenario: Scenario, trace: Trace, log: ReplayedCrawls, budget: float) -> Score:
    """Score a log; the rules of the scenario are taken to hold of it."""
    found, parts = _crawls_of_targets(trace, log), _PARTS.get(scenario.kind, _items)
    gain, weight, details = parts(scenario, trace, found)
    if trace.lists:
        details["list_crawls"] = float(len(log) - len(found))
    return _scored(scenario, trace, log, budget, (gain, weight, details))


def changes_found(scenario: Scenario, trace: Trace, log: ReplayedCrawls, budget: float) -> Score:
    """The reward of icc2021 as a score: the share of the window's changes that a crawl found.

    A crawl finds a change where there is an earlier copy to compare with, and of several changes the last. Every change
    counts alike: traces do not say how important a page is.
    """
    crawls, begin = _crawls_of_targets(trace, log), scenario.scored_from
    owner, since, until, is_change = _versions(scenario, trace)
    counted = is_change & (since >= begin)
    owner, since, until = owner[counted], since[counted], until[counted]
    seen, first = _first_crawl(crawls, owner, since), _first_crawl(crawls, owner, np.zeros_like(since))
    found = (seen >= 0) & (first < since) & ((seen < until) | (until == scenario.ends_at))
    gain, weight = _sums(owner, found.astype(np.float64), len(trace)), _sums(owner, np.ones(len(owner)), len(trace))
    return _scored(scenario, trace, log, budget, (gain, weight, {"changes_in_window": float(len(since))}))


def _crawls_of_targets(trace: Trace, log: ReplayedCrawls) -> ReplayedCrawls:
    """The crawls that can be worth something, sorted by target and time."""
    order = np.lexsort((log.times, log.ids))
    order = order[log.ids[order] < len(trace)]
    return ReplayedCrawls(log.ids[order], log.times[order])


def _scored(scenario: Scenario, trace: Trace, log: ReplayedCrawls, budget: float, parts: _Parts) -> Score:
    """A score from its sums by target."""
    gain, weight, details = parts
    used = float((log.times > scenario.scored_from).sum()) / (budget * scenario.scored_days)
    never = 1.0 - len(np.unique(log.ids[log.ids < len(trace)])) / len(trace)
    group = np.arange(len(trace)) % GROUPS
    return Score(_sums(group, gain, GROUPS), _sums(group, weight, GROUPS), used, never, details)


def _sums(place: IntArray, amount: FloatArray, count: int) -> FloatArray:
    """The amounts summed by place."""
    return np.asarray(np.bincount(place, weights=amount, minlength=count), dtype=np.float64)


def _freshness(scenario: Scenario, trace: Trace, crawls: ReplayedCrawls) -> _Parts:
    """A version lives from its change (the first: from starts_at) to the next; it is fresh from its first crawl on."""
    begin, end = scenario.scored_from, scenario.ends_at
    owner, since, until, is_change = _versions(scenario, trace)
    seen = _first_crawl(crawls, owner, since)
    # A crawl at the instant of the next change sees the next version; one at the very end still counts.
    hit = (seen >= 0) & ((seen < until) | ((seen == end) & (until == end)))
    fresh = np.where(hit, np.maximum(0, until - np.maximum(seen, begin)), 0)
    counted = is_change & (since >= begin)
    captured = float(hit[counted].mean()) if counted.any() else None
    gain = _sums(owner, fresh.astype(np.float64), len(trace)) / (end - begin)
    return gain, np.ones(len(trace)), {"captured": captured, "changes_in_window": float(counted.sum())}


def _news(scenario: Scenario, trace: Trace, crawls: ReplayedCrawls) -> _Parts:
    """Changes as items of which a crawl shows only the latest."""
    owner, since, until, is_change = _versions(scenario, trace)
    counted = is_change & (since >= scenario.scored_from)
    owner, since, until = owner[counted], since[counted], until[counted]
    seen = _first_crawl(crawls, owner, since)
    worth = _worth(scenario, seen, since)
    shown = (seen < until) | (until == scenario.ends_at)
    details: dict[str, float | None] = {
        "captured": _mean((seen >= 0) & shown),
        "changes_in_window": float(len(since)),
        "with_overwritten": float(worth.mean()) if len(worth) else None,
    }
    count = len(trace)
    return _sums(owner, np.where(shown, worth, 0.0), count), _sums(owner, np.ones(len(owner)), count), details


def _worth(scenario: Scenario, seen: IntArray, since: IntArray) -> FloatArray:
    """Of each item when it was seen: nothing if it never was, or too late."""
    assert scenario.half_life_h is not None
    delay = np.maximum(seen - since, 0)
    found = (seen >= 0) & (delay <= WORTHLESS_S)
    return np.where(found, remaining(delay, HOUR_S * scenario.half_life_h), 0.0)


def _versions(scenario: Scenario, trace: Trace) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Owner, birth, end and "is a change" of every version of every page, page by page."""
    count = len(trace)
    owner = np.concatenate([np.arange(count), trace.owners])
    since = np.concatenate([np.full(count, scenario.starts_at, dtype=np.int64), trace.times])
    is_change = np.arange(len(owner)) >= count
    order = np.lexsort((is_change, since, owner))
    owner, since, is_change = owner[order], since[order], is_change[order]
    until = np.full(len(owner), scenario.ends_at, dtype=np.int64)
    followed = owner[1:] == owner[:-1]
    until[:-1][followed] = since[1:][followed]
    return owner, since, until, is_change


def _items(scenario: Scenario, trace: Trace, crawls: ReplayedCrawls) -> _Parts:
    scored = trace.times >= scenario.scored_from
    owner, published = trace.owners[scored], trace.times[scored]
    seen = _first_crawl(crawls, owner, published)
    found = seen >= 0
    delay = np.where(found, seen, scenario.ends_at) - published
    details: dict[str, float | None] = {"items_in_window": float(len(published)), "undiscovered": _mean(~found)}
    if scenario.kind == "ephemeral":
        each = _worth(scenario, seen, published)
    else:
        each = delay / HOUR_S
        details["median_delay_h"] = float(np.median(each)) if len(each) else None
        details["within_1h"] = _mean(found & (delay <= HOUR_S))
    count = len(trace)
    return _sums(owner, each, count), _sums(owner, np.ones(len(owner)), count), details


def _mean(flags: BoolArray) -> float | None:
    return float(flags.mean()) if len(flags) else None


def _first_crawl(crawls: ReplayedCrawls, owner: IntArray, since: IntArray) -> IntArray:
    """Time of the first crawl of the same target at or after each moment, −1 where there is none.

    Crawls are sorted by target and time, so (target, time) packed into one number is sorted too.
    """
    keys = crawls.ids << _TIME_BITS | crawls.times
    place = np.searchsorted(keys, owner << _TIME_BITS | since)
    known = place < len(keys)
    known[known] = crawls.ids[place[known]] == owner[known]
    seen = np.full(len(owner), -1, dtype=np.int64)
    seen[known] = crawls.times[place[known]]
    return seen


_PARTS = {"freshness": _freshness, "news": _news}
