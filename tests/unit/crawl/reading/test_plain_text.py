"""Text from strangers becomes one plain, short line."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.plain_text import clean, inert, revived, visible


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("Plain words", "Plain words"),
        ("  spread \n\t out  ", "spread out"),
        ("no\u00a0break\u2003wide\u3000ideographic", "no break wide ideographic"),
        ("<p>One</p><p>Two</p>", "One Two"),
        ("<b>W</b>ord, <i>next</i>.", "Word, next."),
        ("Fish &amp; chips &#8211; &eacute;t&eacute;", "Fish & chips – été"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a<script>alert('x')</script>b", "a b"),
        ("a<STYLE>p{}</STYLE >b", "a b"),
        ("a<!-- secret -->b", "a b"),
        ("a<!-- never closed", "a"),
        ("a<script>never closed", "a"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;done", "done"),
        ("&lt;b&gt;bold&lt;/b&gt;", "bold"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07shown", "shown"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("bell\x07 null\x00 delete\x7f", "bell null delete"),
        ("over\u202eride\u2066d", "overrided"),
        ("zero\u200bwidth\ufeff\u00ad", "zerowidth"),
        ("family \U0001f469\u200d\U0001f467", "family \U0001f469\u200d\U0001f467"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
        ("&#27;[31mred&#8238;", "[31mred"),
        ("&#xD800;&#0;x", "\ufffd\ufffdx"),
        ("日本語 العربية", "日本語 العربية"),
        ("", ""),
    ],
)
def test_what_is_left_of_a_text(raw: str, plain: str) -> None:
    assert clean(raw, 300) == plain


def test_what_is_too_long_ends_in_an_ellipsis() -> None:
    assert clean("abcdef", 4) == "abc…"
    assert clean("abcd", 4) == "abcd"
    assert clean("ab cdef", 4) == "ab…"
    assert clean("<p>" + "word " * 1000, 20) == "word word word word…"


def test_text_after_much_markup_is_still_found() -> None:
    assert clean("<p class='x'>" * 300 + "here", 300) == "here"


@pytest.mark.parametrize(
    "piece", ["word ", "<b>", "<script>", "<!--", "&amp;", "<", "\x1b[", "&", "\u202e", "<a href="]
)
def test_ten_megabytes_take_no_longer_than_a_moment(piece: str) -> None:
    text = piece * (10_000_000 // len(piece))
    started = time.process_time()
    assert len(clean(text, 300)) <= 300
    assert time.process_time() - started < 1.0


@given(st.text() | st.text("<>&;#ab/!-\x1b[\u202e \n"), st.integers(1, 30))
def test_nothing_that_can_harm_a_terminal_is_left(raw: str, limit: int) -> None:
    plain = clean(raw, limit)
    assert len(plain) <= limit
    assert plain == plain.strip()
    assert "  " not in plain
    kinds = {unicodedata.category(character) for character in plain.replace("\u200c", "").replace("\u200d", "")}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(plain) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    plain.encode()


def test_visible_text_keeps_its_words() -> None:
    assert visible("a\x1b[2Jb\x00c") == "abc"


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "'=1", "plain", "'quoted'", "", "''=x"])
def test_cells_are_inert_and_come_back_as_they_were(cell: str) -> None:
    assert inert(cell)[:1] not in ("=", "+", "-", "@", "\t")
    assert revived(inert(cell)) == cell
