"""The index learnt by Q-learning, beside learners that know more or less of the model.

[icc2021] names Q-learning of the Whittle index [qwi2020] as the way to learn where the dynamics are unknown. Here it
meets Table I of [tcns2018], the groups of [icc2021], and 100 pages of the law that separates policies. Every figure is
a share of what the index earns that knows all parameters, in expectation given what was chosen.

Two measures of how fast a learner is: the crawls made before the first `WINDOW` slots that earn 95 % of the index's
reward, and what learning cost: the reward missed over the whole run, in slots' worth of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrik

import recrawl
from recrawl import policies
from recrawl.papers.claims import Claim, claim
from recrawl.papers.expected_rewards import Audited, AuditedGroups
from recrawl.papers.icc2021.setting import EXAMPLES
from recrawl.papers.parallel import side_by_side
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import Result, compare
from recrawl.papers.separating_law import catalogue
from recrawl.records import FloatArray, Sources
from recrawl.report import Column, Figure, Section, Table, Text, draw
from recrawl.report.figures import INK, PALETTE
from recrawl.report.progress import ProgressCallback, silent
from recrawl.report.tables import Cell
from recrawl.sim.grouped_pages import GroupedPages
from recrawl.sim.metrics import interval95, moving_average
from recrawl.sim.noise import Noise

TITLE = "The index learnt by Q-learning"
WINDOW, ENOUGH = 100, 0.95
LARGEST_WORTH = 5.0
"""The largest ceiling of Table I, as the largest importance of [icc2021]: the deep learner minds the unit of worth."""
LAST_EXPLORATION = 0.02


@dataclass(frozen=True)
class World:
    """Where learners are compared.

    Parameters
        label: its name in tables and figures
        sources: the sources or pages of run r
        groups: the groups that those pages form for the papers' learners; None where these see the sources themselves
        noise: what is random
        budget: crawls per slot
        small: whether it has few enough targets for all learners
    """

    label: str
    sources: Callable[[int], Sources]
    groups: GroupedPages | None = None
    noise: Noise = None
    budget: int = 1
    small: bool = True


def table_one() -> Sources:
    """Table I of [tcns2018] in the unit above."""
    whole = Sources.ephemeral(arrival_rate=250.0, interest=[1.0, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
    unit = float(whole.ceiling.max()) / LARGEST_WORTH
    return Sources.ephemeral(whole.arrivals_per_slot, whole.interest / unit, whole.decay_rate)


WORLDS = {
    "table1": World("Table I, nothing random", lambda run: table_one()),
    "table1-epoch": World("Table I, interest random in every slot", lambda run: table_one(), noise="epoch"),
    "groups": World(
        "icc2021, 100 pages in four groups", lambda run: EXAMPLES["groups"].pages(), EXAMPLES["groups"], "change"
    ),
    "pages": World("100 separating pages", lambda run: catalogue(run, 100), noise="change", budget=5, small=False),
}
LEARNERS = {
    "ours": "learned index (a model)",
    "ours-on-groups": "learned index, told the groups",
    "q-whittle": "Q-learning of the index, tables",
    "q-network": "Q-learning of the index, network",
    "fg-dqn": "FG-DQN",
    "lspe": "LSPE(0), told u and u*",
}
DEEP = ("q-network", "fg-dqn")
EVERYWHERE = ("ours", "q-whittle")


class Length(NamedTuple):
    """Runs of every learner, slots of a run with few targets and with 100, slots in which the index is measured."""

    runs: int
    slots: int
    many_slots: int
    index_slots: int


FULL, QUICK = Length(10, 2500, 15_000, 10_000), Length(3, 600, 1500, 2000)


class Task(NamedTuple):
    """One run of one learner."""

    world: str
    learner: str
    run: int
    slots: int
    index_slots: int
    seed: int


class Measured(NamedTuple):
    """Of one learner in one world, run by run: share of the index's reward by slot; crawls per slot."""

    share: FloatArray
    budget: int

    def at_last(self) -> FloatArray:
        """Mean share over the last fifth of each run, %."""
        slots = self.share.shape[1]
        return np.asarray(100.0 * self.share[:, -max(1, slots // 5) :].mean(axis=1))

    def crawls(self) -> FloatArray:
        """Crawls before the first window that earns enough; those of the whole run where none does."""
        slots = self.share.shape[1]
        mean = moving_average(self.share, WINDOW)[:, WINDOW - 1 :]
        good = mean >= ENOUGH
        return np.where(good.any(axis=1), good.argmax(axis=1), slots) * float(self.budget)

    def reached(self) -> int:
        """Runs in which some window earns enough."""
        return int((self.crawls() < self.share.shape[1] * self.budget).sum())

    def cost(self) -> FloatArray:
        """The reward missed in each run, in slots' worth of the index."""
        return np.asarray((1.0 - self.share).sum(axis=1))


Findings = Mapping[tuple[str, str], Measured]


def learners(world: str) -> tuple[str, ...]:
    """The learners that can be run in a world; without torch all but the deep ones."""
    names = list(LEARNERS) if WORLDS[world].small else list(EVERYWHERE)
    without = set() if find_spec("torch") is not None else set(DEEP)
    if WORLDS[world].groups is None:
        without.add("ours-on-groups")
    return tuple(name for name in names if name not in without)


def learner(name: str, world: World, sources: Sources, slots: int, seed: int) -> policies.Policy:
    """A learner as it is set for a world; all end at ε = 0.02 where they have an ε."""
    exploring = 500 if world.small else min(3000, slots // 3)
    if name.startswith("ours"):
        objective = "ephemeral" if sources.kind == "ephemeral" else "changes"
        return policies.make("learned_whittle", objective=objective, seed=seed)
    if name == "fg-dqn":
        return policies.make("fg_dqn", exploration=(0.7, LAST_EXPLORATION), exploration_slots=exploring, seed=seed)
    if name == "lspe":
        unit = float(sources.ceiling.max())
        return policies.make("lspe", budget="hard", reward="collected", initial="random", unit=unit, seed=seed)
    network = (64, 64) if name == "q-network" else None
    ending = (1.0, LAST_EXPLORATION)
    return policies.make("q_whittle", exploration=ending, exploration_slots=exploring, network=network, seed=seed)


def one_run(task: Task) -> FloatArray:
    """The expected reward of every slot as a share of the index's."""
    world = WORLDS[task.world]
    sources = world.sources(task.seed * 1000 + task.run)
    known = recrawl.simulate(sources, "whittle", world.budget, task.index_slots)
    index = known.mean_between(task.index_slots // 2, task.index_slots)
    inside = learner(task.learner, world, sources, task.slots, task.run)
    in_groups = world.groups is not None and task.learner != "ours"
    audited = AuditedGroups(inside, world.groups) if in_groups and world.groups else Audited(inside)
    place = world.groups if in_groups and world.groups else sources
    seed = task.seed * 1000 + task.run
    recrawl.simulate(place, audited, world.budget, task.slots, seed=seed, noise=world.noise)
    return np.array(audited.expected) / index


def all_runs(length: Length, seed: int, progress: ProgressCallback) -> dict[tuple[str, str], Measured]:
    """Every learner in every world."""
    tasks = {}
    for name in (*DEEP, *(name for name in LEARNERS if name not in DEEP)):  # the slowest first
        for world in WORLDS:
            slots = length.slots if WORLDS[world].small else length.many_slots
            for run in range(length.runs if name in learners(world) else 0):
                tasks[world, name, run] = Task(world, name, run, slots, length.index_slots, seed)
    done = side_by_side(one_run, tasks, lambda key: f"q_learning: {LEARNERS[key[1]]}", progress)
    return {
        (world, name): Measured(np.stack([done[world, name, run] for run in range(length.runs)]), WORLDS[world].budget)
        for world in WORLDS
        for name in learners(world)
    }


def median_interval(values: FloatArray) -> tuple[float, float] | None:
    """An interval of the median of at least 95 %, from the order of independent values; None for fewer than six.

    >>> median_interval(np.arange(10.0))
    (1.0, 8.0)
    """
    ordered, count = np.sort(values), len(values)
    place = int(np.ceil(bdtrik(0.025, count, 0.5))) - 1 if count > 5 else -1
    return None if place < 0 else (float(ordered[place]), float(ordered[count - 1 - place]))


def reproduce(quick: bool = False, seed: int = 0, progress: ProgressCallback = silent) -> Reproduction:
    """Compare the learners; `quick` does fewer and shorter runs."""
    length = QUICK if quick else FULL
    found = all_runs(length, seed, progress)
    results = [result for key in found for result in _results(key, found[key])]
    sections = [_setting(), *(_section(world, found) for world in WORLDS)]
    return Reproduction("q_learning", TITLE, lead(found), results, sections, claims(found), remember(found))


def _results(key: tuple[str, str], measured: Measured) -> list[Result]:
    identity, runs = f"q_learning/{key[0]}/{key[1]}", len(measured.share)
    share, crawls, cost = measured.at_last(), measured.crawls(), measured.cost()
    note = f"% of the index's reward over the last fifth of {measured.share.shape[1]} slots, {runs} runs."
    out = [compare(identity, float(share.mean()), ci95=interval95(share), note=note)]
    note = (
        f"Crawls before {WINDOW} slots earn {ENOUGH:.0%} of the index's reward; the median of {runs} runs, of which "
        f"{measured.reached()} get there; the others count with all their crawls."
    )
    out.append(compare(f"{identity}-crawls", float(np.median(crawls)), ci95=median_interval(crawls), note=note))
    note = "Reward missed over the run, in slots' worth of the index."
    return [*out, compare(f"{identity}-cost", float(cost.mean()), ci95=interval95(cost), note=note)]


def lead(found: Findings) -> str:
    """What to remember."""
    crawls = {name: float(np.median(found["pages", name].crawls())) for name in EVERYWHERE}
    cost = {name: float(found["table1", name].cost().mean()) for name in EVERYWHERE}
    arms = {name: float(found["groups", name].cost().mean()) for name in (*EVERYWHERE, "ours-on-groups")}
    q = found["pages", "q-whittle"]
    least = "" if q.reached() * 2 > len(q.share) else "more than "
    times = crawls["q-whittle"] / max(1.0, crawls["ours"])
    return (
        f"Learning without a model takes {least}{times:.0f} times the crawls: on 100 pages Q-learning of the index "
        f"earns {ENOUGH:.0%} of the index's reward after {least}{crawls['q-whittle']:,.0f} crawls, the learned index "
        f"after {crawls['ours']:,.0f}. On Table I learning costs {cost['q-whittle']:.0f} and {cost['ours']:.0f} slots' "
        f"worth, on the groups {arms['q-whittle']:.0f} and {arms['ours-on-groups']:.0f}, or {arms['ours']:.0f} if the "
        "learned index has to find out by itself which of the 100 pages are alike."
    )


def remember(found: Findings) -> str:
    """The sentence to take home: how many times the crawls."""
    q = found["pages", "q-whittle"]
    least = "about" if q.reached() * 2 > len(q.share) else "more than"
    times = float(np.median(q.crawls())) / max(1.0, float(np.median(found["pages", "ours"].crawls())))
    return f"Without a model, learning the index of 100 pages takes {least} {times:.0f} times the crawls."


def claims(found: Findings) -> list[Claim]:
    """What [icc2021] says of Q-learning of the index."""
    few, many = found["table1", "q-whittle"], found["pages", "q-whittle"]
    shown = {name: float(each.at_last().mean()) for name, each in (("few", few), ("many", many))}
    crawls = float(np.median(many.crawls()))
    return [
        claim(
            "icc2021/claim/q-learning-learns",
            "Where the dynamics are unknown, the Whittle indices can be learned by Q-learning.",
            "§I, citing [5]",
            f"On Table I it earns {shown['few']:.1f} % of the index's reward over the last fifth of "
            f"{few.share.shape[1]} slots; {few.reached()} of {len(few.share)} runs come to {ENOUGH:.0%}.",
            "q_learning/table1/q-whittle",
            holds=few.reached() * 2 > len(few.share),
        ),
        claim(
            "icc2021/claim/q-learning-explodes",
            "Q-learning faces an explosion of the state space, so that it estimates the indices of large ones badly.",
            "§I",
            "Tables of the index add up, 16 states per page, instead of multiplying. But each page has to be tried by "
            f"itself: on 100 pages it takes {crawls:,.0f} crawls to {ENOUGH:.0%}"
            f"{'' if many.reached() * 2 > len(many.share) else ' and does not get there'}, and earns "
            f"{shown['many']:.1f} % at last.",
            "q_learning/pages/q-whittle",
            holds=True,
            under="explosion meaning samples per page; in Q-learning of the index states do not multiply",
        ),
    ]


def _setting() -> Section:
    text = (
        "Q-learning of the index knows nothing but the slots since a target's last crawl, 16 of them told apart, and "
        "learns values and indices at two speeds, in tables or with one network (64, 64). It explores at random at "
        f"first, and in {LAST_EXPLORATION:.0%} of the slots for good, as FG-DQN does here. LSPE(0) is told u and u* of "
        "every source, crawls the top of x − T, and is rewarded with what it collects. The learned index starts from "
        "nothing but the form of the model. On the groups it acts on pages, all others on groups. With 100 pages only "
        "learners that are made for more than a handful of targets run. Rewards are expectations given what was chosen."
    )
    return Section("The learners", [Text(text)])


def _section(world: str, found: Findings) -> Section:
    rows: list[list[Cell]] = []
    for name in learners(world):
        measured = found[world, name]
        share, crawls, cost = measured.at_last(), measured.crawls(), measured.cost()
        reached = f"{measured.reached()} of {len(share)}"
        row: list[Cell] = [LEARNERS[name], float(share.mean()), interval95(share)]
        row += [float(np.median(crawls)), median_interval(crawls), reached, float(cost.mean()), interval95(cost)]
        rows.append(row)
    columns = [
        Column("learner"),
        Column("% of the index at last", 1),
        Column("95 % interval", 1),
        Column(f"crawls to {ENOUGH:.0%}, median", 0),
        Column("its interval", 0),
        Column("runs that get there"),
        Column("cost of learning, slots", 1),
        Column("95 % interval ", 1),
    ]
    slots = found[world, "ours"].share.shape[1]
    caption = f"{len(found[world, 'ours'].share)} runs of {slots} slots, {WORLDS[world].budget} crawl(s) in each."
    return Section(WORLDS[world].label, [Table(columns, rows, caption), _figure(world, found)])


def _figure(world: str, found: Findings) -> Figure:
    colours = dict(zip(LEARNERS, (INK, PALETTE[5], *PALETTE[:4]), strict=True))

    def paint(axes: Any) -> None:
        for name in learners(world):
            measured = found[world, name]
            mean = 100.0 * moving_average(measured.share, WINDOW)
            crawls = np.arange(1, mean.shape[1] + 1) * measured.budget
            shown = np.unique(np.geomspace(1, len(crawls), 300).astype(int)) - 1
            low, high = np.quantile(mean, [0.1, 0.9], axis=0)
            axes.plot(crawls[shown], mean.mean(axis=0)[shown], color=colours[name], label=LEARNERS[name], linewidth=1.5)
            axes.fill_between(crawls[shown], low[shown], high[shown], color=colours[name], alpha=0.15, linewidth=0)
        axes.axhline(100.0 * ENOUGH, color=INK, linewidth=0.6, linestyle=":")
        axes.set(xscale="log", xlabel="crawls made", ylabel="% of the index's reward", ylim=(0, 105))
        axes.legend(loc="lower right", fontsize=8)

    caption = (
        f"{WORLDS[world].label}: mean over runs of the reward of the last {WINDOW} slots; bands hold the middle 80 % "
        f"of the runs, the dotted line is at {ENOUGH:.0%}."
    )
    return draw(f"q-learning-{world}", caption, paint, height=3.8)
