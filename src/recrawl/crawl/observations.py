"""Tells the policy what visits showed, as of when they were made: they may have waited long for the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recrawl.crawl.visits import VisitOutcome
from recrawl.policies.contract import LivePolicy
from recrawl.records import IntArray, Listed, Visits

TOGETHER_S = 0.05
"""Visits that end within so long are learned from together, as if they had ended with the last of them."""
_NOBODY: Listed = np.empty(0, np.int64), np.empty(0)

Told = tuple[int, VisitOutcome]


def teach(
    policy: LivePolicy, numbers: Sequence[int], outcomes: Sequence[VisitOutcome], named: Mapping[int, Listed]
) -> None:
    """Let the policy learn from visits.

    Parameters
        named: what visits to lists showed of other sources, by the number of the list; one that is known and not here
            says what it said before
    """
    told = sorted(zip(numbers, outcomes, strict=True), key=lambda each: each[1].crawl.at)
    start = 0
    while start < len(told):
        end, begun = start + 1, told[start][1].crawl.at
        while end < len(told) and told[end][1].crawl.at - begun <= TOGETHER_S:
            end += 1
        _teach_together(policy, told[start:end], told[end - 1][1].crawl.at, named)
        start = end


def _teach_together(policy: LivePolicy, told: Sequence[Told], at: float, named: Mapping[int, Listed]) -> None:
    kinds: dict[str, list[Told]] = {}
    for number, outcome in told:
        kinds.setdefault(outcome.kind, []).append((number, outcome))
    for kind in ("items", "page", "list", "failed"):
        if some := kinds.get(kind):
            policy.observe(_visits(kind, some, at, named, policy.uses_lists))


def _visits(kind: str, some: Sequence[Told], at: float, named: Mapping[int, Listed], listens: bool) -> Visits:
    ids: IntArray = np.array([number for number, _ in some])
    if kind == "failed":
        return Visits(ids, at, failed=np.ones(len(some), dtype=bool))
    entries = [named.get(number) for number, _ in some]
    sitemap = entries if any(entry is not None for entry in entries) else None
    if kind == "items":
        new = np.array([each.new for _, each in some])
        return Visits(ids, at, published=[each.published for _, each in some], new=new, sitemap=sitemap)
    if kind == "list" and listens:
        return Visits(ids, at, sitemap=[_NOBODY if entry is None else entry for entry in entries])
    return Visits(ids, at, changed=np.array([each.changed for _, each in some]), sitemap=sitemap)
