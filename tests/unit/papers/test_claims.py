"""Claims are judged by numbers, written beside the results, and shown apart by more than colour."""

import json

import pytest

from paper_results import read_results
from recrawl.papers.claims import TONES, Claim, claim, claim_counts, claims_table
from recrawl.papers.reproduction import Reproduction, write
from recrawl.papers.results import compare, results_table, share_of, stats
from recrawl.report import Badge
from recrawl.report.output_folder import prepare


def said(*, holds: bool, under: str = "") -> Claim:
    return claim("p/claim/x", "It is so.", "§1", "1 of 1.", "figure f", holds=holds, under=under)


@pytest.mark.parametrize(
    ("holds", "under", "verdict", "condition"),
    [
        (True, "", "holds", ""),
        (True, "a full moon", "holds under", "a full moon"),
        (False, "", "does not hold", ""),
        (False, "a full moon", "does not hold", ""),
    ],
)
def test_a_claim_holds_holds_under_a_condition_or_does_not_hold(holds, under, verdict, condition):
    found = said(holds=holds, under=under)
    assert (found.verdict, found.condition) == (verdict, condition)


def test_each_verdict_has_a_badge_of_its_own_word_and_tone():
    badges = [claims_table([said(holds=h, under=u)]).rows[0][0] for h, u in ((True, ""), (True, "rain"), (False, ""))]
    assert len({badge.text for badge in badges}) == len({badge.tone for badge in badges}) == len(TONES)
    counted = claim_counts([said(holds=True), said(holds=True), said(holds=False)])
    assert [badge.text for badge in counted] == ["2 claims hold", "1 do not hold"]


def test_a_fitted_number_is_never_shown_or_counted_as_reproduced():
    fitted, plain = compare("a", 1.0, "1", fitted=True), compare("b", 1.0, "1")
    assert fitted.verdict == plain.verdict == "reproduced"
    badges = [row[1] for row in results_table([fitted, plain]).rows]
    assert badges == [Badge("fitted", "fitted"), Badge("reproduced", "good")]
    assert [badge.text for badge in stats([fitted, plain])] == ["1 reproduced", "1 fitted"]


def test_a_share_of_a_bound_comes_with_its_noise():
    share, noise = share_of(compare("a", 2.1, ci95=(1.9, 2.3)), 2.0)
    assert share == pytest.approx(105.0)
    assert noise == pytest.approx((95.0, 115.0))
    assert share_of(compare("a", 1.0), 2.0) == (50.0, None)


def test_claims_stand_in_a_list_of_their_own_and_results_read_as_before(tmp_path):
    results = [compare("p/s/x", 1.0, "1"), compare("p/s/y", 1.0, "1", fitted=True)]
    found = Reproduction("p", "The paper", "Lead.", results, [], [said(holds=True, under="a full moon")])
    page = write([found], prepare(tmp_path)).read_text(encoding="utf-8")
    written = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert written["claims"] == [
        {
            "id": "p/claim/x",
            "claim": "It is so.",
            "place": "§1",
            "verdict": "holds under",
            "condition": "a full moon",
            "evidence": "1 of 1.",
            "shown": "figure f",
        }
    ]
    assert "fitted" not in written["results"][0]
    assert written["results"][1]["fitted"] is True
    assert read_results(tmp_path / "results.json") == results
    assert 'class="badge part">holds under' in page
    assert 'class="badge fitted">fitted' in page


def test_every_badge_of_a_verdict_has_a_mark_that_is_not_its_colour(tmp_path):
    page = write([Reproduction("p", "T", "L", [], [])], prepare(tmp_path)).read_text(encoding="utf-8")
    marks = {
        tone: page.split(f".badge.{tone}::before")[1].split('content: "')[1][0]
        for tone in ("good", "part", "bad", "fitted")
    }
    assert len(set(marks.values())) == len(marks)
