"""Programs for reading feeds, as far as a server sees them, and whether what they were told was right.

A program notes everything it did and was told (`Act`). Afterwards `problems` goes through the notes with all items of
the store at hand: no walk over pages may have missed an item that was there when it began, or had one twice.
"""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
import numpy as np
from benchmarks.served import cpu_ms
from numpy.typing import NDArray

API = "/api/greader.php/reader/api/0/"
READING_LIST, READ, STARRED = (f"user/-/state/com.google/{name}" for name in ("reading-list", "read", "starred"))
LABEL = "user/-/label/"
LONG = "tag:google.com,2005:reader/item/"
FORM = {"content-type": "application/x-www-form-urlencoded"}
COMMITTED_S = 5.0
"""An item is in the store so long after the time it bears, at the latest."""


class Act(NamedTuple):
    """What a program did with items, or got from all pages of a stream.

    Parameters
        what: read, starred, unstarred, swept or walked
        items: those numbers; of a walk, in the order they came
        stream: that was swept or walked; `unread` if without what is read
        at: what was found by then is swept; when the walk began
        since: nothing found before was asked for
    """

    what: str
    items: Sequence[int] = ()
    stream: str = READING_LIST
    unread: bool = False
    at: float = 0.0
    since: float = 0.0


class Asked(NamedTuple):
    """One request that was answered."""

    call: str
    took_ms: float
    cpu_ms: float


@dataclass
class Connection:
    """Asks a server in one reader's name, with pauses, and notes how long each answer took.

    Parameters
        pause_s: before each request, on average; exponential
        process: of the server, if its processor time is noted too: right only while nobody else asks
    """

    port: int
    auth: str
    pause_s: float
    draw: random.Random
    process: int | None = None
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, call: str, place: str, *given: tuple[str, str], form: Sequence[tuple[str, str]] = ()) -> bytes:
        """The answer; a GET unless there is a form."""
        if self.pause_s:
            time.sleep(self.draw.expovariate(1.0 / self.pause_s))
        headers = {"authorization": f"GoogleLogin auth={self.auth}", **(FORM if form else {})}
        path = f"{place if place.startswith('/') else API + place}?{urlencode(given)}"
        body, process = urlencode(form) if form else None, self.process
        worked, begun = cpu_ms(process) if process else 0.0, time.perf_counter()
        self._connection.request("POST" if form else "GET", path, body, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        took = 1000.0 * (time.perf_counter() - begun)
        assert answer.status == 200, (path, answer.status, said[:200])
        self.asked.append(Asked(call, took, cpu_ms(process) - worked if process else 0.0))
        return said


class Program:
    """One reader's program.

    Parameters
        acts: what the reader did before, and from now on
        has: items whose contents it has
    """

    def __init__(self, connection: Connection, acts: list[Act], first: float) -> None:
        self._ask, self._draw = connection.ask, connection.draw
        self.acts, self.has = acts, set[int]()
        self._last, self._unread = first, list[int]()
        self._newest: dict[str, str] = {}

    # -- the ways programs keep up

    def by_numbers(self) -> None:
        """All numbers of unread and starred items, then the contents of those that are new (NetNewsWire, Reeder)."""
        self._begin("tag/list")
        self._unread = self._numbers("ids of unread, 1,000", READING_LIST, 1000, unread=True)
        self._numbers("ids of starred, 1,000", STARRED, 1000)
        fresh = [number for number in self._unread if number not in self.has][:500]
        for start in range(0, len(fresh), 100):
            self._load(fresh[start : start + 100])
        self._act()

    def by_pages(self) -> None:
        """Contents since the last time, page by page, and all unread numbers at once (Fluent Reader, News+)."""
        begun = int(time.time())
        self._begin("tag/list", "unread-count")
        self.has.update(self._contents("stream/contents, 100", READING_LIST, 100, self._last))
        self._unread = self._numbers("ids of unread, 10,000", READING_LIST, 10_000, unread=True)
        self._last = begun
        self._act()

    def by_feeds(self) -> None:
        """Counts, then feed by feed what is unread there (newsboat, Liferea)."""
        self._begin("unread-count")
        feeds = [id for id in self._newest if id.startswith("feed/")]
        some = self._draw.sample(feeds, min(len(feeds), 10))
        self._unread = [each for feed in some for each in self._contents("contents of a feed, 50", feed, 50)]
        self._act()

    def _begin(self, *more: str) -> None:
        for place in ("token", "subscription/list", *more):
            said = self._ask(place, place, ("output", "json"))
            if place == "unread-count":
                lines = msgspec.json.decode(said)["unreadcounts"]
                self._newest = {each["id"]: each["newestItemTimestampUsec"] for each in lines}

    def _load(self, numbers: Sequence[int]) -> None:
        form = [("i", f"{number:016x}") for number in numbers]
        said = self._ask("items/contents, 100", "stream/items/contents", ("output", "json"), form=form)
        assert _of_items(msgspec.json.decode(said)) == list(numbers), "all that were asked for, in that order"
        self.has.update(numbers)

    # -- pages

    def _numbers(self, call: str, stream: str, most: int, unread: bool = False) -> list[int]:
        given = [("output", "json"), ("s", stream), ("n", str(most)), *([("xt", READ)] if unread else [])]
        return self._walked(
            call, "stream/items/ids", given, Act("walked", stream=stream, unread=unread, at=time.time()),
            lambda answer: [int(each["id"]) for each in answer["itemRefs"]],
        )  # fmt: skip

    def _contents(self, call: str, stream: str, most: int, since: float = 0.0) -> list[int]:
        narrowed = [("ot", str(int(since)))] if since else [("xt", READ)]
        act = Act("walked", stream=stream, unread=not since, at=time.time(), since=since)
        place = f"stream/contents/{quote(stream, safe='')}"
        return self._walked(call, place, [("output", "json"), ("n", str(most)), *narrowed], act, _of_items)

    def _walked(
        self, call: str, place: str, given: list[tuple[str, str]], act: Act, items: Callable[[Any], list[int]]
    ) -> list[int]:
        found: list[int] = []
        more: list[tuple[str, str]] = []
        while True:
            answer = msgspec.json.decode(self._ask(call, place, *given, *more))
            found += items(answer)
            if "continuation" not in answer:
                self.acts.append(act._replace(items=found))
                return found
            more = [("c", answer["continuation"])]

    # -- what the reader does

    def _act(self) -> None:
        for number in self._unread[:3]:
            self._mark("edit-tag, one", [number], "a", READ, "read")
        if self._unread[3:] and self._draw.random() < 0.5:
            self._mark("edit-tag, one", self._unread[3:4], "a", STARRED, "starred")
        if self._unread[4:] and self._draw.random() < 0.3:
            self._mark("edit-tag, 20", self._draw.sample(self._unread, min(20, len(self._unread))), "a", READ, "read")
        folders = [id for id in self._newest if id.startswith(LABEL)]
        if folders and self._draw.random() < 0.3:
            folder = self._draw.choice(folders)
            self._sweep(folder, self._newest[folder])

    def _mark(self, call: str, numbers: Sequence[int], way: str, state: str, what: str) -> None:
        form = [("i", f"{LONG}{number:016x}") for number in numbers]
        said = self._ask(call, "edit-tag", form=[*form, (way, state), ("T", "x")])
        assert said == b"OK"
        self.acts.append(Act(what, numbers))

    def _sweep(self, folder: str, newest: str) -> None:
        self._ask("mark-all-as-read, a folder", "mark-all-as-read", form=[("s", folder), ("ts", newest), ("T", "x")])
        self.acts.append(Act("swept", stream=folder, at=int(newest) / 1e6 + 1e-6))


def _of_items(answer: Any) -> list[int]:
    return [int(each["id"].removeprefix(LONG), 16) for each in answer["items"]]


class Items(NamedTuple):
    """All there are, by number."""

    ids: NDArray[np.int64]
    sources: NDArray[np.int64]
    found: NDArray[np.float64]


def problems(acts: Sequence[Act], items: Items, folders: dict[str, set[int]]) -> list[str]:
    """What is wrong with what a program was told: nothing should be. It subscribes to everything.

    Parameters
        acts: of one program, in order, from the beginning
        folders: the sources of each
    """
    read, starred = np.zeros(len(items.ids), bool), np.zeros(len(items.ids), bool)
    wrong: list[str] = []
    for act in acts:
        places = np.searchsorted(items.ids, np.array(act.items, np.int64))
        if act.what == "walked":
            among = _among(act.stream, items, starred, folders) & ~(read & act.unread)
            wrong += [f"{act.stream[-40:]}: {problem}" for problem in _wrong(act, items, among)]
        elif act.what == "swept":
            read |= _among(act.stream, items, starred, folders) & (items.found <= act.at)
        elif act.what == "read":
            read[places] = True
        else:
            starred[places] = act.what == "starred"
    return wrong


def _among(stream: str, items: Items, starred: NDArray[np.bool_], folders: dict[str, set[int]]) -> NDArray[np.bool_]:
    if stream.startswith("feed/"):
        return items.sources == int(stream.removeprefix("feed/"))
    if stream.startswith(LABEL):
        return np.isin(items.sources, [*folders[stream.removeprefix(LABEL)]])
    return starred if stream == STARRED else np.ones(len(items.ids), bool)


def _wrong(walk: Act, items: Items, among: NDArray[np.bool_]) -> list[str]:
    """A walk from the newest on: what was there when it began, each once, and nothing else."""
    got = np.array(walk.items, np.int64)
    wrong = []
    if (np.diff(got) >= 0).any():
        wrong.append("an item came twice, or out of order")
    if stray := np.setdiff1d(got, items.ids[among]).size:
        wrong.append(f"{stray} items are not of it")
    there = items.found < walk.at - COMMITTED_S
    if got.size:
        there |= items.ids <= got[0]
    if missed := np.setdiff1d(items.ids[among & there & (items.found >= walk.since)], got).size:
        wrong.append(f"{missed} items were missed")
    return wrong


def missed_since(acts: Sequence[Act], items: Items) -> int:
    """Of a program that asks each time for what was found since the last: how many items none of its walks had."""
    walks = [act for act in acts if act.what == "walked" and act.since]
    if not walks:
        return 0
    first, last = min(act.since for act in walks), max(act.at for act in walks)
    due = items.ids[(items.found >= first) & (items.found < last - COMMITTED_S)]
    return int(np.setdiff1d(due, np.concatenate([np.array(act.items, np.int64) for act in walks])).size)
