"""The calendar against looking at everybody, in one run: time per decision, per tick, memory, build.

    python -m benchmarks.calendar [--sizes 1e5 1e6 1e7] [--ticks 300]

Arrivals are lognormal over four decades, ages staggered as at steady state, and the tick is such that a catalogue of
any size is in the same regime: about a third of it is worth crawling at the price. `swing` lets the budget move by
±50 %. Peers: the same choice by a guarded NumPy scan with argpartition and by the fused numba scan, and `heapq` with
one timer per source at a fixed price, which is not exact and knows no price. 10⁸ sources need 12 GB and a few minutes:
`--sizes 1e8 --no-peers`.

    python -m benchmarks.calendar [...] [--before TREE]

With `--before`, a folder with an earlier version of the sources, the calendar is also measured with those, each in a
process of its own. All times are processor time of the calling thread, so a busy machine does not count, except that
it leaves less of the cache. At the end, how the time of a decision grows with the number of sources.
"""

from __future__ import annotations

import sys

# The standard library has a module of this name, which others must find instead of this file.
sys.path.pop(0)

import argparse
import heapq
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.timing import grown

from recrawl.kernels.continuous_index import ages_at_price
from recrawl.records import FloatArray
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.scan import scan

# One source in this many time units on average: in units of 1/decay about 2.
PERIOD = 20.0
ROOT = Path(__file__).resolve().parents[1]


def ages(value: FloatArray, rate: FloatArray, price: float) -> FloatArray:
    out = np.empty(len(value))
    ages_at_price(value, rate, np.full(len(value), price), np.ones(len(value)), out)
    return out


def steady_price(value: FloatArray, rate: FloatArray, frequency: float) -> float:
    """The price at which a source is crawled `frequency` times per time unit on average."""
    low, high = 1e-9, float(value.max())
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if (1 / ages(value, rate, middle)).mean() > frequency else (low, middle)
    return low


def catalogue(size: int, seed: int = 1) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    rng = np.random.default_rng(seed)
    rate = 10 ** rng.normal(-1.0, 0.25, size)
    value = 10 ** rng.normal(0.0, 1.0, size) / rate
    price = steady_price(value[: 1 << 18], rate[: 1 << 18], 1 / PERIOD)
    period = ages(value, rate, price)
    last = -rng.random(size) * np.where(np.isfinite(period), period, 100.0 / rate)
    return value, rate, last, price


def timed(call: Callable[[int], object], ticks: int) -> FloatArray:
    seconds = np.empty(ticks)
    for k in range(ticks):
        start = time.thread_time()
        call(k)
        seconds[k] = time.thread_time() - start
    return seconds


def row(name: str, size: int, budget: float, seconds: FloatArray, extra: str = "") -> None:
    per = seconds.sum() / (budget * len(seconds)) * 1e9
    p50, p99 = np.quantile(seconds, [0.5, 0.99]) * 1e3
    print(
        f"{name:<26}{size:>12,}{budget:>9,.0f}{per:>14,.0f}{p50:>11.3f}{p99:>11.3f}{p99 / p50:>8.1f}  {extra}",
        flush=True,
    )


def calendar_times(size: int, budget: int, ticks: int) -> tuple[dict[str, FloatArray], str]:
    """Seconds of every tick, at an even budget and with a swinging one; and what else there is to say."""
    value, rate, last, _ = catalogue(size)
    tick = PERIOD * budget / size
    start = time.thread_time()
    calendar = Calendar(value, rate, last=last)
    calendar.choose(0.0, budget)
    built = time.thread_time() - start
    del value, rate, last
    timed(lambda k: calendar.choose((k + 1) * tick, budget), 50)
    even = timed(lambda k: calendar.choose((k + 51) * tick, budget), ticks)
    swing = timed(lambda k: calendar.choose((k + 51 + ticks) * tick, budget * (1 + 0.5 * np.sin(k / 20))), ticks)
    return {
        "calendar": even,
        "calendar, swing": swing,
    }, f"{calendar.nbytes / size:.1f} B/source, built in {built:.2f} s"


def calendar_rows(name: str, tree: Path, size: int, budget: int, ticks: int) -> dict[str, float]:
    """Measure the calendar of some tree in a process of its own; nanoseconds per decision of each row printed."""
    command = [sys.executable, "-m", "benchmarks.calendar", "--child", str(size), str(budget), str(ticks)]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    run = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found, extra = json.loads(run.stdout)
    for way, seconds in found.items():
        row(f"{way}{name}", size, budget, np.array(seconds), extra)
    return {f"{way}{name}": float(np.mean(seconds)) / budget * 1e9 for way, seconds in found.items()}


def numpy_scan(value: FloatArray, rate: FloatArray, last: FloatArray, now: float, budget: int) -> np.ndarray:
    s = np.minimum(rate * np.maximum(now - last, 0.0), 700.0)
    index = np.where(s < 1e-4, value * s * s * (0.5 - s / 3), value * -(np.expm1(-s) + s * np.exp(-s)))
    chosen = np.argpartition(index, -budget)[-budget:]
    return chosen[np.lexsort((chosen, -index[chosen]))]


def peer_rows(size: int, budget: int, ticks: int) -> None:
    value, rate, last, price = catalogue(size)
    tick = PERIOD * budget / size

    def by(choose: Callable[[float], np.ndarray]) -> Callable[[int], None]:
        def call(k: int) -> None:
            last[choose((k + 1) * tick)] = (k + 1) * tick

        return call

    few = max(3, min(ticks, int(3e7 // size)))
    row("numpy scan", size, budget, timed(by(lambda now: numpy_scan(value, rate, last, now, budget)), few))
    scan(value[:10], rate[:10], last=last[:10], now=1.0, budget=2)
    row(
        "fused numba scan",
        size,
        budget,
        timed(by(lambda now: scan(value, rate, last=last, now=now, budget=budget)), few),
    )
    if size > 1_000_000:
        return
    period = ages(value, rate, price)
    heap = [(t, i) for i, t in enumerate((last + period).tolist()) if t < np.inf]
    heapq.heapify(heap)

    def timers(k: int) -> None:
        for _ in range(budget):
            due, source = heap[0]
            heapq.heapreplace(heap, (max(due, k * tick) + float(period[source]), source))

    row("heapq timers", size, budget, timed(timers, few), "fixed price, not exact")


LASTS = (
    "About a minute on an idle machine of two cores with --budgets 1000 --ticks 250 --no-peers; with the peers, ten."
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=LASTS
    )
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[10**5, 10**6, 10**7])
    parser.add_argument("--budgets", nargs="+", type=int, default=[1000, 10_000])
    parser.add_argument("--ticks", type=int, default=300)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--before", type=Path, metavar="TREE", help="also with the sources of this tree")
    parser.add_argument("--child", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    value, rate, last, _ = catalogue(50_000)
    warm = Calendar(value, rate, last=last)
    for k in range(5):
        warm.choose(0.1 * k, 100)
    if given.child:
        times, extra = calendar_times(*given.child)
        print(json.dumps([{way: seconds.tolist() for way, seconds in times.items()}, extra]))
        return
    trees = {"": ROOT} | ({", before": given.before} if given.before else {})
    costs: dict[tuple[str, int], list[float]] = {}
    print(
        f"{'':<26}{'sources':>12}{'budget':>9}{'ns/decision':>14}{'p50 ms':>11}{'p99 ms':>11}{'p99/50':>8}",
        flush=True,
    )
    for size in given.sizes:
        for budget in given.budgets:
            for name, tree in trees.items():
                for way, cost in calendar_rows(name, tree, size, budget, given.ticks).items():
                    costs.setdefault((way, budget), []).append(cost)
            if not given.no_peers and size <= 10**7:
                peer_rows(size, budget, given.ticks)
    for budget in given.budgets:
        found = {f"{way}: ns per decision": cost for (way, each), cost in costs.items() if each == budget}
        print(f"\n{budget:,} of them per tick\n\n{grown('sources', given.sizes, found)}\n")
    used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    peak = max(used) / 2**20
    print(f"peak memory of a process: {peak:.1f} GiB")


if __name__ == "__main__":
    main()
