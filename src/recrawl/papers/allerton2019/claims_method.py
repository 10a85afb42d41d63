"""What the paper says of its method: thresholds, the soft decision, the inverse, the steps, what is observed."""

from __future__ import annotations

import numpy as np

import recrawl
from recrawl import policies
from recrawl.papers.allerton2019.lab import PAPER_STEPS, USUAL, Lab
from recrawl.papers.allerton2019.runs import LearnerRuns, run_many
from recrawl.papers.claims import Claim, claim
from recrawl.papers.tcns2018.optimal import index_cycle
from recrawl.policies.lspe import Lspe
from recrawl.records import FloatArray

TRIED = 200
"""Joint states at which thresholds are looked at."""
GRID = 2001
NOISY_STEPS, NOISY_RUNS = 2000, 6


def method_claims(lab: Lab) -> list[Claim]:
    """Every claim on the method."""
    return [_monotone(lab), *_soft(lab), _periodic(lab), _inverse(), _steps(), _rank(lab), _observed()]


def thresholds_that_fall(lab: Lab) -> int:
    """How often T_i falls where the state of one other source rises, over random joint states."""
    sources, random, falls = lab.sources, np.random.default_rng(lab.seed), 0
    shares = np.linspace(0.0, 1.5, GRID)[:, None]
    states = shares * sources.ceiling
    index = np.array([recrawl.whittle_index(sources, row) for row in states])

    def threshold(which: int, state: FloatArray) -> float:
        """T_i = γ_i⁻¹(max of the others' indices)."""
        others = np.delete(recrawl.whittle_index(sources, state), which)
        return float(np.interp(others.max(), index[:, which], states[:, which]))

    for _ in range(TRIED):
        state = random.uniform(sources.inflow, sources.ceiling)
        which, other = random.choice(len(sources), 2, replace=False)
        higher = state.copy()
        higher[other] += random.uniform(0.0, sources.ceiling[other] - state[other])
        falls += int(threshold(which, higher) < threshold(which, state) - 1e-9 * sources.ceiling[which])
    return falls


def _monotone(lab: Lab) -> Claim:
    falls = thresholds_that_fall(lab)
    return claim(
        "allerton2019/claim/threshold-monotone",
        "The threshold of a source rises with the states of the others.",
        "§III",
        f"It falls in {falls} of {TRIED} random pairs of joint states.",
        "section “Side by side”",
        holds=falls == 0,
    )


def _soft(lab: Lab) -> list[Claim]:
    runs = lab.learn(unit=lab.whole_unit)
    broken, several = (100.0 * float(each.mean()) for each in (runs.engaged != 1, runs.engaged > 1))
    return [
        claim(
            "allerton2019/claim/soft-violates",
            "A probabilistic decision would violate the constraint of one crawl per slot.",
            "§III",
            f"In {broken:.0f} % of the slots the number crawled is not one, in {several:.0f} % it is more.",
            "figure allerton2019-sharpness",
            holds=several > 1.0,
        )
    ]


def _periodic(lab: Lab) -> Claim:
    reward, length = index_cycle(lab.sources, 1)
    return claim(
        "allerton2019/claim/periodic-under-index",
        "Under the index policy the course is periodic, through finitely many states.",
        "§III",
        f"On the example it settles into a cycle of {length} slots, which earns {reward:.2f} per slot.",
        "section “Side by side”",
        holds=length < 100,
    )


def _inverse() -> Claim:
    return claim(
        "allerton2019/claim/sherman-morrison",
        "The printed iterate for the inverse is the Sherman–Morrison formula.",
        "§IV",
        "For one feature with B̄ = 1 and φ = 2 at n = 2 it gives 0.77, or 0.4 with B̄⁻¹(n−1) on the right; the inverse "
        "is 0.5.",
        "docs/errata.md",
        holds=False,
    )


def _steps() -> Claim:
    gain, slots = 0.5, PAPER_STEPS
    actor, critic = gain / np.ceil(slots / 500), gain / np.ceil(slots / 1000) ** (2 / 3)
    return claim(
        "allerton2019/claim/two-time-scales",
        "The steps a(n) = c/⌈n/500⌉ and b(n) = c/⌈n/1000⌉^⅔ put the actor on a slower clock than the critic.",
        "§IV",
        f"a/b falls as n^(−⅓): after {slots:,} slots it is still {actor / critic:.2f}.",
        "section “Step sizes and δ”",
        holds=True,
        under="n → ∞; within the run of §V the clocks differ by less than five",
    )


def _rank(lab: Lab) -> Claim:
    broken = 100.0 * float((noisy_runs(lab).broke_at > 0).mean())
    return claim(
        "allerton2019/claim/rank-by-determinism",
        "That B̄ becomes nearly rank-deficient probably comes from the model being deterministic.",
        "§V",
        f"With Poisson arrivals, states observed, {broken:.0f} % of the runs with the carried inverse break too: with "
        "the printed b(n) B̄ forgets εI whatever the states are.",
        "section “Without regularisation, without projection”",
        holds=broken < 50.0,
    )


def noisy_runs(lab: Lab) -> LearnerRuns:
    """The learner with the carried inverse where arrivals are random."""
    policy = policies.make("lspe", seed=lab.seed, **(USUAL | {"inverse": "sherman_morrison"}))
    assert isinstance(policy, Lspe)
    return run_many(lab.sources, policy, NOISY_STEPS, NOISY_RUNS, lab.seed, noise="poisson")


def _observed() -> Claim:
    return claim(
        "allerton2019/claim/observation-irrelevant",
        "What a crawl finds does not matter any more, because the state is reset.",
        "§II",
        "It does not tell where the source stands now. It does tell its arrivals and decay: our learner learns both "
        "from nothing else.",
        "allerton2019/ours",
        holds=True,
        under="parameters that are known",
    )
