"""What a reader subscribes to, looked up as far as a request needs it: most need one feed, or none."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from recrawl.store.reader_records import Reader, Subscribed
from recrawl.store.roles import Readers


class Subscriptions:
    """Those of one reader, as they are while one request is answered."""

    def __init__(self, store: Readers, reader: Reader) -> None:
        self._store, self._reader = store, reader.id

    @cached_property
    def all(self) -> list[Subscribed]:
        """Every one, by source."""
        return self._store.subscribed(self._reader)

    def of(self, sources: Iterable[int]) -> dict[int, Subscribed]:
        """To these sources, as far as there are any."""
        if "all" in self.__dict__:
            wanted = set(sources)
            return {each.source: each for each in self.all if each.source in wanted}
        return {each.source: each for each in self._store.subscribed(self._reader, list(sources))}

    def feed(self, name: str) -> Subscribed | None:
        """One by its number or address."""
        if name.isascii() and name.isdecimal():
            number = int(name) if len(name) < 20 else 0
            return self.of([number]).get(number)
        return next((each for each in self.all if each.url == name), None)

    def in_label(self, label: str) -> list[int]:
        """The sources in a folder."""
        return [each.source for each in self.all if label in each.labels]
