"""What a paper says in words, and whether it holds.

A claim is a sentence of a paper in our words, with its place, a verdict and what shows it. It *holds* where our runs
agree with it, *holds under* a condition that the paper does not state or does not meet, and *does not hold* where they
contradict it. Nearly all verdicts are worked out from the numbers of the same report, so a claim can lose its verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from recrawl.report import Badge, Column, Table
from recrawl.report.tables import Tone

ClaimVerdict = Literal["holds", "holds under", "does not hold"]
TONES: dict[ClaimVerdict, Tone] = {"holds": "good", "holds under": "part", "does not hold": "bad"}


class Claim(msgspec.Struct, frozen=True):
    """One line of `claims` in `results.json`.

    Parameters
        id: paper/claim/name
        claim: what the paper says, in our words
        place: where it says so
        verdict: by the rule of this module
        condition: under what it holds, empty unless the verdict is "holds under"
        evidence: the numbers that decided
        shown: the figure, or the id of a result, that shows it
    """

    id: str
    claim: str
    place: str
    verdict: ClaimVerdict
    condition: str
    evidence: str
    shown: str


def claim(
    id: str,
    says: str,
    place: str,
    evidence: str,
    shown: str,
    *,
    holds: bool,
    under: str = "",
) -> Claim:
    """Judge a claim: `holds` is whether the numbers agree with it, `under` the condition on which they do."""
    verdict: ClaimVerdict = "does not hold" if not holds else "holds under" if under else "holds"
    return Claim(id, says, place, verdict, under if holds else "", evidence, shown)


def verdict_badge(each: Claim) -> Badge:
    """The verdict as a badge that differs in word, mark and shape."""
    return Badge(each.verdict + (" …" if each.condition else ""), TONES[each.verdict])


def claims_table(claims: Iterable[Claim], caption: str = "") -> Table:
    """Claims as a table for a report."""
    columns = [
        Column("verdict"),
        Column("claim", wide=True),
        Column("place"),
        Column("why", detail=True),
    ]
    rows = [
        (
            verdict_badge(each),
            each.claim,
            each.place,
            (f"Under {each.condition}. " if each.condition else "") + f"{each.evidence} See {each.shown}.",
        )
        for each in claims
    ]
    return Table(columns, rows, caption)


def brief_claims(claims: Iterable[Claim], caption: str = "") -> Table:
    """Claims as a table for a terminal: ids and verdicts."""
    rows = [(each.id, verdict_badge(each)) for each in claims]
    return Table([Column("claim"), Column("verdict")], rows, caption)


def claim_counts(claims: Iterable[Claim]) -> list[Badge]:
    """How many claims got which verdict, as badges."""
    verdicts = [each.verdict for each in claims]
    names = {"holds": "claims hold", "holds under": "hold under a condition", "does not hold": "do not hold"}
    return [Badge(f"{verdicts.count(v)} {names[v]}", tone) for v, tone in TONES.items() if v in verdicts]
