"""The calendar against looking at everybody, in one run: time per decision, per tick, memory, build.

    python -m benchmarks.calendar [--sizes 1e5 1e6 1e7] [--ticks 300]

Arrivals are lognormal over four decades, ages staggered as at steady state, and the tick is such that a catalogue of
any size is in the same regime: about a third of it is worth crawling at the price. `swing` lets the budget move by
±50 %. Peers: the same choice by a guarded NumPy scan with argpartition and by the fused numba scan, and `heapq` with
one timer per source at a fixed price, which is not exact and knows no price. 10⁸ sources need 12 GB and a few minutes:
`--sizes 1e8`.
"""

from __future__ import annotations

import sys

# The standard library has a module of this name, which others must find instead of this file.
sys.path.pop(0)

import argparse
import heapq
import resource
import time
from collections.abc import Callable

import numpy as np

from recrawl.kernels.continuous_index import ages_at_price
from recrawl.records import FloatArray
from recrawl.scheduling.calendar import Calendar
from recrawl.scheduling.scan import scan

# One source in this many time units on average: in units of 1/decay about 2.
PERIOD = 20.0


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
        start = time.perf_counter()
        call(k)
        seconds[k] = time.perf_counter() - start
    return seconds


def row(name: str, size: int, budget: float, seconds: FloatArray, extra: str = "") -> None:
    per = seconds.sum() / (budget * len(seconds)) * 1e9
    p50, p99 = np.quantile(seconds, [0.5, 0.99]) * 1e3
    print(
        f"{name:<18}{size:>12,}{budget:>9,.0f}{per:>14,.0f}{p50:>11.3f}{p99:>11.3f}{p99 / p50:>8.1f}  {extra}",
        flush=True,
    )


def calendar_rows(size: int, budget: int, ticks: int) -> None:
    value, rate, last, _ = catalogue(size)
    tick = PERIOD * budget / size
    start = time.perf_counter()
    calendar = Calendar(value, rate, last=last)
    calendar.choose(0.0, budget)
    built = time.perf_counter() - start
    del value, rate, last
    timed(lambda k: calendar.choose((k + 1) * tick, budget), 50)
    seconds = timed(lambda k: calendar.choose((k + 51) * tick, budget), ticks)
    row("calendar", size, budget, seconds, f"{calendar.nbytes / size:.1f} B/source, built in {built:.2f} s")
    swing = timed(lambda k: calendar.choose((k + 51 + ticks) * tick, budget * (1 + 0.5 * np.sin(k / 20))), ticks)
    row("calendar, swing", size, budget, swing)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=[10**5, 10**6, 10**7])
    parser.add_argument("--budgets", nargs="+", type=int, default=[1000, 10_000])
    parser.add_argument("--ticks", type=int, default=300)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    value, rate, last, _ = catalogue(50_000)
    warm = Calendar(value, rate, last=last)
    for k in range(5):
        warm.choose(0.1 * k, 100)
    print(
        f"{'':<18}{'sources':>12}{'budget':>9}{'ns/decision':>14}{'p50 ms':>11}{'p99 ms':>11}{'p99/50':>8}",
        flush=True,
    )
    for size in given.sizes:
        for budget in given.budgets:
            calendar_rows(size, budget, given.ticks)
            if not given.no_peers and size <= 10**7:
                peer_rows(size, budget, given.ticks)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the whole run: {peak:.1f} GiB")


if __name__ == "__main__":
    main()
