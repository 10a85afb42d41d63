"""Lists in a trace: sitemaps and indexes that say when pages were last modified, truly or not.

An entry stands in its list from `listed_at` on, until a later entry of the same page. A crawl of the list shows every
page that stands in it, with the `lastmod` stated then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recrawl.records import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TraceList:
    """All that one list ever said of a trace's pages, in flat arrays.

    Parameters
        number: of the list in the files
        label: its name
        pages: places in the trace's targets, ascending
        listed_at: times of the entries, page by page, ascending within each
        lastmod: what each entry states; NaN where it does not say
        offsets: the entries of pages[i] are listed_at[offsets[i]:offsets[i + 1]]
    """

    number: int
    label: str
    pages: IntArray
    listed_at: FloatArray
    lastmod: FloatArray
    offsets: IntArray

    @classmethod
    def of(
        cls, number: int, label: str, owners: npt.ArrayLike, listed_at: npt.ArrayLike, lastmod: npt.ArrayLike
    ) -> TraceList:
        """A list from entries in any order; of two at the same time the later one stands."""
        owner, since = np.asarray(owners, np.int64), np.asarray(listed_at, np.float64)
        order = np.lexsort((since, owner))
        pages, starts = np.unique(owner[order], return_index=True)
        offsets = np.append(starts, len(owner)).astype(np.int64)
        return cls(number, label, pages, since[order], np.asarray(lastmod, np.float64)[order], offsets)

    @property
    def target(self) -> int:
        """Its name in a crawl log, below those of all pages."""
        return -1 - self.number


def lists_of(
    numbers: IntArray, names: dict[int, str], owners: IntArray, listed_at: IntArray, lastmod: FloatArray
) -> tuple[TraceList, ...]:
    """The lists of these entries, by number; one without a name is called after its number."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    parts: Sequence[IntArray] = np.split(order, starts[1:]) if len(found) else []
    return tuple(
        TraceList.of(number, names.get(number, f"list {number}"), owners[part], listed_at[part], lastmod[part])
        for number, part in zip(found.tolist(), parts, strict=True)
    )
