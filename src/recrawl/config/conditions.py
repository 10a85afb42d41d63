"""Conditions under which a change of a page counts: text that comes or goes, a number that moves, a line of a form.

appears sold out        this text was not on the page before, and is now; in any case of its letters
disappears sold out     the other way round
matches \\d+ seats       a line that came matches a regular expression
number < 100            the number fell below it; `number > 100`: rose above
number falls            by anything; `number rises`
number moves 5%         by so much, up or down, since somebody was told last; also `number moves 3`
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from recrawl.errors import ParameterError

LONGEST = 500
_TEXT = re.compile(r"(appears|disappears|matches)\s+(.+)", re.DOTALL)
_NUMBER = re.compile(r"number\s*(?:(<|>)\s*(-?[0-9][0-9.]{0,20})|(falls|rises)|moves\s+([0-9][0-9.]{0,20})\s*(%?))")
EXPECTED = (
    "a condition such as 'appears sold out', 'disappears waiting list', 'matches \\d+ seats', 'number < 100', "
    "'number falls' or 'number moves 5%'"
)


class Condition(NamedTuple):
    """One of them: its first word, sign or "moves %", and the text or the amount that goes with it."""

    kind: str
    text: str = ""
    amount: float = math.nan


def condition(name: str, text: str) -> str:
    """One that can be understood, as it was written."""
    if len(text) > LONGEST or parsed(text) is None:
        worded = _TEXT.fullmatch(text.strip())
        fault = _fault(worded[2]) if worded is not None and worded[1] == "matches" else ""
        raise ParameterError(name, EXPECTED, repr(text[:80]) + (fault and f" ({fault})"))
    return text.strip()


def parsed(text: str) -> Condition | None:
    """What it says; None if it is none. A bound of two points or more is a version.

    >>> parsed("number moves 5%"), parsed("number < 4.10.2"), parsed("often")
    (Condition(kind='moves %', text='5', amount=5.0), Condition(kind='<', text='4.10.2', amount=4.010002), None)
    """
    worded, numeric = _TEXT.fullmatch(text.strip()), _NUMBER.fullmatch(text.strip())
    if worded is not None:
        kind, said = worded.groups()
        return Condition(kind, said) if kind != "matches" or not _fault(said) else None
    if numeric is None:
        return None
    sign, bound, way, step, share = numeric.groups()
    amount = bound or step or ""
    value = (float(amount) if amount.count(".") < 2 and amount != "." else version_of(amount)) if amount else math.nan
    if amount and math.isnan(value):
        return None
    return Condition(sign or way or ("moves %" if share else "moves"), amount, value)


def needs_a_number(text: str) -> bool:
    """Whether it says nothing unless a number is watched.

    >>> needs_a_number("number falls"), needs_a_number("appears number")
    (True, False)
    """
    said = parsed(text)
    return said is not None and said.kind not in ("appears", "disappears", "matches")


def version_of(text: str) -> float:
    """A version as a number that grows with it: every part counts a thousandth of the one before.

    >>> version_of("4.10.2"), version_of("4.9") < version_of("4.10"), version_of("4..1")
    (4.010002, True, nan)
    """
    parts = text.split(".")
    if not all(part.isdecimal() and len(part) < 10 for part in parts) or len(parts) > 4:
        return math.nan
    return round(sum(int(part) / 1000.0**place for place, part in enumerate(parts)), 9)


def _fault(pattern: str) -> str:
    """Why it is no regular expression; empty if it is one."""
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    except (RecursionError, OverflowError):
        return "it is too large"
    return ""
