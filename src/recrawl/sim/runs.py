"""`simulate`: policies in worlds, over many runs, with intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from recrawl import policies
from recrawl.arguments import flag, one_of, whole
from recrawl.errors import ContractError, ParameterError
from recrawl.kernels.price import check_budget
from recrawl.policies.base import RankedPolicy
from recrawl.policies.contract import Policy
from recrawl.policies.relaxed import Relaxed
from recrawl.policies.round_robin import RoundRobin
from recrawl.policies.rules import OLDEST, Rule, rule_for
from recrawl.policies.slotted import SlottedPolicy
from recrawl.records import BoolArray, FloatArray, IntArray, Sources
from recrawl.sim.compiled import RunRecord, run_ranked, run_relaxed, score_table
from recrawl.sim.grouped_pages import GroupedPages, GroupedWorld
from recrawl.sim.noise import Noise, inflow_room
from recrawl.sim.randomness import streams
from recrawl.sim.result import SimulationResult, Trajectory
from recrawl.sim.worlds import Dynamics, SlottedWorld, dynamics_of

# Costs that are not multiples of the budget's own fraction are counted to this many more bits.
COST_BITS = 24


def simulate(
    world: Sources | GroupedPages,
    policy: Policy | str,
    budget: float = 1,
    steps: int = 1000,
    runs: int = 1,
    seed: int = 0,
    noise: Noise = None,
    observed: bool | npt.ArrayLike = False,
    *,
    progress: Callable[[int], None] | None = None,
    compiled: bool = True,
) -> SimulationResult:
    """Run a policy in a world of sources.

    Parameters
        world: the sources, or groups of pages as arms
        policy: a policy, or the name of one
        budget: what may be spent per slot; what is left over is kept only up to the cost of one crawl
        steps: slots per run
        runs: independent runs; run r of every policy meets the same world
        seed: of the world; the policy has its own
        noise: None (expected worth), "poisson", "item", "epoch" or "change"; see :mod:`recrawl.sim.noise`
        observed: whether the policy is shown the worth, for all sources or one by one
        progress: called with the number of runs that are done
        compiled: False to step through the policy contract even where a compiled form exists

    >>> table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
    >>> round(simulate(table, "whittle", budget=1, steps=1000).mean_reward, 3)
    260.301
    """
    if not isinstance(world, (Sources, GroupedPages)):
        raise ParameterError("world", "Sources or GroupedPages", type(world).__name__)
    chosen = policies.make(one_of("policy", policy, policies.NAMES)) if isinstance(policy, str) else policy
    if not isinstance(chosen, Policy):
        raise ParameterError("policy", "a policy or the name of one", type(policy).__name__)
    budget = check_budget(budget, world.cost)
    steps, runs, seed = whole("steps", steps, low=1), whole("runs", runs, low=1), whole("seed", seed)
    if not (progress is None or callable(progress)):
        raise ParameterError("progress", "a function of the number of runs that are done, or None", repr(progress))
    flag("compiled", compiled)
    mask = _mask(observed, len(world))
    one_run = None
    if compiled and isinstance(world, Sources):
        one_run = _compiled_run(world, chosen, budget, noise, mask, seed, steps, runs)
    if one_run is None:
        one_run = partial(_generic_run, world, chosen, budget, noise, mask, seed)
    alike = noise is None and one_run.func is not _generic_run
    return _all_runs(one_run, len(world), steps, runs, alike, progress)


def _all_runs(
    one_run: partial[float], targets: int, steps: int, runs: int, alike: bool, progress: Callable[[int], None] | None
) -> SimulationResult:
    """Every run; the first one for all of them where no chance makes them different (`alike`)."""
    rewards, crawls, spent = np.zeros((runs, steps)), np.zeros((runs, targets), dtype=np.int64), np.zeros(runs)

    def go(run: int) -> int:
        if alike and run:
            rewards[run], crawls[run], spent[run] = rewards[0], crawls[0], spent[0]
            return run
        spent[run] = one_run(run, RunRecord(rewards[run], crawls[run], *_nothing(0, targets)))
        return run

    for done, _ in enumerate(_in_turn(go, runs, threads=one_run.func is not _generic_run and not alike), start=1):
        if progress is not None:
            progress(done)

    def record() -> Trajectory:
        found = _nothing(steps, targets)
        one_run(0, RunRecord(np.zeros(steps), np.zeros(targets, dtype=np.int64), *found))
        return found

    share = crawls.mean(axis=0) / steps
    return SimulationResult(rewards, float(spent.mean() / steps), share, record, crawls)


def _nothing(steps: int, targets: int) -> Trajectory:
    return np.zeros((steps, targets)), np.zeros((steps, targets), dtype=bool)


def _in_turn(go: Callable[[int], int], runs: int, threads: bool) -> Iterator[int]:
    """Do every run; compiled ones release the interpreter lock and share the cores."""
    if not threads or runs == 1:
        yield from map(go, range(runs))
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(go, range(runs))


def _mask(observed: bool | npt.ArrayLike, targets: int) -> BoolArray:
    mask = np.asarray(observed)
    if mask.dtype != np.bool_ or mask.shape not in ((), (targets,)):
        raise ParameterError("observed", f"True, False or one of them per source ({targets})", repr(observed))
    return np.ascontiguousarray(np.broadcast_to(mask, targets))


def _compiled_run(
    world: Sources, policy: Policy, budget: float, noise: Noise, mask: BoolArray, seed: int, steps: int, runs: int
) -> partial[float] | None:
    """One compiled run as a function of its number and outputs, for the policies that have such a form."""
    dynamics = dynamics_of(world, noise)
    if type(policy) is Relaxed:
        policy.start(len(world), 0.0, sources=world)
        return partial(_relaxed_run, policy, rule_for(OLDEST, world), dynamics, mask, float(budget), seed)
    rule = _rule_of(policy, world, float(budget))
    if rule is None:
        return None
    return partial(_ranked_run, rule, score_table(rule, steps, runs), dynamics, mask, tokens(budget, world.cost), seed)


def _rule_of(policy: Policy, world: Sources, budget: float) -> Rule | None:
    if type(policy) is RoundRobin:
        return rule_for(OLDEST, world)
    if isinstance(policy, SlottedPolicy):
        policy.start(len(world), 0.0, sources=world)
        return policy.rule(budget)
    return None


def tokens(budget: float, cost: FloatArray) -> tuple[int, int, IntArray, float]:
    """Budget and costs in whole units: (income per slot, most that is kept unspent, cost of each, units per token).

    Kept is less than the dearest crawl, so that fractions and dear crawls add up over slots and nothing else does.
    """
    scale = float(cost.min())
    share = Fraction(budget / scale).limit_denominator(10**9)
    # As fine as 62 bits allow, the dearest crawl and one slot's income included.
    largest = max(share.numerator, share.denominator * float(cost.max()) / scale)
    fineness = int(np.clip(61 - math.ceil(math.log2(largest)), 0, COST_BITS))
    units = share.denominator << fineness
    costs = np.maximum(1, np.rint(cost / scale * units)).astype(np.int64)
    return share.numerator << fineness, int(costs.max()) - 1, costs, units / scale


def _ranked_run(
    rule: Rule,
    table: FloatArray,
    dynamics: Dynamics,
    mask: BoolArray,
    allowance: tuple[int, int, IntArray, float],
    seed: int,
    run: int,
    out: RunRecord,
) -> float:
    income, kept, costs, units = allowance
    stream = streams(seed, run, len(mask))
    spent = run_ranked(rule, dynamics, table, mask, stream, inflow_room(len(mask)), income, kept, costs, out)
    return float(spent) / units


def _relaxed_run(
    policy: Relaxed,
    rule: Rule,
    dynamics: Dynamics,
    mask: BoolArray,
    budget: float,
    seed: int,
    run: int,
    out: RunRecord,
) -> float:
    stream = streams(seed, run, len(mask))
    price, step = policy.first_price, policy.step * policy.scale
    return float(
        run_relaxed(rule, dynamics, mask, stream, inflow_room(len(mask)), budget, price, step, policy.exponent, out)
    )


def _generic_run(
    world: Sources | GroupedPages,
    policy: Policy,
    budget: float,
    noise: Noise,
    mask: BoolArray,
    seed: int,
    run: int,
    out: RunRecord,
) -> float:
    """One run through the policy contract."""
    reward, crawls, states, actions = out
    actor = policy.spawn(run) if isinstance(policy, RankedPolicy) else policy
    place: SlottedWorld | GroupedWorld
    if isinstance(world, GroupedPages):
        place, known = GroupedWorld(world, noise, seed, run), world.arms
    else:
        place, known = SlottedWorld(world, noise, seed, run), world
    actor.start(len(world), 0.0, sources=known)
    income, kept, costs, units = tokens(budget, world.cost)
    balance, spent = 0, 0
    for slot in range(len(reward)):
        if slot:
            place.advance()
        if slot < len(states):
            states[slot] = place.worth
        balance = min(balance, kept) + income
        allowance = float(budget) if actor.soft_budget else balance / units
        ids = np.asarray(actor.choose(float(slot), allowance, place.states(mask) if mask.any() else None))
        _check_ids(ids, len(world), slot)
        price = int(costs[ids].sum()) if len(ids) else 0
        if price > balance and not actor.soft_budget:
            raise ContractError(f"slot {slot}: {len(ids)} targets were chosen, more than the budget pays for")
        balance -= 0 if actor.soft_budget else price
        spent += price
        visits = place.crawl(ids, float(slot))
        assert visits.worth is not None
        reward[slot] = visits.worth.sum()
        crawls[ids] += 1
        if slot < len(actions):
            actions[slot, ids] = True
        actor.observe(visits)
    return spent / units


def _check_ids(ids: IntArray, targets: int, slot: int) -> None:
    if ids.ndim != 1 or (len(ids) and not np.issubdtype(ids.dtype, np.integer)):
        raise ContractError(f"slot {slot}: a choice is an array of whole numbers, not {ids!r}")
    if len(np.unique(ids)) < len(ids):
        raise ContractError(f"slot {slot}: a target was chosen twice: {ids.tolist()}")
    if len(ids) and not (ids.min() >= 0 and ids.max() < targets):
        raise ContractError(f"slot {slot}: an unknown target was chosen: {ids.tolist()}")
