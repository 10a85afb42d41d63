"""What the theory promises and where it bites: asymptotic optimality, three ways to one index, the traps."""

from __future__ import annotations

import numpy as np

import recrawl
from recrawl.papers import stochastic_report
from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018 import pictures
from recrawl.papers.tcns2018.setting import table_one
from recrawl.papers.tcns2018.walk import index_as_printed, rewards_from
from recrawl.records import FloatArray, Sources
from recrawl.report import Badge, Column, Section, Table, Text
from recrawl.report.progress import ProgressCallback

CATALOGUE_SIZES = (10, 20, 50, 100, 200, 500, 1000)
SHARES = (0.6, 1.1)
QUICK_LAWS = ("exponential, α = 0.5", "Table I source 1, Poisson", "Table I source 2, exponential epochs")
CURVES = (
    ("index", "whittle", 10),
    ("index", "whittle", 5),
    ("greedy", "greedy", 10),
    ("round robin", "round_robin", 10),
)
WARM_UP, MEASURED = 1000, 10_000


def random_catalogue(size: int, seed: int) -> Sources:
    """Sources whose arrival rates, interests and decays span orders of magnitude."""
    rng = np.random.default_rng([seed, size])
    return Sources.ephemeral(
        arrival_rate=rng.lognormal(0.0, 1.5, size),
        interest=rng.uniform(0.2, 1.0, size),
        decay=rng.lognormal(-2.5, 1.0, size),
    )


def lost(sources: Sources, policy: str, budget: int, steps: int) -> float:
    """The share of the dual bound a policy does not earn once it has settled."""
    run = recrawl.simulate(sources, policy, budget, WARM_UP + steps)
    return 1.0 - run.mean_between(WARM_UP, WARM_UP + steps) / recrawl.relaxed_bound(sources, budget).value


def asymptotics(quick: bool, seed: int, progress: ProgressCallback) -> tuple[list[Result], Section]:
    """Index reward against the dual bound as sources and budget grow together."""
    title, repeats = "asymptotic optimality", 2 if quick else 6
    sizes = CATALOGUE_SIZES[:5] if quick else CATALOGUE_SIZES
    curves: dict[str, tuple[FloatArray, FloatArray]] = {}
    for place, (name, policy, each) in enumerate(CURVES):
        means = np.zeros(len(sizes))
        for done, size in enumerate(sizes):
            progress(title, (place + done / len(sizes)) / len(CURVES))
            catalogues = [random_catalogue(size, seed + number) for number in range(repeats)]
            means[done] = np.mean([lost(sources, policy, size // each, MEASURED) for sources in catalogues])
        curves[f"{name}, M = N/{each}"] = np.array(sizes, dtype=np.float64), means
    progress(title, 1.0)
    rows = [(name, 100 * (1 - loss[0]), 100 * (1 - loss[-1])) for name, (_, loss) in curves.items()]
    columns = [Column("policy and budget"), Column(f"N = {sizes[0]}", 3), Column(f"N = {sizes[-1]}", 3)]
    text = (
        "The index policy is optimal in the limit of many sources (Weber and Weiss; Verloop). Random catalogues, "
        f"deterministic model; the reward is that of {MEASURED:,} slots after {WARM_UP:,} slots to settle."
    )
    table = Table(columns, rows, "Share of the dual bound, %.")
    note = f"Share of the dual bound, {repeats} catalogues of {sizes[-1]} sources, M = N/10."
    results = [
        compare(f"tcns2018/asymptotic/{name}-lost", float(curves[f"{label}, M = N/10"][1][-1]), note=note)
        for name, label in (("whittle", "index"), ("greedy", "greedy"))
    ]
    return results, Section("Asymptotic optimality", [Text(text), pictures.asymptotics(curves), table])


def three_ways(quick: bool, seed: int, progress: ProgressCallback) -> tuple[list[Result], Section]:
    """The stochastic index by renewal, by stochastic approximation and on two time scales."""
    title, laws = "stochastic index three ways", stochastic_report.instances(seed=seed)
    if quick:
        laws = {name: laws[name] for name in QUICK_LAWS}
    begun: list[str] = []

    def tell(name: str) -> None:
        progress(title, len(begun) / len(laws))
        begun.append(name)

    rows = stochastic_report.agreement(laws, SHARES, replications=4 if quick else 8, seed=seed, progress=tell)
    progress(title, 1.0)
    columns = [
        Column("inflow"),
        Column("a/u*", 1),
        Column("renewal", 3),
        Column("(32)", 3),
        Column("(33)–(35)", 3),
        Column("difference", 3),
        Column("stated errors"),
    ]
    cells = [
        (
            row.instance,
            row.share,
            row.renewal.index,
            row.approximation.index,
            row.two_time_scale.index,
            row.disagreement,
            Badge("agree", "good") if row.agrees else Badge("differ", "bad"),
        )
        for row in rows
    ]
    text = (
        "Three computations that share nothing but the law of the inflow. The printed equations need three corrections "
        "before they agree: (30) must read ∫V dφ = 0, (35) must not subtract V(u), and (34) needs damping where the "
        "inflow is nearly constant."
    )
    caption = (
        "The index at the threshold a, by the renewal form, by stochastic approximation (32) and on two time scales "
        "(33)–(35); the largest difference; and whether it is within the errors stated for the methods."
    )
    worst = max(row.disagreement / abs(row.renewal.index) for row in rows)
    note = f"Largest difference between the three methods, as a share of the index; {len(rows)} cases."
    results = [compare("tcns2018/stochastic-index/methods-differ", worst, note=note)]
    return results, Section("The stochastic index, three ways", [Text(text), Table(columns, cells, caption)])


def traps(seed: int) -> tuple[list[Result], Section]:
    """Theorem 1 as printed where it fails, beside its continuation."""
    sources = table_one()
    printed = float(rewards_from(sources, sources.ceiling, index_as_printed).mean())
    continued = float(rewards_from(sources, sources.ceiling, recrawl.whittle_index).mean())
    broken, overlap = _saturated_catalogue(seed)
    identity = "tcns2018/saturated-m1"
    results = [
        compare(
            f"{identity}/whittle-as-printed",
            printed,
            note="Theorem 1 with log⁺ as printed, from X(0) = u*: the index of a saturated source is 0, so it is never "
            "crawled again.",
        ),
        compare(f"{identity}/whittle", continued, note="Theorem 1 continued by x/C at and above u*, from X(0) = u*."),
    ]
    rows: list[tuple[str, str, str]] = [
        (
            "Table I from X(0) = u*, M = 1",
            f"{printed:.2f} per slot: only source 1 is ever crawled",
            f"{continued:.2f} per slot",
        ),
        (
            "10,000 random sources left alone for long",
            f"not a number, or 0, for {broken:.0%} of them; {overlap:.0%} of the right top 100 picked",
            "finite for all; the top 100 picked",
        ),
    ]
    columns = [Column("case"), Column("Theorem 1 as printed", wide=True), Column("as implemented", wide=True)]
    text = (
        "With log⁺ as printed, η = 0 for x ≥ u* and the index drops from u*/C to 0 just where it should be highest. "
        "The limit from below, and the natural continuation, is x/C. Rounding alone is enough to cross the line."
    )
    return results, Section("Traps: Theorem 1 at saturation", [Text(text), Table(columns, rows)])


def _saturated_catalogue(seed: int, size: int = 10_000, top: int = 100) -> tuple[float, float]:
    """For how many saturated sources the plain formula fails, and how many of the right top it picks."""
    sources = random_catalogue(size, seed)
    ages = np.random.default_rng(seed).uniform(1.0, 600.0, size)
    state = sources.ceiling * -np.expm1(-sources.decay_rate * np.ceil(ages))
    plain, right = index_as_printed(sources, state), recrawl.whittle_index(sources, state)
    broken = ~np.isfinite(plain) | ((plain <= 0) & (right > 0))
    best = set(np.argsort(-right)[:top].tolist())
    picked = np.argsort(-np.nan_to_num(plain, nan=-1.0))[:top]
    return float(broken.mean()), len(best.intersection(picked.tolist())) / top
