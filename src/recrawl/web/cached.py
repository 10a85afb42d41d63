"""Answers kept for a short while, so that many visitors cost the store no more than one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, TypeVar

from recrawl.clock import Clock
from recrawl.errors import StoreError

T = TypeVar("T")

STALE = 4.0
"""Times as old as an answer may be, it is not given once more: it would contradict what stands beside it."""


class Cached:
    """A few answers, each made by one thread at a time; the others wait for it.

    Parameters
        size: how many answers are kept; the one not asked for longest goes first
    """

    def __init__(self, clock: Clock, size: int = 256) -> None:
        self._clock, self._size = clock, size
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, _Answer] = OrderedDict()

    def get(self, key: Hashable, lasts_s: float, make: Callable[[], T]) -> T:
        """The answer under `key`, made anew if it is older than `lasts_s` seconds."""
        with self._lock:
            answer = self._answers.setdefault(key, _Answer())
            self._answers.move_to_end(key)
            if len(self._answers) > self._size:
                self._answers.popitem(last=False)
        with answer.lock:
            now = self._clock.now()
            if answer.made is None or now - answer.made >= lasts_s:
                answer.value, answer.made = make(), now
            value: T = answer.value
            return value

    def soon(self, key: Hashable, lasts_s: float, make: Callable[[], T]) -> T:
        """As `get`, but an answer a little too old is given once more, while another thread makes the next one."""
        with self._lock:
            answer = self._answers.get(key)
        if answer is None or answer.made is None:
            return self.get(key, lasts_s, make)
        age = self._clock.now() - answer.made
        if age >= STALE * lasts_s:
            return self.get(key, lasts_s, make)
        if age >= lasts_s and not answer.renewing:
            answer.renewing = True
            threading.Thread(target=self._renew, args=(answer, make), daemon=True).start()
        value: T = answer.value
        return value

    def _renew(self, answer: _Answer, make: Callable[[], Any]) -> None:
        try:
            with answer.lock, suppress(StoreError):  # the store is closed, or busy: the old answer stays
                value = make()
                answer.value, answer.made = value, self._clock.now()
        finally:
            answer.renewing = False

    def forget(self) -> None:
        """Something was changed: make every answer anew."""
        with self._lock:
            self._answers.clear()


class _Answer:
    __slots__ = ("lock", "made", "renewing", "value")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: Any = None
        self.made: float | None = None
        self.renewing = False
