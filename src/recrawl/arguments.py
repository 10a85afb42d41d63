"""What callers may say: one check per kind of argument, whose error names the argument, what was expected and what it
got, and the nearest of the words there are.

Numbers of numpy are taken like Python's own, and datetimes wherever a moment is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Final

from recrawl.errors import ParameterError

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_800.0
"""The years 1 to 9999, in Unix seconds."""
LONGEST_SHOWN = 80
MOMENT: Final = "Unix seconds or a datetime, in the years 1 to 9999"


def plain(value: Any) -> Any:
    """A number, truth value or time of numpy as Python's own; anything else as it is.

    >>> import numpy as np
    >>> plain(np.float32(0.5)), plain(np.bool_(True)), plain("6h")
    (0.5, True, '6h')
    """
    if getattr(value, "ndim", None) != 0 or not hasattr(value, "item"):
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return (value.astype("datetime64[us]") if kind == "M" else value).item()


def number(
    argument: str, value: Any, expected: str, *, low: float = 0.0, high: float = math.inf, open_low: bool = False
) -> float:
    """A number in [low, high], or in (low, high] if `open_low`; infinity only where `expected` says inf."""
    given = plain(value)
    if isinstance(given, Real) and not isinstance(given, bool):
        try:
            figure = float(given)
        except OverflowError:
            figure = math.inf
        finite = math.isfinite(figure) or ("inf" in expected and not math.isnan(figure))
        if finite and (low < figure if open_low else low <= figure) and figure <= high:
            return figure
    raise ParameterError(argument, expected, shown(value))


def whole(argument: str, value: Any, *, low: int = 0, high: int = 2**53) -> int:
    """A whole number from `low` to `high`; 2.0 is one."""
    given = plain(value)
    if isinstance(given, Integral) or (isinstance(given, float) and given.is_integer()):
        count = int(given)
        if not isinstance(given, bool) and low <= count <= high:
            return count
    upper = f" and at most {high}" if high < 2**53 else ""
    raise ParameterError(argument, f"a whole number, at least {low}{upper}", shown(value))


def flag(argument: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one."""
    given = plain(value)
    if not isinstance(given, bool):
        raise ParameterError(argument, "True or False", shown(value))
    return given


def text(argument: str, value: Any, expected: str = "text", *, empty: bool = True) -> str:
    """Text that can be written down: no lone surrogates."""
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ParameterError(argument, expected, shown(value))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ParameterError(argument, f"{expected} without broken characters", shown(value)) from error
    return value


def one_of(argument: str, value: Any, choices: Iterable[str]) -> str:
    """One of a few words."""
    allowed = list(choices)
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(argument, f"one of {', '.join(allowed)}", shown(value) + meant(value, allowed))
    return value


def moment(argument: str, value: Any, element: tuple[int, ...] | None = None) -> float:
    """Unix seconds in a number or a datetime; one that names no zone is in UTC.

    >>> moment("now", datetime(2026, 1, 1)), moment("now", 5)
    (1767225600.0, 5.0)
    """
    given = plain(value)
    seconds = math.nan
    if isinstance(given, datetime):
        try:
            seconds = (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):  # pandas' NaT, and what a zone moves out of the calendar
            seconds = math.nan
    elif isinstance(given, Real) and not isinstance(given, bool):
        try:
            seconds = float(given)
        except OverflowError:
            seconds = math.inf
    if not EARLIEST <= seconds < LATEST:
        hint = " (milliseconds?)" if LATEST <= seconds <= 1e6 * LATEST else ""
        raise ParameterError(argument, MOMENT, shown(value) + hint, element)
    return seconds


def instant(argument: str, value: Any) -> float:
    """A finite time in whatever the caller counts in; a datetime is Unix seconds."""
    if isinstance(plain(value), datetime):
        return moment(argument, value)
    return number(argument, value, "a finite time, or a datetime", low=-math.inf)


def several(argument: str, value: Any, expected: str) -> list[Any]:
    """The elements of something that has some; text is not meant."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ParameterError(argument, expected, shown(value))
    return list(value)


def meant(word: object, known: Iterable[str]) -> str:
    """A question after the nearest of the words there are; nothing if none is near.

    >>> meant("freshnes", ["ephemeral", "freshness"]), meant("fresh", ["freshness"]), meant(3, ["freshness"])
    ("; did you mean 'freshness'?", "; did you mean 'freshness'?", '')
    """
    if not isinstance(word, str) or not word:
        return ""
    words, said = list(known), word.lower().replace("-", "_")
    near = get_close_matches(said, words, n=2) or [each for each in words if len(said) > 2 and each.startswith(said)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def shown(value: object) -> str:
    """What was given, for a message: not all of it where it is long."""
    try:
        written = repr(value)
    except Exception:
        written = f"a {type(value).__name__}"
    return written if len(written) <= LONGEST_SHOWN else f"{written[: LONGEST_SHOWN - 1]}…"
