"""What one document says of other addresses; whose they are is not known here (`named_sources`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.records import FloatArray


@dataclass(frozen=True, slots=True)
class Mentions:
    """What one document says of others.

    Parameters
        urls: that it names, in its order
        lastmod: when each was modified, Unix seconds; NaN where it does not say
        by_order: it is a page, and says it by its order
    """

    urls: Sequence[str]
    lastmod: FloatArray
    by_order: bool = False

    @classmethod
    def of(cls, urls: Sequence[str], lastmod: Sequence[float | None]) -> Mentions:
        """A list with times; None for those that have none."""
        return cls(urls, np.array(lastmod, np.float64))

    @classmethod
    def of_page(cls, urls: Sequence[str]) -> Mentions:
        """A page that links others."""
        return cls(urls, np.full(len(urls), np.nan), by_order=True)
