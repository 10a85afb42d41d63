"""What pages in a browser cost those without: plain fetches at a steady pace, beside none, 100 or 1000 rendered ones.

A server on loopback, in a process of its own, has plain pages and shells, whose text comes by a script's request. Every
source has a fixed interval of its own, so it is known when each visit is due, and they are due at all times. Measured
is how late the plain ones are, how long their fetches take, how long the event loop is held up, and what processes
take in memory and processor time.

    python -m benchmarks.rendering [--seconds 60] [--plain 100000] [--rendered 0 100 1000]

Rates are per hour. Needs the extra `browser` and a Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from aiohttp import web

from recrawl.config import Config, SourceOptions
from recrawl.config.loading import replaced
from recrawl.crawl.rendering import processes
from recrawl.crawl.rendering.record import unpacked
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.wiring import collect_rarely, install_event_loop, make_crawler

HOUR_S = 3600.0
WARM_UP_S = 50.0
"""First visits and the start of the browser are not what is measured."""
TICK_S = 0.02
TEXT = "".join(f"<p>Paragraph {number} of a page that says enough to be read as it came.</p>" for number in range(40))
SHELL = (
    "<!doctype html><title>App</title><div id=root></div><script>fetch('?data').then(a => a.text())"
    ".then(t => { document.getElementById('root').innerText = t })</script>"
)


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    if request.query_string == "data":
        return web.Response(text=f"Said at {time.time():.0f} by {request.path}, and a few words more.")
    text = SHELL if request.path.startswith("/shell") else f"<!doctype html><title>Page</title><main>{TEXT}</main>"
    return web.Response(text=text, content_type="text/html")


async def serve() -> None:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


@dataclass
class Measured:
    """Of one run. Times in seconds."""

    late: list[float] = field(default_factory=list)
    fetch: list[float] = field(default_factory=list)
    held_up: list[float] = field(default_factory=list)
    rendered: int = 0
    failed: int = 0
    cpu_s: float = 0.0
    browser_cpu_s: float = 0.0
    memory: int = 0
    browser_memory: int = 0
    each_s: float = 0.0


async def held_up(found: list[float]) -> None:
    """How much later than asked for the loop comes back, all the time."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        found.append(loop.time() - due)


async def watch(found: Measured, begin: float) -> None:
    """What the processes take, ours and all that it started."""
    before, browser_before = None, 0.0
    while True:
        ours, theirs = processes.usage([os.getpid()]), processes.usage(processes.descendants(os.getpid()))
        if time.time() >= begin:
            if before is None:
                before, browser_before = ours.cpu_s, theirs.cpu_s
            found.cpu_s, found.memory = ours.cpu_s - before, max(found.memory, ours.memory)
            # At the end the browser is gone, and its time with it.
            found.browser_cpu_s = max(found.browser_cpu_s, theirs.cpu_s - browser_before)
            found.browser_memory = max(found.browser_memory, theirs.memory)
        await asyncio.sleep(1.0)


def spread(count: int) -> list[float]:
    """Parts of an interval, from 0.7 to 1.4: what all do at once at the start, they soon do at all times.

    Their visits together are as many as with the interval itself.
    """
    even = np.linspace(1.0, 2.0, count)
    return (even / count * (1.0 / even).sum()).tolist() if count else []


async def run(folder: Path, base: str, seconds: float, plain: float, rendered: float) -> Measured:
    """One run, with so many plain and rendered fetches an hour."""
    every_s = 30.0
    pages = round(plain * every_s / HOUR_S)
    shells, shell_every_s = (max(round(rendered * 36.0 / HOUR_S), 1), 36.0) if rendered else (0, 0.0)
    config = replaced(Config(), {
        "store": str(folder / f"{rendered:g}.db"), "budget": "1000/s", "politeness.delay": "0s", "cold_start": 1.0,
        "politeness.min_interval": "0s", "politeness.parallel_per_host": 32, "fetch.allow_private": True,
        "browser.sandbox": os.geteuid() != 0,
    })  # fmt: skip
    found = Measured()
    with open_store(config.store) as store:
        store.add([
            Source(url=f"{base}/{kind}/{number}", kind="page", options=SourceOptions(interval=interval * part))
            for kind, count, interval in (("page", pages, every_s), ("shell", shells, shell_every_s))
            for number, part in enumerate(spread(count))
        ])  # fmt: skip
        store.claim("a benchmark", time.time())
        begin = time.time() + WARM_UP_S
        crawler = make_crawler(config, store)
        beside = [asyncio.create_task(held_up(found.held_up)), asyncio.create_task(watch(found, begin))]
        await crawler.run(begin + seconds)
        for task in beside:
            task.cancel()
    with open_store(config.store) as store:
        for source in store.sources():
            log = [*reversed(store.crawls(source=source.id, limit=1000))]
            found.failed += sum(each.outcome in ("failed", "refused") for each in log)
            if "/shell/" in source.url:
                found.rendered += len(log)
                found.each_s = unpacked(store.rendering(source.id)).seconds
                continue
            found.fetch += [each.elapsed_s for each in log]
            interval = source.options.interval or every_s
            found.late += [after.at - before.at - interval for before, after in pairwise(log) if after.at >= begin]
    return found


def row(name: str, found: Measured, seconds: float) -> Sequence[str]:
    """One line of the table."""

    def ms(values: list[float], share: float) -> str:
        return f"{1000 * float(np.quantile(values, share)):.0f}" if values else "–"

    return (
        name, str(len(found.fetch)), str(found.rendered), str(found.failed),
        f"{ms(found.late, 0.5)} / {ms(found.late, 0.99)}", f"{ms(found.fetch, 0.5)} / {ms(found.fetch, 0.99)}",
        f"{ms(found.held_up, 0.99)} / {ms(found.held_up, 1.0)}",
        f"{found.cpu_s / seconds:.2f}", f"{found.browser_cpu_s / seconds:.2f}",
        f"{found.memory / 1e6:.0f}", f"{found.browser_memory / 1e6:.0f}",
    )  # fmt: skip


HEADS = (
    "rendered an hour", "plain", "rendered", "failed", "late p50/p99 ms", "fetch p50/p99 ms", "loop p99/most ms",
    "CPU", "browser's CPU", "MB", "browser's MB",
)  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=60.0, help="of each run, after 50 s of warming up")
    asked.add_argument("--plain", type=float, default=100_000.0)
    asked.add_argument("--rendered", type=float, nargs="*", default=[0.0, 100.0, 1000.0])
    asked.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.serve:
        asyncio.run(serve())
        return
    install_event_loop()
    collect_rarely()
    command = [sys.executable, "-m", "benchmarks.rendering", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as server:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{int(server.stdout.readline())}"
        print(f"{given.plain:g} plain fetches an hour; CPU in cores\n")
        print("| " + " | ".join(HEADS) + " |")
        print("|" + " --- |" * len(HEADS))
        try:
            with tempfile.TemporaryDirectory() as folder:
                for rendered in given.rendered:
                    found = asyncio.run(run(Path(folder), base, given.seconds, given.plain, rendered))
                    print("| " + " | ".join(row(f"{rendered:g}", found, given.seconds)) + " |", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
