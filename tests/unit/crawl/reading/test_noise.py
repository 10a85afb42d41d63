"""What certainly changes by itself, and what only looks like it."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.noise import noise_in, without_noise

NOW = 1794738665.0


def noise(line: str, firm: bool = False) -> list[tuple[str, str]]:
    return [(line[each.start : each.end], each.why) for each in noise_in(line, firm, NOW)]


@pytest.mark.parametrize(
    ("line", "age"),
    [
        ("5 minutes ago", "5 minutes ago"),
        ("About 2 years ago", "About 2 years ago"),
        ("By Ann · 3h ago", "3h ago"),
        ("Ann Smith, 3 days ago", "3 days ago"),
        ("Oslo – 3 days ago – Sports", "3 days ago"),
        ("Sport for all - 3 days ago - Oslo", "3 days ago"),
        ("Budget for schools (a few seconds ago)", "a few seconds ago"),
        ("Last activity: 1 day, 3 hours ago", "1 day, 3 hours ago"),
        ("Posted 3 minutes ago", "3 minutes ago"),
        ("Published: an hour ago.", "an hour ago"),
        ("This page was last updated 2 months ago", "2 months ago"),
        ("Last edited 3 weeks ago by Ann Smith", "3 weeks ago"),
        ("Posted by Ann about 3 hours ago in Sports | 7 comments", "about 3 hours ago"),
        ("120 points by ann_7 5 hours ago | hide", "5 hours ago"),
        ("Active just now", "just now"),
        ("If you may choose | Posted 3 days ago", "3 days ago"),
    ],
)
def test_an_age_that_stands_for_itself_or_dates_something_is_noise(line: str, age: str) -> None:
    assert noise(line) == [(age, "age")]


@pytest.mark.parametrize(
    "line",
    [
        "If you bought it less than 30 days ago you may send it back",
        "If you bought it less than 30 days ago, you may send it back",
        "Orders placed more than 3 days ago cannot be cancelled",
        "Orders (placed over 3 days ago) cannot be cancelled",
        "Less than 30 days ago",
        "Bought within 3 days ago",
        "Posted at least 3 days ago",
        "Joined up to 3 months ago",
        "Comments posted 30 days ago or earlier are closed",
        "A gift for members who joined 3 years ago",
        "If you joined, or were added 30 days ago, write to us",
        "Refunds if it was added 30 days ago.",
        "It was built 300 years ago.",
        "It all began 5 minutes ago",
        "We take no orders just now",
        "More than 1,500 days ago",
    ],
)
def test_an_age_in_a_sentence_is_content(line: str) -> None:
    assert noise(line) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("1,234 views", "1,234 views"),
        ("12 visits today", "12 visits"),
        ("Visitors so far: 12", "12"),
        ("Page views: 1.2k", "1.2k"),
        ("12 users online", "12 users online"),
        ("Online: 12", "12"),
        ("By Ann · 12 views", "12 views"),
        ("By Ann | Views: 12 | Sports", "12"),
        ("Viewed 12 times", "12"),
        ("This page has been visited 12 times since 2003.", "12"),
    ],
)
def test_a_counter_of_visits_is_noise(line: str, count: str) -> None:
    assert noise(line) == [(count, "count")]


@pytest.mark.parametrize(
    "line",
    [
        "Annual pass: 12 visits",
        "Annual pass: 12 views",
        "Annual pass · 12 visits",
        "Annual pass, 12 visits",
        "Annual pass (12 visits)",
        "Annual pass | Visits: 12",
        "Camera set, 3 views",
        "Courses: 12 online",
        "Courses · 12 online",
        "The pass may be visited 12 times",
        "Each room can be viewed 12 times a year",
    ],
)
def test_a_number_of_something_else_is_content(line: str) -> None:
    assert noise(line) == []


def test_visits_in_a_table_are_content() -> None:
    assert noise("12 visits", firm=True) == []
    assert noise("12 views", firm=True) == [("12 views", "count")]


@pytest.mark.parametrize("age", [
    "vor 3 Stunden", "vor einer Minute", "il y a 3 heures", "hace 3 horas", "3 ore fa", "há 3 horas", "3 uur geleden",
    "för 3 timmar sedan", "for 3 timer siden", "3 godziny temu", "3 часа назад", "3 saat önce", "3時間前", "3小时前",
    "3시간 전",
])  # fmt: skip
def test_ages_in_other_languages_that_stand_alone_or_set_off_are_noise(age: str) -> None:
    assert noise(age) == [(age, "age")]
    assert noise(f"Ann · {age}") == [(age, "age")]
    assert noise(f"Er kaufte es {age} und fuhr fort") == []


def test_ages_at_the_ends_of_several_lines_date_what_stands_before() -> None:
    lines = ["Harbour opens again 3 hours ago", "Bridge built vor 4 Stunden", "Council meets 1 day ago", "Text"]
    masked, _ = without_noise(lines, (), NOW)
    assert masked == ["Harbour opens again ⟨age⟩", "Bridge built ⟨age⟩", "Council meets ⟨age⟩", "Text"]
    assert without_noise(lines[:2], (), NOW)[0] == lines[:2]
    limits = ["You bought it less than 30 days ago", "Opened no more than 3 days ago", "Used within 3 days ago"]
    assert without_noise(limits, (), NOW)[0] == limits
