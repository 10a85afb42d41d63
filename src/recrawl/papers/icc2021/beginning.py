"""What learners earn at first, how their spread shrinks, and what Thompson sampling comes to believe."""

from __future__ import annotations

from collections.abc import Mapping

import recrawl
from recrawl import policies
from recrawl.papers.expected_rewards import Audited
from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import EXAMPLES, FIRST_SLOTS, MOVING_WINDOW, Length
from recrawl.papers.results import Result, compare, share_of
from recrawl.policies.thompson import Thompson
from recrawl.records import FloatArray
from recrawl.sim.metrics import interval95, moving_average

LEARNERS = {"ours": "our learner", "thompson": "Thompson sampling", "drl": "DRL", "hybrid": "Thompson, then DRL"}
LAST_SLOTS = 1000


def first_slots(example: str, curves: Mapping[tuple[str, str], Curves]) -> list[Result]:
    """The reward of each learner over its first slots."""
    out = []
    for name in LEARNERS:
        if (example, name) in curves:
            found = curves[example, name]
            start: FloatArray = (found.expected if name == "ours" else found.rewards)[:, :FIRST_SLOTS].mean(axis=1)
            note = f"First {FIRST_SLOTS} slots, from no knowledge; {len(start)} runs."
            identity = f"icc2021/{example}/{name}-first-{FIRST_SLOTS}"
            out.append(compare(identity, float(start.mean()), ci95=interval95(start), note=note))
    return out


def said_plainly(example: str, found: Mapping[str, Result]) -> str:
    """How the learners compare in their first slots, in a sentence."""
    bound = found[f"icc2021/{example}/bound"].measured
    words, shares = [], {}
    for name, label in LEARNERS.items():
        result = found.get(f"icc2021/{example}/{name}-first-{FIRST_SLOTS}")
        if result is not None:
            share, noise = share_of(result, bound)
            shares[label] = share
            spread = "" if noise is None else f" ({noise[0]:.1f} … {noise[1]:.1f})"
            words.append(f"{label} {share:.1f} %{spread}")
    better = [label for label, share in shares.items() if share > shares[LEARNERS["ours"]]]
    return (
        f"Learning costs something at first, ours too. Of the bound, over the first {FIRST_SLOTS} slots: "
        + ", ".join(words)
        + (
            f". There {' and '.join(better)} earn more than ours"
            if better
            else ". None of the others earns more than ours"
        )
        + ". Our learner's row in the table above leaves these slots out."
    )


def spreads(example: str, curves: Mapping[tuple[str, str], Curves], length: Length) -> list[Result]:
    """The spread of the deep learner's moving average over runs, early and late."""
    if (example, "drl") not in curves:
        return []
    smooth = moving_average(curves[example, "drl"].rewards, MOVING_WINDOW)
    spread = smooth.std(axis=0, ddof=1)
    early = slice(MOVING_WINDOW, max(MOVING_WINDOW + 1, min(FIRST_SLOTS, length.steps // 2)))
    late = slice(max(early.stop, length.steps - LAST_SLOTS), length.steps)
    return [
        compare(
            f"icc2021/{example}/drl-spread-{when}",
            float(spread[slots].mean()),
            note=f"Standard deviation over runs of the moving average, slots {slots.start} to {slots.stop}.",
        )
        for when, slots in (("early", early), ("late", late))
    ]


def beliefs(seed: int, length: Length) -> list[Result]:
    """What Thompson sampling believes of each single page, beside the page's change rate."""
    pages, policy = EXAMPLES["one-page"].pages(), policies.make("thompson", seed=seed)
    assert isinstance(policy, Thompson)
    # A policy that is not wrapped would be copied, and what it learned lost.
    recrawl.simulate(pages, Audited(policy), steps=length.steps, seed=seed, noise="change")
    crawls = policy.successes + policy.failures
    believed = (1.0 + policy.successes) / (2.0 + crawls)
    shares = [
        compare(f"icc2021/one-page/thompson-crawls-page-{page}", float(share), note="% of the crawls, the same run.")
        for page, share in enumerate(100.0 * crawls / crawls.sum(), start=1)
    ]
    means = [
        compare(
            f"icc2021/one-page/thompson-believes-page-{page}",
            float(mean),
            note=f"Mean of its belief after {length.steps} slots; the page changes with probability {rate:g}.",
        )
        for page, (mean, rate) in enumerate(zip(believed, pages.arrivals_per_slot, strict=True), start=1)
    ]
    return [*shares, *means]
