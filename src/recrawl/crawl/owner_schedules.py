"""What owners asked of single sources, by the policy's number: fixed intervals, active hours, and crawls at once.

Most sources have none of these, and take no room here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from recrawl.config import QuietHours, active_from
from recrawl.crawl.requested_crawls import is_asked
from recrawl.crawl.roster import Roster
from recrawl.store.source_terms import EffectiveOptions


class OwnerSchedules:
    """Intervals, hours and requested crawls of the sources that have them."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._intervals: dict[int, float] = {}
        self._hours: dict[int, tuple[str, ...]] = {}
        self._sharing: dict[tuple[str, ...], set[int]] = {}
        self._requested: dict[int, float] = {}
        """When a crawl at once was asked for."""
        self._made: dict[int, float] = {}
        """The requests whose crawls were made, whatever came of them."""

    def put(self, number: int, options: EffectiveOptions) -> None:
        """From now on this is asked of a source."""
        if self._intervals or self._hours:
            self._drop_options(number)
        if options.interval is not None:
            self._intervals[number] = options.interval
        if options.active_hours:
            self._hours[number] = options.active_hours
            self._sharing.setdefault(options.active_hours, set()).add(number)

    def forget(self, number: int) -> None:
        """Nothing is asked of it any more."""
        self._drop_options(number)
        self._requested.pop(number, None)
        self._made.pop(number, None)

    def _drop_options(self, number: int) -> None:
        self._intervals.pop(number, None)
        hours = self._hours.pop(number, None)
        if hours is not None:
            self._sharing[hours].discard(number)
            if not self._sharing[hours]:
                del self._sharing[hours]

    def scheduled(self) -> list[int]:
        """Those of which anything is asked."""
        return [*self._intervals, *self._hours, *self._requested]

    # -- intervals and hours

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

    # -- crawls asked for at once

    def request(self, number: int, at: float) -> None:
        """A crawl was asked for at this time; 0 for never."""
        if at > 0.0:
            self._requested[number] = at
        else:
            self._requested.pop(number, None)

    def is_requested(self, number: int) -> bool:
        """Whether a crawl was asked for that has not been made yet."""
        asked = self._requested.get(number)
        return asked is not None and is_asked(asked, self._made.get(number, 0.0), self._roster.last(number))

    def requested(self) -> list[int]:
        """Those with such a request, as far as is known here."""
        return [number for number in self._requested if self.is_requested(number)]

    def asked(self, numbers: Iterable[int]) -> list[int]:
        """Those of these whose crawl was asked for and not made, as far as is told (`answer`)."""
        return [n for n in numbers if is_asked(self._requested.get(n, 0.0), self._made.get(n, 0.0))]

    def answer(self, numbers: Iterable[int]) -> list[int]:
        """Crawls of these were made; those of them that were asked for."""
        asked = self.asked(numbers)
        self._made.update((n, self._requested[n]) for n in asked)
        return asked


@lru_cache(maxsize=1000)
def _read(hours: tuple[str, ...]) -> tuple[QuietHours, ...]:
    return tuple(QuietHours.parse("active_hours", text) for text in hours)
