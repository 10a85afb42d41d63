"""What the paper says in words, judged by the numbers of the report."""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.papers.claims import Claim, claim
from recrawl.papers.results import Result
from recrawl.papers.tcns2018.claims_structure import structure_claims
from recrawl.papers.tcns2018.claims_talk import talk_claims
from recrawl.papers.tcns2018.numbers import CEILED, Numbers
from recrawl.papers.tcns2018.optimal import AGES
from recrawl.papers.tcns2018.optimality import LEVEL

BUDGETS = (1, 2, 3)


def all_claims(results: Iterable[Result]) -> list[Claim]:
    """Every claim, the paper's before those of the talk."""
    found = Numbers(results)
    own = [*structure_claims(found), *_index(found), *_relaxed(found), *_table_one(found), *_random(found)]
    return [*own, *talk_claims(found)]


def _index(found: Numbers) -> list[Claim]:
    lost = found["asymptotic/whittle-lost"]
    differ = found["stochastic-index/methods-differ"]
    return [
        claim(
            "tcns2018/claim/index-is-closed-form",
            "Theorem 1 gives the index in every state.",
            "§VI, Theorem 1",
            f"From X(0) = u* the printed log⁺ earns {found['saturated-m1/whittle-as-printed']:.2f}, because a full "
            f"source gets index 0; continued by x/C the index earns {found['saturated-m1/whittle']:.2f}.",
            "tcns2018/saturated-m1/whittle-as-printed",
            holds=found["saturated-m1/whittle"] > found["saturated-m1/whittle-as-printed"] + 1,
            under="x < u*; at and above u* it must be continued by x/C",
        ),
        claim(
            "tcns2018/claim/simplified-formula",
            "On the states that occur, a simpler formula without the ceiling gives the same index.",
            "§VI, remark",
            f"With its ceiling, off the orbit, it earns {found['poisson-m1/whittle-ceiled']:.1f} where Theorem 1 earns "
            f"{found['poisson-m1/whittle']:.1f}.",
            "tcns2018/poisson-m1/whittle-ceiled",
            holds=True,
            under="the deterministic model after a first crawl, and without the ceiling that the talk prints",
        ),
        claim(
            "tcns2018/claim/asymptotically-optimal",
            "The index policy is optimal in the limit of many sources.",
            "§I, citing Weber–Weiss and Verloop",
            f"On the largest random catalogues it loses {100 * lost:.4f} % of the dual bound; greedy loses "
            f"{100 * found['asymptotic/greedy-lost']:.1f} %.",
            "figure tcns2018-asymptotic",
            holds=lost < 0.002,
        ),
        claim(
            "tcns2018/claim/intractable",
            "Dynamic programming of the exact problem becomes intractable even for a moderate number of sources.",
            "abstract, §I",
            f"Table I takes {AGES}⁴ = {AGES**4:,} states and is solved exactly; ten sources would take "
            f"{AGES**10 / 1e9:.0f} billion.",
            "tcns2018/deterministic-m2/optimal",
            holds=True,
        ),
        claim(
            "tcns2018/claim/online-index",
            "The index of the random model can be learned by stochastic approximation, on one or on two time scales.",
            "§VIII, (28)–(36)",
            f"Both agree with the renewal form to {100 * differ:.2f} % of the index at worst.",
            "section “The stochastic index, three ways”",
            holds=differ < 0.05,
            under="three corrections: ∫V dφ = 0 in (30), no subtraction in (35), damping in (34)",
        ),
        claim(
            "tcns2018/claim/stochastic-index-cumbersome",
            "Computing the index of the random model is very cumbersome, even numerically.",
            "§IX",
            "The renewal form is one linear solve per threshold on a grid; every row “stochastic-index” uses it.",
            "figure tcns2018-stochastic-index",
            holds=False,
        ),
        claim(
            "tcns2018/claim/state-space",
            "In the random model states above the mean ceiling u* need not be considered.",
            "§VIII, after (27)",
            f"With exponential values per epoch the index of source 1 rises from {found['stochastic-index/at-u']:.1f} "
            f"at u* to {found['stochastic-index/above-u']:.1f} at 1.2 u*: at prices between, a source above u* should "
            "wait.",
            "figure tcns2018-stochastic-index",
            holds=found["stochastic-index/above-u"] <= found["stochastic-index/at-u"],
        ),
    ]


def _relaxed(found: Numbers) -> list[Claim]:
    best, relaxed = found["deterministic-m1/optimal"], found["deterministic-m1/relaxed-by-index"]
    low, high = found["multiplier-m1/lowest-minimising-price"], found["multiplier-m1/highest-minimising-price"]
    settled = found["multiplier-m1/price-by-threshold"]
    return [
        claim(
            "tcns2018/claim/relaxed-bounds",
            "The reward of relaxed control bounds what the index policy could earn.",
            "§VII, §IX",
            f"The dual value does ({found['deterministic-m1/bound']:.4f} against an optimum of {best:.4f}). The reward "
            f"of a run need not: one spends {found['deterministic-m1/relaxed-by-index-spend']:.3f} and earns "
            f"{relaxed:.2f}, another earns {found['multiplier-m1/reward-by-threshold']:.2f}, below the optimum.",
            "tcns2018/deterministic-m1/relaxed-by-index",
            holds=found["deterministic-m1/bound"] >= best - LEVEL,
            under="bound meaning the minimum of the dual function, not the reward of a run",
        ),
        claim(
            "tcns2018/claim/multiplier-converges",
            "λ(k) of (22) converges to the Lagrange multiplier.",
            "§VII",
            f"With thresholds (21) it settles at {settled:.2f}, outside the minimising prices {low:.2f} to {high:.2f}; "
            f"with the index it settles at {found['multiplier-m1/price-by-index']:.2f}. Compared with M/N, as printed, "
            f"it spends {found['multiplier-m1/spend-with-m-over-n']:.3f} per slot instead of 1.",
            "figure tcns2018-multiplier",
            holds=low - 0.5 <= found["multiplier-m1/price-by-index"] <= high + 0.5,
            under="crawling where the index reaches λ(k) instead of (21), and comparing with M instead of M/N",
        ),
        claim(
            "tcns2018/claim/index-above-multiplier",
            "Relaxed control is optimal when it crawls exactly the sources whose index is above the multiplier.",
            "§VII",
            f"It earns {found['multiplier-m1/reward-by-index']:.4f} once settled; the optimum is {best:.4f}.",
            "tcns2018/multiplier-m1/reward-by-index",
            holds=abs(found["multiplier-m1/reward-by-index"] - best) < LEVEL,
        ),
        claim(
            "tcns2018/claim/threshold-by-lambert",
            "(21), with Lambert's W, is the optimal threshold of a single source.",
            "§VII, (21)",
            f"Crawling by it at the price it settles at earns {found['multiplier-m1/reward-by-threshold']:.2f} of "
            f"{best:.2f}. It treats a reward per whole slots as if slots could be split.",
            "section “The price λ(k) of (22)”",
            holds=True,
            under="slots that are short beside 1/μ, and the lower branch of W; not with slots as long as Table I's",
        ),
        claim(
            "tcns2018/claim/few-violations",
            "Relaxed control goes over the budget in less than 1 % of the slots.",
            "§IX",
            f"With (21) and (22) it does in {found['deterministic-m1/relaxed-over-budget']:.0f} % of them: sources 1 "
            "and 2 fall due together. A fitted variant stays below 1 %.",
            "tcns2018/deterministic-m1/relaxed-over-budget",
            holds=found["deterministic-m1/relaxed-over-budget"] < 1.0,
        ),
    ]


def _table_one(found: Numbers) -> list[Claim]:
    share = {m: [found[f"deterministic-m{m}/source-{i}-share"] for i in (1, 2, 3, 4)] for m in (1, 2)}
    settled = {m: (found[f"deterministic-m{m}/whittle-settled"], found[f"deterministic-m{m}/optimal"]) for m in BUDGETS}
    periodic = {m: found[f"deterministic-m{m}/whittle"] - found[f"deterministic-m{m}/periodic"] for m in BUDGETS}
    cycle = found["deterministic-m2/whittle-cycle"]
    shown = "; ".join(", ".join(f"{s:.1f}" for s in share[m]) for m in (1, 2))
    return [
        claim(
            "tcns2018/claim/interest-fades",
            "Interest in sources 1 and 3 fades faster than in sources 2 and 4.",
            "§IX, Fig. 1",
            "By Table I: decay 0.7 and 0.7 against 0.35 and 0.21.",
            "figure tcns2018-figure-1",
            holds=True,
        ),
        claim(
            "tcns2018/claim/initial-interest",
            "Interest in new content is high at sources 1 and 2, and small at 3 and 4.",
            "§IX, Fig. 1",
            "By Table I: 1 and 0.7 against 0.2 and 0.08.",
            "figure tcns2018-figure-1",
            holds=True,
        ),
        claim(
            "tcns2018/claim/m1-alternates",
            "At M = 1 sources 1 and 2 are each crawled every second slot, and sources 3 and 4 never.",
            "§IX, Fig. 2",
            f"Shares of slots, in %, at M = 1 and M = 2: {shown}.",
            "figure tcns2018-figure-2",
            holds=share[1] == [50.0, 50.0, 0.0, 0.0],
        ),
        claim(
            "tcns2018/claim/near-optimal",
            "The index policy is very close to optimal on Table I.",
            "§IX",
            "Settled, against the joint dynamic programme: "
            + "; ".join(f"M = {m}: {a:.5f} of {b:.5f}" for m, (a, b) in settled.items())
            + ". It is optimal.",
            "section “Exact optimality”",
            holds=all(abs(a - b) < LEVEL for a, b in settled.values()),
        ),
        claim(
            "tcns2018/claim/m2-irregular",
            "At M = 2 source 1 is always crawled, sources 2 and 3 in a longer pattern, source 4 with a long period.",
            "§IX, Fig. 3",
            f"The cycle is {cycle:.0f} slots long; source 4 comes once in it.",
            "figure tcns2018-figure-3",
            holds=share[2][0] == 100.0 and cycle > 2 and 0 < share[2][3] < share[2][2] < share[2][1] < 100.0,
        ),
        claim(
            "tcns2018/claim/beats-static",
            "The index policy is superior to commonly used static policies.",
            "§I",
            "Over the best fixed periods it earns more by "
            + ", ".join(f"{gain:.2f} at M = {m}" for m, gain in periodic.items())
            + f"; round robin earns {found['deterministic-m1/round-robin']:.1f} at M = 1.",
            "section “Exact optimality”",
            holds=all(gain > -LEVEL for gain in periodic.values()),
        ),
        claim(
            "tcns2018/claim/not-periodic",
            "Index policies do not in general have a trivial periodic structure.",
            "§X",
            f"At M = 2 the shortest cycle is {cycle:.0f} slots, with source 2 crawled in {share[2][1]:.1f} % of them.",
            "figure tcns2018-figure-3",
            holds=cycle > 2,
        ),
    ]


def _random(found: Numbers) -> list[Claim]:
    poisson, epoch, item = "poisson-m1", "exponential-epoch-m1", "exponential-item-m1"
    theorem, ceiled = found["poisson-m2/source-1-share-whittle"], found["poisson-m2/source-1-share-whittle-ceiled"]
    made = found[f"{epoch}/stochastic-index"]
    near = found[f"{epoch}/whittle"] / made
    gains = (
        f"per epoch {found.gap(f'{epoch}/whittle-minus-greedy')}, per item {found.gap(f'{item}/whittle-minus-greedy')}"
    )
    return [
        claim(
            "tcns2018/claim/poisson-below-greedy",
            "With random arrivals alone the deterministic index earns clearly less than greedy.",
            "§IX",
            f"Minus greedy: ceiled formula {found.gap(f'{poisson}/whittle-ceiled-minus-greedy')}, Theorem 1 "
            f"{found.gap(f'{poisson}/whittle-minus-greedy')}, the index of the random model "
            f"{found.gap(f'{poisson}/stochastic-index-minus-greedy')}.",
            "figure tcns2018-differences",
            holds=found.sure(f"{poisson}/whittle-ceiled-minus-greedy") < 0,
            under=CEILED,
        ),
        claim(
            "tcns2018/claim/values-random-above-greedy",
            "With random content values as well, the index outperforms greedy and round robin.",
            "§IX",
            f"Minus greedy: {gains}.",
            "figure tcns2018-differences",
            holds=found.sure(f"{epoch}/whittle-minus-greedy") > 0,
            under="one exponential value per source and epoch; with one per item 250 of them average out",
        ),
        claim(
            "tcns2018/claim/recommended-when-random",
            "The deterministic index is a good heuristic when there is much randomness.",
            "§IX, §X",
            f"Per epoch it earns {100 * near:.2f} % of what the index of the random model earns "
            f"({found[f'{epoch}/whittle']:.1f} of {made:.1f}).",
            "tcns2018/exponential-epoch-m1/whittle",
            holds=near > 0.98,
        ),
        claim(
            "tcns2018/claim/figure-4-source-1",
            "At M = 2 with Poisson arrivals source 1 is crawled from time to time.",
            "§IX, Fig. 4",
            f"In {theorem:.1f} % of the slots with Theorem 1, in {ceiled:.1f} % with the ceiled formula: the same "
            "cause as for 253.1.",
            "figures tcns2018-figure-4 and tcns2018-figure-4-ceiled",
            holds=ceiled < 95.0,
            under=CEILED,
        ),
        claim(
            "tcns2018/claim/self-tuning",
            "Where states are observed the index tunes itself.",
            "§X",
            f"Told the states, the same policy earns {found.gap(f'{epoch}/whittle-gain-by-observing')} more per slot.",
            "tcns2018/exponential-epoch-m1/whittle-gain-by-observing",
            holds=found.sure(f"{epoch}/whittle-gain-by-observing") > 0,
        ),
        claim(
            "tcns2018/claim/some-observed",
            "Some sources may be observed and others not.",
            "§VIII, §X",
            f"Told the state of source 1 alone the policy earns {found.gap(f'{epoch}/whittle-gain-by-observing-one')} "
            f"more than told none, told all of them {found.gap(f'{epoch}/whittle-gain-by-observing')}.",
            "tcns2018/exponential-epoch-m1/whittle-gain-by-observing-one",
            holds=0 < found[f"{epoch}/whittle-gain-by-observing-one"] < found[f"{epoch}/whittle-gain-by-observing"],
        ),
        claim(
            "tcns2018/claim/dynamic-diversity",
            "A dynamic policy turns to less popular sources when there is little new at the principal ones.",
            "§I",
            f"Sources 3 and 4 get {found[f'{epoch}/lesser-sources-observed']:.2f} % of the crawls where states are "
            f"observed, and {found[f'{epoch}/lesser-sources-unobserved']:.2f} % where they are not; M = 1.",
            "tcns2018/exponential-epoch-m1/lesser-sources-observed",
            holds=found[f"{epoch}/lesser-sources-observed"] > found[f"{epoch}/lesser-sources-unobserved"],
            under="states that are observed; by ages alone the course is fixed",
        ),
    ]
