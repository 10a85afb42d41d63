"""How much of strangers' documents is in memory at once.

Sixty-four visits at a time, ten megabytes each, packed and unpacked: bounds on every single document do not bound them
together. Small bodies pass freely; one that grows past `SMALL_BYTES` needs room for all it may become, and its server
waits (the connection is not read) until there is some. Who has room keeps it until the document has been read.

Room is asked for once per document and given in order of asking, so that nobody waits for somebody who waits.
"""

from __future__ import annotations

import asyncio
from collections import deque

SMALL_BYTES = 128 * 1024
"""Bodies up to this need no room."""
MOST_BYTES = 16_000_000
"""For all large bodies together; a single document may have more if the settings let it."""


class Freight:
    """The room there is."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._taken = 0
        self._queue: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        """Bytes spoken for."""
        return self._taken

    def load(self) -> Load:
        """The part of one visit."""
        return Load(self)

    async def take(self, size: int) -> None:
        """Wait for so much room, and take it."""
        if not self._queue and self._fits(size):
            self._taken += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give(size)
            else:
                if (size, turn) in self._queue:  # unless somebody who gave room back has passed it over already
                    self._queue.remove((size, turn))
                self._serve()
            raise

    def give(self, size: int) -> None:
        """Give room back."""
        self._taken -= size
        self._serve()

    def _serve(self) -> None:
        while self._queue and self._fits(self._queue[0][0]):
            size, turn = self._queue.popleft()
            if not turn.done():
                self._taken += size
                turn.set_result(None)

    def _fits(self, size: int) -> bool:
        return self._taken + size <= self._most or not self._taken


class Load:
    """What one visit has in memory; `drop` it when the document is no longer needed."""

    __slots__ = ("_freight", "_size")

    def __init__(self, freight: Freight) -> None:
        self._freight = freight
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes it has room for beyond a small body; 0 for none."""
        return self._size

    async def take(self, size: int) -> None:
        """Wait for room for a body of up to so many bytes, unless there is some already."""
        if not self._size:
            await self._freight.take(size)
            self._size = size

    def settle(self, size: int) -> None:
        """The body turned out to have so many bytes: give back the rest."""
        if size < self._size:
            self._freight.give(self._size - size)
            self._size = size

    def drop(self) -> None:
        """Give all of it back."""
        self.settle(0)
