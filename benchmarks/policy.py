"""What the learning policy alone costs: processor time per `choose` and per `choose` with its `observe`, and memory.

Feeds under "ephemeral" and "discovery", pages under "ephemeral" and "freshness", ten to a host. Every source is crawled
twice in turn, then as many by the policy itself in batches, so that ages and price are as they stay; then one token
is offered at a time, in steps of time such that the pace stays. Columns: a `choose` of one token, in the mean and the
dearest of them, and with its `observe`; what a visit costs in the batches, where the work done now and then for the
whole catalogue (fitting priors, planning, looking at everybody) is spread over all visits; the policy's bytes per
source; and how many sources are awake. Worlds are the same for both codes, except that what is chosen is up to each.

    python -m benchmarks.policy [--sizes 1e5 1e6] [--before COMMIT] [--calls 3000] [--rest SECONDS] [--profile]

With `--before`, each is also measured with the sources of that commit, in turns. With `--rest`, so is the share of a
processor that `recrawl run` takes with 10⁵ sources at 60 crawls a minute (benchmarks.start).
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import gc
import importlib.util
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recrawl.policies.contract import Policy
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import FloatArray, IntArray, Visits

ROOT = Path(__file__).resolve().parents[1]
BEGIN, DAY, HOUR = 1_700_000_000.0, 86400.0, 3600.0
ROUND_S, BATCHES, PER_HOST = 2 * DAY, 100, 10
MANY = 200_000
"""More sources than this are crawled once in turn, and so many of them by choice, before anything is measured."""
KINDS = ("feeds ephemeral", "feeds discovery", "pages ephemeral", "pages freshness")


def made(objective: str) -> Policy:
    """The policy as `recrawl run` has it, of whichever code is on the path."""
    options: dict[str, Any] = {"objective": objective, "half_life": 6 * HOUR, "max_age": 30 * DAY}
    if importlib.util.find_spec("recrawl.policies.learned_calendar"):
        made: Policy = importlib.import_module("recrawl.policies.learned_calendar").LearnedCalendar(**options)
        return made
    return LearnedWhittle(**options, rounds=50.0)


class World:
    """Sources that publish or change at paces over four decades, some per day."""

    def __init__(self, kind: str, size: int) -> None:
        self.what, objective = kind.split()
        self.random = np.random.default_rng(1)
        self.rate = 10 ** self.random.normal(-0.3, 0.7, size) / DAY
        self.last, self.now = np.full(size, BEGIN), BEGIN
        self.policy = made(objective)
        hosts = np.arange(size) // PER_HOST
        self.policy.start(size, BEGIN, groups=hosts, labels=[f"h{n // PER_HOST}.example/{n}" for n in range(size)])

    def visit(self, ids: IntArray) -> Visits:
        """What a crawl of some sources shows now."""
        gap, now = self.now - self.last[ids], self.now
        self.last[ids] = now
        count = self.random.poisson(self.rate[ids] * gap)
        if self.what == "pages":
            return Visits(ids, now, changed=count > 0)
        times = now - np.repeat(gap, count) * self.random.random(int(count.sum()))
        ends = np.cumsum(count).tolist()
        shown = [times[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return Visits(ids, now, published=shown, new=np.zeros(len(ids), np.int64))

    def grow_up(self) -> float:
        """Everybody in turn, then by choice; seconds of processor time per visit by choice."""
        size, taken, visits = len(self.rate), 0.0, 0
        for _ in range(2 if size <= MANY else 1):
            for some in np.array_split(np.arange(size), BATCHES):
                self.now += ROUND_S / BATCHES
                self.policy.observe(self.visit(some))
        for _ in range(round(min(1.0, MANY / size) * BATCHES)):
            self.now += ROUND_S / BATCHES
            began = time.process_time()
            ids = self.policy.choose(self.now, size / BATCHES)
            taken += time.process_time() - began
            shown = self.visit(ids)
            began = time.process_time()
            self.policy.observe(shown)
            taken, visits = taken + time.process_time() - began, visits + len(ids)
        return taken / max(visits, 1)

    def one_by_one(self, calls: int) -> tuple[FloatArray, float]:
        """Seconds of each `choose` of one token, and processor time of a `choose` with its `observe` in the mean."""
        seconds, both = np.zeros(calls), 0.0
        step = ROUND_S / len(self.rate)
        for k in range(calls):
            self.now += step
            began = time.process_time()
            ids = self.policy.choose(self.now, 1.0)
            seconds[k] = time.process_time() - began
            shown = self.visit(ids)
            began = time.process_time()
            self.policy.observe(shown)
            both += time.process_time() - began
        return seconds, seconds.mean() + both / calls


def resident() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def bench(name: str, kind: str, size: int, calls: int, profile: bool) -> None:
    """One row, in a process of its own."""
    small = World(kind, 2000)
    small.grow_up()
    small.one_by_one(20)
    before = resident()
    world = World(kind, size)
    others = world.rate.nbytes + world.last.nbytes
    per_visit = world.grow_up()
    world.one_by_one(calls // 2)
    held = resident() - before - others
    watch = cProfile.Profile()
    if profile:
        watch.enable()
    seconds, both = world.one_by_one(calls)
    watch.disable()
    ms = [1e3 * figure for figure in (seconds.mean(), seconds.max(), both, per_visit)]
    awake = getattr(getattr(world.policy, "ranking", world.policy), "awake", None)
    few = "" if awake is None else f"{len(awake.at(world.now)):>9,}"
    print(
        f"{kind:<17}{size:>10,}{name:>9}{ms[0]:>9.3f}{ms[1]:>9.1f}{ms[2]:>9.3f}{ms[3]:>11.4f}{held / size:>9,.0f}{few}"
    )
    if profile:
        pstats.Stats(watch).sort_stats("tottime").print_stats(25)


@contextlib.contextmanager
def sources_of(commit: str | None) -> Iterator[Path]:
    """A folder with the sources of a commit, or those of here."""
    if commit is None:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory(prefix="recrawl-before-") as folder:
        packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x"], cwd=folder, input=packed, check=True)
        yield Path(folder) / "src"


def with_sources(path: Path, *arguments: str) -> None:
    """Run a module of this folder in a process that has those sources."""
    subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(path)}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--before", metavar="COMMIT", help="also with the sources of this commit")
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rest", type=float, default=0.0, metavar="SECONDS", help="also watch `recrawl run` so long")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--name", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.name:
        bench(given.name, given.kinds[0], round(given.sizes[0]), given.calls, given.profile)
        return
    with contextlib.ExitStack() as stack:
        codes = {"now": stack.enter_context(sources_of(None))}
        if given.before:
            codes = {"before": stack.enter_context(sources_of(given.before)), **codes}
        head = (
            f"{'ms':<17}{'sources':>10}{'':>9}{'choose':>9}{'dearest':>9}{'+observe':>9}{'in batches':>11}{'bytes':>9}"
        )
        print(f"{head}{'awake':>9}", flush=True)
        for size in given.sizes:
            for kind in given.kinds:
                for name, path in codes.items():
                    options = ["--name", name, "--kinds", kind, "--sizes", f"{size:g}", "--calls", str(given.calls)]
                    with_sources(path, "benchmarks.policy", *options, *(["--profile"] if given.profile else []))
        for name, path in codes.items() if given.rest else ():
            print(f"recrawl run at rest, {name}:", flush=True)
            with_sources(path, "benchmarks.start", "--seconds", f"{given.rest:g}")


if __name__ == "__main__":
    main()
