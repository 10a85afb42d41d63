"""Source-steps per second of the simulator, beside a plain NumPy loop over slots, in one run."""

from __future__ import annotations

import time

import numpy as np

import recrawl

SOURCES, BUDGET = 1000, 50


def plain_loop(sources: recrawl.Sources, noise: str | None, observed: bool, steps: int, seed: int) -> float:
    """One run the way one writes it first: every slot a handful of array operations; the mean reward."""
    random = np.random.default_rng(seed)
    n, alpha, rate, inflow = len(sources), sources.decay_factor, sources.decay_rate, sources.inflow
    ceiling, cost = sources.ceiling, sources.cost
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
        chosen = np.argpartition(index, n - BUDGET)[n - BUDGET :]
        total += worth[chosen].sum()
        worth[chosen], slots[chosen] = 0.0, 0.0
    return total / steps


def main() -> None:
    random = np.random.default_rng(1)
    sources = recrawl.Sources.ephemeral(
        arrival_rate=random.lognormal(-1, 1, SOURCES),
        interest=random.lognormal(0, 0.5, SOURCES),
        decay=random.lognormal(-2.5, 1, SOURCES),
    )
    print(f"million source-steps per second; {SOURCES} sources, {BUDGET} crawls per slot, 100 runs")
    print(f"{'':<34}{'recrawl':>12}{'NumPy loop':>12}{'ratio':>9}{'rewards':>22}")
    for name, noise, observed in (
        ("expected worth", None, False),
        ("Poisson arrivals", "poisson", False),
        ("Poisson arrivals, observed", "poisson", True),
    ):
        recrawl.simulate(sources, "whittle", BUDGET, steps=5, runs=2, noise=noise, observed=observed)
        best = [0.0, 0.0]
        for _ in range(3):
            started = time.perf_counter()
            ours = recrawl.simulate(
                sources, "whittle", BUDGET, steps=200, runs=100, noise=noise, observed=observed
            ).mean_reward
            best[0] = max(best[0], SOURCES * 200 * 100 / (time.perf_counter() - started))
            started = time.perf_counter()
            other = plain_loop(sources, noise, observed, steps=200, seed=1)
            best[1] = max(best[1], SOURCES * 200 / (time.perf_counter() - started))
        figures = f"{best[0] / 1e6:>12.1f}{best[1] / 1e6:>12.1f}{best[0] / best[1]:>8.1f}×"
        print(f"{name:<34}{figures}{ours:>12.2f}{other:>10.2f}")


if __name__ == "__main__":
    main()
