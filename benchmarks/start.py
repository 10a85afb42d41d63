"""What starting and idling cost with a large catalogue: `recrawl run` on a store of many sources, each crawled before.

The store is made through its own interface: sources on thousands of hosts (loopback addresses), each with the learner's
record of a few visits. A server of a few lines answers on all of them. Measured from outside: seconds from the start of
the process to its first request, less the wait that politeness and the empty bucket ask for after every restart (the
larger of the delay and the time of one token); memory; processor time while it crawls at the given budget.

With `--first` it is the very first start instead, of a catalogue never crawled, with nothing compiled: each run has an
empty folder for compiled code. Measured: seconds to the first request, to the end of the compiling, and the longest
time between two looks of the event loop until a little later; then the same once more, compiled.

Run: python -m benchmarks.start [--sources N] [--budget 60/min] [--seconds S]
     python -m benchmarks.start --first [--sources 300] [--runs 3]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from recrawl import wiring
from recrawl.config import Config
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.records import Visits
from recrawl.store.records import Batch, Progress, Source
from recrawl.store.sqlite import SqliteStore
from recrawl.units import parse_rate

RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]
PER_HOST, CHUNK, DAY = 10, 10_000, 86400.0
DELAY_S = 1.0
BODY = b'<rss version="2.0"><channel><title>A</title><item><title>B</title><link>http://b.example/</link></item></channel></rss>'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Cost(NamedTuple):
    """Of one run: seconds to the first request, memory in MB at its highest and at the end, share of a processor."""

    first_s: float
    highest_mb: float
    memory_mb: float
    start_cpu_s: float
    idle_share: float
    requests: int


def url_of(number: int, port: int) -> str:
    host = number // PER_HOST
    return f"http://127.{1 + host // 62500}.{host // 250 % 250}.{1 + host % 250}:{port}/{number}.xml"


def filled(path: Path, sources: int, port: int) -> float:
    """Make the store; how many seconds adding the sources took."""
    store = SqliteStore(path)
    urls = [url_of(number, port) for number in range(sources)]
    began = time.perf_counter()
    for start in range(0, sources, CHUNK):
        store.add([Source(url=url, kind="feed", title=f"Source {url[-12:]}") for url in urls[start : start + CHUNK]])
    added = time.perf_counter() - began
    teach(store)
    store.close()
    return added


def teach(store: SqliteStore) -> None:
    """Give every source a record of three visits over the last days."""
    config, now = Config(), time.time() - 4 * DAY
    decider = wiring.make_decider(config, store, HostSlots(config.politeness, now, Random()), now)
    ids, random = np.arange(len(decider)), np.random.default_rng(0)
    for day in range(3):
        at = now + (day + 1) * DAY
        published = [sorted(at - random.uniform(0.0, DAY, random.poisson(2.0))) for _ in ids]
        decider.policy.observe(Visits(ids, at, published=published, new=np.zeros(len(ids), np.int64)))
    remember(store, decider, at)


def remember(store: SqliteStore, decider: Decider, at: float) -> None:
    for start in range(0, len(decider), CHUNK):
        ids = np.arange(start, min(start + CHUNK, len(decider)))
        rows, beliefs = decider.policy.rows(ids), decider.policy.beliefs(ids)
        told = zip(ids.tolist(), rows, beliefs.value.tolist(), beliefs.rate.tolist(), strict=True)
        store.commit(
            Batch(
                progress=[
                    Progress(source=decider.roster.source(n).id, last=at, visits=3, value=v, rate=r, due=at + DAY,
                             belief=row, listing=bytes(8 * 20))
                    for n, row, v, r in told
                ]
            )
        )  # fmt: skip
    store.commit(Batch(shared=decider.policy.shared()))


class Server:
    """Answers everything, and remembers when it was first asked."""

    def __init__(self) -> None:
        self.first, self.requests = 0.0, 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.first = self.first or time.perf_counter()
                self.requests += 1
                writer.write(ROBOTS if head.startswith(b"GET /robots.txt") else ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


def memory_mb(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024.0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(folder: Path, server: Server, budget: str, seconds: float) -> Cost:
    began = time.perf_counter()
    with open(folder / "output.txt", "wb") as output:
        child = subprocess.Popen([*RECRAWL, "run", "--json"], cwd=folder, stdout=output, stderr=output)
    try:
        while not server.first:
            if child.poll() is not None:
                sys.exit(f"it ended:\n{(folder / 'output.txt').read_text()[-2000:]}")
            await asyncio.sleep(0.02)
        spent = cpu_s(child.pid)
        await asyncio.sleep(5.0)
        before, asked = cpu_s(child.pid), server.requests
        await asyncio.sleep(seconds)
        share = (cpu_s(child.pid) - before) / seconds
        wait = max(DELAY_S, 1.0 / parse_rate("--budget", budget))
        return Cost(
            server.first - began - wait,
            memory_mb(child.pid, "VmHWM"),
            memory_mb(child.pid, "VmRSS"),
            spent,
            share,
            server.requests - asked,
        )
    finally:
        child.terminate()
        child.wait()


async def bench(sources: int, budget: str, seconds: float) -> None:
    folder, server = Path(tempfile.mkdtemp(prefix="recrawl-start-")), Server()
    listening = await asyncio.start_server(server.answer, "0.0.0.0", 0)
    try:
        port = listening.sockets[0].getsockname()[1]
        (folder / "recrawl.toml").write_text(f'budget = "{budget}"\n[fetch]\nallow_private = true\n')
        added = filled(folder / "recrawl.db", sources, port)
        size = (folder / "recrawl.db").stat().st_size / 1e6
        print(f"{sources:,} sources, added in {added:.1f} s; the store is {size:.0f} MB", flush=True)
        for _ in range(2):
            await asyncio.sleep(1.0)  # what the run before had sent is answered first
            server.first = 0.0
            cost = await measured(folder, server, budget, seconds)
            print(
                f"first request after {cost.first_s:.1f} s ({cost.start_cpu_s:.1f} CPU s), "
                f"memory {cost.memory_mb:.0f} MB (at most {cost.highest_mb:.0f}), "
                f"{cost.idle_share:.1%} of a processor at {budget} ({cost.requests} requests in {seconds:g} s)",
                flush=True,
            )
    finally:
        listening.close()
        shutil.rmtree(folder)


GAPS = """
import asyncio, time
from recrawl.cli import main
from recrawl.crawl.pipeline import Crawler
from recrawl.policies.compile_ahead import compiling
run = Crawler.run
async def watch():
    longest, last, left = 0.0, time.perf_counter(), AFTER_S
    while left > 0.0:
        await asyncio.sleep(0.005)
        now = time.perf_counter()
        longest, last, left = max(longest, now - last), now, left - (now - last if compiling.done else 0.0)
    print("GAP", longest, flush=True)
async def watched(*given, **named):
    watching = asyncio.create_task(watch())
    await run(*given, **named)
Crawler.run = watched
main()
"""
"""`recrawl`, which says how long its event loop stood still at most."""
AFTER_S = 3.0
"""How long after the compiling that is looked at."""


class First(NamedTuple):
    """Of one first start: seconds to the first request and to the end of the compiling, and the longest stall."""

    first_s: float
    compiled_s: float
    gap_s: float


async def first_start(folder: Path, server: Server, cache: Path) -> First:
    command = [sys.executable, "-c", GAPS.replace("AFTER_S", str(AFTER_S)), "run", "--json"]
    await asyncio.sleep(1.0)  # what the run before had sent is answered first
    server.first, began = 0.0, time.perf_counter()
    with open(folder / "output.txt", "wb") as output:
        child = subprocess.Popen(
            command, cwd=folder, stdout=output, stderr=output, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        )
    try:
        while "GAP" not in (told := (folder / "output.txt").read_text()):
            if child.poll() is not None:
                sys.exit(f"it ended:\n{told[-2000:]}")
            await asyncio.sleep(0.02)
        return First(
            server.first - began, time.perf_counter() - began - AFTER_S, float(told.split("GAP")[1].split()[0])
        )
    finally:
        child.terminate()
        child.wait()


async def bench_first(sources: int, budget: str, runs: int) -> None:
    server = Server()
    listening = await asyncio.start_server(server.answer, "0.0.0.0", 0)
    port = listening.sockets[0].getsockname()[1]
    for _ in range(runs):
        folder = Path(tempfile.mkdtemp(prefix="recrawl-first-"))
        try:
            (folder / "recrawl.toml").write_text(f'budget = "{budget}"\n[fetch]\nallow_private = true\n')
            for compiled in (False, True):
                (folder / "recrawl.db").unlink(missing_ok=True)
                store = SqliteStore(folder / "recrawl.db")
                store.add([Source(url=url_of(number, port), kind="feed") for number in range(sources)])
                store.close()
                cost = await first_start(folder, server, folder / "compiled")
                words = "compiled" if compiled else f"nothing compiled, compiled after {cost.compiled_s:.0f} s"
                print(
                    f"{words}: first request after {cost.first_s:.1f} s, longest stall {cost.gap_s:.2f} s", flush=True
                )
        finally:
            shutil.rmtree(folder)
    listening.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", action="store_true", help="the very first start, with nothing compiled")
    parser.add_argument("--runs", type=int, default=3, help="of first starts")
    parser.add_argument("--sources", type=int, help="100000; 300 with --first")
    parser.add_argument("--budget", default="60/min")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    if options.first:
        asyncio.run(bench_first(options.sources or 300, options.budget, options.runs))
    else:
        asyncio.run(bench(options.sources or 100_000, options.budget, options.seconds))


if __name__ == "__main__":
    main()
