"""How people write times, rates and sizes: `6h`, `60/min`, `10MB`.

One place reads them and one place writes them, so that what a command prints can be given to another.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta

from recrawl.arguments import meant, plain, shown
from recrawl.errors import ParameterError

DAY_S = 86400.0
SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "m": 60.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0,
           "d": DAY_S, "day": DAY_S, "w": 604800.0, "week": 604800.0}  # fmt: skip
BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
LONGEST = 200
"""Characters of a time."""
_NUMBER = r"(?:[0-9]{1,20}(?:\.[0-9]{1,20})?|\.[0-9]{1,20})"
_NUMBER_AND_UNIT = re.compile(rf"({_NUMBER}(?:e[+-]?[0-9]{{1,3}})?)\s{{0,20}}([a-z]{{0,20}})", re.IGNORECASE)
_PART = re.compile(rf"({_NUMBER})\s{{0,20}}(ms|[a-z]{{1,20}})", re.IGNORECASE)


def whole_number(text: str, most: int) -> int | None:
    """The number a stranger wrote in digits, `most` where it is larger; None for anything else.

    Python refuses to convert thousands of digits, and takes long over hundreds: no more are converted than `most` has.

    >>> whole_number("0042", 99), whole_number("1" + 5000 * "0", 99), whole_number("-1", 99), whole_number("²", 99)
    (42, 99, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return min(int(digits), most) if len(digits) <= len(str(most)) else most


def parse_duration(argument: str, text: str | float | timedelta) -> float:
    """Seconds in `90s`, `15m`, `6h`, `7d`, `2w`, `1h30m`; a bare number is seconds. A timedelta is a time too.

    >>> parse_duration("half_life", "6h"), parse_duration("half_life", "1h30m"), parse_duration("half_life", 90)
    (21600.0, 5400.0, 90.0)
    """
    given, hint = plain(text), ""
    if isinstance(given, timedelta):
        seconds = given.total_seconds()
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        seconds = float(given) if abs(given) < 1e300 else math.inf
    else:
        seconds, hint = _read_duration(given) if isinstance(given, str) else (math.nan, "")
    if not 0.0 <= seconds < math.inf:
        raise ParameterError(argument, "a time such as 90s, 15m, 6h, 7d or 2w", shown(text) + hint)
    return seconds


def _read_duration(text: str) -> tuple[float, str]:
    """Seconds in a text, NaN if it is no time, and then which unit may be meant."""
    if len(text) > LONGEST:
        return math.nan, ""
    bare = _NUMBER_AND_UNIT.fullmatch(text.strip())
    if bare and not bare[2]:
        return float(bare[1]), ""
    parts = _PART.findall(text)
    if not parts or "".join(a + b for a, b in parts).lower() != re.sub(r"\s", "", text).lower():
        return math.nan, ""
    seconds = 0.0
    for amount, unit in parts:
        size = 0.001 if unit.lower() == "ms" else SECONDS.get(_singular(unit))
        if size is None:
            return math.nan, meant(unit, SECONDS)
        seconds += float(amount) * size
    return seconds, ""


def parse_rate(argument: str, text: str | float) -> float:
    """Per second, from `60/min`, `5/s`, `1000/h`, `20000/day`, `10/5min`; a bare number is per second.

    >>> parse_rate("budget", "60/min"), parse_rate("budget", 2)
    (1.0, 2.0)
    """
    expected = "a rate such as 60/min, 5/s, 1000/h or 20000/day"
    try:
        amount, _, per = str(text).partition("/")
        seconds = 1.0 if not per else parse_duration(argument, per if per.strip()[:1].isdigit() else f"1{per.strip()}")
        rate = float(amount) / seconds
    except (ValueError, ZeroDivisionError) as error:
        raise ParameterError(argument, expected, shown(text)) from error
    if not 0.0 < rate < math.inf:
        raise ParameterError(argument, expected, shown(text))
    return rate


def parse_size(argument: str, text: str | int) -> int:
    """Bytes in `10MB`, `512KiB`, `1GB`; a bare number is bytes.

    >>> parse_size("max_size", "10MB")
    10000000
    """
    found = _NUMBER_AND_UNIT.fullmatch(str(text).strip())
    size = float(found[1]) * BYTES.get(found[2].lower(), math.nan) if found else math.nan
    if not math.isfinite(size):
        raise ParameterError(argument, "a size such as 512KB, 10MB or 1GB", shown(text))
    return int(size)


def show_duration(seconds: float | None) -> str:
    """A time in the two largest units that matter, as `parse_duration` reads it; a dash for None, `never` for inf.

    >>> show_duration(5400), show_duration(0.25), show_duration(200000), show_duration(86400)
    ('1h30m', '250ms', '2d7h', '1d')
    """
    if seconds is None or math.isnan(seconds):
        return "–"
    if math.isinf(seconds):
        return "never"
    if seconds < 0:
        return "-" + show_duration(-seconds)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.3g}s"
    units = (("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    large = next(k for k, (_, size) in enumerate(units) if seconds >= size)
    name, size = units[large]
    if name == "w":
        large, (name, size) = 1, units[1]
    whole, rest = divmod(seconds, size)
    small, smaller = units[min(large + 1, len(units) - 1)]
    more = int(rest // smaller)
    return f"{int(whole)}{name}" + (f"{more}{small}" if more and whole < 100 else "")


def show_rate(per_second: float) -> str:
    """A rate in the unit that keeps it readable.

    >>> show_rate(1.0), show_rate(0.02), show_rate(200.0)
    ('60/min', '72/h', '200/s')
    """
    for name, seconds, least in (("s", 1.0, 10.0), ("min", 60.0, 2.0), ("h", 3600.0, 2.0)):
        if per_second * seconds >= least:
            return f"{per_second * seconds:.4g}/{name}"
    return f"{per_second * DAY_S:.4g}/day"


def _singular(unit: str) -> str:
    name = unit.lower()
    return name if name in SECONDS else name.removesuffix("s")
