"""When a digest is due: at a time of day (`08:00`, `08:00 Europe/Berlin`), or at whole multiples of a time (`6h`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from recrawl.config.quiet_hours import QuietHours
from recrawl.errors import ParameterError
from recrawl.units import DAY_S, parse_duration

SHORTEST_S, LONGEST_S = 60.0, 31 * DAY_S
EXPECTED = "a time of day such as 08:00 or 08:00 Europe/Berlin, or a time of 1m to 31d such as 6h"
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(\s+\S+)?")


def digest_time(name: str, text: str) -> str:
    """One that can be understood, as it was written."""
    digest_after(name, text)
    return text.strip()


def digest_after(name: str, text: str) -> Callable[[float], float]:
    """From a moment to the first one after it at which a digest is due, both in Unix seconds.

    >>> digest_after("digest", "6h")(3600.0), digest_after("digest", "08:00 UTC")(28_800.0)
    (21600.0, 115200.0)
    """
    daily = _TIME_OF_DAY.fullmatch(text.strip())
    if daily is not None:
        return _daily(name, daily)
    try:
        every_s = parse_duration(name, text)
    except ParameterError as error:
        raise ParameterError(name, EXPECTED, repr(text[:40])) from error
    if not SHORTEST_S <= every_s <= LONGEST_S:
        raise ParameterError(name, EXPECTED, repr(text[:40]))
    return lambda moment: (math.floor(moment / every_s) + 1.0) * every_s


def _daily(name: str, said: re.Match[str]) -> Callable[[float], float]:
    hour, minute = int(said[1]), int(said[2])
    end = (hour * 60 + minute + 1) % (24 * 60)
    try:
        stretch = QuietHours.parse(name, f"{said[1]}:{said[2]}-{end // 60:02}:{end % 60:02}{said[3] or ''}")
    except ParameterError as error:
        raise ParameterError(name, EXPECTED, repr(said[0][:40])) from error

    def after(moment: float) -> float:
        # A moment within the minute belongs to the day before: its digest has begun.
        within = stretch.until(moment)
        return stretch.begins(moment if within is None else within)

    return after
