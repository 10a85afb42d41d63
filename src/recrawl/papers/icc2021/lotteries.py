"""Static optimisation on the groups: (8) over four arms or over 100 pages, and which the paper must have meant."""

from __future__ import annotations

from collections.abc import Mapping

from recrawl.kernels.static_allocation import static_allocation
from recrawl.papers.icc2021.setting import EXAMPLES
from recrawl.papers.results import Result, compare
from recrawl.records import FloatArray
from recrawl.report import Column, Section, Table, Text

READINGS = {"arm": "(8) over the four arms, each as if it were one page", "page": "(8) over the 100 pages"}


def lotteries() -> dict[str, FloatArray]:
    """The probability of each group under both readings."""
    world = EXAMPLES["groups"]
    change, weight, pages = world.arms.arrivals_per_slot, world.arms.interest, world.pages_per_group
    over_pages: FloatArray = pages * static_allocation(change, weight, 1.0, pages=pages)
    return {"arm": static_allocation(change, weight), "page": over_pages}


def on_arms() -> list[Result]:
    """The distribution over groups, by reading."""
    return [
        compare(f"icc2021/groups/static-by-{reading}-probability-{group}", float(chance), note=READINGS[reading] + ".")
        for reading, shares in lotteries().items()
        for group, chance in enumerate(shares, start=1)
    ]


def changes_per_slot() -> list[Result]:
    """Σ N_i λ_i, which the paper wants to be at most 1."""
    note = (
        "Pages that change per slot, Σ N_i λ_i; the paper asks for at most 1, so that one crawl per slot could on "
        "average catch every change. Nothing it computes needs this."
    )
    return [
        compare(
            f"icc2021/{example}/changes-per-slot",
            float((world.pages_per_group * world.arms.arrivals_per_slot).sum()),
            note=note,
        )
        for example, world in EXAMPLES.items()
    ]


def section(found: Mapping[str, Result]) -> Section:
    """Both readings side by side, and the one that fits the paper's figure."""
    over_arms, over_pages, thompson = (
        found[f"icc2021/groups/{name}"].measured for name in ("static-groups", "static", "thompson")
    )
    deep = found.get("icc2021/groups/drl")
    level = "" if deep is None else f", and stands beside DRL ({deep.measured:.2f})"
    sums = [found[f"icc2021/{example}/changes-per-slot"].measured for example in EXAMPLES]
    text = (
        f"On the groups (8) can be read in two ways. Over the four arms it gives {over_arms:.2f} per slot, above "
        f"Thompson sampling ({thompson:.2f}){level}: the ordering of Figure 2. Over the 100 pages it gives "
        f"{over_pages:.2f}, level with Thompson sampling or below. The paper must have meant the arms: its text "
        "selects “an arm according to this distribution” and then crawls the arm's pages in turn, and only so does "
        "its figure come about. That it earns more is an accident: treating five pages as one page overstates how "
        "soon a page has changed again, which puts more weight on the first group, and for what crawls find, though "
        "not for freshness, that is better."
    )
    constraint = (
        f"The paper asks for Σ N_i λ_i ≤ 1. It is {sums[0]:.2f} in the first example and {sums[1]:.2f} in the second, "
        "so both keep it, but nothing that is computed depends on it."
    )
    columns = [Column("reading")] + [Column(f"group {group}", 3) for group in (1, 2, 3, 4)]
    columns += [Column("reward per slot", 3)]
    rows = [
        (READINGS[reading], *shares.tolist(), reward)
        for (reading, shares), reward in zip(lotteries().items(), (over_arms, over_pages), strict=True)
    ]
    table = Table(columns, rows, "Probability of choosing each group, and the exact expected reward.")
    return Section("Static optimisation on the groups", [Text(text), table, Text(constraint)])
