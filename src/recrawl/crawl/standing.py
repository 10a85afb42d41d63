"""What owners asked of single sources that the schedule keeps to, by the policy's number: fixed intervals and hours.

Most sources have neither, and take no room here.
"""

from __future__ import annotations

from functools import lru_cache

from recrawl.config import Effective, QuietHours, active_from


class Standing:
    """Fixed intervals and active hours of the sources that have them."""

    def __init__(self) -> None:
        self._intervals: dict[int, float] = {}
        self._hours: dict[int, tuple[str, ...]] = {}
        self._sharing: dict[tuple[str, ...], set[int]] = {}

    def put(self, number: int, options: Effective) -> None:
        """From now on this is asked of a source."""
        self.forget(number)
        if options.interval is not None:
            self._intervals[number] = options.interval
        if options.active_hours:
            self._hours[number] = options.active_hours
            self._sharing.setdefault(options.active_hours, set()).add(number)

    def forget(self, number: int) -> None:
        """Nothing is asked of it any more."""
        self._intervals.pop(number, None)
        hours = self._hours.pop(number, None)
        if hours is not None:
            self._sharing[hours].discard(number)
            if not self._sharing[hours]:
                del self._sharing[hours]

    @property
    def any_hours(self) -> bool:
        """Whether any source has hours of its own."""
        return bool(self._hours)

    def interval_s(self, number: int) -> float:
        """Fixed time between fetches, in seconds; 0 for none."""
        return self._intervals.get(number, 0.0)

    def opens(self, number: int, at: float) -> float:
        """The first moment from `at` on, Unix seconds, at which its hours allow a fetch."""
        hours = self._hours.get(number)
        return at if hours is None else active_from(_read(hours), at)

    def words(self, number: int, now: float) -> str:
        """Why its owner does not want it fetched now, if that may be so."""
        if self.opens(number, now) > now:
            return "its active hours have not begun"
        return "its interval is not over" if number in self._intervals else ""

    def sharing(self, number: int) -> set[int]:
        """All that have the same hours as a source."""
        return self._sharing.get(self._hours.get(number, ()), set())


@lru_cache(maxsize=1000)
def _read(hours: tuple[str, ...]) -> tuple[QuietHours, ...]:
    return tuple(QuietHours.parse("active_hours", text) for text in hours)
