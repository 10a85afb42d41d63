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
        modified: when each was modified, Unix seconds; None where it does not say
        by_order: it is a page, and says it by its order
    """

    urls: Sequence[str]
    modified: Sequence[float | None]
    by_order: bool = False

    @classmethod
    def of_page(cls, urls: Sequence[str]) -> Mentions:
        """A page that links others."""
        return cls(urls, (), by_order=True)

    @property
    def lastmod(self) -> FloatArray:
        """The times as an array, NaN where it does not say; few documents name anybody, so it is made when needed."""
        return np.array(self.modified, np.float64)
