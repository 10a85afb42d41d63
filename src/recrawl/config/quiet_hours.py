"""Quiet hours: stretches of the day in which nothing is fetched, by the clock of a place.

Written `22:00-07:00` (local time), `22:00-07:00 UTC` or `22:00-07:00 Europe/Berlin`. A stretch may pass midnight. What
counts is the clock on the wall, so on the two days a year when it is changed a night is an hour longer or shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from recrawl.errors import ParameterError

_WRITTEN = re.compile(r"(\d{1,2}):(\d{2})\s*(?:-|–|to)\s*(\d{1,2}):(\d{2})(?:\s*(\S+))?")
_DAY_MINUTES = 24 * 60
DAYS_AHEAD = 4
"""An hour that one day does not have comes on one of the next."""


@dataclass(frozen=True)
class QuietHours:
    """One stretch, in minutes after midnight; `zone` is None for the machine's own.

    >>> night = QuietHours.parse("quiet_hours", "22:00-07:00 UTC")
    >>> night.until(3600.0), night.until(12 * 3600.0)
    (25200.0, None)
    """

    begins_min: int
    ends_min: int
    zone: str | None = None

    @classmethod
    def parse(cls, argument: str, text: str) -> QuietHours:
        """Read it as people write it."""
        found = _WRITTEN.fullmatch(text.strip())
        expected = "hours such as 22:00-07:00, 22:00-07:00 UTC or 22:00-07:00 Europe/Berlin"
        if found is None:
            raise ParameterError(argument, expected, repr(text))
        begins, ends = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
        sound = max(int(found[2]), int(found[4])) < 60 and begins < _DAY_MINUTES and ends <= _DAY_MINUTES
        hours = cls(begins, ends % _DAY_MINUTES, found[5])
        if not sound or hours.begins_min == hours.ends_min or not hours._zone_known():
            raise ParameterError(argument, expected, repr(text))
        return hours

    def until(self, now: float) -> float | None:
        """When the stretch `now` (Unix seconds) lies in ends, or None if it lies in none."""
        here = datetime.fromtimestamp(now, UTC).astimezone(self._zone())
        minute = here.hour * 60 + here.minute
        left = (self.ends_min - minute) % _DAY_MINUTES
        if not (minute - self.begins_min) % _DAY_MINUTES < (self.ends_min - self.begins_min) % _DAY_MINUTES:
            return None
        # Wall-clock arithmetic: the end is a time of day, whatever the clock did in between.
        end = here.replace(second=0, microsecond=0, tzinfo=None) + timedelta(minutes=left)
        zone = self._zone()
        moment = (end.astimezone() if zone is None else end.replace(tzinfo=zone)).timestamp()
        return max(moment, now)

    def begins(self, now: float) -> float:
        """The first moment from `now` on that lies in it, Unix seconds."""
        if self.until(now) is not None:
            return now
        zone = self._zone()
        here = datetime.fromtimestamp(now, UTC).astimezone(zone)
        midnight = here.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
        for day in range(DAYS_AHEAD):
            # Wall-clock arithmetic, as above: where a clock is set forward the hour may not come, or come twice.
            start = midnight + timedelta(days=day, minutes=self.begins_min)
            for fold in (0, 1):
                told = start.replace(fold=fold)
                moment = (told.astimezone() if zone is None else told.replace(tzinfo=zone)).timestamp()
                if moment >= now and self.until(moment) is not None:
                    return moment
        return now

    def _zone(self) -> tzinfo | None:
        if self.zone is None:
            return None
        if self.zone.upper() in ("UTC", "Z"):
            return UTC
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.zone)

    def _zone_known(self) -> bool:
        try:
            self._zone()
        except (ValueError, OSError, LookupError):
            return False
        return True


def quiet_until(hours: Iterable[QuietHours], now: float) -> float:
    """The first moment from `now` on, in Unix seconds, that lies in none of these; `now` if they cover everything.

    >>> night, morning = (QuietHours.parse("quiet_hours", text) for text in ("22:00-07:00 UTC", "07:00-08:30 UTC"))
    >>> quiet_until((night, morning), 3600.0), quiet_until((night, morning), 40_000.0)
    (30600.0, 40000.0)
    """
    stretches = list(hours)
    moment = now
    for _ in range(2 * len(stretches) + 1):
        ends = [end for each in stretches if (end := each.until(moment)) is not None and end > moment]
        if not ends:
            return moment
        moment = max(ends)
    return now


def active_from(hours: Iterable[QuietHours], now: float) -> float:
    """The first moment from `now` on, in Unix seconds, that lies in one of these; `now` if there are none.

    >>> day = QuietHours.parse("active_hours", "08:00-18:00 UTC")
    >>> active_from((day,), 3600.0), active_from((day,), 40_000.0)
    (28800.0, 40000.0)
    """
    return min((each.begins(now) for each in hours), default=now)
