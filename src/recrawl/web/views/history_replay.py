"""A replay over one's own history: what each rule would have captured of the items that really came.

The items in the store say when each source published. The last stretch of that is played again: a policy, the one that
runs live with the settings in force among them, starts knowing nothing but what owners said, sees at each crawl only
what the source listed then, and is given one fetch every 1/budget seconds. The budgets are the present one and the one
asked about, each by the share of the sources that take part. All of it is bounded: the busiest sources, the latest
items, so many fetches.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from recrawl.config.live_policies import LEARNED
from recrawl.policies import make
from recrawl.policies.contract import Policy
from recrawl.records import FloatArray
from recrawl.sim.contest import Publications, compete
from recrawl.store.source_terms import Defaults
from recrawl.web.context import Context
from recrawl.wiring import make_policy

LATEST = 5000
"""Items by which the busiest sources are found."""
MOST_SOURCES = 200
MOST_ITEMS = 300
"""Of each source."""
MOST_FETCHES = 3000
LEAST_ITEMS = 30
WINDOW = 20
"""Items a source lists."""


@dataclass(frozen=True, slots=True)
class Line:
    """One rule: the share of the interest published that it captured, at each budget."""

    rule: str
    shares: list[float]


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What came of it; budgets per second of the sources that took part, `seconds` how long a stretch was replayed."""

    sources: int
    items: int
    seconds: float
    fetches: list[int]
    budgets: list[float]
    lines: list[Line]


def hindsight(context: Context, budget: float) -> Hindsight | None:
    """Replay at the present budget and at another; None if there is too little history."""
    published = publications(context, max(context.budget(), budget))
    if published is None:
        return None
    active = max(context.store.count(state="active"), 1)
    part = min(1.0, len(published) / active)
    budgets = [context.budget() * part, budget * part]
    there = _interest(published)
    lines = [
        Line(rule, [compete(policy, published, each).captured / there for each in budgets])
        for rule, policy in rules(context).items()
    ]
    span = published.end - published.start
    count = sum(int(((times > published.start) & (times <= published.end)).sum()) for times in published.times)
    return Hindsight(len(published), count, span, [int(span * each) for each in budgets], budgets, lines)


def publications(context: Context, budget: float) -> Publications | None:
    """When the busiest sources published, as the store knows; None if that is too little."""
    items = context.store.items(kind="item", limit=LATEST)
    busiest = [source for source, _ in Counter(item.source for item in items).most_common(MOST_SOURCES)]
    sources = {source.id: source for source in context.store.sources(ids=busiest) if source.state == "active"}
    moments = {id: _moments(context, id) for id in busiest if id in sources}
    end = max((at for times in moments.values() for at in times), default=0.0)
    everything = np.sort([at for times in moments.values() for at in times if at > end - 30 * 86400.0])
    if len(everything) < LEAST_ITEMS:
        return None
    part = min(1.0, len(moments) / max(context.store.count(state="active"), 1))
    begun = float(np.quantile(everything, 0.25))
    start = max(begun, end - MOST_FETCHES / (budget * part))
    ids, defaults = list(moments), Defaults.of(context.in_force())
    terms = [sources[id].terms(defaults) for id in ids]
    return Publications(
        times=[np.sort(np.array(moments[id], dtype=np.float64)) for id in ids],
        interest=np.array([each.importance for each in terms]),
        half_life_s=np.array([each.half_life_s for each in terms]),
        window=np.full(len(ids), float(WINDOW)),
        start=start,
        end=end,
        max_age_s=np.array([each.max_age_s for each in terms]),
        labels=[sources[id].url for id in ids],
    )


def _moments(context: Context, source: int) -> list[float]:
    items = context.store.items(source=source, kind="item", limit=MOST_ITEMS)
    return [item.first_seen if item.published is None else item.published for item in items]


def rules(context: Context) -> dict[str, Policy]:
    """The policy that runs live, made as it is there, and what it is compared with."""
    config = context.in_force()
    name = "recrawl" if config.policy == LEARNED else config.policy
    return {name: make_policy(config), "round robin": make("round_robin")}


def _interest(published: Publications) -> float:
    """All that was published in the stretch, had it been seen at once."""
    counts: FloatArray = np.array([((t > published.start) & (t <= published.end)).sum() for t in published.times])
    return max(float((counts * published.interest).sum()), 1e-300)
