"""What lists and pushes cost: time per listed page, per signal and per visit, and memory per page that is named.

A catalogue of pages, each visited three times, in lists of 50,000 pages. Each list is read for the first time, again
with nothing new, and with one page in a hundred modified; then pages are pushed, chosen and visited. Times are of one
core, the best of the readings; the ratio is to the same step of a catalogue that nobody names.

    python -m benchmarks.signals [--sizes 1e5 1e6] [--objective freshness]
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recrawl.learning.model import OBJECTIVES
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import Visits

NOW, DAY, LIST_SIZE, VISITS, PORTIONS = 1.75e9, 86400.0, 50_000, 500, 100


def resident_bytes() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def catalogue(pages: int, lists: int, objective: str) -> LearnedWhittle:
    """Pages of unlike paces, each visited three times, and lists nobody has read."""
    policy = LearnedWhittle(objective=objective)
    policy.start(
        pages + lists, NOW - 3 * DAY, labels=[f"https://site{n // LIST_SIZE}.example/{n}" for n in range(pages + lists)]
    )
    draw = np.random.default_rng(0)
    paces, order = 10 ** draw.normal(-1.5, 1.0, pages), draw.permutation(pages)
    for day in range(3):
        for part, ids in enumerate(np.array_split(order, PORTIONS)):
            changed = (draw.random(len(ids)) < -np.expm1(-paces[ids])) & (day > 0)
            policy.observe(Visits(ids, NOW + (day + part / PORTIONS - 3.0) * DAY, changed=changed))
    return policy


def spend(policy: LearnedWhittle, pages: int, begin: float) -> float:
    """Time per visit: choosing one page and learning from it."""

    def visits(first: int) -> None:
        for k in range(first, first + VISITS):
            at = begin + k
            ids = policy.choose(at, 1.0)
            if len(ids) and ids[0] < pages:
                policy.observe(Visits(ids, at, changed=np.array([k % 3 == 0])))
            else:
                policy.release(ids)

    visits(0)  # lets those sleep that are far from being chosen
    return seconds(lambda: visits(VISITS)) / VISITS


def measured(pages: int, objective: str) -> dict[str, float]:
    lists = -(-pages // LIST_SIZE)
    ids = [np.arange(k * LIST_SIZE, min((k + 1) * LIST_SIZE, pages)) for k in range(lists)]
    policy = catalogue(pages, lists, objective)
    plain = spend(policy, pages, NOW + DAY)
    before = resident_bytes()

    def read(at: float, lastmod: Callable[[np.ndarray], np.ndarray]) -> float:
        takes = [
            seconds(lambda k=k: policy.observe(Visits([pages + k], at, sitemap=[(ids[k], lastmod(ids[k]))])))
            for k in range(lists)
        ]
        return min(takes) / LIST_SIZE

    first = read(NOW + 2 * DAY, lambda some: np.full(len(some), NOW - DAY))
    memory = (resident_bytes() - before) / pages
    same = read(NOW + 3 * DAY, lambda some: np.full(len(some), NOW - DAY))
    some_new = read(NOW + 4 * DAY, lambda some: np.where(some % 100 == 0, NOW + 4 * DAY - some / 100, NOW - DAY))
    pushed = np.arange(0, pages, max(pages // 1000, 1))
    push = seconds(lambda: [policy.signal([n], NOW + 5 * DAY) for n in pushed.tolist()]) / len(pushed)
    listed = spend(policy, pages, NOW + 6 * DAY)
    return {
        "first reading, us per page": 1e6 * first,
        "reading again, us per page": 1e6 * same,
        "one page in 100 new, us per page": 1e6 * some_new,
        "a push, us": 1e6 * push,
        "a visit where nobody is named, us": 1e6 * plain,
        "a visit to what is named, us": 1e6 * listed,
        "ratio of these": listed / plain,
        "memory, bytes per page named": memory,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--objective", choices=OBJECTIVES, default="freshness")
    given = parser.parse_args(arguments)
    measured(2 * LIST_SIZE, given.objective)  # compiles
    found = {size: measured(int(size), given.objective) for size in given.sizes}
    print("".join([f"{'':38}", *(f"{size:>12,.0f}" for size in given.sizes)]))
    for name in next(iter(found.values())):
        print("".join([f"{name:38}", *(f"{found[size][name]:12.2f}" for size in given.sizes)]))


if __name__ == "__main__":
    main()
