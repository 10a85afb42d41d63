"""Who may be among the first of a ranking: the few that are awake, so that nobody else need be looked at.

Any index will do that says until when it is surely below a level. Everybody whose index may be at or above the `mark`
is awake; the others sleep until their own curve may reach it. If the last one chosen ranks above the mark, looking at
those awake was as good as looking at everybody. If not, the mark is too high and is lowered, which takes one look at
everybody; where too many are awake, it is raised.

Sleepers that wake soonest are kept in order, the others are swept up when these have woken: both cost a few
comparisons per sleeper and sleep, however many there are.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from recrawl.records import FloatArray, IntArray

LEAST_SOON, SOON_SHARE = 1024, 1 / 32
"""How many sleepers are kept in order: so many, or this share of all."""
MANY = 256
"""From so many on, sleepers are swept up rather than put in order one by one."""
_AWAKE = -math.inf


class Awake:
    """Sources by number, each awake or asleep until a time; new ones sleep until they are roused."""

    def __init__(self) -> None:
        self.mark = 0.0
        """No sleeper's index is at or above this."""
        self._until: FloatArray = np.empty(0)
        self._size = 0
        self._ids: IntArray = np.empty(0, np.int64)
        self._changed = False
        self._late: list[tuple[float, int]] = []
        self._forget_order()

    def __len__(self) -> int:
        return self._size

    @property
    def everybody(self) -> bool:
        """Whether everybody is awake who may be chosen at all."""
        return self.mark <= 0.0

    def grow(self, count: int) -> None:
        """Room for new sources, which sleep for ever."""
        before, self._size = self._size, self._size + count
        if self._size > len(self._until):
            longer = np.empty(max(self._size, 2 * len(self._until)))
            longer[:before] = self._until[:before]
            self._until = longer
        self._until[before : self._size] = math.inf

    def rouse(self, ids: IntArray) -> None:
        """Wake some sources: something about them has changed."""
        sleeping = ids[self._until[ids] > _AWAKE]
        if len(sleeping):
            if self._changed:
                self._drop_sleepers()
            sleeping = np.unique(sleeping)
            self._until[sleeping] = _AWAKE
            self._ids = np.concatenate([self._ids, sleeping])

    def rouse_all(self, ids: IntArray) -> None:
        """Wake all of these, and let the others sleep for ever."""
        self._until[: self._size] = math.inf
        self._until[ids] = _AWAKE
        self._ids = ids
        self._changed = False
        self._forget_order()
        self.mark = 0.0

    def sleep(self, ids: IntArray, until: FloatArray) -> None:
        """Let some sources sleep until a time each, inf for ever."""
        self._until[ids] = until
        self._changed = True
        if len(ids) > MANY:
            self._forget_order()
            self._horizon = _AWAKE
            return
        for time, source in zip(until.tolist(), ids.tolist(), strict=True):
            if time < self._horizon:
                heapq.heappush(self._late, (time, source))

    def wake_by(self, ids: IntArray, latest: FloatArray) -> None:
        """Let none of these, each of them once, sleep longer than until a time each."""
        until = self._until[ids]
        late = (until > latest) & (until > _AWAKE)
        self.sleep(ids[late], latest[late])

    def at(self, now: float) -> IntArray:
        """Who is awake at a time, those whose time has come included; in no order."""
        if self._changed:
            self._drop_sleepers()
        woken: list[int] = []
        while True:
            while self._next < len(self._soon) and self._times[self._next] <= now:
                self._wake(int(self._soon[self._next]), float(self._times[self._next]), woken)
                self._next += 1
            while self._late and self._late[0][0] <= now:
                time, source = heapq.heappop(self._late)
                self._wake(source, time, woken)
            if now < self._horizon:
                break
            self._sweep()
        if woken:
            self._ids = np.concatenate([self._ids, np.array(woken)])
        return self._ids

    def _wake(self, source: int, time: float, woken: list[int]) -> None:
        """Unless it has woken or gone to sleep again since it was put down for that time."""
        if self._until[source] == time:
            self._until[source] = _AWAKE
            woken.append(source)

    def _drop_sleepers(self) -> None:
        self._ids = self._ids[self._until[self._ids] == _AWAKE]
        self._changed = False

    def _forget_order(self) -> None:
        self._soon: IntArray = np.empty(0, np.int64)
        self._times: FloatArray = np.empty(0)
        self._next = 0
        self._late.clear()
        self._horizon = math.inf

    def _sweep(self) -> None:
        """Put those in order who wake first."""
        until = self._until[: self._size]
        sleepers = np.flatnonzero((until > _AWAKE) & (until < math.inf))
        count = max(LEAST_SOON, int(SOON_SHARE * len(sleepers)))
        self._late.clear()
        if len(sleepers) > count:
            times = until[sleepers]
            first = np.argpartition(times, count)[: count + 1]
            self._horizon = float(times[first].max())
            sleepers = sleepers[first]
        else:
            self._horizon = math.inf
        order = np.argsort(until[sleepers], kind="stable")
        self._soon, self._next = sleepers[order], 0
        self._times = until[self._soon]
