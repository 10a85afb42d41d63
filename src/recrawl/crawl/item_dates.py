"""Which dates of items are dates, and which of those are evidence of when the items came.

Publishers date items in 1970, leave one date in every item of a template, or write the moment of the fetch into all of
them. An item with such a date counts as one without: it came at some moment since the last visit.

A date that is none (`believed`) is not stored either:

- 1970 is what computers make of no date, and nobody publishes the day after tomorrow.
- Items of a list that all have one date to the second are not told apart by it.

A date that tells nothing (`telling`) is what the publisher says, but the item was not listed when it was written:

- Nothing was listed before there were feeds.
- An item that was not listed at the last visit, and is dated long before that, came later than its date. Some delay is
  usual: items are approved, imported, and dated by the day.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recrawl.crawl.findings import FoundItem

DAY_S = 86_400.0
NO_DATE = (-DAY_S, 366 * DAY_S)
"""The year 1970, wherever on Earth, in Unix seconds."""
AHEAD_S = DAY_S
"""A date so far ahead may be one of another time zone; it is taken for now."""
ALIKE = 3
"""So many items of one date are no coincidence."""
FEEDS_BEGAN = 788_918_400.0
"""1995, some years before the first feeds, in Unix seconds."""
LATE_S = 2 * DAY_S
"""An item listed so long after its date was delayed, or dated by the day."""


def believed(dates: Sequence[float | None], now: float) -> list[float | None]:
    """The dates of all items of a list, none after `now`; None for those that cannot be.

    >>> believed([0.0, 1.6e9, 1.7e9, 9e9], now=1.75e9), believed([1.6e9, 1.6e9, 1.6e9], now=1.75e9)
    ([None, 1600000000.0, 1700000000.0, None], [None, None, None])
    """
    if len(dates) >= ALIKE and dates[0] is not None and all(date == dates[0] for date in dates):
        return [None] * len(dates)
    return [_possible(date, now) for date in dates]


def _possible(date: float | None, now: float) -> float | None:
    if date is None or NO_DATE[0] <= date < NO_DATE[1] or date > now + AHEAD_S:
        return None
    return min(date, now)


def with_believed_dates(items: Sequence[FoundItem], now: float) -> list[FoundItem]:
    """All items of a list, without the dates that cannot be."""
    dates = believed([item.published for item in items], now)
    return [
        item if item.published == date else msgspec.structs.replace(item, published=date)
        for item, date in zip(items, dates, strict=True)
    ]


def telling(dates: Sequence[float | None], last: float | None) -> list[float]:
    """Of the dates of new items, as `believed`, those that fit in with the last visit (None: there was none)."""
    since = FEEDS_BEGAN if last is None else max(FEEDS_BEGAN, last - LATE_S)
    return [date for date in dates if date is not None and date >= since]
