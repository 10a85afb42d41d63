"""What the talk says in words, judged by the numbers of the report."""

from __future__ import annotations

from recrawl.papers.claims import Claim, claim
from recrawl.papers.tcns2018.numbers import CEILED, Numbers


def talk_claims(found: Numbers) -> list[Claim]:
    """Every claim of the talk."""
    epoch = "exponential-epoch-m1"
    theorem, ceiled = found["poisson-m2/source-1-share-whittle"], found["poisson-m2/source-1-share-whittle-ceiled"]
    return [
        claim(
            "mas2016/claim/intractable-in-m",
            "The model becomes intractable as M grows.",
            "slide “Whittle index”",
            "The states multiply with the number of sources N; M only chooses among them. The same programme solves "
            "M = 1, 2 and 3 of Table I.",
            "tcns2018/deterministic-m3/optimal",
            holds=False,
        ),
        claim(
            "mas2016/claim/two-sources",
            "With one crawl per slot the index policy uses two sources and earns more than the best source alone.",
            "slide “Numerical example”, M = 1",
            f"{found['deterministic-m1/whittle']:.2f} against {found['deterministic-m1/source-1-only']:.2f}.",
            "figure tcns2018-figure-2",
            holds=found["deterministic-m1/whittle"] > found["deterministic-m1/source-1-only"],
        ),
        claim(
            "mas2016/claim/m2-irregular",
            "At M = 2 the policy is much less regular.",
            "slide “Numerical example”, M = 2",
            f"A cycle of {found['deterministic-m2/whittle-cycle']:.0f} slots instead of "
            f"{found['deterministic-m1/whittle-cycle']:.0f}.",
            "figure tcns2018-figure-3",
            holds=found["deterministic-m2/whittle-cycle"] > found["deterministic-m1/whittle-cycle"],
        ),
        claim(
            "mas2016/claim/good-when-random",
            "In the random setting the deterministic index does well: above greedy, which is above round robin.",
            "slide “Numerical example (stochastic setting)”",
            f"{found[f'{epoch}/whittle']:.0f}, {found[f'{epoch}/greedy']:.0f} and {found[f'{epoch}/round-robin']:.0f}.",
            "figure tcns2018-differences",
            holds=found[f"{epoch}/whittle"] > found[f"{epoch}/greedy"] > found[f"{epoch}/round-robin"],
            under="one exponential value per source and epoch; the talk does not say what is random",
        ),
        claim(
            "mas2016/claim/figure-source-1",
            "In the random setting source 1 is crawled from time to time at M = 2.",
            "last figure",
            f"In {theorem:.1f} % of the slots with Theorem 1, in {ceiled:.1f} % with the formula the talk prints.",
            "figure tcns2018-figure-4-ceiled",
            holds=ceiled < 95.0,
            under=CEILED,
        ),
        claim(
            "mas2016/claim/theorem",
            "The index is the simplified formula with its ceiling, in any state.",
            "slide “Our main result is”",
            f"Off the orbit it earns {found['poisson-m1/whittle-ceiled']:.1f} where Theorem 1 earns "
            f"{found['poisson-m1/whittle']:.1f}; on the orbit it is right, but for rounding that lifts the ceiling by "
            "one at random.",
            "tcns2018/poisson-m1/whittle-ceiled",
            holds=found.sure("poisson-m1/whittle-ceiled-minus-greedy") >= 0,
        ),
        claim(
            "mas2016/claim/threshold-rises",
            "The best policy for one source is a threshold, which rises with the price.",
            "slide “Proof key points”",
            f"{found['single-source/more-than-one-threshold']:.0f} cases without a threshold, "
            f"{found['single-source/falling-thresholds']:.0f} prices at which one falls.",
            "section “The lemmas in numbers”",
            holds=found["single-source/more-than-one-threshold"] + found["single-source/falling-thresholds"] == 0,
        ),
        claim(
            "mas2016/claim/finitely-many-kinds",
            "The index policy is asymptotically optimal for many sources of finitely many kinds.",
            "slide “Whittle index”, citing Verloop",
            f"With many copies of Table I at M = 2 it misses {found['copies/in-step-lost']:.3f} % of the bound where "
            f"all start alike, and {found['copies/out-of-step-lost']:.4f} % where they start at random ages.",
            "section “The lemmas in numbers”",
            holds=found["copies/out-of-step-lost"] < 0.1 * found["copies/in-step-lost"],
            under="copies that do not start in step",
        ),
        claim(
            "mas2016/claim/no-explicit-form",
            "In the random model there is no nice explicit expression for the index.",
            "slide “Other contributions”",
            "With H and R the expected time to reach a and the expected state there, from a reset source (0) and from "
            "αa + U (1), it is γ(a) = (R₀ + (1 + H₀)(a − R₁)/(1 + H₁))/C. H and R take one linear solve.",
            "figure tcns2018-stochastic-index",
            holds=True,
            under="explicit meaning elementary functions of the state",
        ),
    ]
