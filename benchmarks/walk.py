"""The walk of one visit: which modules and record types of recrawl it passes through.

A real crawler visits one RSS feed on loopback twice. The second visit, which finds one new item, is traced from the
round in which the feed is chosen to the end of the commit, in the event loop and in every thread. A module counts if a
function of it is called or a record of it is made. A record is a dataclass, a `msgspec.Struct` or a named tuple.
A hop is a call from one module to another; waking up after waiting is none.

Left out is what does not belong to the visit: later rounds of choosing, and everything that sleeps for a second or
more, which never wakes up here. The same happens once before without a trace, so that all code is loaded and compiled.
Compiled functions that call each other show as one call.

Run: python -m benchmarks.walk [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import functools
import inspect
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from email.utils import formatdate
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec


class SeenStruct(msgspec.Struct):
    """The base of all structs while this runs: making one is a call, which a trace can see."""

    def __post_init__(self) -> None:
        """Nothing to do."""


msgspec.Struct = SeenStruct  # type: ignore[misc]  # before recrawl is imported

from recrawl import wiring  # noqa: E402
from recrawl.clock import SystemClock  # noqa: E402
from recrawl.config import Config, Fetching, Politeness  # noqa: E402
from recrawl.store.opening import open_store  # noqa: E402
from recrawl.store.records import Source  # noqa: E402
from recrawl.store.roles import Store  # noqa: E402

PACKAGE = "recrawl"
CHOOSES = "choose"
"""The name of what chooses sources: the outermost call of it begins the walk."""
LONGEST_S = 60.0
LONG_S = 0.9
"""Sleeps of this length are those of what is done from time to time."""
ENTRIES = 20
WAKES = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
SETTINGS = Config(
    budget="300/s",
    half_life="10s",
    fetch=Fetching(allow_private=True),
    politeness=Politeness(delay="50ms", min_interval="300ms"),
)
PAGE = '<rss version="2.0"><channel><title>News</title><link>http://a.example/</link>{}</channel></rss>'
ITEM = (
    "<item><guid>{0}</guid><title>Number {0}</title><link>http://a.example/{0}</link>"
    "<description>About {0}.</description><pubDate>{1}</pubDate></item>"
)
ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nETag: "{}"\r\nContent-Length: {}\r\n\r\n{}'
NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Feed:
    """A server of one feed, which has one more item every time it is asked."""

    def __init__(self) -> None:
        self.asked, self.began = 0, time.time()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(NO_ROBOTS if b"/robots.txt" in head else self._document())
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    def _document(self) -> bytes:
        newest, self.asked = ENTRIES + self.asked, self.asked + 1
        dates = {n: formatdate(self.began - 3600.0 * (newest - n) - 1.0) for n in range(newest + 1)}
        page = PAGE.format("".join(ITEM.format(n, dates[n]) for n in range(newest, newest - ENTRIES, -1)))
        return ANSWER.format(newest, len(page), page).encode()


class FewWake(SystemClock):
    """The machine's clock; long sleeps have no end."""

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await (asyncio.Event().wait() if seconds >= LONG_S else super().sleep(seconds))


class Walk:
    """Traces calls from a choice to a commit.

    Parameters
        runs: the code of the coroutine that chooses, over and over
    """

    def __init__(self, runs: CodeType) -> None:
        self.ready = self.over = False
        self.modules: Counter[str] = Counter()
        self.records: Counter[str] = Counter()
        self.others: Counter[str] = Counter()
        self.hops: Counter[tuple[str, str]] = Counter()
        self._runs = runs
        self._choosing: FrameType | None = None
        self._chosen = False
        self._launcher: asyncio.Task[Any] | None = None
        self._launched = False
        self._waking: dict[int, FrameType] = {}
        self._lock = threading.RLock()

    def see(self, frame: FrameType, event: str, value: Any) -> None:
        """What the interpreter tells of every call and return."""
        if not self.ready or self.over or event not in ("call", "return"):
            return
        with self._lock:
            if event == "call":
                self._called(frame)
            elif frame is self._choosing:
                self._choosing, self._chosen = None, len(value) > 0
            elif self._chosen and frame.f_code is self._runs:
                self._launched = True  # the round of choosing is over

    def _called(self, frame: FrameType) -> None:
        module = module_of(frame)
        if not self._chosen and self._choosing is None and module and frame.f_code.co_name == CHOOSES:
            self._begin(frame)
        if (self._chosen or self._choosing is not None) and not (self._launched and _task() is self._launcher):
            self._note(frame, module)

    def _begin(self, frame: FrameType) -> None:
        """A round of choosing; what an earlier one did, which chose nothing, is forgotten."""
        for seen in (self.modules, self.records, self.others, self.hops, self._waking):
            seen.clear()
        self._choosing, self._launcher = frame, _task()

    def _note(self, frame: FrameType, module: str) -> None:
        made = class_made(frame)
        if made is not None:
            module = made.__module__
            (self.records if is_record(made) else self.others)[f"{module}.{made.__qualname__}"] += 1
        if not module:
            return
        if frame.f_code.co_flags & WAKES:
            if id(frame) in self._waking:
                return
            self._waking[id(frame)] = frame  # kept, or another would get its id
        self.modules[module] += 1
        caller = _caller(frame)
        if caller and caller != module:
            self.hops[caller, module] += 1


def module_of(frame: FrameType) -> str:
    """The module of recrawl that a function is of; nothing if it is another's."""
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.split(".")[0] == PACKAGE else ""


def class_made(frame: FrameType) -> type | None:
    """The class of recrawl of which this call makes an object."""
    name, made = frame.f_code.co_name, None
    if name in ("__init__", "__post_init__"):
        made = type(frame.f_locals.get("self"))
        if name == "__init__" and made.__init__.__code__ is not frame.f_code:  # type: ignore[misc]
            return None  # of a base
        if name == "__post_init__" and dataclasses.is_dataclass(made):
            return None  # counted by its __init__
    elif name in ("__new__", "_make"):  # of named tuples
        made = frame.f_locals.get("_cls") or frame.f_locals.get("cls")
    return made if isinstance(made, type) and made.__module__.split(".")[0] == PACKAGE else None


def is_record(made: type) -> bool:
    """Whether a class is a record by the way it is written."""
    return dataclasses.is_dataclass(made) or issubclass(made, msgspec.Struct) or hasattr(made, "_fields")


def _caller(frame: FrameType) -> str:
    """The module of the nearest function of recrawl that waits for this one."""
    above = frame.f_back
    while above is not None and not module_of(above):
        above = above.f_back
    return module_of(above) if above is not None else ""


def _task() -> asyncio.Task[Any] | None:
    return asyncio.current_task() if asyncio._get_running_loop() is not None else None


def committed(store: Store, told: Callable[[], None]) -> None:
    """Have every commit to a store told of."""
    commit = store.commit

    @functools.wraps(commit)
    def told_of(*given: Any, **named: Any) -> Any:
        answer = commit(*given, **named)
        told()
        return answer

    store.commit = told_of  # type: ignore[method-assign]


async def walked(folder: Path, *, traced: bool) -> Walk:
    """Two visits of a fresh feed."""
    feed = Feed()
    listening = await asyncio.start_server(feed.answer, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    clock = FewWake()
    with closing(open_store(folder / "recrawl.db")) as store:
        store.add([Source(url=f"http://127.0.0.1:{port}/feed.xml", kind="feed")])
        crawler = wiring.make_crawler(SETTINGS, store, clock=clock)
        walk, loop = Walk(type(crawler).run.__code__), asyncio.get_running_loop()

        def told() -> None:
            if feed.asked >= 2:
                walk.over = True
                loop.call_soon_threadsafe(crawler.stop)
            walk.ready = feed.asked >= 1

        committed(store, told)
        if traced:
            threading.setprofile(walk.see)
            sys.setprofile(walk.see)
        try:
            await crawler.run(clock.now() + LONGEST_S)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            listening.close()
        found = len(store.items(limit=10 * ENTRIES))
    if not walk.over or found != ENTRIES + 1:
        sys.exit(f"{feed.asked} visits found {found} items, not {ENTRIES + 1}")
    return walk


def scene(*, traced: bool) -> Walk:
    """A walk in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="recrawl-walk-") as folder:
        return asyncio.run(walked(Path(folder), traced=traced))


def compiled() -> None:
    """Wait until nothing is compiled any more."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(timeout=600.0)


def room_of(module: str) -> str:
    """The package of a module; a package is in itself."""
    return module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0]


def in_room(module: str) -> str:
    """The name of a module there."""
    return "__init__" if room_of(module) == module else module.rpartition(".")[2]


def drawing(walk: Walk) -> str:
    """The modules in the order in which they are entered, grouped by room, with how often each is called."""
    lines = []
    for room, modules in groupby(walk.modules, key=room_of):
        shown = [f"{in_room(module)} {walk.modules[module]}" for module in modules]
        lines += [("  │ " if lines else "  ┌ ") + room.removeprefix(PACKAGE + "."), *_folded(shown)]
    return "\n".join(lines)


def _folded(shown: list[str], width: int = 96) -> list[str]:
    lines = [""]
    for each in shown:
        if lines[-1] and len(lines[-1]) + len(each) + 3 > width:
            lines.append("")
        lines[-1] += (" → " if lines[-1] else "") + each
    return [f"  │     {line}" for line in lines]


def by_room(walk: Walk) -> dict[str, int]:
    """How many modules of each room are entered."""
    return dict(Counter(map(room_of, walk.modules)))


def account(walk: Walk) -> dict[str, Any]:
    """Everything seen, for other programs."""
    return {
        "modules": dict(walk.modules),
        "records": dict(walk.records),
        "other_objects": dict(walk.others),
        "hops": walk.hops.total(),
        "pairs": [[caller, module, times] for (caller, module), times in walk.hops.items()],
        "rooms": by_room(walk),
    }


def text(walk: Walk) -> str:
    """What a person reads."""
    short = {name: name.removeprefix(PACKAGE + ".") for name in (*walk.records, *walk.others)}
    rooms = ", ".join(f"{room.removeprefix(PACKAGE + '.')} {count}" for room, count in by_room(walk).items())
    return "\n".join(
        [
            f"the walk of one feed visit: {len(walk.modules)} modules, {len(walk.records)} record types, "
            f"{walk.hops.total():,} hops between {len(walk.hops)} pairs of modules",
            f"modules by room: {rooms}",
            "",
            "modules in order of first entry, with calls",
            drawing(walk),
            "",
            "record types in order, with how many were made",
            *(f"  {short[name]} {count}" for name, count in walk.records.items()),
            "",
            "other objects made: " + ", ".join(f"{short[name]} {count}" for name, count in walk.others.items()),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    scene(traced=False)
    compiled()
    walk = scene(traced=True)
    print(text(walk))
    if options.json:
        options.json.write_text(json.dumps(account(walk), indent=2) + "\n")


if __name__ == "__main__":
    main()
