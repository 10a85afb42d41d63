"""The coordinator's loop: a round every second; while it leads, what is found is handed on and what is old swept."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

import structlog

from recrawl.clock import Clock
from recrawl.cluster.coordinator import Coordinator
from recrawl.config import Config
from recrawl.errors import RecrawlError, StoreError
from recrawl.store.postgres import PostgresStore
from recrawl.store.records import Keep

if TYPE_CHECKING:
    from recrawl.crawl.outlets import Outlets

ROUND_S = 1.0
SWEEP_FIRST_S, SWEEP_S = 600.0, 86400.0
_LOG = structlog.get_logger("recrawl.fleet")


async def coordinate(coordinator: Coordinator, config: Config, store: PostgresStore, clock: Clock) -> None:
    """Until the fleet is ended."""
    sweeping = asyncio.create_task(_sweep(coordinator, config, store, clock))
    telling: asyncio.Task[None] | None = None
    try:
        while not coordinator.finished:
            began = clock.now()
            await asyncio.to_thread(coordinator.round)
            if coordinator.leading and telling is None:
                telling = asyncio.create_task(_hand_on(config, store, clock))
            elif not coordinator.leading and telling is not None:
                await _ended(telling)
                telling = None
            await clock.sleep(max(began + ROUND_S - clock.now(), 0.0))
    finally:
        for task in (sweeping, telling):
            if task is not None:
                await _ended(task)
    await asyncio.to_thread(coordinator.leave)


async def _hand_on(config: Config, store: PostgresStore, clock: Clock) -> None:
    """What shards found, to the outlets; again from where they were after the store or the place was away."""
    await asyncio.to_thread(import_module, "recrawl.wiring")  # seconds that a new coordinator does not have
    from recrawl import wiring

    said = ""
    while True:
        try:
            outlets = wiring.make_outlets(config, store, clock)
            if not outlets.standing():
                return
            await _deliver(outlets, clock)
        except RecrawlError as error:
            if str(error) != said:
                _LOG.error("nothing is handed on", reason=str(error))
            said = str(error)
        await clock.sleep(ROUND_S)


async def _deliver(outlets: Outlets, clock: Clock) -> None:
    await outlets.open()
    running = asyncio.create_task(outlets.run())
    try:
        while not running.done():
            outlets.notify()
            await clock.sleep(ROUND_S)
        await running
    finally:
        await _ended(running)


async def _sweep(coordinator: Coordinator, config: Config, store: PostgresStore, clock: Clock) -> None:
    wait, keep = SWEEP_FIRST_S, Keep.of(config.retention)
    while True:
        await clock.sleep(wait)
        wait = SWEEP_S
        if not coordinator.leading:
            continue
        try:
            await asyncio.to_thread(store.vacuum, keep, clock.now())
        except StoreError as error:
            _LOG.warning("what is past its time could not be dropped", reason=str(error))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
