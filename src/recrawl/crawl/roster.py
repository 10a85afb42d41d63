"""What is known of every source, by the policy's number, in little room; and who is being visited.

The policy counts sources from 0 without gaps, the store gives them ids: this is where the two numberings meet. Numbers
are never used twice. A source that leaves takes all that is kept here with it, but its number stays taken in the
policy's arrays, until the program is started anew.

Nearly all sources are asleep at any time, and what is said of them (title, options, validators, what they listed last)
is in the store. So here are only the numbers that every decision looks at, as columns, and addresses, by which
documents name sources. A line of the catalogue and its progress are read from the store when they are asked for, unless
it does not have the latest yet: what a visit led to is kept here until it is **stored**. Without a store everything is
kept. What comes out is a copy, and a change has to be put back.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from operator import attrgetter, ne
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from recrawl.crawl.number_index import NumberIndex
from recrawl.crawl.readings import Reading
from recrawl.learning.labels import Labels
from recrawl.records import BoolArray, FloatArray, IntArray
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


HERE, ACTIVE, TRIED, KNOWN = 1, 2, 4, 8
"""What is kept of a source as bits: in the catalogue, neither paused nor retired, crawled or tried, not forgotten."""


class Records(Protocol):
    """Where lines of the catalogue and their progress are read: a store."""

    def sources(self, *, ids: Sequence[int]) -> list[Source]:
        """Those of these that are there."""
        ...

    def progress(self, ids: Sequence[int]) -> Iterable[Progress]:
        """Of these sources."""
        ...

    def with_progress(self, ids: Sequence[int]) -> list[tuple[Source, Progress]]:
        """Both, of those of these that are there, in any order."""
        ...


class Unstored(Generic[R]):
    """Records that the store does not have yet, by the store's id of their source."""

    def __init__(self, packing: Packing[R]) -> None:
        self._packing = packing
        self._packed: dict[int, tuple[int, bytes]] = {}

    def __contains__(self, id: int) -> bool:
        return id in self._packed

    def put(self, id: int, record: R, turn: int) -> None:
        """The latest of a source."""
        self._packed[id] = turn, self._packing.pack(record)

    def get(self, key: int, **more: Any) -> R:
        """The latest of a source, with what was left out of it."""
        return self._packing.unpack(self._packed[key][1], **more)

    def drop(self, id: int, turn: float = math.inf) -> None:
        """The store has what was put up to a turn."""
        kept = self._packed.get(id)
        if kept is not None and kept[0] <= turn:
            del self._packed[id]


class Roster:
    """The sources of a catalogue, and what is left of those that went.

    Parameters
        store: has every line of the catalogue that is added, and its progress; None to keep all of it here
    """

    def __init__(self, store: Records | None = None) -> None:
        self._store = store
        self._lines = Unstored(Packing(Source, without=("id", "url")))
        self._progress = Unstored(Packing(Progress, without=("source", *SCHEDULE)))
        self._readings: list[Reading] = []
        self._turn = 0
        self.labels = Labels()
        """Addresses by number; to be looked at only."""
        self._ids, self._last, self._held, self._added = array("q"), array("d"), array("d"), array("d")
        self._terms = array("q")
        self._marks = bytearray()
        self._by_id = NumberIndex(self._ids.__getitem__)
        self._by_url = NumberIndex(self.labels.__getitem__, often_missed=True)
        self.numbers: Mapping[int, int] = ById(self, self._by_id)
        """Those in the catalogue, by the store's id."""
        self.urls = ByUrl(self, self._by_url)
        """Those in the catalogue, by URL."""
        self.in_flight: set[int] = set()
        """Those being visited: chosen, and neither committed nor given back."""

    def __len__(self) -> int:
        """How many are in the catalogue."""
        return len(self._by_id)

    @property
    def end(self) -> int:
        """The number the next one will have."""
        return len(self._ids)

    def expect(self, count: int) -> None:
        """So many will be added."""
        self._by_id.reserve(count)
        self._by_url.reserve(count)

    def add(self, source: Source) -> int:
        """Add one that was never tried, as it is in the store; its number."""
        number = len(self._ids)
        self._ids.append(source.id)
        self._last.append(math.nan)
        self._held.append(0.0)
        self._added.append(source.added)
        self._terms.append(0)
        self._marks.append(HERE | KNOWN)
        self.labels.append(source.url)
        self._by_id.put(number)
        self._by_url.put(number)
        self._mark(number, ACTIVE, source.state == "active")
        if self._store is None:
            self._lines.put(source.id, source, self._turn)
            self._progress.put(source.id, Progress(source=source.id), self._turn)
        return number

    def add_all(self, sources: Sequence[Source]) -> range:
        """Add several of which none is here, nor any other of their addresses; their numbers."""
        first = len(self._ids)
        numbers = range(first, first + len(sources))
        self._ids.extend([source.id for source in sources])
        self._last.extend([math.nan] * len(sources))
        self._held.extend([0.0] * len(sources))
        self._added.extend([source.added for source in sources])
        self._terms.extend([0] * len(sources))
        self._marks.extend([HERE | KNOWN | (ACTIVE if source.state == "active" else 0) for source in sources])
        self.labels.extend([source.url for source in sources])
        places = np.array(numbers)
        self._by_id.put_all(places, np.array([hash(source.id) for source in sources]))
        self._by_url.put_all(places, np.array([hash(source.url) for source in sources]))
        if self._store is None:
            for source in sources:
                self._lines.put(source.id, source, self._turn)
                self._progress.put(source.id, Progress(source=source.id), self._turn)
        return numbers

    def remove(self, number: int) -> None:
        """One is no longer in the catalogue; all of it is forgotten once no visit to it is under way."""
        self._by_id.remove(number)
        self._by_url.remove(number)
        self._marks[number] &= ~HERE
        if number not in self.in_flight:
            self._forget(number)

    def end_visits(self, numbers: Iterable[int]) -> None:
        """Visits are over, or not made after all."""
        for number in numbers:
            self.in_flight.discard(number)
            if number not in self:
                self._forget(number)

    def _forget(self, number: int) -> None:
        id = self._ids[number]
        if self._by_id.find(id) is None:
            self._lines.drop(id)
            self._progress.drop(id)
        self._marks[number] = 0

    # -- who

    def numbers_of(self, ids: Iterable[int]) -> list[int]:
        """The numbers of those of these that are in the catalogue."""
        found = map(self._by_id.find, ids)
        return [number for number in found if number is not None]

    def __contains__(self, number: int) -> bool:
        """Whether it is in the catalogue."""
        return bool(self._marks[number] & HERE)

    def visited_ids(self) -> set[int]:
        """The store's ids of those being visited."""
        return {self._ids[number] for number in self.in_flight}

    def everyone(self) -> IntArray:
        """The numbers of all in the catalogue."""
        return np.flatnonzero(np.frombuffer(self._marks, np.uint8) & HERE)

    def everyone_active(self) -> IntArray:
        """The same of those that are neither paused nor retired."""
        return np.flatnonzero((np.frombuffer(self._marks, np.uint8) & (HERE | ACTIVE)) == HERE | ACTIVE)

    def count_active(self) -> int:
        """How many are neither paused nor retired."""
        return len(self.everyone_active())

    def count_unfetched(self) -> int:
        """How many of these were never fetched."""
        return int(np.count_nonzero(np.isnan(np.frombuffer(self._last)[self.everyone_active()])))

    # -- what

    def source(self, number: int) -> Source:
        """A copy of its line in the catalogue."""
        return self.sources([number])[0]

    def progress(self, number: int) -> Progress:
        """A copy of what crawling it has led to, but for the schedule."""
        return self.progresses([number])[0]

    def sources(self, numbers: Sequence[int]) -> list[Source]:
        """Copies of the lines of some; of one that went an address is left, and that it is retired."""
        ids = [self._ids[number] for number in numbers]
        asked = self._unread_lines(ids)
        found = {each.id: each for each in self._store.sources(ids=asked)} if self._store is not None and asked else {}
        return [self._line(id, number, found) for id, number in zip(ids, numbers, strict=True)]

    def progresses(self, numbers: Sequence[int]) -> list[Progress]:
        """Copies of what crawling some has led to."""
        ids = [self._ids[number] for number in numbers]
        asked = self._unread_progress(ids)
        found = {each.source: each for each in self._store.progress(asked)} if self._store is not None and asked else {}
        return [self._led_to(id, found) for id in ids]

    def has_unstored_progress(self, number: int) -> bool:
        """Whether crawling it has led to something that the store does not have yet."""
        return self._ids[number] in self._progress

    def lines(self, numbers: Sequence[int]) -> list[tuple[Source, Progress]]:
        """Both of some, read together."""
        ids = [self._ids[number] for number in numbers]
        asked = list(dict.fromkeys([*self._unread_lines(ids), *self._unread_progress(ids)]))
        found = self._store.with_progress(asked) if self._store is not None and asked else []
        lines, led_to = {line.id: line for line, _ in found}, {each.source: each for _, each in found}
        return [
            (self._line(id, number, lines), self._led_to(id, led_to)) for id, number in zip(ids, numbers, strict=True)
        ]

    def _line(self, id: int, number: int, found: Mapping[int, Source]) -> Source:
        if id in self._lines:
            return self._lines.get(id, id=id, url=self.url(number))
        read = next((each for each in self._readings if each.has_line(id)), None)
        line = found.get(id) if read is None else read.line(id)
        # What is left of one that the store does not have any more.
        return line or Source(id=id, url=self.url(number), state="retired")

    def _led_to(self, id: int, found: Mapping[int, Progress]) -> Progress:
        if id in self._progress:
            return self._progress.get(id, source=id)
        read = next((each for each in self._readings if each.has_progress(id)), None)
        return (found.get(id) if read is None else read.progress(id)) or Progress(source=id)

    # -- what was read beforehand

    @contextmanager
    def at_hand(
        self, given: Iterable[Source] = (), *, lines: Sequence[int] = (), progress: Sequence[int] = ()
    ) -> Iterator[Reading]:
        """Inside, what is in the reading is not asked of the store: lines that are given, and lines and progress of
        some numbers, which are read before anything is done."""
        reading = Reading(given)
        wanted = self.unread(lines, progress)
        if self._store is not None and any(wanted):
            reading.begin(*wanted)
            found = self._store.sources(ids=wanted[0]) if wanted[0] else []
            reading.take(*wanted, found, self._store.progress(wanted[1]) if wanted[1] else [])
        self._readings.append(reading)
        try:
            yield reading
        finally:
            self._readings.remove(reading)

    def unread(self, lines: Sequence[int], progress: Sequence[int]) -> tuple[list[int], list[int]]:
        """The ids of those of these whose lines, and whose progress, the store would be asked for."""
        if self._store is None:
            return [], []
        return (
            self._unread_lines([self._ids[number] for number in lines]),
            self._unread_progress([self._ids[number] for number in progress]),
        )

    def _unread_lines(self, ids: Sequence[int]) -> list[int]:
        readings = self._readings
        return [id for id in ids if id not in self._lines and not any(each.has_line(id) for each in readings)]

    def _unread_progress(self, ids: Sequence[int]) -> list[int]:
        readings = self._readings
        return [id for id in ids if id not in self._progress and not any(each.has_progress(id) for each in readings)]

    def id(self, number: int) -> int:
        """The store's id of it."""
        return self._ids[number]

    def url(self, number: int) -> str:
        """Its address; empty if it is forgotten."""
        return self.labels[number] if self._marks[number] & KNOWN else ""

    def added(self, number: int) -> float:
        """When it came into the catalogue."""
        return self._added[number]

    def active(self, number: int) -> bool:
        """Whether it is neither paused nor retired."""
        return bool(self._marks[number] & ACTIVE)

    def is_tried(self, number: int) -> bool:
        """Whether it was crawled, or that was tried."""
        return bool(self._marks[number] & TRIED)

    def is_active(self, id: int) -> bool:
        """Whether a source, by the store's id, is here and neither paused nor retired."""
        number = self._by_id.find(id)
        return number is not None and self.active(number)

    def last(self, number: int) -> float:
        """When a crawl of it last brought an answer; NaN for never."""
        return self._last[number]

    def held_until(self, number: int) -> float:
        """Not before, as its progress says."""
        return self._held[number]

    def times(self, numbers: IntArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Of many at once: the last crawls, until when they are held, and which are active."""
        marks = np.frombuffer(self._marks, np.uint8)[numbers]
        return np.frombuffer(self._last)[numbers], np.frombuffer(self._held)[numbers], (marks & ACTIVE) > 0

    # -- changes

    def note_terms(self, number: int, terms: int) -> bool:
        """Note what its owner says of it, as a number that stands for that; whether it is something new."""
        before, self._terms[number] = self._terms[number], terms
        return before != terms

    def put_source(self, number: int, source: Source, *, stored: bool = False) -> None:
        """It has a new line in the catalogue; `stored` says that this is the store's."""
        if source.url != self.labels[number]:
            self._by_url.remove(number)
            self.labels.replace(number, source.url)
            self._by_url.put(number)
        self._mark(number, ACTIVE, source.state == "active")
        if stored and self._store is not None:
            self._lines.drop(source.id)
            for reading in self._readings:
                reading.edited(source)
        else:
            self._turn += 1
            self._lines.put(source.id, source, self._turn)

    def put_progress(self, number: int, progress: Progress, *, stored: bool = False) -> None:
        """A crawl has led to more; the schedule is not kept. `stored` says that it is read from the store."""
        self._last[number] = math.nan if progress.last is None else progress.last
        self._held[number] = progress.held_until
        self._mark(number, TRIED, progress.last is not None or progress.is_tried)
        if not stored or self._store is None:
            self._turn += 1
            self._progress.put(progress.source, progress, self._turn)

    @property
    def turn(self) -> int:
        """Grows with everything that is put."""
        return self._turn

    def stored(self, ids: Iterable[int], turn: int) -> None:
        """The store has all that was put of these sources up to a turn."""
        if self._store is not None:
            for id in ids:
                self._lines.drop(id, turn)
                self._progress.drop(id, turn)
                for reading in self._readings:
                    reading.overtaken(id)

    def _mark(self, number: int, bit: int, is_so: bool) -> None:
        self._marks[number] = self._marks[number] | bit if is_so else self._marks[number] & ~bit


class ById(Mapping[int, int]):
    """Numbers by the store's id."""

    def __init__(self, roster: Roster, index: NumberIndex) -> None:
        self._roster, self._index = roster, index

    def __getitem__(self, id: int) -> int:
        number = self._index.find(id)
        if number is None:
            raise KeyError(id)
        return number

    def __contains__(self, id: object) -> bool:
        return isinstance(id, int) and self._index.find(id) is not None

    def get(self, id: int, default: Any = None) -> Any:
        """The number, if it is there."""
        number = self._index.find(id)
        return default if number is None else number

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[int]:
        return map(self._roster.id, self._roster.everyone().tolist())


class ByUrl(Mapping[str, int]):
    """Numbers by address."""

    def __init__(self, roster: Roster, index: NumberIndex) -> None:
        self._roster, self._index = roster, index

    def __getitem__(self, url: str) -> int:
        number = self._index.find(url)
        if number is None:
            raise KeyError(url)
        return number

    def __contains__(self, url: object) -> bool:
        return isinstance(url, str) and self._index.find(url) is not None

    def get(self, url: str, default: Any = None) -> Any:
        """The number, if it is there."""
        number = self._index.find(url)
        return default if number is None else number

    def those_of(self, urls: Sequence[str]) -> list[int]:
        """Places among these of all that are here, for many of which hardly any is."""
        return [k for k in self._index.possible(urls).tolist() if self._index.find(urls[k]) is not None]

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[str]:
        numbers = self._roster.everyone().tolist()
        return (url for number in numbers if self._index.find(url := self._roster.url(number)) == number)
