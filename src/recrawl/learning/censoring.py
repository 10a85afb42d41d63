"""Items that came and went unseen: a feed shows only its latest, and may have published more since the last visit.

If nothing listed is known from the last visit, the list is too short for the gap. How long the listed items took to
come tells about how many came in the whole gap.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_MISSED = 20.0
"""A feed is believed to have published at most so many times what it listed."""


def missed_items(listed: npt.ArrayLike, new: int, last: float, now: float) -> int:
    """How many items are believed missed since the last visit.

    Parameters
        listed: publication times of all items listed, in any order
        new: how many of them were not known
        last: time of the last visit; −inf for none

    Ten items an hour, ten hours since the last visit, and the last ten listed, all new: ninety or so were missed.

    >>> missed_items(np.arange(9.0, 10.0, 0.1), new=10, last=0.0, now=10.0)
    90
    """
    times = np.asarray(listed, dtype=np.float64)
    if new < len(times) or len(times) < 2 or not np.isfinite(last):
        return 0
    span, gap = now - float(times.min()), now - last
    if span <= 0.0 or span >= gap:
        return 0
    return int(len(times) * (min(gap / span, MOST_MISSED) - 1.0))
