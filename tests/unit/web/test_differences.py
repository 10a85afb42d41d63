"""Diffs as people read them: lines that became others word by word, and nothing of either text lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.diffs import Noise, unified
from recrawl.crawl.reading.diffs import difference as stored_difference
from recrawl.crawl.reading.plain_text import visible
from recrawl.web.views import differences
from recrawl.web.views.differences import MOST_STEPS, Comparisons, Piece, difference

SAID = ["price", "5.00", "6.00", "euros", "-", "@@", "+", "sold  out", ""]
WORDS = st.lists(st.sampled_from(SAID), max_size=4).map(" ".join)
TEXTS = st.lists(WORDS, max_size=8).map("\n".join)


def told(pieces: list[Piece] | None) -> list[str]:
    return [] if pieces is None else ["".join(piece.text for piece in pieces)]


@given(TEXTS, TEXTS, st.sets(st.integers(0, 8)))
def test_both_texts_are_there_line_by_line(old: str, new: str, noise: set[int]) -> None:
    diff = unified(old, new, noise=Noise(noise, noise))
    shown = difference(diff)
    kept = [line for line in diff.split("\n") if line and not line.startswith("@@")]
    lines = [line for hunk in shown.hunks for line in hunk.lines]
    for side, sign in (("old", "-"), ("new", "+")):
        said = [text for line in lines for text in told(getattr(line, side))]
        assert sorted(said) == sorted(visible(line[1:]) for line in kept if line[0] in (sign, " "))


def test_a_line_that_became_another_is_shown_word_by_word() -> None:
    (hunk,) = difference(
        "@@ -1,2 +1,3 @@\n Chair\n-It costs 5.00 euros now\n+Only today\n+It costs 6.00 euros now"
    ).hunks
    assert [line.how for line in hunk.lines] == ["same", "come", "changed"]
    assert hunk.lines[2].pieces == [
        Piece("It costs "), Piece("5.00", "gone"), Piece("6.00", "come"), Piece(" euros now"),
    ]  # fmt: skip


def test_lines_that_have_nothing_in_common_are_not_paired() -> None:
    (hunk,) = difference("@@ -1,1 +1,1 @@\n-Sold out\n+Hello world").hunks
    assert [line.how for line in hunk.lines] == ["gone", "come"]


def test_what_is_made_to_take_long_is_shown_in_whole_lines() -> None:
    budget, ways = Comparisons(), ("a b c", "b c a", "c a b")
    lines = [" ".join(["x" if k < 12 else "y", *[ways[k % 3]] * 70, str(k)]) for k in range(24)]
    diff = "@@ @@\n" + "\n".join([f"-{line}" for line in lines[:12]] + [f"+{line}" for line in lines[12:]])
    told = [line.how for hunk in difference(diff, budget).hunks for line in hunk.lines]
    assert 0 <= budget.left < MOST_STEPS
    assert {"gone", "changed"} <= set(told)
    few = "@@ @@\n-a b c\n+a x c"
    assert [line.how for line in difference(few, budget).hunks[0].lines] == ["changed"]
    assert [line.how for line in difference(few, Comparisons(0)).hunks[0].lines] == ["gone", "come"]


def test_lines_that_are_paired_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, matcher = [], differences.SequenceMatcher
    monkeypatch.setattr(
        differences, "SequenceMatcher", lambda *given, **more: made.append(1) or matcher(*given, **more)
    )
    difference("@@ @@\n-It costs 5 euros\n+It costs 6 euros")
    assert len(made) == 1


def test_a_word_of_a_very_long_line_is_shown() -> None:
    line = " ".join(f"word{k % 50}" for k in range(5000))
    (hunk,) = difference(f"@@ @@\n-{line} old {line}\n+{line} new {line}").hunks
    assert [piece for piece in hunk.lines[0].pieces if piece.how != "same"] == [
        Piece("old", "gone"),
        Piece("new", "come"),
    ]


def test_what_is_noise_is_told() -> None:
    diff = unified("a\n1 view\nb\nc\nd\ne\nold", "a\n2 views\nb\nc\nd\ne\nnew", noise=Noise({1}, {1}))
    assert [hunk.noise for hunk in difference(diff).hunks] == [True, False]


def test_what_is_no_text_is_a_sentence_and_a_long_diff_is_cut() -> None:
    sizes = stored_difference("binary, 12 bytes", "binary, 13 bytes")
    assert (difference(sizes).hunks, difference(sizes).note) == ([], "changed (binary, 12 → 13 bytes)")
    assert difference("@@ changed, but not in the text that is kept of it @@").note.startswith("changed, but not")
    many = difference("@@ -1 +1 @@\n" + "\n".join(f"-{k}" for k in range(1000)))
    assert (sum(len(hunk.lines) for hunk in many.hunks), many.more) == (399, 601)
    assert difference("").hunks == []
