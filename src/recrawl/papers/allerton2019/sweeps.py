"""The experiments one by one: each returns a section of the report."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import recrawl
from recrawl import policies
from recrawl.papers.allerton2019 import figures
from recrawl.papers.allerton2019.fixed import fixed_thresholds
from recrawl.papers.allerton2019.lab import RAW_UNIT, SHARPNESS, SUMMARY, Lab, bound_at, summary
from recrawl.papers.allerton2019.runs import LearnerRuns
from recrawl.policies.lspe import INVERSES, STEPS
from recrawl.policies.soft_threshold import SoftThreshold
from recrawl.records import FloatArray, LifetimeForm, Sources
from recrawl.report import Column, Section, Table, Text
from recrawl.report.tables import Cell
from recrawl.sim.metrics import interval95

SHARPNESSES = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
STARTS: dict[str, Any] = {"u": 0.0, "midway": 0.5, "u*": 1.0, "random": "random"}
TUNINGS: dict[str, dict[str, Any]] = {
    "nothing: c = ½, δ = 0.001, ε = 1": {},
    "c = 0.1": {"step_gain": 0.1},
    "c = 0.9": {"step_gain": 0.9},
    "a(n) = c/(n + 1)": {"actor_steps": "harmonic"},
    "a(n) = c/(n + 1), b(n) = 1/n": {"actor_steps": "harmonic", "critic_steps": "harmonic"},
    "δ = 10⁻⁶": {"regularisation": 1e-6},
    "δ = 1": {"regularisation": 1.0},
}
READINGS = ("printed", "collected")
LIFETIMES = (2, 5, 20)
LIFETIME_FORMS: tuple[LifetimeForm, ...] = ("paper", "exact")


def _summary_columns(*first: str) -> list[Column]:
    return [Column(name) for name in first] + [Column(name, 2 if name == "arms" else 1) for name in SUMMARY]


def units(lab: Lab) -> Section:
    """How the unit of worth decides what is learnt."""
    columns = [
        Column("unit of worth"),
        Column("T = u: reward", 1),
        Column("arms", 2),
        Column("T = u*: reward", 1),
        Column("arms", 2),
        Column("learnt, printed: reward", 1),
        Column("s.d.", 1),
        Column("arms", 2),
        Column("% undecided", 1),
        Column("learnt, collected: reward", 1),
        Column("s.d.", 1),
        Column("arms", 2),
    ]
    rows: list[list[Cell]] = []
    for unit in (RAW_UNIT, 10.0, 100.0, 250.0, lab.whole_unit, 2.0 * lab.whole_unit):
        low, high = (fixed_thresholds(lab.sources, share, SHARPNESS, unit) for share in (0.0, 1.0))
        printed, collected = (lab.learn(unit=unit, reward=reading) for reading in READINGS)
        fixed = [low.reward, low.engaged, high.reward, high.engaged]
        undecided = 100.0 * float(printed.undecided.mean())
        rows.append([unit, *fixed, *_mean_spread_arms(printed), undecided, *_mean_spread_arms(collected)])
    high = fixed_thresholds(lab.sources, 1.0, SHARPNESS, lab.whole_unit)
    return Section(
        "Where about 160 comes from",
        [
            Text(
                "The text does not say in what unit worth is measured, and with κ = 2 and an offset of one half it "
                "matters. Taken as they are, worths are in the hundreds, the logistic is 0 or 1 unless a worth lies "
                "within about two units of its threshold, and the features of a threshold reach 10⁵: a gradient that "
                "is not 0 throws the threshold to one end of [u, u*], where the projection holds it until the next "
                "one. The outcome is a lottery."
            ),
            Text(
                f"Measured in the largest u* ({lab.whole_unit:g}), worths lie in [0, 1], and every seed, start and "
                "step size gives the published outcome. The printed reward Σ X_i is never increased by a crawl, so the "
                "thresholds of sources 1 and 2 go to u* and stay. A policy that learns nothing, with every threshold "
                f"at u*, earns {high.reward:.2f} with {high.engaged:.2f} arms, by arithmetic. The paper's 160 is what "
                "the softness of the logistic crawls when the learner would rather not. Sources 3 and 4 end at either "
                "end of their intervals; it makes a difference of at most "
                f"{_either_end(lab, (2, 3)):.1f}."
            ),
            Table(
                columns, rows, "Reward per slot and arms engaged, κ = 2: thresholds fixed at either end, and learnt."
            ),
        ],
    )


def _either_end(lab: Lab, arms: tuple[int, ...]) -> float:
    """What these sources earn less, together, with thresholds at u* instead of u."""
    some = lab.sources.take(arms)
    low, high = (fixed_thresholds(some, share, SHARPNESS, lab.whole_unit) for share in (0.0, 1.0))
    return abs(low.reward - high.reward)


def _mean_spread_arms(runs: LearnerRuns) -> list[Cell]:
    reward = runs.reward_per_run
    return [float(reward.mean()), float(reward.std(ddof=1)), float(runs.engaged_per_run.mean())]


def readings(lab: Lab, lines: dict[str, float]) -> Section:
    """The distribution over seeds for both readings, both units and both kinds of budget."""
    rows: list[list[Cell]] = []
    shown: dict[str, LearnerRuns] = {}
    for budget, start in (("soft", 0.5), ("hard", "random")):
        for name, unit in lab.units.items():
            for reading in READINGS:
                runs = lab.learn(budget=budget, initial=start, unit=unit, reward=reading)
                rows.append([budget, name, reading, *summary(runs, lab.sources)])
                shown[f"{budget}\n{name}\n{reading}"] = runs
    for name, unit in lab.units.items():
        rows.append(["soft, true thresholds", name, "–", *_true_thresholds(lab, unit)])
    return Section(
        "The distribution over seeds",
        [
            Table(
                _summary_columns("budget", "worths", "reward read as"),
                rows,
                f"{lab.runs} seeds of {lab.steps:,} slots. A soft budget is not held to one arm, so the last column "
                "divides by the dual bound at what was spent. A hard budget crawls the largest x − T; its start is "
                "drawn, and then nothing is left to chance, so that it settles early into whatever cycle it is in. "
                "The last two rows have thresholds computed from the parameters: they show what softness alone costs.",
            ),
            figures.distribution(shown, lines),
        ],
    )


def _true_thresholds(lab: Lab, unit: float) -> list[Cell]:
    """What softness alone costs: the same policy with T_i computed from the parameters."""
    found = recrawl.simulate(lab.sources, SoftThreshold(unit=unit, seed=lab.seed), 1, lab.steps, runs=3, observed=True)
    reward = found.rewards.mean(axis=1)
    least, median, most = np.quantile(reward, [0.0, 0.5, 1.0]).tolist()
    bound, around = bound_at(lab.sources, found.spend), interval95(reward)
    noise = None if around is None else (100.0 * around[0] / bound, 100.0 * around[1] / bound)
    share = 100.0 * found.mean_reward / bound
    return [found.mean_reward, float(reward.std(ddof=1)), least, median, most, found.spend, share, noise]


def sharpness(lab: Lab) -> Section:
    """κ and the arms engaged."""
    rows: list[list[Cell]] = []
    curves: dict[str, tuple[list[float], list[LearnerRuns]]] = {}
    for name, unit in lab.units.items():
        found = [lab.learn(unit=unit, sharpness=kappa) for kappa in SHARPNESSES]
        rows += [
            [name, kappa, float(runs.dispersion_per_run.mean()), *summary(runs, lab.sources)]
            for kappa, runs in zip(SHARPNESSES, found, strict=True)
        ]
        curves[name] = (list(SHARPNESSES), found)
    columns = _summary_columns("worths", "κ")
    columns.insert(2, Column("dispersion of arms", 2))
    return Section(
        "Sharpness κ",
        [
            Text(
                "The paper says that κ controls how many arms are engaged. With worths in [0, 1] it does, smoothly, "
                "and one arm is engaged just below κ = 2: the sharper the logistic, the fewer arms and the less their "
                "number varies from slot to slot. With raw worths the seed decides, more than κ."
            ),
            Table(columns, rows, "The printed reading; dispersion is the standard deviation from slot to slot."),
            figures.sharpness(curves),
        ],
    )


def starts(lab: Lab) -> Section:
    """Where thresholds start."""
    rows: list[list[Cell]] = []
    for reading in READINGS:
        for unit_name, unit in lab.units.items():
            for name, start in STARTS.items():
                runs = lab.learn(unit=unit, reward=reading, initial=start)
                rows.append([reading, unit_name, name, *summary(runs, lab.sources)])
    caption = "With worths in [0, 1] the start is forgotten; with raw worths the seed matters more than the start."
    columns = _summary_columns("reward read as", "worths", "thresholds start at")
    return Section("Initial thresholds", [Table(columns, rows, caption)])


def curves(lab: Lab, lines: dict[str, float]) -> Section:
    """Reward and thresholds over time."""
    chosen = {
        f"{name}, {reading}": lab.learn(unit=unit, reward=reading)
        for name, unit in lab.units.items()
        for reading in READINGS
    }
    return Section(
        "Learning curves",
        [
            figures.learning_curves(chosen, lines),
            figures.threshold_paths(chosen, lab.sources),
        ],
    )


def safeguards(lab: Lab) -> Section:
    """What happens without the Tikhonov form and without the projection, and with other step sizes."""
    rows: list[list[Cell]] = []
    for (name, unit), inverse, steps, project in product(lab.units.items(), INVERSES, STEPS, (True, False)):
        runs = lab.learn(unit=unit, inverse=inverse, critic_steps=steps, project=project)
        how = [name, inverse.replace("_", "–"), steps, "yes" if project else "no"]
        rows.append([*how, *_breaking(runs), *summary(runs, lab.sources)])
    columns = [Column("worths"), Column("B̄⁻¹"), Column("b(n)"), Column("projected")]
    columns += [Column("% of runs broken"), Column("median step", 0), *_summary_columns()]
    return Section(
        "Without regularisation, without projection",
        [
            Text(
                "A run counts as broken when an update is not finite; it keeps its last thresholds and learns no more. "
                "With the paper's steps b(n) = c/⌈n/1000⌉^⅔ the matrix B̄ forgets: after a few dozen slots εI is gone "
                "and B̄ has the rank of the few states a nearly periodic system visits. Then the carried inverse "
                "overflows, and the plain one returns rounding errors. With b(n) = 1/n, εI fades only as 1/n, and all "
                "three agree. Without the projection thresholds leave the range of the worths, and sources are crawled "
                "always or never."
            ),
            Table(columns, rows, "The printed reading, κ = 2. Plain: solved anew each step. δ = 0.001, ε = 1, c = ½."),
        ],
    )


def _breaking(runs: LearnerRuns) -> list[Cell]:
    broken = runs.broke_at[runs.broke_at > 0]
    return [100.0 * len(broken) / len(runs.broke_at), float(np.median(broken)) if len(broken) else None]


def steps(lab: Lab) -> Section:
    """Step sizes and the strength of the regularisation."""
    rows: list[list[Cell]] = []
    for (name, unit), (what, options) in product(lab.units.items(), TUNINGS.items()):
        rows.append([name, what, *summary(lab.learn(unit=unit, **options), lab.sources)])
    caption = "The printed reading, κ = 2. The paper gives the form of the steps; c, δ and ε are not published."
    return Section("Step sizes and δ", [Table(_summary_columns("worths", "changed"), rows, caption)])


def lifetimes(lab: Lab) -> Section:
    """Items that are dropped after M slots, in the paper's form and exactly."""
    rows: list[list[Cell]] = []
    for form in LIFETIME_FORMS:
        for slots in LIFETIMES:
            sources = Sources.ephemeral(
                arrival_rate=lab.sources.arrivals_per_slot,
                interest=lab.sources.interest,
                decay=lab.sources.decay_rate,
                lifetime=slots,
                lifetime_form=form,
            )
            unit = float(sources.ceiling.max())
            row: list[Cell] = [form, slots, bound_at(sources, 1.0), lab.index_reward(sources)]
            for reading in READINGS:
                row += _mean_spread_arms(lab.learn_on(sources, unit=unit, reward=reading))
            rows.append(row)
    columns = [Column("form"), Column("lifetime, slots"), Column("bound, one crawl", 1), Column("index", 1)]
    for reading in READINGS:
        columns += [Column(f"learnt, {reading}", 1), Column("s.d.", 1), Column("arms", 2)]
    return Section(
        "Finite lifetimes",
        [
            Text(
                "The paper shrinks the inflow to u(1 − α^M) and keeps the rest. Exactly, the worth grows as before and "
                "stops at M slots, so a short lifetime costs less than the paper's form says. Worths are measured in "
                "the largest u*."
            ),
            Table(columns, rows, "Four sources of Table I whose items live M slots."),
        ],
    )


def ours(lab: Lab) -> FloatArray:
    """What our own learner earns from no knowledge with one crawl per slot: one row per run, one column per slot."""
    policy = policies.make("learned_whittle", objective="ephemeral", seed=lab.seed)
    return recrawl.simulate(lab.sources, policy, 1, lab.steps, runs=2 if lab.quick else 5, seed=lab.seed).rewards
