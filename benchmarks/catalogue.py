"""What a source costs at three sizes of the catalogue: time to add, time to start, memory, processor time at rest.

For each size the list is taken in by `recrawl import` from a file, sources are given a record of a few visits, and
`recrawl run` crawls them at a small budget, so that nearly all are asleep. Sources are on a host each, or several on
one (`--per-host`): loopback addresses, on all of which a server of a few lines answers. Measured from outside: seconds
from the start of the process to its first request, less the wait that politeness and the empty bucket ask for;
memory at the first request and later, and at its highest; processor time at rest; and, with `--web`, the answers of
`recrawl serve` and its `explain` beside it. Bytes per source are the slope from one size to the next, so that what the
program takes without any sources is not counted; the exponent of growth is by how much the logarithm of a figure grows
with that of the size.

`--before PATH` does the same with another tree's `recrawl` (its folder `src`), in turn.

    python -m benchmarks.catalogue [--sizes 1e4 1e5 1e6] [--seconds 60] [--web] [--before PATH] [--quick]
    python -m benchmarks.catalogue --classes [--sizes 1e5]     # which objects hold the memory, in this process
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from benchmarks.start import RECRAWL, Server, cpu_s, memory_mb
from benchmarks.timing import grown

from recrawl import wiring
from recrawl.config import Config
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.records import Visits
from recrawl.store.records import Batch, Crawl, Progress, Source, VisitUpdate, packed
from recrawl.store.sqlite import SqliteStore
from recrawl.units import parse_rate

POOL, CHUNK, DAY, DELAY_S = 5_000, 5_000, 86400.0, 1.0
LISTED = 20
"""Items that a source listed at its last visit."""
SETTLE_S = 30.0
"""After the first request, before it counts as at rest."""


class Cost(NamedTuple):
    """Of one run: seconds, megabytes, and the share of a processor at rest."""

    first_s: float
    start_cpu_s: float
    first_mb: float
    rest_mb: float
    highest_mb: float
    rest_share: float
    requests: int


class Run(NamedTuple):
    """All of one size: seconds of the import and of its processor, the store's size, and milliseconds of pages."""

    import_s: float
    import_cpu_s: float
    store_mb: float
    cost: Cost
    answers: dict[str, list[float]]


def address(host: int) -> str:
    """One of sixteen million loopback addresses."""
    return f"127.{1 + host // 62500}.{host // 250 % 250}.{1 + host % 250}"


def urls(sources: int, per_host: int, port: int) -> Iterator[str]:
    return (f"http://{address(n // per_host)}:{port}/feeds/{n}.xml" for n in range(sources))


def taken_in(folder: Path, sources: int, per_host: int, port: int, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds and processor seconds that `recrawl import` takes."""
    listed = folder / "urls.txt"
    listed.write_text("\n".join(urls(sources, per_host, port)))
    began = time.perf_counter()
    with open(folder / "import.txt", "wb") as output:
        child = subprocess.Popen([*RECRAWL, "import", str(listed)], cwd=folder, stdout=output, env=environment)
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit((folder / "import.txt").read_text()[-2000:])
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def records(port: int) -> tuple[list[bytes], bytes]:
    """The learner's records of some feeds after a few visits, and of a catalogue of them."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "pool.db") as store:
        store.add([Source(url=url, kind="feed") for url in urls(POOL, 1, port)])
        config, now = Config(), time.time() - 4 * DAY
        decider = wiring.make_decider(config, store, HostSlots(config.politeness, now, Random()), now)
        ids, random, at = np.arange(POOL), np.random.default_rng(0), now
        for day in range(3):
            at = now + (day + 1) * DAY
            published = [sorted(at - random.uniform(0.0, DAY, random.poisson(2.0))) for _ in range(POOL)]
            decider.policy.observe(Visits(ids, at, published=published, new=np.zeros(POOL, np.int64)))
        return decider.policy.rows(ids), decider.memory.shared()


def teach(path: Path, sources: int, port: int) -> None:
    """Every source was visited thrice: it has a title, validators, what it listed, and the learner's record.

    The last visits are spread over two days: if all were of one age, they would all be wanted at once.
    """
    rows, shared = records(port)
    listing, random = packed(range(1, LISTED + 1)), Random(2)
    with SqliteStore(path) as store:
        for start in range(1, sources + 1, CHUNK):
            ids = range(start, min(start + CHUNK, sources + 1))
            lines = store.sources(ids=ids)
            updates = []
            for line in lines:
                at = time.time() - 2.0 * DAY * random.random()
                line.title, line.kind = f"What {line.url[-20:]} has to say", "feed"
                progress = Progress(
                    source=line.id, last=at, visits=3, value=2.0, value_sd=0.5, rate=3e-5, rate_sd=0.0, due=at + DAY,
                    etag=f'"{line.id:032x}"', belief=rows[line.id % POOL], listing=listing,
                )  # fmt: skip
                crawl = Crawl(source=line.id, at=at, outcome="unchanged")
                updates.append(VisitUpdate(crawl=crawl, progress=progress, source=line))
            store.commit(Batch(updates=updates))
        store.commit(Batch(shared=shared))


async def measured(folder: Path, server: Server, budget: str, seconds: float, web: bool, sources: int,
                   environment: dict[str, str]) -> tuple[Cost, dict[str, list[float]]]:  # fmt: skip
    await asyncio.sleep(1.0)
    server.first, began = 0.0, time.perf_counter()
    with open(folder / "output.txt", "wb") as output:
        child = subprocess.Popen([*RECRAWL, "run", "--json"], cwd=folder, stdout=output, stderr=output, env=environment)
    try:
        while not server.first:
            if child.poll() is not None:
                sys.exit(f"it ended:\n{(folder / 'output.txt').read_text()[-2000:]}")
            await asyncio.sleep(0.02)
        spent, first_mb = cpu_s(child.pid), memory_mb(child.pid, "VmRSS")
        await asyncio.sleep(SETTLE_S)
        before, asked = cpu_s(child.pid), server.requests
        await asyncio.sleep(seconds)
        share, requests = (cpu_s(child.pid) - before) / seconds, server.requests - asked
        wait = max(DELAY_S, 1.0 / parse_rate("--budget", budget))
        cost = Cost(
            server.first - began - wait, spent, first_mb, memory_mb(child.pid, "VmRSS"),
            memory_mb(child.pid, "VmHWM"), share, requests,
        )  # fmt: skip
        answers = await asyncio.to_thread(answered, folder, sources, environment) if web else {}
        return cost, answers
    finally:
        child.terminate()
        child.wait()


def answered(folder: Path, sources: int, environment: dict[str, str]) -> dict[str, list[float]]:
    """Milliseconds of some pages, asked in turn while the crawl goes on."""
    random, times = Random(1), dict[str, list[float]]()
    command = [*RECRAWL, "serve", "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        root = server.stdout.readline().split("//")[1].split("/")[0]
        for turn in range(21):
            one = random.randint(1, sources)
            for name, path in {
                "overview": "/",
                "sources": "/sources",
                "sources, far": f"/sources?page={random.randint(1, sources // 100)}",
                "sources, by value": "/sources?order=-value",
                "sources, far by value": f"/sources?order=-value&page={random.randint(1, sources // 100)}",
                "API sources": f"/api/v1/sources?page={random.randint(1, sources // 100)}",
                "sources, text": f"/sources?q=feeds/{one}",
                "a source": f"/sources/{one}",
                "explain": f"/api/v1/explain/{one}",
                "what if": f"/whatif?budget={random.uniform(20, 2000):.1f}/s",
                "API status": "/api/v1/status",
                "metrics": "/metrics",
            }.items():
                began = time.perf_counter()
                with urllib.request.urlopen(f"http://{root}{path}", timeout=120) as answer:
                    answer.read()
                if turn:
                    times.setdefault(name, []).append(1000.0 * (time.perf_counter() - began))
        return times
    finally:
        server.terminate()
        server.wait()


def growth(rows: Sequence[tuple[int, Run]]) -> str:
    """Two Markdown tables: what the catalogue costs, and its pages where they were asked for."""
    sizes = [size for size, _ in rows]
    memory = [math.nan, *((b.cost.rest_mb - a.cost.rest_mb) * 2**20 / (m - n) for (n, a), (m, b) in pairwise(rows))]
    figures = {
        "import, s": [run.import_s for _, run in rows],
        "its CPU s": [run.import_cpu_s for _, run in rows],
        "start, s": [run.cost.first_s for _, run in rows],
        "its CPU s ": [run.cost.start_cpu_s for _, run in rows],
        "MB at rest": [run.cost.rest_mb for _, run in rows],
        "at most": [run.cost.highest_mb for _, run in rows],
        "bytes per further source": memory,
        "% of a core at rest": [100.0 * run.cost.rest_share for _, run in rows],
        "store, MB": [run.store_mb for _, run in rows],
    }
    tables = [grown("sources", sizes, figures)]
    if any(run.answers for _, run in rows):
        pages = {name: [float(np.percentile(run.answers[name], 95)) for _, run in rows] for name in rows[0][1].answers}
        tables.append("p95 of pages, ms, beside the crawl\n\n" + grown("sources", sizes, pages))
    return "\n\n".join(tables)


def environments(before: Path | None) -> dict[str, dict[str, str]]:
    found = {"": dict(os.environ)}
    if before is not None:
        source = before / "src" if (before / "src").is_dir() else before
        found = {"before": os.environ | {"PYTHONPATH": str(source)}, "now": dict(os.environ)}
    return found


async def bench(sizes: list[int], given: argparse.Namespace) -> None:
    server, ways = Server(), environments(given.before)
    listening = await asyncio.start_server(server.answer, "0.0.0.0", 0)
    port, rows = listening.sockets[0].getsockname()[1], {name: list[tuple[int, Run]]() for name in ways}
    for sources in sizes:
        for name, environment in ways.items():
            folder = Path(tempfile.mkdtemp(prefix="recrawl-catalogue-", dir=given.folder))
            try:
                rows[name].append((sources, await at_size(sources, folder, server, port, given, name, environment)))
            finally:
                shutil.rmtree(folder)
    for name, runs in rows.items():
        print(f"\n{name}\n\n{growth(runs)}", flush=True)
    listening.close()


async def at_size(sources: int, folder: Path, server: Server, port: int, given: argparse.Namespace,
                  name: str, environment: dict[str, str]) -> Run:  # fmt: skip
    (folder / "recrawl.toml").write_text(f'budget = "{given.budget}"\n[fetch]\nallow_private = true\n')
    took, cpu = await asyncio.to_thread(taken_in, folder, sources, given.per_host, port, environment)
    print(f"{sources:,} sources {name}: taken in within {took:.1f} s ({cpu:.1f} CPU s)", flush=True)
    store = folder / "recrawl.db"
    teaching = [sys.executable, "-m", "benchmarks.catalogue", "--teach", str(store), str(sources), str(port)]
    await asyncio.to_thread(subprocess.run, teaching, env=environment, check=True)
    size = store.stat().st_size
    print(f"  the store is {size / 1e6:,.0f} MB, {size / sources:,.0f} bytes per source", flush=True)
    cost, answers = await measured(folder, server, given.budget, given.seconds, given.web, sources, environment)
    print(
        f"  first request after {cost.first_s:.1f} s ({cost.start_cpu_s:.1f} CPU s), memory "
        f"{cost.first_mb:.0f} MB then, {cost.rest_mb:.0f} at rest, at most {cost.highest_mb:.0f}; "
        f"{cost.rest_share:.2%} of a processor at {given.budget} ({cost.requests} requests in {given.seconds:g} s)",
        flush=True,
    )
    for page, times in answers.items():
        print(f"    {page:<20}{np.median(times):>8.0f} ms{np.percentile(times, 95):>8.0f} ms p95", flush=True)
    return Run(took, cpu, size / 1e6, cost, answers)


def classes(sources: int, per_host: int) -> None:
    """What is held per source in a decider over a store: arrays by where they hang, and other objects by class."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recrawl.db"
        with SqliteStore(path) as store:
            given = list(urls(sources, per_host, 80))
            for start in range(0, sources, CHUNK):
                store.add([Source(url=url, kind="feed") for url in given[start : start + CHUNK]])
        teach(path, sources, 80)
        with SqliteStore(path) as store:
            config, now = Config(), time.time()
            gc.collect()
            before, numbers = held(), 0
            decider = wiring.make_decider(config, store, HostSlots(config.politeness, now, Random()), now)
            for turn in range(1 if sources > 200_000 else 3):
                decider.policy.choose(now + turn, 10.0)
            gc.collect()
            after = held()
            arrays = columns_of(decider)
            for name, size in arrays.most_common(60):
                if size / sources >= 0.5:
                    numbers += size
                    print(f"{size / sources:>10.1f} bytes per source  {name}")
            print(f"{numbers / sources:>10.1f} in all of these")
            for name, (count, size) in sorted(after.items(), key=lambda item: -item[1][1])[:15]:
                more, extra = count - before.get(name, (0, 0))[0], size - before.get(name, (0, 0))[1]
                if extra / sources >= 1.0:
                    print(f"{extra / sources:>10.1f} bytes per source  {more:>9,} objects of {name}")


def held() -> dict[str, tuple[int, int]]:
    """Objects by class: how many, and bytes. Those the collector does not follow are found in their containers."""
    seen, found = set[int](), dict[str, tuple[int, int]]()
    own = id(seen)
    waiting: list[Any] = gc.get_objects()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or id(each) == own:
            continue
        seen.add(id(each))
        name = type(each).__name__
        count, size = found.get(name, (0, 0))
        found[name] = count + 1, size + sys.getsizeof(each)
        if isinstance(each, dict):
            waiting += [x for pair in each.items() for x in pair if isinstance(x, str | bytes | int | float)]
        elif isinstance(each, list | tuple | set):
            waiting += [x for x in each if isinstance(x, str | bytes | int | float)]
    return found


def columns_of(root: Any) -> Counter[str]:
    """Bytes of arrays, by the way to them."""
    found, seen = Counter[str](), set[int]()
    waiting = [("", root)]
    while waiting:
        path, each = waiting.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            found[path] += each.nbytes if each.base is None else 0
        elif type(each).__name__ in ("array", "bytearray"):
            found[path] += sys.getsizeof(each)
        elif isinstance(each, dict) and len(each) < 1000:
            waiting += [(f"{path}[{key}]", value) for key, value in each.items()]
        elif isinstance(each, tuple | list) and len(each) < 1000:
            names = getattr(each, "_fields", range(len(each)))
            waiting += [(f"{path}.{name}", value) for name, value in zip(names, each, strict=True)]
        elif hasattr(each, "__dict__") and type(each).__module__.startswith("recrawl"):
            waiting += [(f"{path}.{name}", value) for name, value in vars(each).items()]
        elif hasattr(each, "__slots__") and type(each).__module__.startswith("recrawl"):
            waiting += [(f"{path}.{name}", getattr(each, name, None)) for name in each.__slots__]
    return found


LASTS = "About nine minutes on an idle machine of two cores with --web, seven without; 3 GB of disk."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=LASTS
    )
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e4, 1e5, 1e6])
    parser.add_argument("--per-host", type=int, default=2)
    parser.add_argument("--budget", default="60/min")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--web", action="store_true", help="ask pages of the web, too")
    parser.add_argument("--before", type=Path, help="another tree, to compare with")
    parser.add_argument("--folder", type=Path, help="where stores are made; by default the temporary folder")
    parser.add_argument("--classes", action="store_true", help="which objects hold the memory")
    parser.add_argument("--quick", action="store_true", help="two small sizes, and a short rest")
    parser.add_argument("--teach", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.teach:
        teach(Path(given.teach[0]), int(given.teach[1]), int(given.teach[2]))
        return
    if given.quick:
        given.sizes, given.seconds = [2e3, 2e4], 10.0
    sizes = [round(size) for size in given.sizes]
    if given.classes:
        classes(sizes[-1], given.per_host)
    else:
        asyncio.run(bench(sizes, given))


if __name__ == "__main__":
    main()
