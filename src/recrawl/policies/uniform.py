"""Targets at random, each as likely as the other [icc2021, §IV]."""

from __future__ import annotations

from recrawl.policies.live_base import RunningPolicy
from recrawl.records import FloatArray


class Uniform(RunningPolicy):
    """A fresh random order at every choice; needs no parameters and learns nothing."""

    def rank(self, now: float, states: FloatArray | None) -> FloatArray:
        """Random numbers."""
        return self.random.random(len(self.last))

    def grow(self, count: int) -> None:
        """Nothing is kept per target."""
