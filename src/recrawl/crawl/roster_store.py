"""The roster and the store on an event loop: what will be asked for is read beforehand, off it, as often as it takes.

And what is committed is noted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from recrawl.crawl.roster import Roster
from recrawl.crawl.store_writer import StoreWriter
from recrawl.store.records import Batch, Progress, Source
from recrawl.store.roles import Store


class RosterStore:
    """What a roster does not keep itself."""

    def __init__(self, roster: Roster, store_writer: StoreWriter) -> None:
        self._roster, self._store_writer = roster, store_writer

    @asynccontextmanager
    async def at_hand(self, *, lines: Sequence[int] = (), progress: Sequence[int] = ()) -> AsyncIterator[None]:
        """Inside, lines of the catalogue and progress of these numbers are given without asking the store.

        Nothing is to be awaited there. What others changed while it was read is read again before.
        """
        with self._roster.at_hand() as reading:
            while True:
                wanted = self._roster.unread(lines, progress)
                if not any(wanted):
                    break
                reading.begin(*wanted)
                read = partial(_read, lines=wanted[0], progress=wanted[1])
                reading.take(*wanted, *await self._store_writer.persist(read))
            yield

    async def commit(self, batch: Batch) -> None:
        """Write a batch whose progress is as the roster has it now, whatever it takes."""
        turn = self._roster.turn
        await self._store_writer.commit(batch)
        self._roster.stored([each.source for each in batch.progress], turn)


def _read(store: Store, lines: list[int], progress: list[int]) -> tuple[list[Source], list[Progress]]:
    return store.sources(ids=lines) if lines else [], list(store.progress(progress)) if progress else []
