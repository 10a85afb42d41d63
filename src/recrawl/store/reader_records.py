"""What a store keeps of readers: who they are, what they read, and what they did with items.

A reader is a person with a program of their own. All readers share one catalogue; what is read, starred and labelled is
each one's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from recrawl.store.records import Item, Source

MOST_READERS = 1000
MOST_SUBSCRIPTIONS = 10_000
MOST_KEPT = 20_000
"""Items one reader may have starred, or labelled: retention keeps them."""
MOST_LABELS = 1000
"""Labels one reader may have on items."""


class Reader(msgspec.Struct, kw_only=True):
    """Somebody who reads.

    Parameters
        password: the slow, salted hash of it
        key: signs this reader's tokens; another key makes all of them worthless
    """

    id: int = 0
    name: str
    password: str
    key: str
    added: float = 0.0


class Wanted(msgspec.Struct, kw_only=True):
    """A source somebody subscribes to: added to the catalogue if it is new. An empty title is the source's own."""

    source: Source
    title: str = ""
    labels: tuple[str, ...] = ()


class Subscribed(msgspec.Struct, kw_only=True):
    """One source of a reader's, under the title and in the folders (labels) that reader gave it."""

    source: int
    url: str
    title: str
    labels: tuple[str, ...] = ()
    added: float = 0.0


class Stream(msgspec.Struct, kw_only=True):
    """Which items of a reader are asked for: those that match all that is given.

    Parameters
        sources: of these subscriptions; None for all of them
        label: those with this label themselves; besides those of `sources` where these are given, too
        read, starred: only those that are, or are not; None for either. Starred ones may be of sources given up since
        since, until: found in [since, until], Unix seconds
        after: on from this number, exclusive; None for the beginning
    """

    sources: Sequence[int] | None = None
    label: str = ""
    read: bool | None = None
    starred: bool | None = None
    since: float | None = None
    until: float | None = None
    oldest_first: bool = False
    after: int | None = None
    limit: int = 20


class Reading(msgspec.Struct, kw_only=True):
    """An item as one reader has it."""

    item: Item
    read: bool
    starred: bool
    labels: tuple[str, ...] = ()


class Unread(msgspec.Struct, kw_only=True):
    """How many items of a source a reader has not read, and when the newest of those was found (0: none)."""

    source: int
    count: int
    newest: float
