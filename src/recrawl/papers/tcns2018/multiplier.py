"""Where the price λ(k) of (22) goes, and what it is worth there [tcns2018, §VII]."""

from __future__ import annotations

from typing import NamedTuple

from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018 import pictures
from recrawl.papers.tcns2018.walk import minimising_prices, price_path
from recrawl.records import FloatArray, Sources
from recrawl.report import Column, Section, Table, Text

STEPS = 20_000
SETTLED = 8_000
EXPONENT = 0.75
FIRST_STEPS = (0.1, 1.0)


class Path(NamedTuple):
    """One run of (22): its prices, and reward and spend per slot once settled."""

    price: FloatArray
    reward: float
    spend: float


def paths(sources: Sources) -> dict[str, Path]:
    """λ(k) with the thresholds (21) and with the index, for two step sizes, and comparing with M/N as printed."""
    scale = float((sources.ceiling / sources.cost).mean())
    found = {}
    for by_index, rule in ((False, "threshold (21)"), (True, "index ≥ λ")):
        for first in FIRST_STEPS:
            found[f"{rule}, first step {first:g} u*"] = _path(sources, first * scale, by_index=by_index)
    printed = _path(sources, FIRST_STEPS[0] * scale, target=1.0 / len(sources))
    return found | {"threshold (21), M/N as printed": printed}


def _path(sources: Sources, step: float, *, by_index: bool = False, target: float | None = None) -> Path:
    reward, spend, price = price_path(sources, step, EXPONENT, STEPS, target=target, by_index=by_index)
    return Path(price, float(reward[-SETTLED:].mean()), float(spend[-SETTLED:].mean()))


def findings(sources: Sources) -> tuple[list[Result], Section]:
    """The prices that (22) settles at, as rows, and the section that draws them."""
    low, high = minimising_prices(sources, 1.0)
    found = paths(sources)
    threshold, index, printed = (
        next(path for name, path in found.items() if mark in name) for mark in ("(21), first", "index", "M/N")
    )
    where = f"After {STEPS:,} slots, M = 1. The dual function is least from {low:.3f} to {high:.3f}."
    identity = "tcns2018/multiplier-m1"
    results = [
        compare(f"{identity}/price-by-threshold", float(threshold.price[-1]), note=where),
        compare(f"{identity}/price-by-index", float(index.price[-1]), note=where),
        compare(f"{identity}/lowest-minimising-price", low, note="The lower end of the prices that minimise the dual."),
        compare(f"{identity}/reward-by-threshold", threshold.reward, note=f"Spend {threshold.spend:.3f} per slot."),
        compare(f"{identity}/reward-by-index", index.reward, note=f"Spend {index.spend:.3f} per slot."),
        compare(f"{identity}/spend-with-m-over-n", printed.spend, note="(22) as printed compares with M/N = 1/4."),
    ]
    text = (
        f"λ(k) converges, but with the thresholds (21) to {threshold.price[-1]:.2f}, which is not the multiplier: the "
        f"dual function is least from {low:.2f} to {high:.2f}. (21) differentiates a reward per whole slots as if "
        "slots could be split, so it settles where sources 1 and 2 are crawled together. "
        f" It spends {threshold.spend:.3f} per slot and earns {threshold.reward:.2f}. Crawling where the "
        f"index reaches λ(k), as the same section says is optimal, settles inside, spends {index.spend:.3f} and earns "
        f"the bound, {index.reward:.2f}. Compared with M/N, as (22) is printed, it spends {printed.spend:.3f}."
    )
    columns = [Column("rule"), Column("λ at the end", 2), Column("reward per slot", 3), Column("spend per slot", 3)]
    rows = [(name, float(path.price[-1]), path.reward, path.spend) for name, path in found.items()]
    table = Table(columns, rows, f"Reward and spend over the last {SETTLED:,} of {STEPS:,} slots.")
    drawn = pictures.prices({name: path.price for name, path in found.items() if "M/N" not in name}, low, high)
    results.append(
        compare(f"{identity}/highest-minimising-price", high, note="The upper end, which we call the price.")
    )
    return results, Section("The price λ(k) of (22)", [Text(text), drawn, table])
