"""Records that were read before they are asked for, while others went on writing."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from recrawl.store.records import Progress, Source


class Reading:
    """Lines of the catalogue and progress by the store's id; None for what the store does not have.

    What somebody changes between `begin` and `take` is left out: it may have been read before.
    """

    def __init__(self, lines: Iterable[Source] = ()) -> None:
        self._lines: dict[int, Source | None] = {line.id: line for line in lines}
        self._progress: dict[int, Progress | None] = {}
        self._awaited: set[int] = set()

    def begin(self, lines: Iterable[int], progress: Iterable[int]) -> None:
        """From now on these are being read."""
        self._awaited = {*lines, *progress}

    def take(
        self, lines: Iterable[int], progress: Iterable[int], found: Iterable[Source], led_to: Iterable[Progress]
    ) -> None:
        """What was read of these."""
        sources, progresses = {each.id: each for each in found}, {each.source: each for each in led_to}
        self._lines.update((id, sources.get(id)) for id in lines if id in self._awaited)
        self._progress.update((id, progresses.get(id)) for id in progress if id in self._awaited)
        self._awaited = set()

    def edited(self, line: Source) -> None:
        """The store has a newer line of a source."""
        self._awaited.discard(line.id)
        self._lines[line.id] = line

    def overtaken(self, id: int) -> None:
        """The store has something newer of a source."""
        self._awaited.discard(id)
        self._lines.pop(id, None)
        self._progress.pop(id, None)

    def has_line(self, id: int) -> bool:
        """Whether it is known what the store has."""
        return id in self._lines

    def has_progress(self, id: int) -> bool:
        """The same of its progress."""
        return id in self._progress

    def line(self, id: int) -> Source | None:
        """A copy."""
        return copy(self._lines[id])

    def progress(self, id: int) -> Progress | None:
        """A copy."""
        return copy(self._progress[id])
