"""Why a source waits is said by the name and value its publisher used."""

from __future__ import annotations

import random

import pytest

from recrawl.config import Politeness
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.publisher_hints import headers_in_words, in_words

NOW = 1_800_000_000.0
HOUR = 3600.0


def slots(**settings: str) -> HostSlots:
    return HostSlots(Politeness(**settings), NOW - 1000.0, random.Random(0))


def test_a_long_crawl_delay_is_a_hold_by_its_name_until_the_next_request_may_be_sent():
    hosts = slots()
    hosts.take("a.example", NOW)
    hosts.done("a.example", NOW + 1.0, 3600.0)
    (hold,) = hosts.drain_holds()
    assert (hold.host, hold.until, hold.reason) == ("a.example", NOW + 3601.0, "Crawl-delay 3600 s")
    assert hosts.free_at("a.example") == hold.until
    again = HostSlots(Politeness(), NOW + 100.0, random.Random(0))
    again.restore([hold])
    assert again.free_at("a.example") == hold.until


def test_a_short_delay_is_no_hold_and_is_called_as_in_the_settings():
    hosts = slots(delay="2s")
    hosts.take("a.example", NOW)
    assert hosts.waits_for("a.example", NOW) == "another request to its host is under way"
    hosts.done("a.example", NOW + 1.0)
    assert hosts.drain_holds() == []
    assert hosts.waits_for("a.example", NOW + 1.0) == "politeness.delay 2s"


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"cache-control": "public, max-age=7200"}, "Cache-Control max-age: 2h"),
        ({"cache-control": "max-age=31536000"}, "Cache-Control max-age: 365d, kept to for 1d at most"),
        ({"expires": "Fri, 15 Jan 2027 09:00:00 GMT"}, "Expires: 1h"),
    ],
)
def test_headers_are_called_by_name_and_value(headers, words):
    assert headers_in_words(headers, NOW) == words


def test_of_ttl_and_headers_the_longer_is_named():
    headers = {"cache-control": "max-age=600"}
    assert in_words(Findings(kind="feed", stay_away_s=HOUR), headers, 600.0, NOW, NOW + HOUR) == "ttl of the feed: 1h"
    assert (
        in_words(Findings(kind="feed", stay_away_s=600.0), headers, 600.0, NOW, NOW + 600.0)
        == "Cache-Control max-age: 10m"
    )


def test_hours_and_days_to_skip_are_named_where_they_are_what_keeps_it():
    said = Findings(kind="feed", stay_away_s=600.0, skip_hours=(8, 9), skip_days=(5, 6))
    words = in_words(said, {}, None, NOW, NOW + 2 * HOUR)
    assert words == "skipHours of the feed: 8, 9 (UTC); skipDays of the feed: Saturday, Sunday (UTC)"
    assert in_words(said, {}, None, NOW, NOW + 600.0) == "ttl of the feed: 10m"
