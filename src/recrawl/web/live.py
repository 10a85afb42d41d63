"""What happens, as it happens: one look at the store a second for all who listen, none while nobody does.

The crawler may be another process, so the store is asked; what it says is turned into server-sent events: `change` when
anything differs from the last look, `item` for every item and every change of a page found since, `fleet` when only the
fleet's status does, a comment now and then to keep the line open.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from recrawl.cluster.status import is_up
from recrawl.errors import StoreError
from recrawl.store.records import Item
from recrawl.web.context import Context
from recrawl.web.formatting import http_link, plain

LOOK_S = 1.0
HEARTBEAT_S = 15.0
MOST_LISTENERS = 100
MOST_PER_PLACE = 20
"""From one address, so that nobody takes all places, or all of the connections an address may have."""
MOST_WAITING = 200
MOST_ITEMS = 50

Glance = tuple[Any, ...]


class FullError(Exception):
    """Too many are listening."""


class Hub:
    """Looks for all listeners."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._queues: dict[asyncio.Queue[str], str] = {}
        self._looking: asyncio.Task[None] | None = None
        self._closing = False

    def listen(self, place: str = "") -> AsyncIterator[str]:
        """The events from now on, as lines to send; FullError if too many listen already, in all or from one place.

        Whoever never asks for the first line takes no place.
        """
        if self._full(place):
            raise FullError
        return self._told(place)

    async def close(self) -> None:
        """Nobody is told anything any more."""
        self._closing = True
        if self._looking is not None:
            self._looking.cancel()

    def _full(self, place: str) -> bool:
        here = sum(each == place for each in self._queues.values())
        return len(self._queues) >= MOST_LISTENERS or here >= MOST_PER_PLACE

    async def _told(self, place: str) -> AsyncIterator[str]:
        if self._full(place):  # others came in between
            return
        queue: asyncio.Queue[str] = asyncio.Queue(MOST_WAITING)
        self._queues[queue] = place
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield "retry: 3000\n\n"
            while not self._closing:
                try:
                    yield await asyncio.wait_for(queue.get(), HEARTBEAT_S)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            del self._queues[queue]

    async def _look_on(self) -> None:
        glance, newest = await asyncio.to_thread(self._glance), await asyncio.to_thread(self._newest)
        while self._queues:
            await asyncio.sleep(LOOK_S)
            try:
                now = await asyncio.to_thread(self._glance)
                if now == glance:
                    continue
                if now[:-1] == glance[:-1]:
                    glance = now
                    self._tell("fleet", {"at": self._context.now()})
                    continue
                glance = now
                items = await asyncio.to_thread(self._items_after, newest)
            except StoreError:  # busy or gone: the next look tells
                continue
            newest = max([newest, *(item.id for item in items)])
            for item in items:
                self._tell("item", _as_json(item))
            self._tell("change", {"at": self._context.now(), "item": newest})

    def _glance(self) -> Glance:
        store = self._context.store
        crawls, prices = store.crawls(limit=1), store.prices(0.0, limit=1)
        latest = crawls[0].at if crawls else None, prices[0].at if prices else None
        return store.revision(), *latest, self._newest(), self._fleet()

    def _fleet(self) -> Glance:
        """That the fleet fell silent is news too, and no status says so."""
        status, wish = self._context.fleet_status(), self._context.wish()
        return status and status.at, is_up(status, self._context.now()), wish and wish.shards

    def _newest(self) -> int:
        return max((item.id for item in self._context.store.items(limit=MOST_ITEMS)), default=0)

    def _items_after(self, id: int) -> list[Item]:
        return [item for item in reversed(self._context.store.items(limit=MOST_ITEMS)) if item.id > id]

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        text = f"event: {event}\ndata: {json.dumps(data)}\n\n"
        for queue in self._queues:
            if not queue.full():
                queue.put_nowait(text)


def _as_json(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.kind,
        "source": item.source,
        "title": plain(item.title),
        "link": http_link(item.link) or "",
        "published": item.published,
        "first_seen": item.first_seen,
    }
