"""Pages grouped by behaviour, groups as arms: how the policies of icc2021 meet a catalogue of thousands [icc2021, §II].

Those policies choose among a handful of arms. An arm stands for pages that behave alike; choosing it crawls its pages
in turn. The paper is given the groups; here they are formed from what crawls have shown: once a day all pages are
sorted by their estimated change rate, (changes seen + 1)/(time observed + time per change over the catalogue), and
cut into equally large groups, slowest first. One arm is chosen per call, and the whole budget of the call goes to its
pages, those crawled longest ago first. Arms live in slots: one per call.

The paper's pages have all been crawled before. Here the first crawl of a page has nothing to compare with, so it cannot
find a change: counted like the paper's crawls, it speaks against the group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.arguments import flag
from recrawl.errors import ParameterError
from recrawl.policies import contract, make
from recrawl.policies.base import RankedPolicy
from recrawl.policies.thompson import found_change
from recrawl.records import FloatArray, IntArray, Sources, Visits

REGROUPED_EVERY = 86400.0
GROUPS = 4


class GroupedArms(RankedPolicy):
    """A policy over groups of pages.

    Parameters
        name: the policy that chooses among the groups; `static` is given the groups' estimated change rates each day
        groups: how many, at most one per page
        first_copies: whether the first crawl of a page teaches the groups' policy that no change was found; False to
            leave it out
        options: those of that policy
    """

    def __init__(
        self,
        name: str,
        groups: int = GROUPS,
        first_copies: bool = True,
        seed: int | tuple[int, ...] = 0,
        **options: Any,
    ) -> None:
        super().__init__(seed)
        if groups < 1:
            raise ParameterError("groups", ">= 1", groups)
        self.name, self.group_count, self.options = name, groups, options
        self.first_copies = flag("first_copies", first_copies)
        self._made()

    def begin(self, now: float) -> None:
        """Groups by number, until something has been seen."""
        self.began = self.grouped_at = self.now = now
        self.found: FloatArray = np.zeros(len(self.last))
        self.observed: FloatArray = np.zeros(len(self.last))
        self.slots, self.crawls = 0, 0
        self.arms: contract.Policy | None = None
        self.group_of: IntArray = np.zeros(len(self.last), dtype=np.int64)
        self._regroup(now)

    def grow(self, count: int) -> None:
        """New pages join the groups at the next regrouping; until then the first group."""
        self.found = np.concatenate([self.found, np.zeros(count)])
        self.observed = np.concatenate([self.observed, np.zeros(count)])
        self.group_of = np.concatenate([self.group_of, np.zeros(count, dtype=np.int64)])

    def choose(self, now: float, budget: float, states: npt.ArrayLike | None = None) -> IntArray:
        """The next pages of one group."""
        now, budget, states = self.question(now, budget, states)
        assert self.arms is not None
        self.now = now
        if now - self.grouped_at >= REGROUPED_EVERY:
            self._regroup(now)
        self.slots += 1
        arm = self.arms.choose(float(self.slots), 1.0)
        if len(arm) == 0:
            return np.empty(0, dtype=np.int64)
        self.arm = arm[:1]
        chosen = super().choose(now, budget, states)
        if len(chosen) == 0:
            self.arms.release(self.arm)
        return chosen

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """The pages of the chosen group, the one crawled longest ago first."""
        age = np.where(np.isneginf(self.last), np.finfo(np.float64).max, now - self.last)
        return np.where(self.group_of == self.arm[0], age, -np.inf)

    def learn(self, visits: Visits) -> None:
        """Teach the groups' policy, crawl by crawl, and remember each page's behaviour."""
        assert self.arms is not None
        seen = np.ones(len(visits), dtype=bool) if visits.failed is None else ~visits.failed
        changed = found_change(visits)
        gaps = visits.now - self.last[visits.ids]
        known = seen & np.isfinite(gaps)
        teaches = seen if self.first_copies else known
        for worked, found in zip(teaches.tolist(), changed.tolist(), strict=True):
            self.arms.observe(_arm_visit(self.arm, float(self.slots), found, worked))
        self.found[visits.ids[known]] += changed[known]
        self.observed[visits.ids[known]] += gaps[known]
        self.crawls += len(visits)

    def _regroup(self, now: float) -> None:
        """Sort pages by estimated change rate into groups of equal size; start or inform the groups' policy."""
        self.grouped_at = now
        pages, total = len(self.last), float(self.observed.sum())
        groups = min(self.group_count, pages)
        per_change = total / max(float(self.found.sum()), 1.0)
        rate = (self.found + 1.0) / (self.observed + per_change) if total > 0 else np.ones(pages)
        place = np.empty(pages, dtype=np.int64)
        place[np.argsort(rate, kind="stable")] = np.arange(pages)
        self.group_of = place * groups // pages
        if self.arms is None or self._informed():
            self.arms = self._made()
            self.arms.start(groups, float(self.slots), sources=self._sources(rate, groups, now))

    def _informed(self) -> bool:
        """Whether the groups' policy works from given parameters, and so is given them anew."""
        return bool(getattr(self.arms, "needs_sources", False))

    def _sources(self, rate: FloatArray, groups: int, now: float) -> Sources:
        """The groups as the paper's pages: the chance that a page of each changes while one crawl is made."""
        slot = (now - self.began) / max(self.crawls, 1)
        mean = np.bincount(self.group_of, weights=rate, minlength=groups) / np.bincount(self.group_of, minlength=groups)
        return Sources.changing(-np.expm1(-np.maximum(mean * slot, 1e-12)), np.ones(groups))

    def _made(self) -> contract.Policy:
        options = dict(self.options)
        if self.name == "static" and hasattr(self, "last"):
            options["pages"] = np.bincount(self.group_of)
        return make(self.name, seed=self.seed, **options)


def _arm_visit(arm: IntArray, slot: float, found: bool, worked: bool) -> Visits:
    """One crawl of a page as a visit of its group."""
    return Visits(arm, slot, changed=np.array([found]), worth=np.array([float(found)]), failed=np.array([not worked]))
