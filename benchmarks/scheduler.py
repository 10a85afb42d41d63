"""What deciding and remembering cost through `recrawl.Scheduler`: processor time per `due` and `report`, and memory.

Keys are feeds or pages, each crawled three times before. Time is a manual clock's: a key is asked for and reported
every `1/rate` seconds, so that with `write_every="1s"` a transaction holds about `rate` reports; at a rate below 1, as
in a replay, each is written by itself and hours pass. Memory is what the process holds more with the catalogue loaded
than without, per key; the catalogue is made by another process, so that nothing is left of making it.

    python -m benchmarks.scheduler [--sizes 1e3 1e4 1e5] [--rates 100 0.01] [--rounds 3000] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import multiprocessing
import pstats
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.timing import grown

from recrawl import wiring
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.records import Visits
from recrawl.scheduler import Scheduler
from recrawl.store.records import Batch, Progress, Source
from recrawl.store.sqlite import SqliteStore

BEGIN, DAY, CHUNK, PER_HOST = 1_700_000_000.0, 86400.0, 10_000, 10
KINDS = ("feeds", "pages")


def fill(path: str, kind: str, size: int) -> None:
    """A store of sources with three visits behind them."""
    store = SqliteStore(Path(path))
    lines = [Source(url=f"https://host{n // PER_HOST}.example/{n}.xml", kind="key") for n in range(size)]
    for start in range(0, size, CHUNK):
        store.add(lines[start : start + CHUNK])
    config = Config()
    decider = wiring.make_decider(config, store, HostSlots(config.politeness, BEGIN, random.Random(1)), BEGIN)
    ids, draw = np.arange(size), np.random.default_rng(0)
    paces = 10 ** draw.normal(0.0, 0.5, size)
    for day in range(1, 4):
        at = BEGIN + day * DAY
        if kind == "feeds":
            news = [sorted(at - draw.uniform(0.0, DAY, count)) for count in draw.poisson(paces).tolist()]
            decider.policy.observe(Visits(ids, at, published=news, new=np.zeros(size, np.int64)))
        else:
            decider.policy.observe(Visits(ids, at, changed=draw.poisson(paces) > 0))
    for start in range(0, size, CHUNK):
        some = ids[start : start + CHUNK]
        told = zip(some.tolist(), decider.policy.rows(some), strict=True)
        progress = [Progress(source=decider.roster.source(n).id, last=at, visits=3, belief=row) for n, row in told]
        store.commit(Batch(progress=progress))
    store.commit(Batch(shared=decider.policy.shared()))
    store.close()


def elsewhere(work: Callable[..., None], *given: object) -> None:
    """In a process of its own."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=given)
    child.start()
    child.join()


def resident_kb() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def opened(path: Path, rate: float, clock: ManualClock) -> Scheduler:
    return Scheduler(path, rate, burst=2.0, write_every="1s", clock=clock)


def measured(scheduler: Scheduler, clock: ManualClock, kind: str, rate: float, rounds: int) -> tuple[float, float]:
    """Milliseconds of processor time for one `due` and for one `report` (read twice: reading is dear)."""
    due, reports = 0.0, 0
    began, counted = time.perf_counter(), time.process_time()
    for turn in range(2 * rounds):
        if reports >= rounds:
            break
        clock.advance(1.0 / rate)
        asked = time.perf_counter()
        keys = scheduler.due(limit=1)
        due += time.perf_counter() - asked
        for key in keys:
            if kind == "feeds":
                scheduler.report(key, published=[clock.now() - 5.0] if turn % 2 else [])
            else:
                scheduler.report(key, changed=turn % 2 == 0)
        reports += len(keys)
    both, share = time.process_time() - counted, due / (time.perf_counter() - began)
    return 1e3 * both * share / reports, 1e3 * both * (1.0 - share) / reports


def warm_up(kind: str) -> None:
    """Compile, and import, before anything is measured."""
    with tempfile.TemporaryDirectory() as folder:
        path, clock = Path(folder) / "recrawl.db", ManualClock(BEGIN + 4 * DAY)
        elsewhere(fill, str(path), kind, 20)
        with opened(path, 1.0, clock) as scheduler:
            measured(scheduler, clock, kind, 1.0, 5)


def bench(kind: str, size: int, rates: list[float], rounds: int, profile: bool, told: Path) -> None:
    """In a process of its own, so that memory is not that of others; its figures go into a file."""
    found: dict[str, float] = {}
    warm_up(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recrawl.db"
        elsewhere(fill, str(path), kind, size)
        for number, rate in enumerate(rates):
            clock = ManualClock(BEGIN + 4 * DAY)
            before = resident_kb()
            scheduler = opened(path, rate, clock)
            measured(scheduler, clock, kind, rate, 200)
            held = resident_kb() - before
            watch = cProfile.Profile()
            if profile:
                watch.enable()
            due, report = measured(scheduler, clock, kind, rate, rounds)
            watch.disable()
            if number == 0:
                found["bytes per key"] = 1024 * held / size
            found[f"due at {rate:g}/s: ms"], found[f"report at {rate:g}/s: ms"] = due, report
            memory = "" if number else f"{1024 * held / size:>12,.0f}"
            print(f"{kind:<8}{size:>9,}{rate:>10g}{due:>10.3f}{report:>10.3f}{due + report:>10.3f}{memory}", flush=True)
            if profile:
                pstats.Stats(watch).sort_stats("tottime").print_stats(45)
            scheduler.close()
    told.write_text(json.dumps(found))


LASTS = "About two minutes on an idle machine of two cores."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=LASTS)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--rates", type=float, nargs="+", default=[100.0, 0.01])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    print(f"{'':<8}{'keys':>9}{'per s':>10}{'due ms':>10}{'report ms':>10}{'both ms':>10}{'bytes/key':>12}")
    figures: dict[str, dict[str, list[float]]] = {kind: {} for kind in options.kinds}
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        for size in options.sizes:
            for kind in options.kinds:
                elsewhere(bench, kind, round(size), options.rates, options.rounds, options.profile, told)
                for name, figure in json.loads(told.read_text()).items():
                    figures[kind].setdefault(name, []).append(figure)
    for kind, found in figures.items():
        print(f"\n{kind}\n\n{grown('keys', options.sizes, found)}")


if __name__ == "__main__":
    main()
