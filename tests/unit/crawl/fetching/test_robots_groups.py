"""Whom the lines of a robots.txt are for, by RFC 9309 and as large crawlers read it."""

from __future__ import annotations

import pytest

from recrawl.crawl.fetching.robots_groups import Ours, names_of, ours


def rules(text: str, user_agent: str = "recrawl") -> list[str]:
    return ours(text, names_of(user_agent)).rules


@pytest.mark.parametrize(
    ("user_agent", "names"),
    [
        ("recrawl", ("recrawl",)),
        ("recrawl/0.1", ("recrawl",)),
        ("Recrawl/0.1 (+https://example.org/bot)", ("recrawl",)),
        ("recrawl-3/0", ("recrawl-3", "recrawl")),
        ("recrawl3", ("recrawl3", "recrawl")),
        ("recrawl-news-3 (me)", ("recrawl-news-3", "recrawl-news", "recrawl")),
        ("my_bot", ("my_bot", "my")),
        ("360Spider", ("360spider",)),
        ("008/0.83", ("008",)),
        ("Mozilla/5.0 (compatible; recrawl/0.1)", ("recrawl",)),
        ("Mozilla/5.0 (compatible; recrawl/0.1; +https://example.org/bot)", ("recrawl",)),
        ("Mozilla/5.0 (compatible; MyBot)", ("mybot",)),
        ("Mozilla/5.0 (compatible; MyBot; +https://example.org/a)", ("mybot",)),
        ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MyBot2/1.0) Chrome/120.0 Safari/537.36",
         ("mybot2", "mybot")),
        ("Mozilla/5.0 (X11; Linux x86_64) MyBot/1.0 Firefox/130.0", ("mybot",)),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", ("recrawl",)),
        ("", ("recrawl",)),
        ("(?)", ("recrawl",)),
        ("--", ("recrawl",)),
    ],
)  # fmt: skip
def test_our_names_are_those_of_the_setting(user_agent: str, names: tuple[str, ...]) -> None:
    assert names_of(user_agent) == names


@pytest.mark.parametrize(
    "user_agent", ["recrawl", "recrawl-3/0", "Mozilla/5.0 (compatible; recrawl/0.1)", "Recrawl/2 x"]
)
def test_rules_for_recrawl_are_obeyed_under_any_of_its_names(user_agent: str) -> None:
    assert rules("User-agent: recrawl\nDisallow: /a\n\nUser-agent: *\nDisallow:", user_agent) == ["Disallow: /a"]


def test_the_most_particular_name_counts_alone() -> None:
    text = "User-agent: recrawl\nDisallow: /a\nUser-agent: recrawl-3\nDisallow: /b\nUser-agent: *\nDisallow: /c"
    assert rules(text, "recrawl-3/0") == ["Disallow: /b"]
    assert rules(text, "recrawl-4/0") == ["Disallow: /a"]
    assert rules(text, "other") == ["Disallow: /c"]


def test_digits_belong_to_a_name() -> None:
    text = "User-agent: bot2\nDisallow: /2\nUser-agent: bot3\nDisallow: /3\nUser-agent: *\nDisallow: /all"
    assert rules(text, "bot3/1.0") == ["Disallow: /3"]
    assert rules(text, "bot/1.0") == ["Disallow: /all"]
    assert rules(text, "bot4/1.0") == ["Disallow: /all"]


@pytest.mark.parametrize("written", ["recrawl", "RECRAWL", "recrawl/2.0", "recrawl*", "recrawl 1.0", "recrawl, other"])
def test_versions_and_stars_after_a_name_say_nothing(written: str) -> None:
    assert rules(f"User-agent: {written}\nDisallow: /a") == ["Disallow: /a"]


@pytest.mark.parametrize("written", ["", "recrawler", "crawl", "recrawl-3", "*bot", "re"])
def test_other_names_are_not_ours(written: str) -> None:
    assert rules(f"User-agent: {written}\nDisallow: /a\n\nUser-agent: *\nAllow: /") == ["Allow: /"]


@pytest.mark.parametrize(
    "line",
    ["Sitemap: https://example.org/s.xml", "Crawl-delay: 5", "Host: example.org", "Clean-param: a /b", "Noindex: /x",
     "", "# note", "what is this", "Request-rate: 1/5", "Content-signal: ai-train=no", "<!-- x -->", "Unknown:"],
)  # fmt: skip
def test_only_rules_end_a_group(line: str) -> None:
    assert rules(f"User-agent: recrawl\n{line}\nUser-agent: b\n{line}\nDisallow: /a\n{line}\nDisallow: /b") == [
        "Disallow: /a",
        "Disallow: /b",
    ]


def test_a_name_after_rules_begins_another_group() -> None:
    assert rules("User-agent: recrawl\nDisallow: /a\nUser-agent: b\nDisallow: /b") == ["Disallow: /a"]
    assert rules("User-agent: recrawl\nDisallow:\nUser-agent: b\nDisallow: /b") == ["Disallow: "]


def test_sentences_are_no_rules() -> None:
    text = "User-agent: *\nDisallow: /a\nAllow us to explain\nUser agent of the month is nobody\nDisallow all of it"
    assert rules(text) == ["Disallow: /a"]


def test_groups_of_one_name_count_together() -> None:
    text = "User-agent: recrawl\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: Recrawl\nAllow: /b"
    assert rules(text) == ["Disallow: /a", "Allow: /b"]


def test_a_group_of_ours_without_rules_allows_everything() -> None:
    assert rules("User-agent: *\nDisallow: /\n\nUser-agent: recrawl\n") == []


def test_rules_before_any_name_are_nobodys() -> None:
    assert rules("Disallow: /a\nUser-agent: *\nDisallow: /b") == ["Disallow: /b"]


def test_delays_and_sitemaps_are_found() -> None:
    text = "Sitemap: /1\nUser-agent: a\nCrawl-delay: 9\nUser-agent: *\nDisallow: /\nCrawl-delay: 2\nSitemap: https://e.org/2"
    assert ours(text, ("recrawl",)) == Ours(["Disallow: /"], ["2"], ["/1", "https://e.org/2"])


@pytest.mark.parametrize(
    "line",
    ["disallow:/a", "DISALLOW : /a", "Dissallow: /a", "Disallow /a", " Disallow:\t/a # why", "disalow: /a"],
)
def test_spelling_is_taken_generously(line: str) -> None:
    for agent in ("User-agent: *", "useragent:*", "User agent: *", "user-agent *", "USER-AGENT: * # all"):
        assert rules(f"{agent}\n{line}") == ["Disallow: /a"]
