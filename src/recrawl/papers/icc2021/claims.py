"""What the paper says in words, judged by the numbers of the report."""

from __future__ import annotations

from collections.abc import Mapping

from recrawl.papers.claims import Claim, claim
from recrawl.papers.icc2021.claims_method import deep_method_claims, method_claims
from recrawl.papers.icc2021.numbers import Numbers
from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import EXAMPLES, FIRST_SLOTS
from recrawl.papers.results import Result

PAGES = (1, 2, 3, 4)


def all_claims(found: Mapping[str, Result], curves: Mapping[tuple[str, str], Curves]) -> list[Claim]:
    """Every claim; those on the deep learner only where it was run."""
    numbers = Numbers(found)
    deep = [*_deep(numbers, curves), *_deep_over_time(numbers)] if "one-page/drl" in numbers else []
    plain = [*_static(numbers, curves), *_thompson(numbers), *method_claims(numbers, curves)]
    return [*plain, *deep, *(deep_method_claims(numbers, curves) if deep else [])]


def _static(found: Numbers, curves: Mapping[tuple[str, str], Curves]) -> list[Claim]:
    zeros = {
        "one page": [page for page in PAGES if found[f"one-page/static-probability-{page}"] < 1e-9],
        "arms": [page for page in PAGES if found[f"groups/static-by-arm-probability-{page}"] < 1e-9],
        "pages": [page for page in PAGES if found[f"groups/static-by-page-probability-{page}"] < 1e-9],
    }
    return [
        claim(
            "icc2021/claim/uniform-wasteful",
            "Choosing arms uniformly is wasteful; Thompson sampling and static optimisation outperform it.",
            "§IV, Fig. 1 and 2",
            found.both("uniform", "thompson", "static") + f"; static on arms {found['groups/static-groups']:.2f}.",
            "figures icc2021-figure-1 and icc2021-figure-2",
            holds=all(
                min(found[f"{e}/thompson"], found[f"{e}/static"]) > 1.1 * found[f"{e}/uniform"] for e in EXAMPLES
            ),
        ),
        claim(
            "icc2021/claim/static-above-thompson",
            "Static optimisation earns more than Thompson sampling.",
            "§V, Fig. 1; Fig. 2 “similar”",
            found.both("static", "thompson") + f"; on arms static earns {found['groups/static-groups']:.2f}.",
            "section “Static optimisation on the groups”",
            holds=found["one-page/static"] > found["one-page/thompson"]
            and found["groups/static-groups"] > found["groups/thompson"],
            under="(8) applied to the four arms on the groups, and Thompson sampling that ignores importance",
        ),
        claim(
            "icc2021/claim/page-4-never",
            "Static optimisation gives page 4 no crawl in the first example.",
            "§V",
            f"The maximiser of (8) leaves out pages {', '.join(map(str, zeros['one page']))}; the printed one only "
            "page 4.",
            "icc2021/one-page/static-probability-4",
            holds=4 in zeros["one page"],
        ),
        claim(
            "icc2021/claim/static-starves",
            "Static optimisation may give several groups no crawls at all.",
            "§V, end",
            f"Left out: {len(zeros['one page'])} of 4 single pages, {len(zeros['arms'])} of 4 arms, "
            f"{len(zeros['pages'])} of 4 groups by pages.",
            "icc2021/groups/static-by-arm-probability-4",
            holds=bool(zeros["one page"]),
            under="the first example; (8) over the arms of the groups leaves none out",
        ),
        claim(
            "icc2021/claim/printed-distribution",
            "The printed distribution is the optimum of (8).",
            "§V",
            found.found["icc2021/one-page/static-freshness"].note,
            "section “Static optimisation”",
            holds=found.found["icc2021/one-page/static-probability-2"].verdict == "reproduced",
        ),
        claim(
            "icc2021/claim/rates-sum",
            "The change rates keep Σ N_i λ_i ≤ 1.",
            "§V",
            f"{found['one-page/changes-per-slot']:.2f} and {found['groups/changes-per-slot']:.2f}.",
            "icc2021/groups/changes-per-slot",
            holds=max(found[f"{e}/changes-per-slot"] for e in EXAMPLES) <= 1.0,
        ),
    ]


def _thompson(found: Numbers) -> list[Claim]:
    rates = EXAMPLES["one-page"].arms.arrivals_per_slot
    believed = [found[f"one-page/thompson-believes-page-{page}"] for page in PAGES]
    off = max(abs(mean - rate) for mean, rate in zip(believed, rates, strict=True))
    pairs = ", ".join(f"{mean:.2f} ({rate:g})" for mean, rate in zip(believed, rates, strict=True))
    return [
        claim(
            "icc2021/claim/thompson-learns-rates",
            "In the long run Thompson sampling learns the change rates of the pages.",
            "§V",
            f"It comes to believe {pairs}; rates in brackets. What it learns is how often a crawl finds a change, "
            "which grows with the time a page is left alone.",
            "icc2021/one-page/thompson-believes-page-4",
            holds=off < 0.05,
        ),
        claim(
            "icc2021/claim/baselines-state-of-the-art",
            "Thompson sampling and static optimisation are the baselines to beat.",
            "abstract",
            found.both("thompson-importance", "greedy", "whittle") + ".",
            "figures icc2021-figure-1 and icc2021-figure-2",
            holds=not any(found[f"{e}/thompson-importance"] > found[f"{e}/thompson"] for e in EXAMPLES),
        ),
    ]


def _deep(found: Numbers, curves: Mapping[tuple[str, str], Curves]) -> list[Claim]:
    gains = {example: found.surely_above(f"{example}/drl-minus-thompson", 0.0) for example in EXAMPLES}
    both = found.both("drl-minus-thompson")
    unvisited = {name: 100 * curves["one-page", name].never_visited for name in ("drl", "static")}
    ahead = {"one-page": found["one-page/static"], "groups": found["groups/static-groups"]}
    met = [names for e, names in (("one-page", "one page per group"), ("groups", "the groups")) if gains[e]]
    out = [
        claim(
            "icc2021/claim/drl-above-thompson",
            "DRL earns more than Thompson sampling.",
            "abstract, §V, Fig. 1 and 2",
            f"At the end of the runs, by pairs: {both}. With importance Thompson sampling earns "
            f"{found.both('thompson-importance')}.",
            "figures icc2021-figure-3 and icc2021-figure-4",
            holds=any(gains.values()),
            under="Thompson sampling that ignores importance"
            + ("" if all(gains.values()) else f", and on {' and '.join(met)} only"),
        ),
        claim(
            "icc2021/claim/drl-best",
            "DRL performs better than the baselines, static optimisation included.",
            "abstract, §VI",
            found.both("drl", "static") + f"; static on arms {found['groups/static-groups']:.2f}.",
            "figures icc2021-figure-1 and icc2021-figure-2",
            holds=all(found.surely_above(f"{e}/drl", ahead[e]) for e in EXAMPLES),
        ),
        claim(
            "icc2021/claim/static-slightly-above-drl",
            "Static optimisation may do slightly better than DRL.",
            "§V, end",
            found.both("drl", "static") + f"; static on arms {found['groups/static-groups']:.2f}.",
            "figures icc2021-figure-1 and icc2021-figure-2",
            holds=any(not found.surely_above(f"{e}/drl", ahead[e]) for e in EXAMPLES),
        ),
        claim(
            "icc2021/claim/drl-visits-all",
            "DRL, unlike static optimisation, leaves no group unvisited.",
            "§V, end",
            f"Single pages never visited: DRL {unvisited['drl']:.0f} %, static {unvisited['static']:.0f} %. DRL visits "
            "them because it chooses at random one time in ten.",
            "figure icc2021-figure-1",
            holds=unvisited["drl"] == 0.0 < unvisited["static"],
            under="ε kept at 0.1 for ever",
        ),
    ]
    return [*out, *_gradient(found)]


def _gradient(found: Numbers) -> list[Claim]:
    if "one-page/semi-gradient-minus-drl" not in found:
        return []
    worse = [not found.surely_above(f"{e}/semi-gradient-minus-drl", 0.0) for e in EXAMPLES]
    clear = [found.found[f"icc2021/{e}/semi-gradient-minus-drl"].ci95 for e in EXAMPLES]
    return [
        claim(
            "icc2021/claim/full-gradient",
            "The full gradient serves better than ordinary DQN.",
            "appendix",
            f"Semi-gradient minus full: {found.both('semi-gradient-minus-drl')}.",
            "section “The deep learner against Thompson sampling”",
            holds=all(worse) and any(each is not None and each[1] < 0.0 for each in clear),
        ),
        claim(
            "icc2021/claim/no-special-replay",
            "The special experience replay of FG-DQN can be left out.",
            "§III",
            f"With it, minus without: {found.shown('one-page/matched-minus-drl')} per slot.",
            "section “The deep learner against Thompson sampling”",
            holds=not found.surely_above("one-page/matched-minus-drl", 0.0),
        ),
    ]


def _deep_over_time(found: Numbers) -> list[Claim]:
    early, late = ([found[f"{e}/drl-spread-{when}"] for e in EXAMPLES] for when in ("early", "late"))
    first = {name: [found[f"{e}/{name}-first-{FIRST_SLOTS}"] for e in EXAMPLES] for name in ("drl", "hybrid")}
    out = [
        claim(
            "icc2021/claim/variance-shrinks",
            "The variance of DRL is high at first and shrinks.",
            "§V, Fig. 1",
            "Spread over runs of the moving average, early → late: "
            + ", ".join(f"{a:.3f} → {b:.3f}" for a, b in zip(early, late, strict=True))
            + " (one page, groups).",
            "figure icc2021-figure-3",
            holds=all(b < a for a, b in zip(early, late, strict=True)),
        ),
        claim(
            "icc2021/claim/thompson-first",
            "Using Thompson sampling at first and DRL afterwards is a good combination.",
            "§V",
            f"Over the first {FIRST_SLOTS} slots it earns "
            + " and ".join(f"{a:.2f} instead of {b:.2f}" for a, b in zip(first["hybrid"], first["drl"], strict=True))
            + f"; at the end {found.both('hybrid', 'drl')}.",
            "icc2021/groups/hybrid",
            holds=all(a > b for a, b in zip(first["hybrid"], first["drl"], strict=True)),
        ),
    ]
    if "one-page/drl-passes-thompson-running" not in found:
        return out
    slots = {kind: [found[f"{e}/drl-passes-thompson-{kind}"] for e in EXAMPLES] for kind in ("moving", "running")}
    shown = "; ".join(f"{kind}: slots " + " and ".join(f"{s:.0f}" for s in at) for kind, at in slots.items())
    return [
        *out,
        claim(
            "icc2021/claim/running-average-penalises-start",
            "The running average shows DRL ahead of Thompson sampling much later than the moving average.",
            "§V, Fig. 3 and 4",
            f"Ahead for good, {shown} (one page, groups).",
            "figures icc2021-figure-1 and icc2021-figure-3",
            holds=all(a < b for a, b in zip(slots["moving"], slots["running"], strict=True)),
        ),
    ]
