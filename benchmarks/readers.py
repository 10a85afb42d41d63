"""Server time of what readers' programs ask over a large store, while a crawl writes to it, and whether it is right.

    python -m benchmarks.readers [--items 1e5] [--readers 20] [--seconds 120] [--pause 0.3] [--fetches 10]

A store of feeds with fifty items each (2,000 feeds, 100,000 items of 2 to 4 KB of HTML) is made, and readers who
subscribe to all of them, in forty folders: some have read nothing yet, some all but the last days, some a little
everywhere. Then three processes share it: `recrawl serve`, a writer that commits the given number of crawls per second
with three new items each, and this one. In it every reader's program syncs without end, each in one of three ways
(`reading_programs`), with pauses of the given length before each request, on average: as if all had pressed the button
at once, and again and again. First three of them sync alone, one after the other, for the processor time per call.
At the end it is said whether any walk over pages missed an item or had one twice. With several sizes, how it grows.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.reading_programs import Act, Asked, Connection, Items, Program, missed_since, problems
from benchmarks.served import TAGS, build, served, worked_s, written
from benchmarks.web import grown_pages
from numpy.typing import NDArray

from recrawl.store.reader_records import Reader, Wanted
from recrawl.store.sqlite import SqliteStore
from recrawl.web.reader_api.credentials import new_reader

PER_FEED = 50
DAY_S = 86400.0
WAYS = ("by_numbers", "by_pages", "by_feeds")
ALONE = 2
"""Syncs of each way with nobody beside it."""


class Person(NamedTuple):
    """A reader, and what they did before."""

    reader: Reader
    password: str
    before: list[Act]


def folder_of(source: int) -> str:
    """Where everybody keeps a feed."""
    return f"tag{source % TAGS}"


def people(path: Path, count: int, feeds: int) -> list[Person]:
    """Readers of everything, in four states."""
    now, ids, made = time.time(), items_of(path).ids, []
    with SqliteStore(path) as store:
        some = [Wanted(source=each, labels=(folder_of(each.id),)) for each in store.sources(limit=feeds)]
        for k in range(count):
            reader, password = new_reader(f"reader{k}", now)
            reader.id = store.add_reader(reader)
            store.subscribe(reader.id, some, now)
            made.append(Person(reader, password, _before(store, reader.id, k, now, ids)))
    return made


def _before(store: SqliteStore, reader: int, k: int, now: float, ids: NDArray[np.int64]) -> list[Act]:
    """All but the last days is read; for every other reader also one in five of the last ten days, item by item."""
    days, acts = (None, 2.0, 2.0, 20.0)[k % 4], []
    if days is not None:
        until = now - days * DAY_S
        store.mark_all_read(reader, None, until)
        acts.append(Act("swept", at=until))
    if k % 4 > 1:
        draw, newest = random.Random(k), ids[-len(ids) // 3 :].tolist()
        read, starred = draw.sample(newest, len(newest) // 5), draw.sample(newest, len(newest) // 100)
        store.mark_read(reader, read, True)
        store.star(reader, starred, now)
        acts += [Act("read", read), Act("starred", starred)]
    return acts


def items_of(path: Path) -> Items:
    """All there are."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, source, first_seen FROM items ORDER BY id").fetchall()
    ids, sources, found = zip(*rows, strict=True)
    return Items(np.array(ids), np.array(sources), np.array(found))


def logged_in(port: int, each: Person, pause_s: float, seed: int) -> Connection:
    """A program's connection, with the token it got for the password."""
    connection = Connection(port, "", pause_s, random.Random(seed))
    who = [("Email", each.reader.name), ("Passwd", each.password), ("output", "json")]
    connection.auth = msgspec.json.decode(connection.ask("log in", "/accounts/ClientLogin", form=who))["Auth"]
    return connection


def sync(program: Program, way: str, seconds: float, times: int = 1_000_000) -> None:
    """Again and again, in one of the ways."""
    end = time.monotonic() + seconds
    while times and time.monotonic() < end:
        getattr(program, way)()
        times -= 1


class Measured(NamedTuple):
    """What was asked by all at once, and by three alone; and what was wrong."""

    crowd: list[Asked]
    alone: list[Asked]
    busy: float
    wrong: list[str]


def measure(path: Path, readers: list[Person], seconds: float, pause_s: float, fetches: float, feeds: int) -> Measured:
    """The three processes."""
    with served(path) as (port, process), written(path, fetches, feeds, full=True):
        connections = [logged_in(port, each, pause_s, k) for k, each in enumerate(readers)]
        began = time.time()
        programs = [Program(c, each.before, began) for c, each in zip(connections, readers, strict=True)]
        for connection, program, way in zip(connections, programs, WAYS, strict=False):
            connection.process, connection.pause_s = process, 0.0
            sync(program, way, 600.0, ALONE)
            connection.process, connection.pause_s = None, pause_s
        alone = [asked for each in connections for asked in each.asked]
        for each in connections:
            each.asked = []
        worked, begun = worked_s(process), time.perf_counter()
        with ThreadPoolExecutor(len(programs)) as pool:
            ways = [WAYS[k % len(WAYS)] for k in range(len(programs))]
            list(pool.map(lambda each: sync(*each, seconds), zip(programs, ways, strict=True)))
        busy = (worked_s(process) - worked) / (time.perf_counter() - begun)
    items, wrong = items_of(path), []
    folders = {
        folder: {k for k in range(1, feeds + 1) if folder_of(k) == folder} for folder in map(folder_of, range(TAGS))
    }
    for program, each in zip(programs, readers, strict=True):
        wrong += [f"{each.reader.name}: {line}" for line in problems(program.acts, items, folders)]
        if missed := missed_since(program.acts, items):
            wrong.append(f"{each.reader.name}: {missed} items never came")
    return Measured([asked for each in connections for asked in each.asked], alone, busy, wrong)


def printed(measured: Measured, seconds: float) -> dict[str, tuple[float, float, float]]:
    """A line per call; its median, p95 and processor time."""
    crowd, rows = measured.crowd, dict[str, tuple[float, float, float]]()
    kept = f"{len(crowd) / seconds:.0f} requests/s, which kept {measured.busy:.0%} of a core of the server busy"
    print(f"{kept}; load of the machine in the last minute: {os.getloadavg()[0]:.1f}")
    print(f"{'call':<28}{'count':>8}{'median':>10}{'p95':>10}{'max':>10}{'cpu':>10}   ms")
    for call in sorted({each.call for each in (*crowd, *measured.alone)}):
        took = [each.took_ms for each in crowd if each.call == call]
        alone = [each for each in measured.alone if each.call == call]
        cpu = float(np.mean([each.cpu_ms for each in alone if each.cpu_ms] or [math.nan]))
        took = took or [each.took_ms for each in alone]  # logging in
        rows[call] = (float(np.median(took)), float(np.percentile(took, 95)), cpu)
        print(f"{call:<28}{len(took):>8,}" + "".join(f"{f:>10.1f}" for f in (*rows[call][:2], max(took), cpu)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=float, nargs="+", default=[1e5], help="in the store; one size, or several")
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long they sync, after three have alone")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds before each request of a program")
    parser.add_argument("--fetches", type=float, default=10.0, help="committed per second, three new items each")
    given = parser.parse_args()
    sizes, found = [round(size) for size in given.items], dict[str, dict[str, tuple[float, ...]]]()
    wrong: list[str] = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path, begun, feeds = Path(folder) / "readers.db", time.perf_counter(), max(TAGS, size // PER_FEED)
            build(path, feeds, size, at_once=2, full=True)
            readers = people(path, given.readers, feeds)
            print(
                f"made a store of {feeds:,} feeds and {size:,} items in {time.perf_counter() - begun:.0f} s", flush=True
            )
            measured = measure(path, readers, given.seconds, given.pause, given.fetches, feeds)
        for call, row in printed(measured, given.seconds).items():
            found.setdefault(call, {})[str(size)] = row
        wrong += measured.wrong
        print("\n".join(measured.wrong[:20]) or "no walk missed an item, and none had one twice", flush=True)
    if len(sizes) > 1:
        whole = {call: rows for call, rows in found.items() if len(rows) == len(sizes)}
        print(grown_pages(sizes, whole, "call"))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
