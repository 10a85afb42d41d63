"""Nanoseconds per source of each kernel on a million sources, beside the plain NumPy way, in one run.

The NumPy forms are what one writes first: correct on easy input, without the guards, and with their temporaries.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.timing import Row, best, table
from scipy.special import lambertw

import recrawl

SOURCES = 1_000_000


def main() -> None:
    random = np.random.default_rng(0)
    sources = recrawl.Sources.ephemeral(
        arrival_rate=random.lognormal(0, 2, SOURCES),
        interest=random.lognormal(0, 1, SOURCES),
        decay=random.lognormal(-2, 1, SOURCES),
    )
    alpha, inflow, ceiling, cost = sources.decay_factor, sources.inflow, sources.ceiling, sources.cost
    rate = sources.decay_rate
    slots = random.integers(1, 60, SOURCES).astype(float)
    state = ceiling * random.uniform(0, 0.999, SOURCES)
    price = ceiling * random.uniform(0, 0.9, SOURCES)

    def orbit() -> np.ndarray:
        kept = alpha**slots
        return (ceiling * (1 - kept) - slots * inflow * kept) / cost

    def theorem() -> np.ndarray:
        eta = np.ceil(np.log(1 - (1 - alpha) * state / inflow) / np.log(alpha))
        return (eta * ((1 - alpha) * state - inflow) + (1 - alpha**eta) / (1 - alpha) * inflow) / cost

    def continuous() -> np.ndarray:
        s = rate * slots
        return ceiling / cost * (1 - (1 + s) * np.exp(-s))

    def inverse() -> np.ndarray:
        return (-1 - lambertw((price * cost / ceiling - 1) / np.e, -1).real) / rate

    pairs: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("γ_k on the orbit", lambda: recrawl.whittle_index_after(sources, slots), orbit),
        ("Theorem 1 on any state", lambda: recrawl.whittle_index(sources, state), theorem),
        ("continuous index", lambda: recrawl.continuous_index(ceiling, rate, slots, cost), continuous),
        ("crossing age", lambda: recrawl.crossing_age(ceiling, rate, price, cost), inverse),
    ]
    rows = []
    for name, ours, plain in pairs:
        np.testing.assert_allclose(ours(), plain(), rtol=1e-4, atol=1e-9)
        # Alternating, so that a busy machine slows both alike.
        fast, slow = best(ours, plain)
        rows.append(Row(name, fast / SOURCES * 1e9, slow / SOURCES * 1e9))
    print(table(f"ns per source, {SOURCES:,} sources", ("recrawl", "NumPy"), rows))
    bound, _ = best(lambda: recrawl.relaxed_bound(sources, SOURCES / 1000), lambda: None, repeats=2)
    print(f"\ndual bound of {SOURCES:,} sources: {bound:.2f} s")


if __name__ == "__main__":
    main()
