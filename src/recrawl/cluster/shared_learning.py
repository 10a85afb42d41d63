"""What the shards know in common: each tells the sums its common laws are fitted to, and hears those of the others.

A policy's summary (`policies.contract.Pooling`) goes up with a report now and then, packed: most of it is empty. The
answer is the sum of what the other members said last, so that priors and profiles of a shard of a hundred sources are
those of the whole catalogue. Nothing is trusted unseen: another version, or a shard gone mad, must not teach the rest
nonsense. Nothing is kept either: a new coordinator asks, and answers once it has heard everybody, or waited for them.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import numpy as np

from recrawl.cluster.duty_cycle import BackgroundShare
from recrawl.learning.beliefs import SUMMARIES
from recrawl.policies.contract import Pooling
from recrawl.records import FloatArray

Summary = dict[str, FloatArray]
LOOK_S, TELL_S = 2.0, 30.0
"""Time between two looks at whether there is something to tell, and within which it is told in any case."""
LEAP, CHANGED = 0.2, 0.05
"""A summary that differs by so much is told before its time, and what the others know is adopted."""
PARTS = 100.0
"""Looking, telling and adopting take no more than one part in so many of a shard's time."""
MOST_BYTES, LARGEST = 20_000, 1e15
"""Of a packed summary, and of a number in it."""


class Sparse(msgspec.Struct, array_like=True):
    """The numbers of a long row that are not 0: where they are (uint16) and what (float32), little endian."""

    length: int
    places: bytes
    numbers: bytes


def packed(summary: Summary) -> bytes:
    """As it is sent: a few hundred bytes for most."""
    rows = {}
    for name, row in summary.items():
        places = np.flatnonzero(row)
        rows[name] = Sparse(len(row), places.astype("<u2").tobytes(), row[places].astype("<f4").tobytes())
    return msgspec.msgpack.encode(rows)


def unpacked(message: bytes) -> Summary | None:
    """As it was packed; None for one that is too long, of another version, or that no catalogue could have."""
    if len(message) > MOST_BYTES:
        return None
    try:
        rows = msgspec.msgpack.decode(message, type=dict[str, Sparse])
        return {name: _row(row, SUMMARIES[name]) for name, row in rows.items()}
    except (msgspec.MsgspecError, KeyError, ValueError, IndexError):
        return None


def _row(sparse: Sparse, length: int) -> FloatArray:
    places, numbers = np.frombuffer(sparse.places, "<u2"), np.frombuffer(sparse.numbers, "<f4").astype(np.float64)
    if sparse.length != length or not ((numbers >= 0.0) & (numbers <= LARGEST)).all():
        raise ValueError
    row = np.zeros(length)
    row[places] = numbers
    return row


def difference(before: Summary, after: Summary) -> float:
    """By which share two summaries differ, in what they differ most in: 0 for the same, 2 for nothing in common.

    >>> difference({"pages": np.array([3.0, 1.0])}, {"pages": np.array([4.0, 0.0])})
    0.5
    """
    found = 0.0
    for name in {*before, *after}:
        old, new = (told.get(name, np.zeros(SUMMARIES[name])) for told in (before, after))
        most = max(float(old.sum()), float(new.sum()))
        if most > 0.0:
            found = max(found, float(np.abs(new - old).sum()) / most)
    return found


class Pool:
    """Of one coordinator: what each shard said last, and the sum of it."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, Summary]] = {}
        self._sum: Summary = {}

    def told(self, shard: str, incarnation: str) -> bool:
        """Whether this incarnation of a shard has said anything."""
        return shard in self._told and self._told[shard][0] == incarnation

    def complete(self, members: Collection[str]) -> bool:
        """Whether all of these have."""
        return all(name in self._told for name in members)

    def hear(self, shard: str, incarnation: str, message: bytes) -> bool:
        """Take down what a shard says, in place of what it said before; False for what cannot be used: then nothing."""
        summary = unpacked(message)
        self._add(self._told.get(shard, ("", {}))[1], -1.0)
        self._told[shard] = incarnation, summary or {}
        self._add(self._told[shard][1], 1.0)
        return summary is not None

    def keep(self, members: Collection[str]) -> None:
        """Forget whoever is not among these: their sources are others' now, or will be."""
        gone = [name for name in self._told if name not in members]
        for name in gone:
            del self._told[name]
        if gone:
            self._sum = {}
            for _, summary in self._told.values():
                self._add(summary, 1.0)

    def others(self, shard: str) -> Summary:
        """The sum of what all but one said."""
        own = self._told.get(shard, ("", {}))[1]
        return {name: _rest(whole, own.get(name, np.zeros(1))) for name, whole in self._sum.items()}

    def _add(self, summary: Summary, times: float) -> None:
        for name, row in summary.items():
            self._sum[name] = self._sum.get(name, 0.0) + times * row


def _rest(whole: FloatArray, part: FloatArray) -> FloatArray:
    """Their difference, without what rounding left of nothing."""
    rest = whole - part
    return np.where(rest > 1e-9 * np.maximum(whole, 1.0), rest, 0.0)


class Exchange:
    """A shard's side of it: when it tells, and what it heeds."""

    def __init__(self) -> None:
        self._told: Summary = {}
        self._adopted: Summary = {}
        self._looking, self._adopting = BackgroundShare(PARTS, TELL_S), BackgroundShare(PARTS, TELL_S)
        self._look_at = self._tell_at = -np.inf

    def word(self, policy: Pooling, now: float) -> bytes:
        """What is to be told now; nothing, for most of the time."""
        if now < self._look_at:
            return b""
        summary = self._looking.do(policy.summary)
        self._look_at = now + max(LOOK_S, self._looking.rest_s)
        if now < self._tell_at and difference(self._told, summary) < LEAP:
            return b""
        self._told, self._tell_at = summary, now + TELL_S
        return packed(summary)

    def asked(self) -> None:
        """The coordinator knows nothing: tell it the next time."""
        self._look_at = self._tell_at = -np.inf

    def hear(self, policy: Pooling, others: bytes, now: float) -> None:
        """The sum of what the others said, adopted if it is news: that changes what is believed of every source."""
        summary = unpacked(others)
        if summary is None or difference(self._adopted, summary) < CHANGED:
            return
        self._adopted = summary
        self._adopting.do(lambda: policy.adopt(summary))
        self._look_at = max(self._look_at, now + self._adopting.rest_s)
