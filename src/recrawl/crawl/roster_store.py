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
            while any(wanted := self._roster.unread(lines, progress)):
                reading.begin(*wanted)
                read = partial(_read, lines=wanted[0], progress=wanted[1])
                reading.take(*wanted, *await self._store_writer.persist(read))
            yield

    @asynccontextmanager
    async def chosen_at_hand(self, numbers: Sequence[int]) -> AsyncIterator[None]:
        """The same of both; StoreError at once where the store refuses."""
        with self._roster.at_hand() as reading:
            while any(wanted := self._roster.unread(numbers, numbers)):
                reading.begin(*wanted)
                found = await self._store_writer.look(partial(_read_together, ids=sorted({*wanted[0], *wanted[1]})))
                reading.take(*wanted, [line for line, _ in found], [progress for _, progress in found])
            yield

    async def commit(self, batch: Batch) -> None:
        """Write a batch whose progress is as the roster has it now, whatever it takes."""
        turn = self._roster.turn
        await self._store_writer.commit(batch)
        self._roster.stored([each.source for each in batch.progress], turn)


def _read(store: Store, lines: list[int], progress: list[int]) -> tuple[list[Source], list[Progress]]:
    return store.sources(ids=lines) if lines else [], list(store.progress(progress)) if progress else []


def _read_together(store: Store, ids: list[int]) -> list[tuple[Source, Progress]]:
    return store.with_progress(ids)
