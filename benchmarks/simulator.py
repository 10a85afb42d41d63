"""Source-steps per second of the simulator, beside a plain NumPy loop over slots, in one run.

    python -m benchmarks.simulator [--sizes 100 1000 10000] [--before TREE] [--rounds 3]

With `--before`, a folder with an earlier version of the sources, each size is also measured with those, in turns. Rates
are of all cores together; a busy machine is allowed for, because they are reckoned from processor time: what one core
does in a second of its time, times the number of cores where runs share them. The NumPy loop has one core. In the
expected world all runs are the same, and one is simulated: both figures are given, of one run and of a hundred.
The last line of each size is how its time grows with the number of sources.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import recrawl

ROOT = Path(__file__).resolve().parents[1]
STEPS, RUNS = 200, 100
WORLDS: dict[str, tuple[str | None, bool, int]] = {
    "expected worth, one run": (None, False, 1),
    "expected worth": (None, False, RUNS),
    "Poisson arrivals": ("poisson", False, RUNS),
    "Poisson arrivals, observed": ("poisson", True, RUNS),
}


def catalogue(size: int) -> recrawl.Sources:
    random = np.random.default_rng(1)
    return recrawl.Sources.ephemeral(
        arrival_rate=random.lognormal(-1, 1, size),
        interest=random.lognormal(0, 0.5, size),
        decay=random.lognormal(-2.5, 1, size),
    )


def plain_loop(sources: recrawl.Sources, noise: str | None, observed: bool, steps: int, seed: int) -> float:
    """One run the way one writes it first: every slot a handful of array operations; the mean reward."""
    random = np.random.default_rng(seed)
    n, alpha, rate, inflow = len(sources), sources.decay_factor, sources.decay_rate, sources.inflow
    ceiling, cost, budget = sources.ceiling, sources.cost, n // 20
    worth, slots, total = np.zeros(n), np.zeros(n), 0.0
    for _ in range(steps):
        fresh = inflow
        if noise == "poisson":
            owner = np.repeat(np.arange(n), random.poisson(sources.arrivals_per_slot))
            fresh = sources.interest * np.bincount(owner, np.exp(-rate[owner] * random.random(len(owner))), n)
        worth, slots = alpha * worth + fresh, slots + 1
        if observed:
            rest = np.maximum(1 - worth / ceiling, 1e-300)
            eta = np.maximum(1, np.ceil(np.log(rest) / -rate))
            index = np.where(worth < ceiling, ceiling * (1 - alpha**eta) - eta * inflow * rest, worth) / cost
        else:
            kept = alpha**slots
            index = (ceiling * (1 - kept) - slots * inflow * kept) / cost
        chosen = np.argpartition(index, n - budget)[n - budget :]
        total += worth[chosen].sum()
        worth[chosen], slots[chosen] = 0.0, 0.0
    return total / steps


def measured(size: int, world: str) -> dict[str, float]:
    """Nanoseconds of processor time per source-step, and the mean reward, of ours and of the loop."""
    noise, observed, runs = WORLDS[world]
    sources, budget = catalogue(size), size // 20
    recrawl.simulate(sources, "whittle", budget, steps=5, runs=2, noise=noise, observed=observed)
    started = time.process_time()
    found = recrawl.simulate(sources, "whittle", budget, steps=STEPS, runs=runs, noise=noise, observed=observed)
    ours = (time.process_time() - started) / (size * STEPS * runs)
    started = time.thread_time()
    loop = plain_loop(sources, noise, observed, STEPS, seed=1)
    plain = (time.thread_time() - started) / (size * STEPS)
    return {"ours": ours * 1e9, "loop": plain * 1e9, "reward": found.mean_reward, "reward of the loop": loop}


def child(tree: Path, size: int) -> dict[str, dict[str, float]]:
    """What a process of its own measures with some sources."""
    command = [sys.executable, "-m", "benchmarks.simulator", "--child", str(size)]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    run = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, float]] = json.loads(run.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--before", type=Path, metavar="TREE", help="also with the sources of this tree")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps({world: measured(given.child, world) for world in WORLDS}))
        return
    trees = {"now": ROOT} | ({"before": given.before} if given.before else {})
    cores = os.cpu_count() or 1
    print(f"million source-steps per second; a twentieth crawled per slot, {STEPS} slots, {cores} cores")
    print(f"{'':<28}{'':>8}{'sources':>9}{'recrawl':>12}{'NumPy loop':>12}{'ratio':>9}{'rewards':>22}")
    times: dict[tuple[str, str], list[float]] = {}
    for size in given.sizes:
        rounds = [{name: child(tree, size) for name, tree in trees.items()} for _ in range(given.rounds)]
        for world, (_, _, runs) in WORLDS.items():
            for name in trees:
                found = [each[name][world] for each in rounds]
                ours, loop = min(f["ours"] for f in found), min(f["loop"] for f in found)
                times.setdefault((world, name), []).append(ours)
                shared = cores if runs > 1 else 1
                print(
                    f"{world:<28}{name:>8}{size:>9,}{shared * 1e3 / ours:>12.1f}{1e3 / loop:>12.1f}"
                    f"{shared * loop / ours:>8.1f}×{found[0]['reward']:>12.2f}{found[0]['reward of the loop']:>10.2f}",
                    flush=True,
                )
    if len(given.sizes) > 1:
        print("time per slot grows with the number of sources to the power of")
        logs = [math.log(size) for size in given.sizes]
        for (world, name), ours in times.items():
            power = 1 + float(np.polyfit(logs, np.log(ours), 1)[0])
            print(f"{world:<28}{name:>8}{power:>9.2f}")


if __name__ == "__main__":
    main()
