"""What the report says: one section per example, the deep learner, static optimisation, and every choice made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from recrawl.papers.icc2021 import beginning, pictures, variants
from recrawl.papers.icc2021.runs import Curves
from recrawl.papers.icc2021.setting import DEEP, EXAMPLES, Length, lines
from recrawl.papers.results import Result, share_of
from recrawl.policies.fg_dqn import FgDqn
from recrawl.policies.thompson_then_dqn import ThompsonThenDqn
from recrawl.report import Column, Section, Table, Text

FIGURES = {"one-page": (1, 3), "groups": (2, 4)}
INTRODUCTIONS = {
    "one-page": (
        "Four groups of one page. Crawling page 1 in every slot earns 3.0 and is the best there is; the index and "
        "greedy both do it, so this example does not tell good policies apart."
    ),
    "groups": (
        "100 pages in four groups. The policies of the paper choose a group and crawl its next page in turn; the "
        "index, greedy and our learner choose single pages, so they could do more: they may tell alike pages apart by "
        "age. The dual bound is that of the pages and holds for both."
    ),
}


def lead(found: Mapping[str, Result]) -> str:
    """The outcome in a few sentences."""
    share = found["icc2021/groups/ours"].measured / found["icc2021/groups/bound"].measured
    ours = f"Our learner reaches {share:.2%} of what is possible on the groups from no knowledge."
    if "icc2021/one-page/drl" not in found:
        return ours + " The deep learner was left out: install 'recrawl[deep]' to see it."
    words = []
    for example in EXAMPLES:
        gain = found[f"icc2021/{example}/drl-minus-thompson"]
        words.append(f"{gain.measured:+.3f} ({'–' if gain.ci95 is None else '{:+.3f} … {:+.3f}'.format(*gain.ci95)})")
    return (
        "The deep learner against Thompson sampling as published, reward per slot at the end of the runs: "
        f"{words[0]} with one page per group, {words[1]} with 100 pages. {ours} "
        "The printed static distribution is not optimal for the paper's own objective."
    )


def remember(found: Mapping[str, Result]) -> str:
    """The sentence to take home."""
    told = found["icc2021/groups/thompson-importance"]
    noise = "" if told.ci95 is None else f" ({told.ci95[0]:.2f} … {told.ci95[1]:.2f})"
    return (
        "The paper's examples do not tell good policies apart: on the groups greedy earns "
        f"{found['icc2021/groups/greedy'].measured:.2f} of the {found['icc2021/groups/bound'].measured:.2f} that are "
        f"possible, and so does Thompson sampling once it is told what matters, {told.measured:.2f}{noise}."
    )


def example_section(example: str, curves: Mapping[str, Curves], found: Mapping[str, Result], length: Length) -> Section:
    """Both figures of an example, and what each policy earns of what is possible."""
    bound = found[f"icc2021/{example}/bound"].measured
    drawn = [pictures.figure(number, example, curves, bound, length.steps) for number in FIGURES[example]]
    rows = []
    for name, line in lines(example).items():
        result = found[f"icc2021/{example}/{name}"]
        target = "pages" if line.on_pages else "groups"
        share, noise = share_of(result, bound)
        rows.append((line.label, target, result.measured, share, noise, 100 * curves[name].never_visited))
    columns = [
        Column("policy"),
        Column("acts on"),
        Column("reward per slot", 4),
        Column("% of the bound", 2),
        Column("95 % interval, %", 2),
        Column("% of pages never visited", 1),
    ]
    caption = (
        f"Rewards as described beside every number above; pages never visited within {length.steps} slots "
        f"({length.long} for our learner), mean over {length.runs} runs. The paper holds unvisited pages against "
        "static optimisation. Shares above 100 % are noise, as their intervals show. A policy that spends every crawl "
        "where it finds most leaves pages out too."
    )
    plainly = beginning.said_plainly(example, found)
    title = f"Figures {FIGURES[example][0]} and {FIGURES[example][1]}: {pictures.TITLES[example]}"
    return Section(title, [Text(INTRODUCTIONS[example]), *drawn, Table(columns, rows, caption), Text(plainly)])


def deep_section(curves: Mapping[tuple[str, str], Curves], found: Mapping[str, Result], length: Length) -> Section:
    """The deep learner against Thompson sampling, and what its variants do."""
    if not set(DEEP) <= set(lines()):
        return Section("The deep learner", [Text("Left out: torch is not installed. pip install 'recrawl[deep]'")])
    rows = []
    for example in EXAMPLES:
        for name, label in (("drl", "DRL"), ("thompson", "Thompson"), ("drl-minus-thompson", "difference, paired")):
            result = found[f"icc2021/{example}/{name}"]
            rows.append((pictures.TITLES[example], label, result.measured, result.ci95))
    columns = [Column("example"), Column("policy"), Column("reward per slot", 3), Column("95 % interval", 3)]
    text = (
        "The paper reports that the deep learner passes Thompson sampling (which there ignores importance) after some "
        "hundred slots. Thompson sampling that knows the importance of each group is the stronger opponent; the paper "
        "does not try it."
    )
    caption = f"Mean over the last {length.window} of {length.steps} slots, {length.runs} runs."
    blocks: list[Text | Table] = [Text(text), Table(columns, rows, caption)]
    if length.variant_runs:
        blocks += variants.blocks(curves, found, length)
    return Section("The deep learner against Thompson sampling", blocks)


def static_section(found: Mapping[str, Result]) -> Section:
    """The printed distribution is not the maximiser of (8)."""
    best = [found[f"icc2021/one-page/static-probability-{page}"] for page in (1, 2, 3, 4)]
    rows = [(page + 1, result.published, result.measured) for page, result in enumerate(best)]
    columns = [Column("page"), Column("published", 3), Column("maximiser of (8)", 4)]
    value = found["icc2021/one-page/static-freshness"]
    text = (
        "With the stated change probabilities and importance, the printed distribution is not optimal for the paper's "
        "own objective (8): the weight on page 2 belongs on page 3, which matters five times as much and changes so "
        f"rarely that few crawls keep it fresh. {value.note} The lottery is solved exactly for any number of pages; "
        "for groups each page of a group gets the same probability. Figures use the maximiser."
    )
    return Section("Static optimisation", [Text(text), Table(columns, rows)])


def choices_section() -> Section:
    """Every setting the paper does not state."""
    chosen = {name: p.default for name, p in inspect.signature(FgDqn.__init__).parameters.items()}
    switch = inspect.signature(ThompsonThenDqn.__init__).parameters["switch"].default
    rows = [
        ("optimiser", "plain gradient descent on (9)"),
        (
            "step size a(n)",
            f"{chosen['step']:g}/(1 + n/{chosen['step_halving']:g}); first step picked from 0.0001, 0.001 and 0.01 by "
            "two runs of 2500 slots on each example, so the deep learner is tuned to these examples and the others not",
        ),
        (
            "noise ξ",
            f"its own step {chosen['noise']:g}/(n + 1)^{chosen['noise_exponent']:g}, lest it outgrow weights with "
            "4000 inputs, which start within ±0.016; the variants show what the noise changes",
        ),
        ("replay memory, minibatch", f"{chosen['memory']} transitions, {chosen['batch']} drawn with repetition"),
        ("initial weights", "uniform on ±1/√inputs"),
        ("schedule of ε", f"linear from 0.7 to 0.1 over {chosen['exploration_slots']} slots, then 0.1"),
        (
            "state X",
            f"1 in the slot after a crawl (by definition; (4) prints 0), divided by {chosen['elapsed_scale']:g}",
        ),
        ("state Y at the start", "0"),
        ("rewards", "not scaled"),
        ("K > 1 arms per slot", "the value of a set is the sum of its arms' values; not used in the figures"),
        (
            "Thompson, then DRL",
            f"Thompson as published for {switch} slots, the network learning from them; then ε = 0.1",
        ),
        ("static optimisation on groups", "both (8) over the four arms and (8) over the pages, see there"),
        ("length of a run", "the figures end at some thousand slots; here as stated beside each number"),
        ("changes", "in every slot each page changes with its probability, before crawling"),
    ]
    text = "The paper does not state these; another choice may move the deep learner's curves."
    return Section("What had to be chosen", [Text(text), Table([Column("setting"), Column("choice", wide=True)], rows)])
