"""Time for programs that live in it. Decisions never read a clock: they are told `now`.

Nothing but the live program (crawl, synthweb, wiring and what uses them) imports this.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

JUMP_S = 1.0
"""Wall time ahead of ours by more than this has jumped: a suspended machine, or somebody set the clock."""


class Clock(Protocol):
    """What tells the time: Unix seconds that never run backwards, and a way to wait."""

    def now(self) -> float:
        """Unix seconds; never less than it said before."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        ...


class SystemClock:
    """The machine's clock, made steady.

    It runs with the monotonic clock, so that a wall clock set back stops nothing and brings no hold forward. A jump
    forwards (a laptop that slept) is followed at once: the time did pass, and budgets are capped by their burst.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Unix seconds by the monotonic clock, moved forwards with the wall clock's jumps."""
        steady = time.monotonic() + self._offset
        wall = time.time()
        if wall > steady + JUMP_S:
            self._offset += wall - steady
            return wall
        return steady

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(max(seconds, 0.0))


class ManualClock:
    """A clock that moves only when told to, or when somebody sleeps by it: for tests and simulations.

    >>> clock = ManualClock(100.0)
    >>> clock.advance(2.5)
    >>> clock.now()
    102.5
    """

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        """What it was set to."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Let the time pass at once, and let others run."""
        self._now += max(seconds, 0.0)
        await asyncio.sleep(0)
