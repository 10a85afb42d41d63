"""The store for an event loop: off it, one thing after the other, and as often as it takes.

A store that refuses (a full disk, a database that is restarted) is asked again and again. Meanwhile nothing is fetched,
and nothing that was found is dropped.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

from recrawl.clock import Clock
from recrawl.crawl.stats import Stats
from recrawl.errors import StoreError, StoreTakenError
from recrawl.store.records import Batch
from recrawl.store.roles import Store

Answer = TypeVar("Answer")
REPAIR_S = 2.0
"""Time between attempts to write to a store that refuses."""


class StoreWriter:
    """Asks the store, and writes to it.

    Parameters
        stopping: once it is set, a store that refuses is not asked again
    """

    def __init__(self, store: Store, clock: Clock, stats: Stats, stopping: asyncio.Event) -> None:
        self._store, self._clock, self._stats, self._stopping = store, clock, stats, stopping
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="store-reader")
        self._refused = 0
        self._log = structlog.get_logger("recrawl")

    @property
    def refused(self) -> bool:
        """Whether somebody waits for the store to write again."""
        return self._refused > 0

    async def ask(self, work: Callable[[Store], Answer]) -> Answer:
        """Do it once."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._store)

    async def look(self, work: Callable[[Store], Answer]) -> Answer:
        """Read something once, without waiting for those who write."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, work, self._store)

    async def ask_beside(self, work: Callable[[Store, Callable[[], bool]], Answer]) -> Answer:
        """Do something long while others write: it is told when to stop."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(work, self._store, stop.is_set)
        finally:
            stop.set()

    async def commit(self, batch: Batch) -> None:
        """Write a batch, whatever it takes."""
        await self.persist(lambda store: store.commit(batch))

    async def persist(self, work: Callable[[Store], Answer]) -> Answer:
        """Do it, again and again if need be."""
        tries = 0
        while True:
            try:
                answer = await self.ask(work)
            except StoreError as error:
                self._refused += not tries
                tries += 1
                self._stats.trouble = str(error)
                if tries & (tries - 1) == 0:  # the 1st, 2nd, 4th, 8th … time
                    self._log.error("the store refuses: nothing is fetched until it writes again", reason=str(error))
                if self._stopping.is_set() or isinstance(error, StoreTakenError):
                    raise
                await self._clock.sleep(REPAIR_S)
            else:
                break
        if tries:
            self._refused -= 1
            self._log.info("the store writes again")
        if not self._refused:
            self._stats.trouble = ""
        return answer

    def close(self) -> None:
        """Let what has begun end."""
        self._thread.shutdown()
        self._reader.shutdown()
