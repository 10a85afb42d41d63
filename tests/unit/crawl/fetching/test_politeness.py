"""Hosts are visited in their own time: delays, holds and back-off, told in virtual time."""

from __future__ import annotations

import math
from email.utils import formatdate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import Politeness
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.retry_after import MAX_RETRY_AFTER_S
from recrawl.store.records import Hold

START = 1_700_000_000.0
HOST = "example.org"


def slots(**settings: object) -> HostSlots:
    return HostSlots(Politeness(**settings), START, Random(7))  # type: ignore[arg-type]


# -- who shares a slot


@pytest.mark.parametrize(
    ("scope", "url", "key"),
    [
        ("host", "https://Feeds.Example.co.uk/a", "feeds.example.co.uk"),
        ("host", "https://example.org:443/a", "example.org"),
        ("host", "http://example.org:80", "example.org"),
        ("host", "http://example.org:8080?x", "example.org:8080"),
        ("host", "http://me:pw@example.org/@x", "example.org"),
        ("host", "http://[::1]:81/", "[::1]:81"),
        ("domain", "https://feeds.example.co.uk/a", "example.co.uk"),
        ("domain", "https://a.b.example.org:8443/", "example.org"),
        ("domain", "https://me.github.io/", "me.github.io"),
        ("domain", "http://127.0.0.1:81/", "127.0.0.1:81"),
        ("domain", "http://[::1]:81/", "[::1]:81"),
        ("domain", "http://a.localhost:81/", "a.localhost:81"),
        ("domain", "http://com/", "com"),
        ("url", "https://example.org/a?b", "https://example.org/a?b"),
    ],
)
def test_the_scope_says_what_shares_a_slot(scope: str, url: str, key: str) -> None:
    assert slots(scope=scope).key_of(url) == key


# -- turns


def test_after_the_start_every_host_counts_as_just_visited() -> None:
    assert slots(delay="5s").free_at(HOST) == START + 5.0


def test_one_request_at_a_time_and_a_delay_after_it() -> None:
    host = slots(delay="2s")
    host.take(HOST, START + 10)
    assert host.free_at(HOST) == math.inf
    host.done(HOST, START + 13)
    assert host.free_at(HOST) == START + 15
    assert host.free_at("other.example") == START + 2


def test_a_crawl_delay_counts_from_the_last_request_or_the_start() -> None:
    host = slots(delay="1s")
    host.asks(HOST, 30.0, START + 5)
    assert host.free_at(HOST) == START + 30
    host.take(HOST, START + 60)
    host.done(HOST, START + 61, 60.0)
    assert host.free_at(HOST) == START + 121
    host.asks("later.example", 30.0, START + 100)
    assert host.free_at("later.example") == START + 1


def test_a_long_crawl_delay_counts_from_the_last_request_alone_over_restarts_too() -> None:
    before = slots(delay="1s")
    before.take(HOST, START + 10)
    before.done(HOST, START + 11, 3600.0)
    (hold,) = before.drain_holds()
    soon = slots(delay="1s")
    soon.restore([hold])
    soon.asks(HOST, 3600.0, START + 5)
    assert soon.free_at(HOST) == START + 3611
    later = slots(delay="1s")
    later.asks(HOST, 3600.0, START + 5)
    assert later.free_at(HOST) <= START + 5, "whoever starts every hour would never fetch it"


def test_a_long_crawl_delay_is_lifted_by_hand() -> None:
    host = slots(delay="1s")
    host.take(HOST, START + 10)
    host.done(HOST, START + 11, 3600.0)
    assert host.free_at(HOST) == START + 3611
    assert host.lift(HOST)
    assert host.free_at(HOST) <= START + 11
    host.asks(HOST, 3600.0, START + 12)
    assert host.free_at(HOST) <= START + 11
    host.take(HOST, START + 12)
    host.done(HOST, START + 13, 3600.0)
    assert host.free_at(HOST) == START + 3613


def test_a_shorter_crawl_delay_than_ours_changes_nothing() -> None:
    host = slots(delay="10s")
    host.asks(HOST, 3.0, START)
    host.take(HOST, START + 10)
    host.done(HOST, START + 11, 3.0)
    assert host.free_at(HOST) == START + 21


def test_a_delay_learned_from_robots_txt_counts_from_robots_txt() -> None:
    host = slots(delay="1s")
    host.take(HOST, START + 1)
    host.done(HOST, START + 2)
    host.asks(HOST, 30.0, START + 2)
    assert host.free_at(HOST) == START + 32


def test_several_at_a_time_start_a_delay_apart() -> None:
    host = slots(delay="2s", parallel_per_host=2)
    host.take(HOST, START + 10)
    assert host.free_at(HOST) == START + 12
    host.take(HOST, START + 12)
    assert host.free_at(HOST) == math.inf
    host.done(HOST, START + 13)
    assert host.free_at(HOST) == START + 14


# -- holds


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("words", ["120", " 120 ", formatdate(START + 120, usegmt=True)])
def test_retry_after_is_kept_to(status: int, words: str) -> None:
    host = slots()
    host.answered(HOST, status, words, START)
    assert host.free_at(HOST) == START + 120
    assert host.held(HOST, START)[1] == f"status {status}, asked to come back in 2m"


@pytest.mark.parametrize("words", [None, "", "soon", "-5", "0", "1e9", "٣", "Mon, 99 Foo", "x" * 1000,
                                   formatdate(START - 5, usegmt=True), "Thu, 01 Jan 99999 00:00:00 GMT"])  # fmt: skip
def test_without_a_usable_retry_after_the_hold_is_the_back_off(words: str | None) -> None:
    host = slots(backoff="1m")
    host.answered(HOST, 429, words, START)
    assert START + 60 <= host.free_at(HOST) <= START + 90
    host.answered("other.example", 503, words, START)
    assert host.held("other.example", START) == (0.0, ""), "a 503 that does not ask for time is its URL's affair"


def test_a_year_is_cut_to_a_week_and_said_so() -> None:
    for words in (str(365 * 86_400), "9" * 60, formatdate(START + 365 * 86_400, usegmt=True)):
        host = slots()
        host.answered(HOST, 429, words, START)
        until, why = host.held(HOST, START)
        assert until == START + MAX_RETRY_AFTER_S
        assert why.endswith("held for 7d")


def test_refusals_in_a_row_double_the_hold_up_to_the_largest() -> None:
    host = slots(backoff="1m", max_backoff="10m")
    now, holds = START, []
    for _ in range(8):
        host.answered(HOST, 429, None, now)
        holds.append(host.free_at(HOST) - now)
        now = host.free_at(HOST)
    assert all(low <= hold <= 1.5 * low for hold, low in zip(holds[:3], (60, 120, 240), strict=True))
    assert holds[-1] == 600.0
    host.answered(HOST, 200, None, now)
    host.answered(HOST, 429, None, now)
    assert host.free_at(HOST) - now <= 90.0


def test_hosts_do_not_come_back_in_step() -> None:
    host = slots()
    for number in range(50):
        host.answered(f"h{number}", 429, None, START)
    assert len({host.free_at(f"h{number}") for number in range(50)}) == 50


def test_other_errors_of_a_document_hold_nothing() -> None:
    host = slots()
    for status in (200, 304, 404, 410, 500, 502):
        host.answered(HOST, status, "3600", START, "/a")
    assert host.held(HOST, START) == (0.0, "")


def test_one_lost_connection_holds_nothing_two_in_a_row_do() -> None:
    host = slots(backoff="1m")
    host.failed(HOST, "timeout", START)
    assert host.held(HOST, START) == (0.0, "")
    host.failed(HOST, "timeout", START)
    until, why = host.held(HOST, START)
    assert 60 <= until - START <= 90
    assert why == "timeout, 2 in a row"
    host.answered(HOST, 200, None, START + 100)
    host.failed(HOST, "timeout", START + 200)
    assert host.held(HOST, START + 200) == (0.0, "")


# -- one URL and its host


@pytest.mark.parametrize("status", [500, 502, 503])
def test_one_failing_url_never_holds_its_host(status: int) -> None:
    host = slots()
    for number in range(1000):
        host.answered(HOST, status, None, START + number, "/a")
        host.faltered(HOST, "timeout", START + number, "/b")
    assert host.held(HOST, START) == (0.0, "")


def test_several_different_ones_in_a_row_are_their_host_s_failure() -> None:
    host = slots(backoff="1m")
    host.answered(HOST, 503, None, START, "/a")
    host.faltered(HOST, "timeout", START, "/b")
    assert host.held(HOST, START) == (0.0, "")
    host.answered(HOST, 500, None, START, "/c")
    until, why = host.held(HOST, START)
    assert 60 <= until - START <= 90
    assert why == "status 500, 3 different URLs in a row"


def test_those_that_failed_before_do_not_hold_the_host_again_others_do() -> None:
    host = slots(backoff="1m")
    for url in ("/a", "/b", "/c"):
        host.answered(HOST, 503, None, START, url)
    now = host.held(HOST, START)[0]
    for url in ("/a", "/b", "/c"):
        host.answered(HOST, 503, None, now, url)
    assert host.held(HOST, now) == (0.0, ""), "they would keep all others from being asked"
    host.answered(HOST, 503, None, now, "/d")
    assert 120 <= host.held(HOST, now)[0] - now <= 180


def test_a_good_answer_between_them_ends_the_count() -> None:
    host = slots()
    for url in ("/a", "/b", "/c", "/d"):
        host.answered(HOST, 503, None, START, url)
        host.answered(HOST, 404, None, START, "/good")
    assert host.held(HOST, START) == (0.0, "")


def test_those_that_failed_are_remembered_when_hosts_are_forgotten() -> None:
    host = slots(delay="1s")
    host.answered(HOST, 503, None, START, "/a")
    host.answered(HOST, 503, None, START, "/b")
    for number in range(10_000):
        host.take(f"h{number}", START + 10)
        host.done(f"h{number}", START + 10)
    host.answered(HOST, 503, None, START + 20, "/c")
    assert host.held(HOST, START + 20)[0] > START + 20


def test_a_hold_is_never_shortened() -> None:
    host = slots()
    host.hold(HOST, START + 500, "first")
    host.hold(HOST, START + 50, "second")
    assert host.held(HOST, START) == (START + 500, "first")


def test_holds_survive_a_restart_with_their_count() -> None:
    host = slots(backoff="1m")
    host.answered(HOST, 429, None, START)
    host.answered(HOST, 429, None, START)
    stored = host.drain_holds()
    assert [(hold.host, hold.failures) for hold in stored] == [(HOST, 2)]
    assert host.drain_holds() == []
    again = slots(backoff="1m")
    again.restore(stored)
    assert again.free_at(HOST) == host.free_at(HOST)
    again.answered(HOST, 429, None, START + 1000)
    assert again.free_at(HOST) - (START + 1000) >= 240


def test_the_end_of_a_hold_is_told_too() -> None:
    host = slots()
    host.restore([Hold(host=HOST, until=START + 5, reason="x", failures=3)])
    host.answered(HOST, 200, None, START + 10)
    assert [(hold.host, hold.failures) for hold in host.drain_holds()] == [(HOST, 0)]


# -- hosts that come from somebody else


def test_a_host_that_comes_from_somebody_else_was_visited_just_now() -> None:
    host = slots(delay="2s")
    host.visited(HOST, START + 100)
    assert host.free_at(HOST) == START + 102
    host.visited(HOST, START + 50)
    assert host.free_at(HOST) == START + 102, "never sooner"


def test_a_delay_it_turns_out_to_ask_for_counts_from_then_too() -> None:
    host = slots(delay="2s")
    host.visited(HOST, START + 100)
    for number in range(10_000):  # hosts that would be forgotten by now
        host.take(f"h{number}", START + 200)
        host.done(f"h{number}", START + 200)
    host.asks(HOST, 600.0, START + 300)
    assert host.free_at(HOST) == START + 700


def test_it_is_forgotten_when_no_delay_can_matter_any_more() -> None:
    many = slots(delay="1s")
    for number in range(100_000):
        many.visited(f"host{number}", START + 10.0 * number)
    assert len(many) < 3000


# -- memory


def test_hosts_left_alone_are_forgotten() -> None:
    many = slots(delay="1s")
    for number in range(100_000):
        now = START + 2.0 * number
        many.take(f"host{number}", now)
        many.done(f"host{number}", now)
    assert len(many) < 3000


def test_forgetting_breaks_no_delay_and_no_hold() -> None:
    host = slots(delay="1s")
    host.hold("held.example", START + 1e6, "a week")
    host.take("flying.example", START + 5)
    host.visited("slow.example", START)
    host.asks("slow.example", 3600.0, START + 5)
    for number in range(10_000):
        host.take(f"h{number}", START + 10)
        host.done(f"h{number}", START + 10)
    assert host.free_at("held.example") == START + 1e6
    assert host.free_at("flying.example") == math.inf
    assert host.free_at("slow.example") == START + 3600


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 3.0), st.floats(0.0, 2.0)), max_size=60))
def test_no_two_requests_to_a_host_are_ever_closer_than_the_delay(visits: list[tuple[str, float, float]]) -> None:
    host, now = slots(delay="1s"), START
    ended = dict.fromkeys("abc", START)
    for key, pause, length in visits:
        now = max(now + pause, host.free_at(key))
        assert now >= ended[key] + 1.0
        host.take(key, now)
        now += length
        host.done(key, now)
        ended[key] = now
