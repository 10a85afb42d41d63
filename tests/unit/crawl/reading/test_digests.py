"""Digests of pages tell what is the same, what differs, and what cannot be compared."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.digests import Stamp, digest_of, has_the_view_of, is_by, name_of, relation
from recrawl.crawl.reading.page_selection import WhatCounts

RULE = WhatCounts().rule
OTHER = WhatCounts(select="p").rule


def made(text: str = "text", *stamps: tuple[str, str], rule: str = RULE) -> str:
    return digest_of(rule, text.encode(), [Stamp(*stamp) for stamp in stamps])


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (made(), made(), "same"),
        (made("a"), made("b"), "differs"),
        (made("a", ("10:00", "")), made("a", ("10:00", "")), "same"),
        (made("a", ("10:00", "+0")), made("a", ("10:00", "")), "same"),
        (made("a", ("10:00", "+0")), made("a", ("11:00", "+0")), "same"),
        (made("a", ("10:00", "+0")), made("a", ("11:00", "+60")), "differs"),
        (made("a", ("10:00", "+0")), made("a", ("11:00", "")), "differs"),
        (made("a", ("10:00", "")), made("a", ("11:00", "")), "differs"),
        (made("a", ("10:00", "")), made("a"), "differs"),
        (made(), made(rule=OTHER), "another rule"),
        ("an older digest", made(), "another rule"),
        (name_of(made()), made(), "same"),
        ("mine:1", "mine:2", "differs"),
        ("mine:1", "mine:1", "same"),
        ("mine:1", "yours:2", "differs"),
    ],
)
def test_relations(before: str, now: str, expected: str) -> None:
    assert relation(before, now) == expected


def test_what_says_the_same_has_the_same_name_whenever_it_was_read() -> None:
    assert name_of(made("a", ("10:00", "+0"))) == name_of(made("a", ("10:00", "")))
    assert name_of(made("a", ("10:00", "+0"))) != name_of(made("a", ("11:00", "+0")))
    assert name_of("mine") == "mine"


def test_a_rule_is_known_by_its_name() -> None:
    assert is_by(RULE, made())
    assert not is_by(OTHER, made())
    assert not is_by(RULE, "0" * 32)


def test_a_view_is_the_owners_part_of_a_rule() -> None:
    assert has_the_view_of(made(rule="1-" + RULE.partition("-")[2]), made())
    assert has_the_view_of("0" * 32, made())
    assert not has_the_view_of(made(rule=OTHER), made())


def test_every_word_of_an_owner_makes_another_rule() -> None:
    counts = [
        WhatCounts(),
        WhatCounts(select="p"),
        WhatCounts(digest="raw"),
        WhatCounts(ignore=("p",)),
        WhatCounts(ignore_text=("p",)),
        WhatCounts(ignore_text=("p", "q")),
        WhatCounts(ignore_noise=False),
        WhatCounts(select="\ud800"),
    ]
    assert len({each.rule for each in counts}) == len(counts)
    assert len({each.words for each in counts}) == len(counts)
