"""Pages of any stream, while items arrive and are marked between them: nothing is missed and nothing comes twice.

Through the API, in both stores, over random questions, held to a list of all items that is looked through from end to
end. What was there when the first page was asked for comes, each once; from the newest on, that is all; from the oldest
on, what arrives meanwhile comes too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import postgres
from made_up import NOW
from reading import READ, READING_LIST, STARRED, Program, found, made_reader
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store import sql_reading
from recrawl.store.opening import open_store
from recrawl.store.reader_records import Wanted
from recrawl.store.records import Item, Source
from recrawl.store.roles import Store
from recrawl.web.app import make_app
from recrawl.web.reader_api import routes
from recrawl.web.reader_api.streams import LATE_S
from visitor import Visitor

NEWS, TECH, LATER = (f"user/-/label/{name}" for name in ("News", "Tech", "Later"))
FOLDERS = {1: {NEWS}, 2: {NEWS, TECH}, 3: {TECH}}
FEEDS = {"feed/1": 1, "feed/https://2.example/feed": 2, "feed/3": 3}
Given = list[tuple[str, str]]


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = postgres.server().url() if request.param == "postgres" else str(tmp_path / "recrawl.db")
    with open_store(place) as opened:
        yield opened


@dataclass
class World:
    """A reader of three feeds, and every item with what was done with it."""

    store: Store
    draw: random.Random
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    items: dict[int, Item] = field(default_factory=dict)
    states: dict[str, set[int]] = field(default_factory=lambda: {READ: set(), STARRED: set(), LATER: set()})

    def __post_init__(self) -> None:
        reader = made_reader(self.store)
        wanted = [
            Wanted(source=Source(url=f"https://{k}.example/feed"), labels=tuple(each[13:] for each in folders))
            for k, folders in FOLDERS.items()
        ]
        self.store.subscribe(reader.id, wanted, NOW)
        self.program = Program.of(Visitor(make_app(self.store, Config(), self.clock), browser=False), reader, NOW)
        for _ in range(20):
            self.arrive()
        for state, marked in self.states.items():
            self.mark(state, self.draw.sample(sorted(self.items), len(self.items) // 3), marked)

    def arrive(self) -> None:
        """A crawl finds some items; now and then it is written down late."""
        self.clock.advance(self.draw.choice([0.0, 0.5, 30.0, 600.0]))
        key, late = 1 + max(self.items, default=0), self.draw.choice([0.0, 0.0, 7.0])
        keys = range(key, key + self.draw.randint(1, 3))
        found(self.store, self.draw.choice([1, 2, 3]), keys, self.clock.now() - late)
        self.items = {item.id: item for item in self.store.items(limit=10_000)}

    def mark(self, state: str, items: list[int], marked: set[int]) -> None:
        if items:
            assert self.program.post("edit-tag", *[("i", str(each)) for each in items], ("a", state)).status == 200
            marked |= set(items)

    def question(self) -> Given:
        """Any stream, narrowed and bounded in any way."""
        draw = self.draw
        stream = draw.choice([READING_LIST, READING_LIST, *FEEDS, NEWS, TECH, LATER, STARRED, READ])
        given = [("s", stream), ("n", str(draw.choice([1, 2, 5, 9])))]
        if draw.random() < 0.4:
            given.append(("r", draw.choice("on")))
        given += [("xt", READ)] * (draw.random() < 0.5) + [("xt", STARRED)] * (draw.random() < 0.2)
        if stream == READING_LIST:
            given += [(draw.choice(["xt", "it"]), draw.choice([*FEEDS, NEWS, TECH]))] * (draw.random() < 0.3)
        given += [("it", STARRED)] * (draw.random() < 0.1)
        given += [("ot", str(int(self.clock.now() - draw.choice([100, 3000]))))] * (draw.random() < 0.3)
        given += [("nt", str(int(self.clock.now() + draw.choice([-1000, 300]))))] * (draw.random() < 0.2)
        return given

    def matching(self, given: Given) -> set[int]:
        """What the question is about, as all items are now."""
        kept = set(self.items)
        for name, value in given:
            if name in ("s", "it"):
                kept &= self.within(value)
            elif name == "xt":
                kept -= self.within(value)
            elif name == "ot":
                kept = {id for id in kept if self.items[id].first_seen >= int(value) - LATE_S}
            elif name == "nt":
                kept = {id for id in kept if self.items[id].first_seen <= int(value)}
        return kept

    def within(self, stream: str) -> set[int]:
        if stream in (READ, STARRED):
            return self.states[stream]
        among = {source for source, folders in FOLDERS.items() if stream in folders or FEEDS.get(stream) == source}
        all_of_them = {id for id, item in self.items.items() if stream == READING_LIST or item.source in among}
        return all_of_them | (self.states[LATER] if stream == LATER else set())

    def pages(self, given: Given, between: Callable[[list[int]], None]) -> list[int]:
        """All pages of the numbers, or of the contents."""
        got: list[int] = []
        more: Given = []
        left = 8  # times that something happens: items arrive faster than small pages are read
        contents = self.draw.random() < 0.5
        while True:
            if contents:
                answer = self.program.contents(given[0][1], *given[1:], *more)
                got += [int(each["id"][-16:], 16) for each in answer["items"]]
            else:
                answer = self.program.get("stream/items/ids", *given, *more).json
                got += [int(each["id"]) for each in answer["itemRefs"]]
            if "continuation" not in answer:
                return got
            if left:
                between(got)
                left -= 1
            more = [("c", answer["continuation"])]

    def live(self, got: list[int]) -> None:
        """What happens between two pages: items arrive, and of what was shown some is read or starred."""
        for _ in range(self.draw.randint(0, 3)):
            self.arrive()
        if self.draw.random() < 0.3:
            self.mark(READ, got[-2:], self.states[READ])
        if self.draw.random() < 0.1:
            self.mark(STARRED, got[-1:], self.states[STARRED])


@pytest.mark.parametrize("bounds", [((5000, 50_000), 20_000, 10**7), ((2, 12), 6, 12)], ids=["usual", "small"])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_missed_and_nothing_comes_twice(
    store: Store, seed: int, bounds: tuple[tuple[int, int], int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With small bounds every way to a page is gone, and a page of contents ends where it gets too large."""
    monkeypatch.setattr(sql_reading, "GATHERED", bounds[0])
    monkeypatch.setattr(sql_reading, "WALKED", bounds[1])
    monkeypatch.setattr(sql_reading, "FEW_SOURCES", 1)
    monkeypatch.setattr(routes, "MOST_ANSWER", bounds[2])
    world = World(store, random.Random(seed))
    walked = 0
    for _ in range(25):
        given = world.question()
        there, before, known = world.matching(given), {k: set(v) for k, v in world.states.items()}, set(world.items)
        got = world.pages(given, world.live)
        oldest_first = ("r", "o") in given
        assert got == sorted(set(got), reverse=not oldest_first), given
        if oldest_first:
            world.states, after = before, world.states  # what was shown was marked afterwards
            there |= world.matching(given) - known
            world.states = after
        assert set(got) == there, given
        walked += len(got)
    assert walked > 300
