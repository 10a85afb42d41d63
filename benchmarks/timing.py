"""Timing two ways side by side, how figures grow with size, and printing both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np


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


def exponent(sizes: Sequence[float], figures: Sequence[float]) -> float:
    """The power of the size with which a figure grows, by least squares through logarithms.

    NaN where there are fewer than two sizes, or nothing to take a logarithm of.
    """
    known = [(size, figure) for size, figure in zip(sizes, figures, strict=True) if size > 0.0 and figure > 0.0]
    if len({size for size, _ in known}) < 2:
        return math.nan
    logs = np.log(np.array(known, float))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def grown(what: str, sizes: Sequence[float], figures: Mapping[str, Sequence[float]]) -> str:
    """A Markdown table: a row per size, a column per figure, and last the exponents of growth."""
    lines = [f"| {what} | {' | '.join(figures)} |", "| ---: |" + " ---: |" * len(figures)]
    for place, size in enumerate(sizes):
        told = [spoken(each[place]) for each in figures.values()]
        lines.append(f"| {round(size):,} | {' | '.join(told)} |")
    powers = [math.nan if any(map(math.isnan, each)) else exponent(sizes, each) for each in figures.values()]
    lines.append(f"| grows with the power of | {' | '.join('' if math.isnan(p) else f'{p:.2f}' for p in powers)} |")
    return "\n".join(lines)


def spoken(figure: float) -> str:
    """To three digits; empty where there is none."""
    if math.isnan(figure):
        return ""
    digits = 0 if abs(figure) >= 100.0 else 1 if abs(figure) >= 10.0 else 2 if abs(figure) >= 0.1 else 4
    return f"{figure:,.{digits}f}"
