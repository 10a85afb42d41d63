"""robots.txt by RFC 9309: what answers mean, how long they last, and what hostile files cost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.fetching.robots import MAX_AGE_S, RETRY_S, RobotsCache, Rules
from recrawl.store.records import Robots

NOW = 1_700_000_000.0
ORIGIN = "https://example.org"
PAGE = ORIGIN + "/private/page"


def cache(*stored: Robots, **more: int) -> RobotsCache:
    known = {each.origin: each for each in stored}
    return RobotsCache("recrawl/1.0 (+https://me.example)", known.get, **more)


def answered(robots: RobotsCache, status: int, body: bytes = b"", now: float = NOW, age: str | None = None) -> Rules:
    record = robots.judged(ORIGIN, status, body, age, now)
    return robots.keep(record, robots.read(record))


def rules(text: str) -> Rules:
    return answered(cache(), 200, text.encode())


def test_nothing_is_known_before_it_is_asked() -> None:
    assert cache().rules(ORIGIN, NOW) is None


def test_rules_for_us_come_before_rules_for_all() -> None:
    ours = rules("User-agent: *\nDisallow: /\n\nUser-agent: Recrawl\nDisallow: /private/\nAllow: /private/page$")
    assert ours.allow(ORIGIN + "/a")
    assert ours.allow(PAGE)
    assert not ours.allow(PAGE + "2")


@pytest.mark.parametrize("name", ["recrawl", "RECRAWL", "recrawl/2.0", "recrawl*"])
def test_our_name_is_known_as_people_write_it(name: str) -> None:
    assert not rules(f"User-agent: {name}\nDisallow: /private/").allow(PAGE)


def test_rules_for_others_are_not_ours() -> None:
    others = rules("User-agent: googlebot\nUser-agent: crawl\nDisallow: /\nCrawl-delay: 99\nSitemap: /s.xml")
    assert others.allow(PAGE)
    assert others.crawl_delay_s == 0.0
    assert others.sitemaps == ("/s.xml",)


def test_a_group_may_have_several_names() -> None:
    assert not rules("User-agent: a\nUser-agent: recrawl\nUser-agent: b\nDisallow: /private/").allow(PAGE)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 301])
def test_without_a_file_everything_is_allowed(status: int) -> None:
    robots = cache()
    assert answered(robots, status, b"User-agent: *\nDisallow: /").allow(PAGE)
    assert robots.rules(ORIGIN, NOW + 1).allow(PAGE)  # type: ignore[union-attr]


@pytest.mark.parametrize("status", [429, 500, 503, 599])
def test_while_the_server_fails_nothing_is_allowed(status: int) -> None:
    robots = cache()
    refused = answered(robots, status)
    assert not refused.allow(PAGE)
    assert refused.refusal == f"robots.txt cannot be read: status {status}"
    assert robots.rules(ORIGIN, NOW + RETRY_S - 1) is refused
    assert robots.rules(ORIGIN, NOW + RETRY_S) is None


def test_the_last_good_copy_outlives_failures() -> None:
    robots = cache()
    answered(robots, 200, b"User-agent: *\nDisallow: /private/")
    later = NOW + MAX_AGE_S + 1
    assert robots.rules(ORIGIN, later) is None
    for attempt in range(3):
        kept = answered(robots, 503, now=later + attempt)
        assert not kept.allow(PAGE)
        assert kept.allow(ORIGIN + "/a")


def test_that_there_was_no_file_is_a_good_copy_too() -> None:
    robots = cache()
    answered(robots, 404)
    assert answered(robots, 500).allow(PAGE)


def test_an_answer_is_good_for_a_day_or_less_if_it_says_so() -> None:
    robots = cache()
    assert answered(robots, 200).expires == NOW + 86_400
    assert answered(robots, 200, age="public, max-age=7200").expires == NOW + 7200
    assert answered(robots, 200, age="max-age=0").expires == NOW + 3600
    assert answered(robots, 200, age="max-age=999999999").expires == NOW + 86_400
    assert answered(robots, 200, age="max-age=nonsense").expires == NOW + 86_400


def test_what_is_stored_is_used_after_a_restart() -> None:
    first = cache()
    answered(first, 200, b"User-agent: *\nDisallow: /private/")
    (record,) = first.drain()
    assert first.drain() == []
    again = cache(record)
    assert not again.rules(ORIGIN, NOW + 10).allow(PAGE)  # type: ignore[union-attr]
    assert again.rules(ORIGIN, NOW + MAX_AGE_S + 1) is None


def test_a_record_from_the_future_is_asked_for_again() -> None:
    stored = Robots(origin=ORIGIN, fetched=NOW, status=200, body="", good="", expires=NOW + 10 * MAX_AGE_S)
    assert cache(stored).rules(ORIGIN, NOW) is None


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("10", 10.0), ("0.5", 0.5), ("0", 0.0), ("-3", 0.0), ("soon", 0.0), ("nan", 0.0), ("inf", 0.0), ("1e99", 3600.0)],
)
def test_a_crawl_delay_is_bounded_and_nonsense_is_none(written: str, seconds: float) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {written}").crawl_delay_s == seconds


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
def test_marks_and_strange_bytes_do_no_harm(mark: bytes) -> None:
    text = mark + b"User-agent: *\r\nDisallow: /private/\r\n# caf\xe9 \xff\x00\r\n"
    assert not answered(cache(), 200, text).allow(PAGE)


def test_utf_16_is_read() -> None:
    assert not answered(cache(), 200, "User-agent: *\nDisallow: /private/".encode("utf-16")).allow(PAGE)


def test_a_web_page_has_no_rules() -> None:
    page = b"\n <!DOCTYPE html><pre>\nUser-agent: *\nDisallow: /\n</pre>"
    assert answered(cache(), 200, page).allow(PAGE)


def test_only_the_first_500_kib_count_and_whole_lines() -> None:
    head = b"User-agent: *\nDisallow: /private/\n"
    filler = b"# " + b"x" * 97 + b"\n"
    tail = b"Disallow: /late\n"
    found = answered(cache(), 200, head + filler * 6000 + tail)
    assert not found.allow(PAGE)
    assert found.allow(ORIGIN + "/late")
    line = b"Disallow: /" + b"a" * 600_000
    assert answered(cache(), 200, head + line).allow(ORIGIN + "/aaaa")


def test_names_times_rules_do_not_multiply() -> None:
    names = b"".join(b"User-agent: bot%d\n" % number for number in range(12_000))
    lines = b"".join(b"Disallow: /%d*x\n" % number for number in range(12_000))
    began = time.process_time()
    assert answered(cache(), 200, names + b"User-agent: *\n" + lines).allow(PAGE)
    assert time.process_time() - began < 5.0


def test_stars_without_end_match_in_bounded_time() -> None:
    hostile = rules("User-agent: *\nDisallow: /" + "a*" * 200 + "b\n")
    began = time.process_time()
    assert hostile.allow(ORIGIN + "/" + "a" * 3000)
    assert time.process_time() - began < 1.0


def test_memory_is_bounded_by_entries() -> None:
    robots = cache(entries=10)
    for number in range(100):
        record = robots.judged(f"https://h{number}.example", 404, b"", None, NOW)
        robots.keep(record, robots.read(record))
    robots.drain()
    known = [number for number in range(100) if robots.rules(f"https://h{number}.example", NOW + 1)]
    assert known == list(range(90, 100))


def test_memory_is_bounded_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recrawl.crawl.fetching.robots.MEMORY_CHARACTERS", 1000)
    robots = cache()
    for number in range(10):
        record = robots.judged(f"https://h{number}.example", 200, b"User-agent: *\nDisallow: /" + b"a" * 376, None, NOW)
        robots.keep(record, robots.read(record))
    robots.drain()
    assert sum(robots.rules(f"https://h{number}.example", NOW + 1) is not None for number in range(10)) == 2


COMMENT = b"<!-- robots.txt of example.org -->"


@pytest.mark.parametrize("start", [COMMENT + b"\n", b"\n " + COMMENT + COMMENT + b"\r\n", b"<!-- left open\n"])
def test_a_file_that_begins_with_a_comment_of_html_has_rules(start: bytes) -> None:
    assert not answered(cache(), 200, start + b"User-agent: *\nDisallow: /private/").allow(PAGE)


@pytest.mark.parametrize(
    "start", [b"<html>", b"<!doctype html>", b"<p>", COMMENT + b"\n<html>", b"<?xml version='1.0'?>"]
)
def test_a_page_is_a_page_with_a_comment_too(start: bytes) -> None:
    assert answered(cache(), 200, start + b"\nUser-agent: *\nDisallow: /private/").allow(PAGE)


def test_many_comments_are_looked_at_in_linear_time() -> None:
    assert answered(cache(), 200, b"<!---->" * 70_000).allow(PAGE)
    assert answered(cache(), 200, b"<!--" * 120_000).allow(PAGE)


@given(st.binary(max_size=300), st.sampled_from([200, 204, 404, 500]))
def test_any_answer_makes_rules(body: bytes, status: int) -> None:
    found = answered(cache(), status, body)
    assert isinstance(found.allow(PAGE), bool)
    assert 0.0 <= found.crawl_delay_s <= 3600.0
