"""Avrachenkov, Borkar and Patil, *Deep Reinforcement Learning for Web Crawling*, ICC 2021.

Figures 1 to 4 with lines the paper lacks, the static distribution it prints, what it leaves open, and, where recorded
pages are given, its policies on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

import recrawl
from recrawl.kernels.static_allocation import freshness, lottery_reward, static_allocation
from recrawl.papers.icc2021 import account, beginning, lotteries, recorded, recorded_account, variants
from recrawl.papers.icc2021.claims import all_claims
from recrawl.papers.icc2021.runs import Curves, all_runs
from recrawl.papers.icc2021.setting import (
    DEEP,
    EXAMPLES,
    FULL,
    KNOWING_SLOTS,
    LASTING,
    MOVING_WINDOW,
    PUBLISHED_LOTTERY,
    PUBLISHED_OVERTAKING,
    QUICK,
    Length,
    lines,
)
from recrawl.papers.recordings import Recordings
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import Result, compare
from recrawl.report.progress import ProgressCallback, silent
from recrawl.sim.metrics import interval95, moving_average, running_average

TITLE = "Deep Reinforcement Learning for Web Crawling (ICC 2021)"


def reproduce(
    quick: bool = False, seed: int = 0, progress: ProgressCallback = silent, recordings: Recordings | None = None
) -> Reproduction:
    """Reproduce the paper; `quick` does fewer and shorter runs, `recordings` are played if given."""
    length = QUICK if quick else FULL
    curves = all_runs(length, seed, progress)
    results = [result for example in EXAMPLES for result in _numbers(example, curves, length)]
    results += [*_lottery(), *lotteries.on_arms(), *lotteries.changes_per_slot(), *variants.differences(curves, length)]
    results += beginning.beliefs(seed, length)
    results.sort(key=lambda result: [*EXAMPLES].index(result.id.split("/")[1]))
    found = {result.id: result for result in results}
    sections = [
        *(account.example_section(e, _of(e, curves), found, length) for e in EXAMPLES),
        account.deep_section(curves, found, length),
        account.static_section(found),
        lotteries.section(found),
        account.choices_section(),
    ]
    claims = all_claims(found, curves)
    plain = Reproduction("icc2021", TITLE, account.lead(found), results, sections, claims, account.remember(found))
    return plain if recordings is None else _with_recorded(plain, recorded.play(recordings, quick, seed, progress))


def _with_recorded(plain: Reproduction, played: Sequence[recorded.Played]) -> Reproduction:
    """The same with what happened on recorded pages."""
    return replace(
        plain,
        remember=f"{plain.remember} {recorded_account.remember(played)}",
        results=[*plain.results, *recorded.results(played)],
        sections=[*plain.sections, recorded_account.section(played)],
    )


def _of(example: str, curves: Mapping[tuple[str, str], Curves]) -> dict[str, Curves]:
    return {name: curves[example, name] for name in lines(example)}


def _numbers(example: str, curves: Mapping[tuple[str, str], Curves], length: Length) -> list[Result]:
    """One result per policy: learners by what they found at the end, the others by expectation."""
    world, out = EXAMPLES[example], []
    judged = f"mean over the last {length.window} of {length.steps} slots, {length.runs} runs"
    for name in lines(example):
        identity, line = f"icc2021/{example}/{name}", lines()[name]
        if name == "ours":
            half = curves[example, name].expected[:, length.long // 2 :].mean(axis=1)
            note = f"Acts on pages; expected reward over the last half of {length.long} slots, {length.runs} runs."
            out.append(compare(identity, float(half.mean()), ci95=interval95(half), note=note))
        elif line.learns:
            last = curves[example, name].rewards[:, length.steps - length.window : length.steps].mean(axis=1)
            out.append(compare(identity, float(last.mean()), ci95=interval95(last), note=f"On groups; {judged}."))
        elif line.on_pages:
            found = recrawl.simulate(world.pages(), line.make(world, 0), steps=KNOWING_SLOTS)
            value = found.mean_between(KNOWING_SLOTS // 2, KNOWING_SLOTS)
            note = f"Acts on pages; expected reward over the last half of {KNOWING_SLOTS:,} slots."
            out.append(compare(identity, value, note=note))
        else:
            out.append(compare(identity, _exact(example, name), note="On groups; the exact expectation."))
    bound = recrawl.relaxed_bound(world.pages(), 1)
    note = f"Dual bound over pages: no policy earns more per slot. Price {bound.price:.4f}."
    out.append(compare(f"icc2021/{example}/bound", bound.value, note=note))
    if set(DEEP) <= set(lines()):
        out += [_difference(example, curves, length), *_overtaking(example, curves, length)]
    return [*out, *beginning.first_slots(example, curves), *beginning.spreads(example, curves, length)]


def _exact(example: str, name: str) -> float:
    """The expected reward of a lottery over groups."""
    world = EXAMPLES[example]
    arms, pages = world.arms, world.pages_per_group
    share = np.full(len(world), 1 / len(world))
    if name == "static":
        share = pages * static_allocation(arms.arrivals_per_slot, arms.interest, 1.0, pages=pages)
    if name == "static-groups":
        share = static_allocation(arms.arrivals_per_slot, arms.interest)
    return lottery_reward(share, arms.arrivals_per_slot, arms.interest, pages)


def _difference(example: str, curves: Mapping[tuple[str, str], Curves], length: Length) -> Result:
    window = slice(length.steps - length.window, length.steps)
    gain = (curves[example, "drl"].rewards - curves[example, "thompson"].rewards)[:, window].mean(axis=1)
    note = "By pairs of runs that met the same changes; positive where the deep learner finds more."
    return compare(f"icc2021/{example}/drl-minus-thompson", float(gain.mean()), ci95=interval95(gain), note=note)


def _overtaking(example: str, curves: Mapping[tuple[str, str], Curves], length: Length) -> list[Result]:
    """The slot from which the deep learner's mean curve is above that of Thompson sampling, and not for a moment."""
    out = []
    for kind, average in (("moving", partial(moving_average, window=MOVING_WINDOW)), ("running", running_average)):
        published, tolerance = PUBLISHED_OVERTAKING[kind]
        if float(published) + tolerance + LASTING > length.steps:
            continue  # too short a run to tell
        deep, thompson = (average(curves[example, name].rewards).mean(axis=0) for name in ("drl", "thompson"))
        behind = np.concatenate([[-1], np.flatnonzero(deep < thompson), [length.steps]])
        lasting = np.flatnonzero(np.diff(behind) > LASTING)
        slot = int(behind[lasting[0]]) + 1 if len(lasting) else length.steps
        note = (
            f"Slot from which the {kind} average of the deep learner stays above for {LASTING} slots. The paper reads "
            f"its number off a figure, so it is taken as ±{tolerance:g}; it depends on the unpublished schedule of ε."
        )
        if slot >= length.steps:
            note = f"Not within {length.steps} slots. " + note
        identity = f"icc2021/{example}/drl-passes-thompson-{kind}"
        out.append(compare(identity, float(slot), published, tolerance=tolerance, note=note))
    return out


def _lottery() -> list[Result]:
    """The printed distribution beside the maximiser of the paper's own objective (8)."""
    arms = EXAMPLES["one-page"].arms
    change, weight = arms.arrivals_per_slot, arms.interest
    best = static_allocation(change, weight)
    note = "Maximises (8) exactly; the printed distribution does not satisfy its optimality conditions."
    out = [
        compare(f"icc2021/one-page/static-probability-{page + 1}", float(best[page]), printed, note=note)
        for page, printed in enumerate(PUBLISHED_LOTTERY)
    ]
    printed_value = freshness([float(p) for p in PUBLISHED_LOTTERY], change, weight)
    note = f"Value of (8) at its maximiser; the printed distribution has {printed_value:.3f}."
    return [*out, compare("icc2021/one-page/static-freshness", freshness(best, change, weight), note=note)]
