"""What the paper says of methods and of the model, judged by the numbers of the report or by argument."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recrawl.papers.claims import Claim, claim
from recrawl.papers.icc2021.numbers import Numbers
from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import EXAMPLES, FIRST_SLOTS, MOVING_WINDOW
from recrawl.records import FloatArray
from recrawl.sim.metrics import moving_average, running_average

NEAR = 0.99
"""Of the bound: what counts as optimal."""
BY_TITLE = {"one-page": "one page", "groups": "groups"}
Runs = Mapping[tuple[str, str], Curves]


def method_claims(found: Numbers, curves: Runs) -> list[Claim]:
    """Claims that need no deep learner."""
    return [*_model(found, curves), *_static(found, curves), *_thompson(found)]


def deep_method_claims(found: Numbers, curves: Runs) -> list[Claim]:
    """Claims on the deep learner and its figures."""
    return [*_optimal(found), *_over_time(found, curves), *_learning(curves)]


def _model(found: Numbers, curves: Runs) -> list[Claim]:
    arms = {example: world.arms for example, world in EXAMPLES.items()}
    rates, sizes = arms["groups"].arrivals_per_slot, EXAMPLES["groups"].pages_per_group
    off = {e: 100.0 * (1.0 - found[f"{e}/whittle"] / found[f"{e}/bound"]) for e in EXAMPLES}
    return [
        claim(
            "icc2021/claim/categories",
            "The groups are a small frequent, a large infrequent, a middle infrequent and a small frequent one, with "
            "λ₁ > λ₄ ≫ λ₃ > λ₂.",
            "§V",
            f"Pages {', '.join(map(str, sizes.tolist()))}; rates {', '.join(f'{rate:g}' for rate in rates.tolist())}. "
            f"In the first example λ₂ = {arms['one-page'].arrivals_per_slot[1]:g} is above λ₃ = "
            f"{arms['one-page'].arrivals_per_slot[2]:g}.",
            "section “Static optimisation on the groups”",
            holds=bool(rates[0] > rates[3] > 5 * rates[2] > rates[2] > rates[1]),
            under="the second example",
        ),
        claim(
            "icc2021/claim/intractable",
            "The problem is computationally intractable in general.",
            "§II",
            "On both examples the index over pages earns the dual bound to within "
            f"{max(0.0, *off.values()):.3f} %, so nothing is left to compute.",
            "icc2021/groups/whittle",
            holds=True,
            under="the general problem; not one of the paper's examples",
        ),
        claim(
            "icc2021/claim/single-pages-impossible",
            "Crawling of each page separately is very difficult to keep track of, if not impossible.",
            "§II",
            f"The learned index keeps track of every page, and earns {found['groups/ours']:.3f} of "
            f"{found['groups/bound']:.3f} on the 100 pages; docs/scale.md measures ten million.",
            "icc2021/groups/ours",
            holds=found["groups/ours"] < 0.95 * found["groups/bound"],
        ),
        claim(
            "icc2021/claim/unvisited-is-bad",
            "Leaving pages without any crawl is a drawback.",
            "§V",
            f"Of the single pages the index, which earns the bound, never visits "
            f"{100 * curves['one-page', 'whittle'].never_visited:.0f} % in the first example.",
            "figure icc2021-figure-1",
            holds=True,
            under="an aim of its own; the paper's objective (6) is highest when three pages of four are left alone",
        ),
    ]


def _static(found: Numbers, curves: Runs) -> list[Claim]:
    level = {e: (found[f"{e}/static"], float(curves[e, "static"].rewards.mean())) for e in EXAMPLES}
    shown = "; ".join(f"{BY_TITLE[e]}: {exact:.3f} by (8)'s law, {met:.3f} met" for e, (exact, met) in level.items())
    return [
        claim(
            "icc2021/claim/static-offline",
            "Static optimisation with estimated rates is an offline method that cannot be updated on the fly.",
            "§I",
            "(8) is solved for a hundred pages in far less than a slot, so it can be solved again after every crawl: "
            "with --data it is, once a day, by the rates seen so far.",
            "section “On recorded pages”, where --data is given",
            holds=False,
        ),
        claim(
            "icc2021/claim/static-needs-poisson",
            "Static optimisation assumes that crawls are a Poisson process.",
            "§V, end",
            f"It draws its crawls that way, which is no assumption about the world. What it assumes is that pages "
            f"change independently per slot: {shown}.",
            "icc2021/one-page/static",
            holds=False,
        ),
    ]


def _thompson(found: Numbers) -> list[Claim]:
    share = {e: found[f"{e}/thompson"] / found[f"{e}/bound"] for e in EXAMPLES}
    told = {e: found[f"{e}/thompson-importance"] / found[f"{e}/bound"] for e in EXAMPLES}
    first = {e: found[f"{e}/thompson-first-{FIRST_SLOTS}"] / found[f"{e}/thompson"] for e in EXAMPLES}
    crawled = [found[f"one-page/thompson-crawls-page-{page}"] for page in (1, 2, 3, 4)]
    return [
        claim(
            "icc2021/claim/thompson-balances",
            "Thompson sampling balances exploration and exploitation efficiently.",
            "§V",
            f"Of the bound it earns {_both(share)} as published, {_both(told)} told the importance.",
            "icc2021/one-page/thompson-importance",
            holds=min(told.values()) > 0.95,
            under="the importance told to it; as published it spends crawls on what changes and does not matter",
        ),
        claim(
            "icc2021/claim/thompson-most-changes",
            "It selects the page with the most changes most often.",
            "§V",
            f"% of crawls by page: {', '.join(f'{each:.0f}' for each in crawled)}; page 1 changes most.",
            "icc2021/one-page/thompson-crawls-page-1",
            holds=crawled[0] == max(crawled),
        ),
        claim(
            "icc2021/claim/thompson-quick",
            "Thompson sampling is very quick.",
            "§V",
            f"Over its first {FIRST_SLOTS} slots it earns {_both(first)} of what it earns at last.",
            f"icc2021/one-page/thompson-first-{FIRST_SLOTS}",
            holds=min(first.values()) > 0.9,
        ),
    ]


def _both(share: Mapping[str, float]) -> str:
    return " and ".join(f"{100 * share[e]:.0f} % ({BY_TITLE[e]})" for e in EXAMPLES)


def _optimal(found: Numbers) -> list[Claim]:
    share = {e: found[f"{e}/drl"] / found[f"{e}/bound"] for e in EXAMPLES}
    order = {
        e: [name for _, name in sorted((-found[f"{e}/{line}"], name) for name, line in _published(e).items())]
        for e in EXAMPLES
    }
    return [
        claim(
            "icc2021/claim/drl-optimal",
            "DRL learns the optimal crawling policy along with the dynamics.",
            "abstract",
            f"At the end it earns {_both(share)} of the bound; it chooses at random one time in ten.",
            "figures icc2021-figure-3 and icc2021-figure-4",
            holds=min(share.values()) >= NEAR,
        ),
        claim(
            "icc2021/claim/same-on-groups",
            "The policies behave on the groups as they do on single pages.",
            "§V, Fig. 2",
            "; ".join(f"{BY_TITLE[e]}: {', '.join(names)}" for e, names in order.items()) + ", best first.",
            "figures icc2021-figure-1 and icc2021-figure-2",
            holds=order["one-page"] == order["groups"],
        ),
        claim(
            "icc2021/claim/no-assumptions",
            "The algorithm needs no assumption on how pages change and are crawled.",
            "§I, §V",
            "It is told the importance by its rewards, and which pages are alike; its step sizes were picked on these "
            "examples, for worths of up to 5.",
            "section “What had to be chosen”",
            holds=True,
            under="groups of pages that are known to be alike, and steps tuned to the unit of worth",
        ),
        claim(
            "icc2021/claim/several-arms",
            "Choosing several arms at a time is a straightforward extension.",
            "§II",
            "The network's values are summed over the set chosen, which takes one line; `recrawl reproduce separating` "
            "shows what it earns with 50 of 1000 pages.",
            "section “What had to be chosen”",
            holds=True,
            under="straightforward meaning to write down, not to learn",
        ),
    ]


def _published(example: str) -> dict[str, str]:
    static = "static" if example == "one-page" else "static-groups"
    return {"DRL": "drl", "static": static, "Thompson": "thompson", "uniform": "uniform"}


def _over_time(found: Numbers, curves: Runs) -> list[Claim]:
    start = {e: found[f"{e}/drl-first-{FIRST_SLOTS}"] / found[f"{e}/drl"] for e in EXAMPLES}
    rough = {
        kind: float(
            np.mean([_roughness(curves[e, line].rewards, kind) for e in EXAMPLES for line in ("drl", "thompson")])
        )
        for kind in ("moving", "running")
    }
    return [
        claim(
            "icc2021/claim/drl-slow-start",
            "DRL takes some time to learn.",
            "§V",
            f"Over its first {FIRST_SLOTS} slots it earns {_both(start)} of what it earns at last.",
            f"icc2021/one-page/drl-first-{FIRST_SLOTS}",
            holds=min(start.values()) < 0.95,
        ),
        claim(
            "icc2021/claim/moving-fluctuates",
            "Moving averages show the same with high fluctuations.",
            "§V, Fig. 3 and 4",
            "Standard deviation over the second half of a run, mean of DRL and Thompson sampling: moving "
            f"{rough['moving']:.3f}, running {rough['running']:.3f}.",
            "figures icc2021-figure-3 and icc2021-figure-4",
            holds=rough["moving"] > 2 * rough["running"],
        ),
    ]


def _roughness(rewards: FloatArray, kind: str) -> float:
    """The standard deviation over the second half of each run, of either average."""
    mean = moving_average(rewards, MOVING_WINDOW) if kind == "moving" else running_average(rewards)
    return float(mean[:, mean.shape[1] // 2 :].std(axis=1).mean())


def _learning(curves: Runs) -> list[Claim]:
    met = {e: curves[e, "drl"].met_before for e in EXAMPLES}
    return [
        claim(
            "icc2021/claim/replay-finds-one",
            "The replay memory mostly holds one sample of a state and action, so that averaging over them is no use.",
            "§III",
            f"The state and choice of a slot were met before in {_both(met)} of the slots.",
            "section “The deep learner against Thompson sampling”",
            holds=max(met.values()) < 0.5,
        ),
        claim(
            "icc2021/claim/true-bellman-error",
            "(9) descends the true Bellman error.",
            "appendix",
            "Only where errors are averaged over samples of one state and action, which the paper leaves out. Squared "
            "errors of single samples are least elsewhere: docs/errata.md has three states whose values ½, 1 and 0 "
            "become ½, ¾ and ¼.",
            "docs/errata.md",
            holds=False,
        ),
    ]
