"""Diffs people can read, in bounded time and space."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.diffs import MOST_LINES, unified


def test_a_changed_line_is_shown_with_its_neighbours() -> None:
    assert unified("a\nb\nc\nd\ne\nf", "a\nb\nc\nD\ne\nf").split("\n") == [
        "@@ -2,5 +2,5 @@", " b", " c", "-d", "+D", " e", " f",
    ]  # fmt: skip


def test_the_same_text_has_no_diff() -> None:
    assert unified("a\nb", "a\nb") == ""
    assert unified("", "") == ""


def test_lines_that_came_and_went() -> None:
    assert "+b" in unified("a", "a\nb").split("\n")
    assert "-b" in unified("a\nb", "a").split("\n")
    assert "+first" in unified("", "first").split("\n")


def test_one_word_in_a_long_paragraph_does_not_show_all_of_it_twice() -> None:
    words = [f"word{k}." if k % 10 == 0 else f"word{k}" for k in range(400)]
    changed = [*words[:205], "another word", *words[206:]]
    diff = unified(" ".join(words), " ".join(changed))
    assert "another word" in diff
    assert sum(line.startswith("+") for line in diff.split("\n")) <= 3


def test_a_large_change_is_shown_coarsely() -> None:
    old = [f"old {k}" for k in range(MOST_LINES + 10)]
    new = [f"new {k}" for k in range(MOST_LINES + 10)]
    diff = unified("\n".join(["same", *old]), "\n".join(["same", *new]), limit=10**7)
    assert diff.startswith("@@ lines gone, then lines come @@")
    assert sum(line.startswith("-old") for line in diff.split("\n")) == MOST_LINES + 10
    assert sum(line.startswith("+new") for line in diff.split("\n")) == MOST_LINES + 10


def test_what_is_too_long_is_cut_with_a_count() -> None:
    diff = unified("", "\n".join(f"line {k}" for k in range(500)), limit=1000)
    assert len(diff) < 1100
    assert diff.split("\n")[-1].startswith("… and ")


def test_hostile_texts_take_no_longer_than_a_moment() -> None:
    old = "\n".join("ab"[k % 2] for k in range(MOST_LINES))
    new = "\n".join("ba"[(k // 3) % 2] for k in range(MOST_LINES))
    started = time.process_time()
    unified(old, new)
    unified("x" * 1_000_000, "y" * 1_000_000)
    unified("\n" * 1_000_000, "\na" * 500_000)
    unified(" ".join("a" * 9 for _ in range(2000)) + " b", " ".join("a" * 9 for _ in range(2000)))
    assert time.process_time() - started < 10.0


@given(st.lists(st.sampled_from("abcd"), max_size=20), st.lists(st.sampled_from("abcd"), max_size=20))
def test_the_diff_turns_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    diff = unified("\n".join(old), "\n".join(new)).split("\n")
    gone = [line[1:] for line in diff if line.startswith("-")]
    come = [line[1:] for line in diff if line.startswith("+")]
    assert len(come) - len(gone) == len("\n".join(new).split("\n")) - len("\n".join(old).split("\n"))
