"""Groups of alike pages as arms [icc2021, §II].

An arm is a group of pages that change with the same probability and matter equally. Choosing an arm crawls one of its
pages, the next in turn: a pointer per group goes round. The worth of an arm is the importance of the page its pointer
shows if that page changed since its own last crawl, else 0. What a policy can know of an arm is (X, Y): the slots
since the arm was last chosen, and whether the page crawled then had changed.

The papers' policies act on these arms. Policies that know pages one by one act on :meth:`GroupedPages.pages`, the
same pages with the same random changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.records import BoolArray, FloatArray, IntArray, Sources, Visits, checked
from recrawl.sim.noise import Noise
from recrawl.sim.worlds import SlottedWorld


@dataclass(frozen=True, eq=False, init=False)
class GroupedPages:
    """A world whose targets are groups of pages.

    Parameters
        pages_per_group: how many pages each group has
        change_probability: of one page of the group, per slot
        importance: what finding one page of the group changed is worth

    >>> world = GroupedPages(pages_per_group=[2, 3], change_probability=[0.5, 0.1], importance=[1.0, 4.0])
    >>> len(world), len(world.pages()), world.group_of_page.tolist()
    (2, 5, [0, 0, 1, 1, 1])
    """

    pages_per_group: IntArray
    arms: Sources

    def __init__(
        self,
        pages_per_group: npt.ArrayLike,
        change_probability: npt.ArrayLike,
        importance: npt.ArrayLike,
        cost: npt.ArrayLike = 1.0,
    ) -> None:
        expected = "a whole number of pages >= 1"
        count = np.atleast_1d(checked("pages_per_group", pages_per_group, expected, low=1.0))
        if (count != np.floor(count)).any():
            place = int(np.argmax(count != np.floor(count)))
            raise ParameterError("pages_per_group", expected, count[place], (place,))
        arms = Sources.changing(change_probability, importance, cost)
        if count.ndim != 1 or (len(arms) > 1 and len(count) not in (1, len(arms))):
            raise ParameterError("pages_per_group", f"one per group ({len(arms)})", f"shape {count.shape}")
        if len(arms) < len(count):
            arms = arms.take(np.zeros(len(count), dtype=np.int64))
        sizes = np.broadcast_to(count, len(arms)).astype(np.int64)
        sizes.setflags(write=False)
        object.__setattr__(self, "pages_per_group", sizes)
        object.__setattr__(self, "arms", arms)

    def __len__(self) -> int:
        return len(self.pages_per_group)

    @property
    def cost(self) -> FloatArray:
        """What one crawl of a page of each group spends."""
        return self.arms.cost

    @property
    def group_of_page(self) -> IntArray:
        """The group of every page, pages numbered group by group."""
        return np.repeat(np.arange(len(self)), self.pages_per_group)

    def pages(self) -> Sources:
        """The same pages one by one, for policies that act on pages."""
        return self.arms.take(self.group_of_page)

    def never_visited(self, crawls: npt.ArrayLike) -> float:
        """The share of the pages never crawled, given how often each group was; a mean over leading axes."""
        missing = np.maximum(0, self.pages_per_group - np.asarray(crawls)).sum(axis=-1)
        return float(np.mean(missing / self.pages_per_group.sum()))


class GroupedWorld:
    """One run of grouped pages: the world of the pages, seen through the groups' pointers."""

    def __init__(self, world: GroupedPages, noise: Noise, seed: int, run: int) -> None:
        self.inside = SlottedWorld(world.pages(), noise, seed, run)
        self.sizes = world.pages_per_group
        self.first_page = np.cumsum(self.sizes) - self.sizes
        self.pointer = np.zeros(len(world), dtype=np.int64)

    @property
    def worth(self) -> FloatArray:
        """The worth of the page each pointer shows."""
        shown: FloatArray = self.inside.worth[self.first_page + self.pointer]
        return shown

    def states(self, observed: BoolArray) -> FloatArray:
        """The worth of the page each pointer shows where observed, NaN elsewhere."""
        return np.where(observed, self.worth, np.nan)

    def crawl(self, ids: IntArray, now: float) -> Visits:
        """Crawl the page each chosen group's pointer shows, and move the pointer on."""
        shown = self.inside.crawl(self.first_page[ids] + self.pointer[ids], now)
        self.pointer[ids] = (self.pointer[ids] + 1) % self.sizes[ids]
        return Visits(ids, now, changed=shown.changed, worth=shown.worth)

    def advance(self) -> None:
        """Let one slot pass."""
        self.inside.advance()
