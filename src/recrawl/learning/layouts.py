"""How beliefs are laid out in a store, and how those of the layout before are read.

Layout 2 had the kinds 1 (feeds) and 2 (pages), times in seconds, counts of double precision, and a record of how well
hours and weekdays had predicted. Layout 1 is not read: its sources are known to have been crawled, and nothing more.
"""

from __future__ import annotations

import numpy as np

from recrawl.learning.changes import ChangeBeliefs
from recrawl.learning.drift import MEMORIES_DAYS, DriftingArrivals
from recrawl.learning.rates import POINTS
from recrawl.learning.rhythms import FeedRhythms
from recrawl.learning.shrinkage import MeanWorth

LAYOUT = 3
"""Version of rows and shared state."""
READABLE = (2, LAYOUT)
DAY = 86400.0
_FEED_2 = np.dtype(
    [
        ("seen", np.bool_),
        ("known_from", np.float64),
        ("counts", np.float64, (len(MEMORIES_DAYS),)),
        ("exposures", np.float64, (len(MEMORIES_DAYS),)),
        ("record", np.float64, (len(MEMORIES_DAYS),)),
        ("own_hours", np.float32, (24,)),
        ("own_weekdays", np.float32, (7,)),
        ("hour_record", np.float32, (2,)),
        ("weekday_record", np.float32, (2,)),
    ]
)
_PAGE_2 = np.dtype(
    [("seen", np.bool_), ("visits", np.int32), ("evidence", np.float32, (POINTS,)), ("tilt", np.float64)]
)


def read(row: bytes, last: float) -> bytes:
    """A row in the present layout, whichever it was written in; empty if it cannot be read.

    `last` is when the source was last looked at, Unix seconds.
    """
    if row[:1] != b"\x02":
        return row
    if len(row) < 2:
        return b""
    body, kind = row[2:], row[1]
    if kind == 1 and len(body) >= _FEED_2.itemsize:
        return bytes((LAYOUT, kind)) + _feed(body[: _FEED_2.itemsize], last) + body[_FEED_2.itemsize :]
    if kind == 2 and len(body) >= _PAGE_2.itemsize:
        return bytes((LAYOUT, kind)) + _page(body[: _PAGE_2.itemsize])
    return b""


def _feed(body: bytes, last: float) -> bytes:
    old = np.frombuffer(body, _FEED_2)[0]
    arrivals, rhythms = np.zeros(1, DriftingArrivals(0).layout), np.zeros(1, FeedRhythms(0).layout)
    for name in ("counts", "exposures", "record"):
        arrivals[name] = old[name]
    for name in ("seen", "own_hours", "own_weekdays"):
        rhythms[name] = old[name]
    rhythms["known_from"], rhythms["until"] = old["known_from"] / DAY, last / DAY
    return arrivals.tobytes() + rhythms.tobytes()


def _page(body: bytes) -> bytes:
    old = np.frombuffer(body, _PAGE_2)[0]
    changes, importance = np.zeros(1, ChangeBeliefs(0, (1.0, 2.0)).layout), np.zeros(1, MeanWorth(0).layout)
    for name in ("visits", "evidence", "tilt"):
        changes[name] = old[name]
    return changes.tobytes() + importance.tobytes()
