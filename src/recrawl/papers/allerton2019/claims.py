"""What the paper says in words, judged by the numbers of the report."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recrawl.papers.allerton2019.claims_method import method_claims
from recrawl.papers.allerton2019.lab import Lab, bound_at
from recrawl.papers.allerton2019.sweeps import SHARPNESSES
from recrawl.papers.claims import Claim, claim
from recrawl.papers.results import Result
from recrawl.records import Sources

WHOLE = "worths measured in the largest u*, which the paper does not say"
LIFETIME = 2


def all_claims(results: Iterable[Result], lab: Lab) -> list[Claim]:
    """Every claim."""
    found = {result.id.partition("/")[2]: result.measured for result in results}
    return [*_outcome(found), *_sharpness(lab), *_stability(lab), *_model(lab), *method_claims(lab)]


def _outcome(found: dict[str, float]) -> list[Claim]:
    learnt, best, second = found["lspe"], found["best-arm"], found["second-best-arm"]
    return [
        claim(
            "allerton2019/claim/between-two-arms",
            "The reward lies between those of the second-best and the best arm alone.",
            "§V",
            f"{learnt:.1f}, between {second:.1f} and {best:.1f}; with raw worths single runs end anywhere.",
            "allerton2019/lspe",
            holds=second < learnt < best,
            under=f"{WHOLE}, and the interests ξ of [tcns2018], which its table leaves out",
        ),
        claim(
            "allerton2019/claim/one-arm",
            "On average one arm is sampled at κ = 2.",
            "§V",
            f"{found['engaged-arms']:.2f} arms.",
            "allerton2019/engaged-arms",
            holds=abs(found["engaged-arms"] - 1.0) < 0.2,
            under=WHOLE,
        ),
        claim(
            "allerton2019/claim/below-index",
            "That is significantly less than the index earns with one arm.",
            "§V",
            f"{learnt:.1f} against {found['whittle']:.1f}. The quoted 283 belongs to random content values.",
            "section “Side by side”",
            holds=learnt < 0.9 * found["whittle"],
        ),
        claim(
            "allerton2019/claim/objective",
            "Equation (6), with Σ X_i as its reward, is the objective of the problem.",
            "§II, (6), §IV",
            f"Taught Σ X_i the learner comes to crawl as little as it can and earns {learnt:.1f}; taught what is "
            f"collected, Σ ν_i X_i, it earns {found['lspe-collected']:.1f}.",
            "figure allerton2019-thresholds",
            holds=found["lspe-collected"] <= learnt,
        ),
        claim(
            "allerton2019/claim/hardly-any-information",
            "The algorithm hardly uses any information about the parameters, where the index needs them all.",
            "§V",
            "Projecting every threshold to [u_i, u_i*] takes the arrival rate and the decay of every source. Our "
            f"learner is told neither and earns {found['ours']:.1f}.",
            "allerton2019/ours",
            holds=False,
        ),
    ]


def _sharpness(lab: Lab) -> list[Claim]:
    runs = [lab.learn(unit=lab.whole_unit, sharpness=kappa) for kappa in SHARPNESSES]
    arms = np.array([each.engaged_per_run.mean() for each in runs])
    spread = np.array([each.dispersion_per_run.mean() for each in runs])
    pairs = "; ".join(f"κ = {k:g}: {a:.2f} ± {s:.2f}" for k, a, s in zip(SHARPNESSES, arms, spread, strict=True))
    return [
        claim(
            "allerton2019/claim/kappa-controls-arms",
            "κ controls the average number of engaged arms and its dispersion.",
            "§V",
            f"Mean ± standard deviation from slot to slot: {pairs}.",
            "figure allerton2019-sharpness",
            holds=bool((np.diff(arms) < 0).all() and spread.max() > 1.2 * spread.min()),
            under=WHOLE,
        )
    ]


def _stability(lab: Lab) -> list[Claim]:
    steps = {name: lab.learn(inverse=name).broke_at for name in ("sherman_morrison", "tikhonov")}
    broken = {name: 100.0 * float((at > 0).mean()) for name, at in steps.items()}
    free = lab.learn(project=False)
    low, high = lab.sources.inflow, lab.sources.ceiling
    outside = 100.0 * float(((free.thresholds < low) | (free.thresholds > high)).mean())
    return [
        claim(
            "allerton2019/claim/unstable",
            "Without adjustments the algorithm soon runs into numerical instability, as B̄ becomes nearly "
            "rank-deficient.",
            "§V",
            f"With the carried inverse {broken['sherman_morrison']:.0f} % of the runs break.",
            "section “Without regularisation, without projection”",
            holds=broken["sherman_morrison"] > 50.0,
        ),
        claim(
            "allerton2019/claim/thresholds-leave",
            "Thresholds can become too small or too large.",
            "§V",
            f"Without projection {outside:.0f} % of them lie outside [u, u*].",
            "section “Without regularisation, without projection”",
            holds=outside > 1.0,
        ),
        claim(
            "allerton2019/claim/adjustments-help",
            "Projection and Tikhonov regularisation solve the numerical problems.",
            "§V",
            f"With both {broken['tikhonov']:.0f} % of the runs break.",
            "section “Without regularisation, without projection”",
            holds=broken["tikhonov"] == 0.0,
        ),
    ]


def _model(lab: Lab) -> list[Claim]:
    bounds = {form: bound_at(_living(lab, form), 1.0) for form in ("paper", "exact")}
    return [
        claim(
            "allerton2019/claim/states-within",
            "The states cannot leave [u, u*], so projecting to it is legitimate.",
            "§V",
            "True of (2)–(3), where x = u* − (u* − u)α^k. With the random inflows of (1) a state passes both ends.",
            "figure allerton2019-thresholds",
            holds=True,
            under="the mean dynamics (2)–(3)",
        ),
        claim(
            "allerton2019/claim/lifetime",
            "Dropping items after M slots multiplies the inflow by 1 − α^M.",
            "§II",
            f"With M = {LIFETIME} the most that can be earned is {bounds['exact']:.1f} exactly and "
            f"{bounds['paper']:.1f} in the paper's form: a fresh item is never too old.",
            "section “Finite lifetimes”",
            holds=abs(bounds["exact"] - bounds["paper"]) < 1.0,
        ),
    ]


def _living(lab: Lab, form: str) -> Sources:
    return Sources.ephemeral(
        arrival_rate=lab.sources.arrivals_per_slot,
        interest=lab.sources.interest,
        decay=lab.sources.decay_rate,
        lifetime=LIFETIME,
        lifetime_form="paper" if form == "paper" else "exact",
    )
