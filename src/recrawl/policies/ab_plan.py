"""The plan of a comparison: which of two policies has which hosts, and when.

Hosts fall into two halves by a hash. At any time one policy has the one half, the other the other; after each period
they may change halves. The order is not ABAB, in which a policy would have a host at the same hours of every day, but
that of Thue and Morse, ABBA BAAB …: after four periods a steady trend is balanced, and with periods of a quarter of a
day after eight every hour of the day too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import blake2b

import msgspec


class Trial(msgspec.Struct, kw_only=True):
    """Two policies on the hosts of one catalogue. Times in Unix seconds.

    Parameters
        names: the policies, as people write them
        began: when; also what makes the halves of one trial other than those of the next
        swap_s: length of a period; 0 for halves that never change
        spans: when it ran, from and to, in order
    """

    names: tuple[str, str]
    began: float
    swap_s: float = 0.0
    spans: list[tuple[float, float]] = []

    def half_of(self, host: str) -> int:
        """0 or 1."""
        return blake2b(f"{self.began!r} {host}".encode("utf-8", "replace"), digest_size=8).digest()[0] & 1

    def period(self, at: float) -> int:
        """The number of the period a moment is in."""
        return max(math.floor((at - self.began) / self.swap_s), 0) if self.swap_s else 0

    def ruler(self, half: int, at: float) -> int:
        """Which of the two policies has a half at a moment.

        >>> trial = Trial(names=("a", "b"), began=0.0, swap_s=1.0)
        >>> [trial.ruler(0, at) for at in range(8)], [trial.ruler(1, at) for at in range(4)]
        ([0, 1, 1, 0, 1, 0, 0, 1], [1, 0, 0, 1])
        """
        return half ^ (self.period(at).bit_count() & 1)

    def reigns(self, half: int, since: float, until: float) -> Iterator[tuple[int, float, float]]:
        """Who had a half in (since, until], from and to, as far as the trial ran."""
        for begun, ended in self.spans:
            at, end = max(begun, since), min(ended, until)
            while at < end:
                period = self.period(at)
                change = self.began + (period + 1) * self.swap_s if self.swap_s else math.inf
                then = min(change if change > at else math.nextafter(at, math.inf), end)
                yield half ^ (period.bit_count() & 1), at, then
                at = then

    def resume(self, now: float) -> None:
        """It goes on."""
        self.spans.append((now, now))

    def reach(self, now: float) -> None:
        """It has run until now."""
        begun, ended = self.spans[-1]
        self.spans[-1] = (begun, max(ended, now))

    @property
    def ran_s(self) -> float:
        """How long it has run."""
        return sum(ended - begun for begun, ended in self.spans)
