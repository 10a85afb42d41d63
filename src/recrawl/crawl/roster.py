"""What is known of every source, by the policy's number, in little room; and who is being visited.

The policy counts sources from 0 without gaps, the store gives them ids: this is where the two numberings meet. Numbers
are never used twice. A source that leaves takes all that is kept here with it, but its number stays taken in the
policy's arrays: about a kilobyte for every source that has ever come, until the program is started anew.

As objects, a line of the catalogue and its progress take a kilobyte, and nearly all of them are asleep at any time. So
each is kept as a few bytes, only what differs from the usual, and made into a record when one is asked for: what comes
out is a copy, and a change has to be put back. The few facts that every decision looks at are columns.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import compress
from operator import attrgetter, ne
from typing import Any, Generic, TypeVar

import msgspec

from recrawl.store.records import Progress, Source
from recrawl.store.rows import mended

R = TypeVar("R", bound=msgspec.Struct)
USUAL = b"\x80"
"""A record in which nothing differs from the usual."""
SCHEDULE = ("value", "value_sd", "rate", "rate_sd", "due", "belief")
"""What the policy knows of a source: it is asked when that is wanted."""


class Packing(Generic[R]):
    """Records of one kind as bytes, and back.

    >>> packing = Packing(Progress, without=("source", *SCHEDULE))
    >>> packing.pack(Progress(source=1)) == USUAL
    True
    >>> packing.unpack(packing.pack(Progress(source=1, visits=2)), source=1).visits
    2
    """

    def __init__(self, record: type[R], without: Container[str]) -> None:
        fields = [field for field in msgspec.structs.fields(record) if field.name not in without]
        self._record = record
        self._names = [field.name for field in fields]
        self._usual = [_usual(field) for field in fields]
        # Of these kinds a decoder makes lists and dicts.
        self._made = {place: type(usual) for place, usual in enumerate(self._usual) if _is_made(usual)}
        self._values: Callable[[R], tuple[Any, ...]] = attrgetter(*self._names)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(dict[int, Any]).decode

    def pack(self, record: R) -> bytes:
        """What is not as usual, by the place of its field."""
        values = self._values(record)
        unusual = dict(compress(enumerate(values), map(ne, values, self._usual)))
        try:
            return self._encode(unusual)
        except UnicodeEncodeError:  # text from the web that is no text
            return self._encode(mended(unusual))

    def unpack(self, packed: bytes, **more: Any) -> R:
        """The record again, with what was left out of it."""
        names, told = self._names, self._decode(packed)
        for place, kind in self._made.items():
            if place in told:
                told[place] = msgspec.convert(told[place], kind)
        return self._record(**{names[place]: value for place, value in told.items()}, **more)


def _usual(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _is_made(usual: Any) -> bool:
    return isinstance(usual, tuple | msgspec.Struct)


class Roster:
    """The sources of a catalogue, and what is left of those that went."""

    def __init__(self) -> None:
        self._source_packing = Packing(Source, without=("id", "url"))
        self._progress_packing = Packing(Progress, without=("source", *SCHEDULE))
        self._packed_sources: list[bytes] = []
        self._packed_progress: list[bytes] = []
        self._urls: list[str] = []
        self._ids, self._last, self._held = array("q"), array("d"), array("d")
        self._active = bytearray()
        self._number: dict[int, int] = {}
        self._by_url: dict[str, int] = {}
        self.in_flight: set[int] = set()
        """Those being visited: chosen, and neither committed nor given back."""

    def __len__(self) -> int:
        """How many are in the catalogue."""
        return len(self._number)

    @property
    def end(self) -> int:
        """The number the next one will have."""
        return len(self._ids)

    def add(self, source: Source) -> int:
        """Add one that was never tried; its number."""
        number = len(self._ids)
        self._packed_sources.append(USUAL)
        self._packed_progress.append(USUAL)
        self._urls.append("")
        self._ids.append(source.id)
        self._last.append(math.nan)
        self._held.append(0.0)
        self._active.append(False)
        # Copies of id and text: those a row was read with would keep the memory of all the rows around them.
        self._number[self._ids[number]] = number
        url = source.url.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
        self._write(number, source, url)
        return number

    def remove(self, number: int) -> None:
        """One is no longer in the catalogue; all of it is forgotten once no visit to it is under way."""
        self._number.pop(self._ids[number], None)
        if self._by_url.get(self._urls[number]) == number:
            del self._by_url[self._urls[number]]
        if number not in self.in_flight:
            self._forget(number)

    def end_visits(self, numbers: Iterable[int]) -> None:
        """Visits are over, or not made after all."""
        for number in numbers:
            self.in_flight.discard(number)
            if number not in self:
                self._forget(number)

    def _forget(self, number: int) -> None:
        self._ids[number], self._urls[number], self._active[number] = 0, "", False
        self._packed_sources[number] = self._packed_progress[number] = USUAL

    # -- who

    @property
    def numbers(self) -> Mapping[int, int]:
        """Those in the catalogue, by the store's id."""
        return self._number

    def numbers_of(self, ids: Iterable[int]) -> list[int]:
        """The numbers of those of these that are in the catalogue."""
        return [self._number[id] for id in ids if id in self._number]

    @property
    def urls(self) -> Mapping[str, int]:
        """Those in the catalogue, by URL."""
        return self._by_url

    def __contains__(self, number: int) -> bool:
        """Whether it is in the catalogue."""
        return self._number.get(self._ids[number]) == number

    def visited_ids(self) -> set[int]:
        """The store's ids of those being visited."""
        return {self._ids[number] for number in self.in_flight}

    def count_active(self) -> int:
        """How many are neither paused nor retired."""
        return sum(map(self.active, self._number.values()))

    def count_unfetched(self) -> int:
        """How many of these were never fetched."""
        return sum(math.isnan(self._last[n]) and self.active(n) for n in self._number.values())

    # -- what

    def source(self, number: int) -> Source:
        """A copy of its line in the catalogue."""
        return self._source_packing.unpack(self._packed_sources[number], id=self._ids[number], url=self._urls[number])

    def progress(self, number: int) -> Progress:
        """A copy of what crawling it has led to, but for the schedule."""
        return self._progress_packing.unpack(self._packed_progress[number], source=self._ids[number])

    def url(self, number: int) -> str:
        """Its address."""
        return self._urls[number]

    def active(self, number: int) -> bool:
        """Whether it is neither paused nor retired."""
        return bool(self._active[number])

    def is_active(self, id: int) -> bool:
        """Whether a source, by the store's id, is here and neither paused nor retired."""
        number = self.numbers.get(id)
        return number is not None and self.active(number)

    def last(self, number: int) -> float:
        """When a crawl of it last brought an answer; NaN for never."""
        return self._last[number]

    def held_until(self, number: int) -> float:
        """Not before, as its progress says."""
        return self._held[number]

    # -- changes

    def put_source(self, number: int, source: Source) -> None:
        """It has a new line in the catalogue."""
        before = self._urls[number]
        if source.url != before and self._by_url.get(before) == number:
            del self._by_url[before]
        self._write(number, source, before if source.url == before else source.url)

    def put_progress(self, number: int, progress: Progress) -> None:
        """A crawl has led to more; the schedule is not kept."""
        self._packed_progress[number] = self._progress_packing.pack(progress)
        self._last[number] = math.nan if progress.last is None else progress.last
        self._held[number] = progress.held_until

    def _write(self, number: int, source: Source, url: str) -> None:
        self._packed_sources[number] = self._source_packing.pack(source)
        self._active[number] = source.state == "active"
        self._urls[number] = url
        self._by_url[url] = number
