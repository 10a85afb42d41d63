"""Numbers of items and names of streams, as programs write them.

An item has one 64-bit number and three spellings: decimal and signed, sixteen hexadecimal digits, and a long form with
the latter at its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LONG = "tag:google.com,2005:reader/item/"
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,16}", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})", re.ASCII)
STATE = "user/-/state/com.google/"
LABEL = "user/-/label/"
LONGEST_LABEL = 200

Kind = Literal["feed", "label", "state"]


@dataclass(frozen=True)
class StreamId:
    """A name of a stream: a feed (its number or address), somebody's label, or a state."""

    kind: Kind
    name: str


def item_number(text: str) -> int | None:
    """The item somebody means; None if that is no number of one.

    >>> item_number("tag:google.com,2005:reader/item/000000000000002a"), item_number("000000000000002a")
    (42, 42)
    >>> item_number("42"), item_number("-1"), item_number("ffffffffffffffff"), item_number("4x")
    (42, -1, -1, None)
    """
    if text.startswith(LONG):
        text = text.removeprefix(LONG)
    elif _DECIMAL.fullmatch(text):
        number = int(text)
        return number if -(2**63) <= number < 2**63 else None
    if not _HEXADECIMAL.fullmatch(text):
        return None
    number = int(text, 16)
    return number - 2**64 if number >= 2**63 else number


def long_form(number: int) -> str:
    """An item's long spelling.

    >>> long_form(42)
    'tag:google.com,2005:reader/item/000000000000002a'
    """
    return f"{LONG}{number % 2**64:016x}"


def stream_id(text: str, own: tuple[str, ...] = ()) -> StreamId | None:
    """The stream somebody means; None for one that cannot be, or is another's.

    Parameters
        own: what may stand for the reader besides a dash

    >>> stream_id("feed/7"), stream_id("user/-/label/News")
    (StreamId(kind='feed', name='7'), StreamId(kind='label', name='News'))
    >>> stream_id("user/5/state/com.google/read", ("5",)), stream_id("user/6/label/News", ("5",))
    (StreamId(kind='state', name='read'), None)
    """
    if text.startswith("feed/"):
        return StreamId("feed", text.removeprefix("feed/"))
    first, _, rest = text.partition("/")
    user, _, rest = rest.partition("/")
    if first != "user" or (user != "-" and user not in own):
        return None
    if rest.startswith("state/com.google/"):
        return StreamId("state", rest.removeprefix("state/com.google/"))
    if rest.startswith("label/"):
        name = label_name(rest.removeprefix("label/"))
        return StreamId("label", name) if name else None
    return None


def label_name(text: str) -> str:
    """A label as it is kept: one line of some length, nothing about it; empty if nothing is left.

    >>> label_name("  Tech \\n news ")
    'Tech news'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * LONGEST_LABEL]).split())[:LONGEST_LABEL]
