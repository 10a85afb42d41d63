"""The two examples of §V, the policies compared, and how long they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from recrawl import policies
from recrawl.policies.contract import Policy
from recrawl.sim.grouped_pages import GroupedPages

IMPORTANCE = (5.0, 0.2, 1.0, 0.5)
EXAMPLES = {
    "one-page": GroupedPages([1, 1, 1, 1], [0.6, 0.08, 0.01, 0.3], IMPORTANCE),
    "groups": GroupedPages([5, 80, 10, 5], [0.1, 0.002, 0.005, 0.05], IMPORTANCE),
}
PUBLISHED_LOTTERY = ("0.942", "0.055", "0.003", "0")
# Slots after which the paper sees the deep learner ahead of Thompson sampling, and how closely a figure can be read.
PUBLISHED_OVERTAKING = {"moving": ("500", 250.0), "running": ("3000", 1000.0)}
LASTING = 500
FIRST_SLOTS = 1000
MOVING_WINDOW = 200
KNOWING_SLOTS = 100_000
"""Slots over which policies that know everything are judged: with fewer, where their course is cut off shows."""


@dataclass(frozen=True)
class Line:
    """One curve of the figures.

    Parameters
        label: its name in legends and tables
        make: the policy for an example and a run
        on_pages: whether it acts on pages, not on groups
        published: whether the paper draws it
        learns: whether what it does depends on what it found
        examples: where it is drawn
    """

    label: str
    make: Callable[[GroupedPages, int], Policy]
    on_pages: bool = False
    published: bool = False
    learns: bool = True
    examples: tuple[str, ...] = ("one-page", "groups")


LINES = {
    "drl": Line("DRL (FG-DQN)", lambda world, run: policies.make("fg_dqn", seed=run), published=True),
    "hybrid": Line("Thompson, then DRL", lambda world, run: policies.make("thompson_then_dqn", seed=run)),
    "thompson": Line("Thompson sampling", lambda world, run: policies.make("thompson", seed=run), published=True),
    "thompson-importance": Line(
        "Thompson with importance", lambda world, run: policies.make("thompson", importance=True, seed=run)
    ),
    "static-groups": Line(
        "static optimisation of arms",
        lambda world, run: policies.make("static", seed=run),
        published=True,
        learns=False,
        examples=("groups",),
    ),
    "static": Line(
        "static optimisation of pages",
        lambda world, run: policies.make("static", pages=world.pages_per_group, seed=run),
        published=True,
        learns=False,
    ),
    "uniform": Line("uniform", lambda world, run: policies.make("uniform", seed=run), published=True, learns=False),
    "greedy": Line("greedy (pages)", lambda world, run: policies.make("greedy"), on_pages=True, learns=False),
    "whittle": Line("index (pages)", lambda world, run: policies.make("whittle"), on_pages=True, learns=False),
    "ours": Line(
        "learned index (pages)",
        lambda world, run: policies.make("learned_whittle", objective="changes", seed=run),
        on_pages=True,
    ),
}
DEEP = ("drl", "hybrid")


@dataclass(frozen=True)
class Variant:
    """The deep learner with one thing changed.

    Parameters
        label: what is changed
        options: of the policy
        examples: where it is run
    """

    label: str
    options: Mapping[str, object]
    examples: tuple[str, ...] = ("one-page", "groups")


VARIANTS = {
    "semi-gradient": Variant("semi-gradient: target held fixed, as in ordinary DQN", {"gradient": "semi"}),
    "no-noise": Variant("without the noise term", {"noise": 0.0}),
    "printed-noise": Variant("noise at the gradient's step, as (9) prints it", {"noise": 1e-3, "noise_exponent": 0.0}),
    "matched": Variant(
        "errors averaged over traces of the same state and action, as in the original FG-DQN",
        {"matched": True},
        examples=("one-page",),
    ),
}


def lines(example: str | None = None) -> dict[str, Line]:
    """The curves that can be computed, of one example or of all: without torch all but the deep ones."""
    deep = find_spec("torch") is not None
    able = {name: line for name, line in LINES.items() if deep or name not in DEEP}
    return {name: line for name, line in able.items() if example is None or example in line.examples}


def in_the_paper(name: str, example: str) -> bool:
    """Whether the paper draws a line in an example; on the groups its static optimisation is that of the arms."""
    return LINES[name].published and not (name == "static" and example == "groups")


@dataclass(frozen=True)
class Length:
    """How much is run.

    Parameters
        runs: of every policy
        steps: slots of a run in the figures
        window: slots at the end over which learners are judged
        long: slots of a run of our learner, judged over the second half
        variant_runs, variant_steps: of each variant of the deep learner
    """

    runs: int
    steps: int
    window: int
    long: int
    variant_runs: int
    variant_steps: int


FULL = Length(runs=10, steps=5000, window=1000, long=20_000, variant_runs=10, variant_steps=3000)
QUICK = Length(runs=3, steps=1500, window=500, long=3000, variant_runs=0, variant_steps=0)
