"""Timing two ways side by side, and printing the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """A thing measured: ours, the other way, in the same unit; smaller is better."""

    name: str
    ours: float
    other: float


def best(ours: Callable[[], object], other: Callable[[], object], repeats: int = 7) -> tuple[float, float]:
    """The shortest of some alternating repeats of each, in seconds; the first call of each is not counted."""
    ours(), other()
    least = [float("inf"), float("inf")]
    for _ in range(repeats):
        for place, work in enumerate((ours, other)):
            started = time.perf_counter()
            work()
            least[place] = min(least[place], time.perf_counter() - started)
    return least[0], least[1]


def table(title: str, columns: tuple[str, str], rows: list[Row], figure: str = ",.1f") -> str:
    """Rows that line up, with the ratio."""
    lines = [title, f"{'':<34}{columns[0]:>14}{columns[1]:>14}{'ratio':>9}"]
    lines += [f"{r.name:<34}{r.ours:>14{figure}}{r.other:>14{figure}}{r.other / r.ours:>8.1f}×" for r in rows]
    return "\n".join(lines)
