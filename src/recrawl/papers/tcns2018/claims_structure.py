"""What the paper proves of the problem's structure, judged by the numbers of the report."""

from __future__ import annotations

from recrawl.papers.claims import Claim, claim
from recrawl.papers.tcns2018.numbers import Numbers

SHOWN = "section “The lemmas in numbers”"


def structure_claims(found: Numbers) -> list[Claim]:
    """Convexity, thresholds, indexability, and what follows for the course of a source."""
    low, high = found["single-source/least-slope"], found["single-source/greatest-slope"]
    unlike, falls = found["single-source/more-than-one-threshold"], found["single-source/falling-thresholds"]
    return [
        claim(
            "tcns2018/claim/value-convex",
            "The value function is increasing, convex and Lipschitz.",
            "§IV–V, Lemmas 1 and 2",
            f"Slopes lie between {low:.3f} and {high:.3f}, and none falls by more than rounding "
            f"({-found['single-source/least-bend']:.0e} u*).",
            SHOWN,
            holds=low > 0.0 and high < 1.0 + 1e-6 and found["single-source/least-bend"] > -1e-9,
            under="the Lipschitz constant 1; the one printed in Lemma 1 is 0 for a source that is crawled at once",
        ),
        claim(
            "tcns2018/claim/thresholds",
            "Alone, a source is best left alone below a threshold and crawled at and above it.",
            "§V, Lemma 4",
            f"{unlike:.0f} of 36 programmes say otherwise.",
            SHOWN,
            holds=unlike == 0,
        ),
        claim(
            "tcns2018/claim/indexable",
            "The problem is Whittle indexable.",
            "§V, Lemma 5",
            f"Thresholds fall at {falls:.0f} of the prices tried; Theorem 1 at the threshold is the price to within "
            f"{found['single-source/theorem-1-off']:.2f} % of u*, the width of the grid.",
            SHOWN,
            holds=falls == 0 and found["single-source/theorem-1-off"] < 0.5,
        ),
        claim(
            "tcns2018/claim/random-indexable",
            "The random problem is indexable too, by thresholds.",
            "§VIII, Lemma 7",
            f"The index of the random model falls at {found['single-source/falling-random-index']:.0f} of 800 states.",
            "figure tcns2018-stochastic-index",
            holds=found["single-source/falling-random-index"] == 0,
        ),
        claim(
            "tcns2018/claim/other-states-pass",
            "States outside [u, u*] are transient, so that they can be left out.",
            "§IV",
            f"From X(0) = u* Theorem 1 as printed never crawls sources 2 to 4 again and earns "
            f"{found['saturated-m1/whittle-as-printed']:.2f} for ever, instead of {found['saturated-m1/whittle']:.2f}.",
            "tcns2018/saturated-m1/whittle-as-printed",
            holds=True,
            under="a policy that crawls full sources: the index continued by x/C",
        ),
        claim(
            "tcns2018/claim/simple-and-efficient",
            "The index gives a very simple and efficient policy.",
            "abstract, §I",
            "One expression per source, (x_k − k·u·α^k)/C after k slots, against a programme of 20,736 states for "
            "four sources.",
            "section “Exact optimality”",
            holds=True,
        ),
    ]
