"""The random model: Whittle, greedy and round robin with observed states, M = 1 [tcns2018, §IX; mas2016].

All policies of a setting meet the same random worlds, so differences between them are far better known than their
levels. The claims of the paper are about differences; both are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import recrawl
from recrawl import policies
from recrawl.kernels.stochastic_index import StochasticIndex
from recrawl.papers.results import Result, compare, run_sd
from recrawl.papers.tcns2018 import pictures, two_crawls
from recrawl.papers.tcns2018.setting import STOCHASTIC_STEPS, table_one
from recrawl.papers.tcns2018.variant import published_protocol
from recrawl.policies.contract import Policy
from recrawl.records import BoolArray, Sources
from recrawl.report import Column, Section, Table, Text
from recrawl.report.progress import ProgressCallback
from recrawl.sim.metrics import interval95
from recrawl.sim.noise import Noise, sample_inflow
from recrawl.sim.result import SimulationResult

FULL_RUNS, QUICK_RUNS = 100, 10
INDEX_SAMPLE = 4000


@dataclass(frozen=True)
class Setting:
    """One kind of randomness: its id, how it reads, and what was published for it."""

    id: str
    noise: Noise
    title: str
    whittle: str
    greedy: str
    round_robin: str


SETTINGS = (
    Setting("poisson-m1", "poisson", "Poisson arrivals", "253.1", "260.2", "208.4"),
    Setting("exponential-item-m1", "item", "exponential value per item", "283.8", "259.3", "207.3"),
    Setting("exponential-epoch-m1", "epoch", "exponential value per epoch", "283.8", "259.3", "207.3"),
)
NAMES = ("whittle", "whittle-ceiled", "greedy", "round-robin", "stochastic-index")
NOTES = {
    ("poisson-m1", "whittle"): (
        "Theorem 1, continued above u*. The published 253.1 is close to what the simplified formula with its "
        "ceiling gives off the orbit, where it does not hold: see whittle-ceiled and whittle-as-published."
    ),
    ("poisson-m1", "whittle-ceiled"): (
        "The simplified formula with its ceiling, read as x/C at and above u*. Within 0.5 of the published number; "
        "reading the formula otherwise there and drawing arrivals otherwise can close the gap: see "
        "whittle-as-published."
    ),
    ("exponential-item-m1", "whittle"): (
        "With one exponential value per item, 250 items a slot average out, and nothing changes. The published greedy "
        "and round robin are as far from this reading, which speaks for the per-epoch one."
    ),
    ("exponential-epoch-m1", "whittle-ceiled"): (
        "The simplified formula with its ceiling, read as x/C at and above u*, where values this random often are; "
        "other readings of it there give 278 to 288."
    ),
    ("exponential-epoch-m1", "whittle"): (
        "Theorem 1, continued above u*. One exponential value per source and epoch; the text does not say which. The "
        "published 283.8 is nearer to the ceiled formula."
    ),
}


def stochastic_tables(sources: Sources, noise: Noise, seed: int) -> list[StochasticIndex]:
    """The index of the random model for each source, from samples of its inflow."""
    sample = sample_inflow(sources, noise, INDEX_SAMPLE, seed=seed + 1_000_003)
    pairs = zip(sample.T, sources.decay_factor, strict=True)
    return [recrawl.stochastic_index(column, float(keep)) for column, keep in pairs]


def contenders(tables: Sequence[StochasticIndex]) -> dict[str, Policy]:
    """The policies put side by side."""
    whittle = ("theorem", "ceiled", list(tables))
    made = [policies.make("whittle", index=index) for index in whittle]
    return dict(zip(NAMES, [*made[:2], policies.make("greedy"), policies.make("round_robin"), made[2]], strict=True))


def findings(quick: bool, seed: int, progress: ProgressCallback) -> tuple[list[Result], list[Section]]:
    """Every number of the random model and the sections that show them."""
    sources, count = table_one(), QUICK_RUNS if quick else FULL_RUNS
    results: list[Result] = []
    blocks: list[tuple[str, float, tuple[float, float]]] = []
    tables, runs = {}, {}
    for setting in SETTINGS:
        tables[setting.title] = stochastic_tables(sources, setting.noise, seed)
        found = _simulate(sources, setting, contenders(tables[setting.title]), count, seed, progress)
        runs[setting.id] = found
        results += _levels(setting, found)
        gaps = _paired(setting, found)
        blocks += [(f"{setting.title}: {name}", middle, interval) for name, middle, interval in gaps]
        results += [_gap(setting, *gap, count) for gap in gaps]
        if setting.noise == "poisson":
            results += _as_published(sources, count, seed)
    talk = _talk_m1(runs["exponential-epoch-m1"])
    results += _above_the_ceiling(sources, tables[SETTINGS[-1].title])
    results += _unobserved(sources, runs["exponential-epoch-m1"]["whittle"], count, seed)
    second, figure_4, _ = two_crawls.findings(sources, count, seed, progress)
    sections = [_section(count, blocks), _index_section(sources, tables), figure_4]
    return [*results, *talk, *second], sections


def _simulate(
    sources: Sources, setting: Setting, made: Mapping[str, Policy], count: int, seed: int, progress: ProgressCallback
) -> dict[str, SimulationResult]:
    found = {}
    for done, (name, policy) in enumerate(made.items()):
        progress(setting.title, done / len(made))
        found[name] = recrawl.simulate(
            sources, policy, 1, STOCHASTIC_STEPS, count, seed, noise=setting.noise, observed=True
        )
    progress(setting.title, 1.0)
    return found


def _level(id: str, run: SimulationResult, published: str | None, note: str = "") -> Result:
    sd = run_sd(run)
    said = f"{note} Standard deviation of one run: {sd:.2f}".strip()
    if published is not None:
        said += f"; the published number is {abs(run.mean_reward - float(published)) / sd:.1f} of them away"
    return compare(id, run.mean_reward, published, ci95=run.ci95, run_sd=sd, note=said + ".")


def _levels(setting: Setting, found: Mapping[str, SimulationResult]) -> list[Result]:
    published = (setting.whittle, setting.whittle, setting.greedy, setting.round_robin, None)
    return [
        _level(f"tcns2018/{setting.id}/{name}", found[name], value, NOTES.get((setting.id, name), ""))
        for name, value in zip(NAMES, published, strict=True)
    ]


def _paired(setting: Setting, found: Mapping[str, SimulationResult]) -> list[tuple[str, float, tuple[float, float]]]:
    base = found["greedy"].rewards.mean(axis=1)
    out = []
    for name in ("whittle-ceiled", "whittle", "stochastic-index"):
        gap = found[name].rewards.mean(axis=1) - base
        interval = interval95(gap)
        assert interval is not None
        out.append((name, float(gap.mean()), interval))
    return out


def _gap(setting: Setting, name: str, middle: float, interval: tuple[float, float], count: int) -> Result:
    note = f"{count} pairs of runs in the same worlds."
    return compare(f"tcns2018/{setting.id}/{name}-minus-greedy", middle, ci95=interval, note=note)


def _as_published(sources: Sources, count: int, seed: int) -> list[Result]:
    means = published_protocol(sources, STOCHASTIC_STEPS, count, seed)
    note = (
        "A variant that yields the published number, found among some ten readings tried with that number in view: "
        "the simplified formula with its ceiling and with the real part "
        "of the logarithm above u*, and a slot's arrivals drawn as a Poisson count of items of average fade."
    )
    sd = float(means.std(ddof=1))
    return [
        compare(
            "tcns2018/poisson-m1/whittle-as-published",
            float(means.mean()),
            "253.1",
            ci95=interval95(means),
            run_sd=sd,
            note=f"{note} Standard deviation of one run: {sd:.2f}.",
            fitted=True,
        )
    ]


def _unobserved(sources: Sources, observed: SimulationResult, count: int, seed: int) -> list[Result]:
    """The same policy in the same worlds when it is not told what the sources hold, or that of source 1 alone."""

    def told(which: bool | BoolArray) -> SimulationResult:
        return recrawl.simulate(sources, "whittle", 1, STOCHASTIC_STEPS, count, seed, noise="epoch", observed=which)

    blind, one = told(False), told(np.arange(len(sources)) == 0)
    setting = "tcns2018/exponential-epoch-m1"
    note = "Theorem 1 told the worth of {}, minus the same going by ages alone, in the same worlds."
    out = []
    for name, run, whose in (("", observed, "every source"), ("-one", one, "source 1")):
        gain = run.rewards.mean(axis=1) - blind.rewards.mean(axis=1)
        identity = f"{setting}/whittle-gain-by-observing{name}"
        out.append(compare(identity, float(gain.mean()), ci95=interval95(gain), note=note.format(whose)))
    for name, run in (("observed", observed), ("unobserved", blind)):
        lesser = 100.0 * float(run.crawl_share[2:].sum())
        out.append(compare(f"{setting}/lesser-sources-{name}", lesser, note=f"% of crawls to sources 3, 4; {name}."))
    return out


def _above_the_ceiling(sources: Sources, tables: Sequence[StochasticIndex]) -> list[Result]:
    """The index of source 1 at its mean ceiling and above it: a state there can be worth waiting in."""
    ceiling, note = float(sources.ceiling[0]), "Source 1, exponential values per epoch."
    return [
        compare(f"tcns2018/stochastic-index/{name}", float(np.asarray(tables[0](share * ceiling))), note=note)
        for name, share in (("at-u", 1.0), ("above-u", 1.2))
    ]


def _talk_m1(found: Mapping[str, SimulationResult]) -> list[Result]:
    note = "The talk does not say what is random; exponential value per epoch."
    identity = "mas2016/stochastic-m1"
    return [
        _level(f"{identity}/whittle", found["whittle"], "285", note + " Theorem 1, continued above u*."),
        _level(
            f"{identity}/whittle-ceiled", found["whittle-ceiled"], "285", note + " The formula as the talk prints it."
        ),
        _level(f"{identity}/greedy", found["greedy"], "260", note),
        _level(f"{identity}/round-robin", found["round-robin"], "208", note),
    ]


def _section(count: int, rows: Sequence[tuple[str, float, tuple[float, float]]]) -> Section:
    made_for_it = [low > 0.0 for name, _, (low, _) in rows if "stochastic" in name]
    ahead = "every setting" if all(made_for_it) else f"{sum(made_for_it)} of {len(made_for_it)} settings"
    text = (
        "The paper finds the deterministic index worse than greedy when only arrivals are random (253.1 against 260.2) "
        "and better when values are random too. With Theorem 1 in place of the simplified formula the first gap all "
        f"but vanishes, and the index made for the random model is ahead of greedy in {ahead}."
    )
    columns = [Column("policy, minus greedy"), Column("difference per slot", 3), Column("95 % interval", 3)]
    caption = f"{count} runs of {STOCHASTIC_STEPS:,} slots, M = 1, observed states, the same worlds for every policy."
    return Section(
        "Randomness: index against greedy", [Text(text), pictures.differences(rows), Table(columns, rows, caption)]
    )


def _index_section(sources: Sources, tables: Mapping[str, Sequence[StochasticIndex]]) -> Section:
    return Section(
        "The index of the random model",
        [pictures.stochastic_indices(sources, tables)],
    )
