"""The deep learner with one thing changed, by pairs of runs: its gradient, its noise, its experience replay."""

from __future__ import annotations

from collections.abc import Mapping

from recrawl.papers.icc2021.pictures import TITLES
from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import DEEP, EXAMPLES, VARIANTS, Length, lines
from recrawl.papers.results import Result, compare
from recrawl.records import FloatArray
from recrawl.report import Column, Table, Text
from recrawl.report.tables import Cell
from recrawl.sim.metrics import interval95


def differences(curves: Mapping[tuple[str, str], Curves], length: Length) -> list[Result]:
    """Each variant minus the learner as run, in the same worlds."""
    if not length.variant_runs or not set(DEEP) <= set(lines()):
        return []
    out = []
    for name, variant in VARIANTS.items():
        for example in variant.examples:
            gain = _ends(curves[example, f"variant: {name}"], length) - _ends(curves[example, "drl"], length)
            note = (
                f"{variant.label}, minus the learner as run, over the last {length.window} of {length.variant_steps} "
                f"slots; {length.variant_runs} pairs of runs."
            )
            identity = f"icc2021/{example}/{name}-minus-drl"
            out.append(compare(identity, float(gain.mean()), ci95=interval95(gain), note=note[0].upper() + note[1:]))
    return out


def _ends(curves: Curves, length: Length) -> FloatArray:
    """The mean reward over the last slots of each run, as long as a variant runs."""
    rewards = curves.rewards[: length.variant_runs, : length.variant_steps]
    mean: FloatArray = rewards[:, -length.window :].mean(axis=1)
    return mean


def blocks(curves: Mapping[tuple[str, str], Curves], found: Mapping[str, Result], length: Length) -> list[Text | Table]:
    """Every variant's level and its difference, with intervals, and what they tell."""
    rows: list[list[Cell]] = []
    for example in EXAMPLES:
        base = _ends(curves[example, "drl"], length)
        rows.append([TITLES[example], "as run: full gradient, shrinking noise", float(base.mean()), interval95(base)])
        rows[-1] += [None, None]
        for name, variant in VARIANTS.items():
            if example in variant.examples:
                level = _ends(curves[example, f"variant: {name}"], length)
                gain = found[f"icc2021/{example}/{name}-minus-drl"]
                rows.append([TITLES[example], variant.label, float(level.mean()), interval95(level)])
                rows[-1] += [gain.measured, gain.ci95]
    columns = [Column("example"), Column("variant of FG-DQN"), Column("reward per slot", 3), Column("95 % interval", 3)]
    columns += [Column("minus as run", 3), Column("95 % interval of the difference", 3)]
    caption = (
        f"Last {length.window} of {length.variant_steps} slots, {length.variant_runs} runs each, in pairs that met "
        "the same changes."
    )
    told = [name for name in found if name.endswith("-minus-drl") and _told_apart(found[name])]
    text = (
        f"Of {sum(name.endswith('-minus-drl') for name in found)} differences below, {len(told)} "
        f"{'is' if len(told) == 1 else 'are'} more than noise: their intervals leave 0 out. Ordinary DQN, which holds "
        "the target fixed, runs at the same step sizes, chosen for the full gradient."
    )
    return [Text(text), Table(columns, rows, caption)]


def _told_apart(result: Result) -> bool:
    return result.ci95 is not None and not result.ci95[0] <= 0.0 <= result.ci95[1]
