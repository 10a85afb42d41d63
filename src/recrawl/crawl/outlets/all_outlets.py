"""All outlets together: started, woken after each commit, drained at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from random import Random
from typing import Protocol, TypeVar

import msgspec

from recrawl.clock import Clock
from recrawl.crawl.outlets.base import Outlet
from recrawl.crawl.outlets.delivery import Delivery, Handing, Memory, OutletStatus
from recrawl.crawl.outlets.gathered_delivery import GatheredDelivery, Gathering
from recrawl.errors import ParameterError
from recrawl.store.records import Event
from recrawl.store.roles import Events, Notes

Result = TypeVar("Result")


class EventStore(Events, Notes, Protocol):
    """What is needed of a store."""


class Outlets:
    """Hands on what was committed, each outlet at its own pace.

    `open` before the first commit, then `run` as a task, `notify` after each commit, `drain` at the end.

    Parameters
        outlets: each name once
        clock: for waits between tries
        executor: where the store is called, never on the event loop; None for the loop's own
        random: spreads the tries of many
    """

    def __init__(
        self,
        store: EventStore,
        outlets: Sequence[Outlet | Gathering],
        clock: Clock,
        executor: Executor | None = None,
        random: Random | None = None,
    ) -> None:
        names = [outlet.name for outlet in outlets]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise ParameterError("outlets", "different places", name, (place,))
        self._store, self._executor = store, executor
        random = random or Random()
        self._deliveries = [self._delivery(each, clock, random) for each in outlets]
        self._tasks: list[asyncio.Task[None]] = []
        self._opened = False

    async def open(self) -> None:
        """Find where each outlet is; one never heard of gets what is committed from now on."""
        for delivery in self._deliveries:
            name = delivery.destination.name
            position = await self._call(partial(self._store.cursor, name))
            await delivery.begin(position, _memory_in(await self._call(partial(self._store.note, _note_of(name)))))
        self._opened = True

    async def run(self) -> None:
        """Deliver until drained, or cancelled; returns when no outlet is left."""
        await self._start()
        try:
            if self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            await self._stop()

    def notify(self) -> None:
        """Something was committed."""
        for delivery in self._deliveries:
            delivery.wake()

    async def drain(self, timeout_s: float, *, renewed: bool = False) -> list[OutletStatus]:
        """Deliver what there is, for so long at most, and end; how each outlet stands then.

        With `renewed`, the time starts again whenever something was delivered. An outlet that fails now is not waited
        for: what it has not delivered waits in the store for the next run, and no try at the end counts against it.
        """
        await self._start()
        for delivery in self._deliveries:
            delivery.end(timeout_s)
        left, moved = set(self._tasks), True
        while left and moved:
            before = self._positions()
            _, left = await asyncio.wait(left, timeout=timeout_s)
            moved = renewed and self._positions() != before
        await self._stop()
        return self.standing()

    def _positions(self) -> list[int]:
        return [each.position for each in self.standing()]

    def standing(self) -> list[OutletStatus]:
        """How each outlet is doing."""
        return [delivery.standing for delivery in self._deliveries]

    async def _start(self) -> None:
        if not self._opened:
            await self.open()
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(delivery.run(), name=delivery.destination.name) for delivery in self._deliveries
            ]

    async def _stop(self) -> None:
        """End what still runs, and let faults of the program be seen."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _read(self, after: int, limit: int) -> list[Event]:
        return await self._call(partial(self._store.events, after, limit))

    def _delivery(self, outlet: Outlet | Gathering, clock: Clock, random: Random) -> Handing:
        name = outlet.name

        def record(seq: int) -> asyncio.Future[None]:
            return self._call(partial(self._store.advance, name, seq))

        def remember(memory: Memory) -> asyncio.Future[None]:
            return self._call(partial(self._store.write_note, _note_of(name), _written(memory)))

        if isinstance(outlet, Gathering):
            return GatheredDelivery(outlet, self._read, record, remember, clock, random)
        return Delivery(outlet, self._read, record, remember, clock, random)

    def _call(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._executor, work)


def _note_of(name: str) -> str:
    """The name under which an outlet's memory is kept."""
    return f"refused:{name}"


def _written(memory: Memory) -> bytes | None:
    return msgspec.json.encode(memory) if memory != Memory() else None


def _memory_in(note: bytes | None) -> Memory:
    """As it was kept; none, if that cannot be read."""
    if note is None:
        return Memory()
    try:
        return msgspec.json.decode(note, type=Memory)
    except msgspec.MsgspecError:
        return Memory()
