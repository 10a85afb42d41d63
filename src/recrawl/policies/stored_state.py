"""What policies remember of sources, by the name of each: none reads another's, none forgets another's.

A source's record, and the catalogue's, may hold what several policies wrote. The one that runs reads and writes its
own part; the parts of others are kept as they are, so that changing the policy and back loses nothing but what the
other did not see meanwhile. What `learned_whittle` alone wrote stands there bare, as it always has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.config.live_policies import LEARNED
from recrawl.policies.contract import LivePolicy

HEAD = b"\xc1policies\0"
"""Before records by name: no record of the learner, nor any MessagePack, begins with this byte."""


def joined(parts: Mapping[str, bytes]) -> bytes:
    """One record of several.

    >>> joined({"learned_whittle": b"x"}), parted(joined({"a": b"1", "b": b"2"}))
    (b'x', {'a': b'1', 'b': b'2'})
    """
    some = {name: part for name, part in parts.items() if part}
    if not some.keys() - {LEARNED}:
        return some.get(LEARNED, b"")
    return HEAD + msgspec.msgpack.encode(some)


def parted(record: bytes) -> dict[str, bytes]:
    """What each policy wrote; of a record nobody can read, nothing."""
    if not record.startswith(HEAD):
        return {LEARNED: record} if record else {}
    try:
        return msgspec.msgpack.decode(record[len(HEAD) :], type=dict[str, bytes])
    except msgspec.DecodeError:
        return {}


class Memory:
    """The records of the policies that run, and of those that do not.

    Parameters
        policies: those that run, by name: one, or two where they are compared
    """

    def __init__(self, policies: Mapping[str, LivePolicy]) -> None:
        self.policies = dict(policies)
        self.unread: Counter[str] = Counter()
        """How many sources were loaded of which another policy knows something, by its name, and none that runs."""
        self._others: dict[int, dict[str, bytes]] = {}
        self._shared: dict[str, bytes] = {}

    def rows(self, ids: npt.ArrayLike) -> list[bytes]:
        """The records of some sources."""
        numbers = np.atleast_1d(np.asarray(ids, np.int64)).tolist()
        written = {name: policy.rows(ids) for name, policy in self.policies.items()}
        return [
            joined(self._others.get(i, {}) | {name: rows[k] for name, rows in written.items()})
            for k, i in enumerate(numbers)
        ]

    def load_rows(self, ids: npt.ArrayLike, records: Sequence[bytes], last: npt.ArrayLike) -> None:
        """Go on with sources as `rows` gave them, last crawled at these times (NaN for never)."""
        numbers = np.atleast_1d(np.asarray(ids, np.int64)).tolist()
        told = [parted(record) for record in records]
        for i, parts in zip(numbers, told, strict=True):
            others = {name: part for name, part in parts.items() if name not in self.policies}
            if others:
                self._others[i] = others
            if others and len(others) == len(parts):
                self.unread.update(others.keys())
        for name, policy in self.policies.items():
            policy.load_rows(ids, [parts.get(name, b"") for parts in told], last)

    def forget(self, ids: Sequence[int]) -> None:
        """These sources are gone."""
        for i in ids:
            self._others.pop(i, None)

    def shared(self) -> bytes:
        """The record of the catalogue."""
        return joined(self._shared | {name: policy.shared() for name, policy in self.policies.items()})

    def load_shared(self, record: bytes) -> None:
        """Go on from `shared`."""
        parts = parted(record)
        self._shared = {name: part for name, part in parts.items() if name not in self.policies}
        for name, policy in self.policies.items():
            if name in parts:
                policy.load_shared(parts[name])
