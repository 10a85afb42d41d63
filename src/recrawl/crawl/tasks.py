"""Tasks that belong together: begun, counted, and waited for or given up at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


class Tasks:
    """Any number of tasks; those that have ended are forgotten.

    Parameters
        told: called whenever one has ended
    """

    def __init__(self, told: Callable[[], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._told = told

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Start one."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._told is not None:
            self._told()

    async def wait(self, timeout_s: float) -> None:
        """Until all have ended, but only so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)

    async def ended(self) -> list[BaseException | None]:
        """Wait for all; what they ended with."""
        return await asyncio.gather(*self._tasks, return_exceptions=True)

    async def given_up(self) -> list[BaseException | None]:
        """Cancel all; what they ended with."""
        for task in self._tasks:
            task.cancel()
        return await self.ended()
