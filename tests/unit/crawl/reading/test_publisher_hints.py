"""Publishers' words about their own pace."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import HintSwitches
from recrawl.crawl.reading import publisher_hints
from recrawl.crawl.reading.findings import Findings

ON = HintSwitches()
NOW = datetime(2026, 11, 15, 10, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("headers", "stay"),
    [
        ({}, None),
        ({"cache-control": "public, max-age=600"}, 600.0),
        ({"cache-control": "MAX-AGE=600"}, 600.0),
        ({"cache-control": "s-maxage=600"}, None),
        ({"cache-control": "max-age=0"}, None),
        ({"cache-control": "max-age=31536000"}, 86400.0),
        ({"cache-control": "no-cache, max-age=600"}, None),
        ({"cache-control": "max-age=soon"}, None),
        ({"expires": "Sun, 15 Nov 2026 11:30:00 GMT"}, 3600.0),
        ({"expires": "Sun, 15 Nov 2026 11:30:00 GMT", "date": "Sun, 15 Nov 2026 11:00:00 GMT"}, 1800.0),
        ({"expires": "Sun, 15 Nov 2026 11:30:00 GMT", "cache-control": "max-age=60"}, 60.0),
        ({"expires": "0"}, None),
        ({"cache-control": "max-age=600", "age": "100"}, 500.0),
        ({"cache-control": "max-age=600", "age": "600"}, None),
        ({"cache-control": "max-age=600", "age": "9" * 5000}, None),
        ({"cache-control": "max-age=600", "age": "-5"}, 600.0),
        ({"cache-control": "max-age=600", "age": "100, 7"}, 500.0),
        ({"cache-control": "max-age=31536000", "age": "86400"}, 86400.0),
        ({"expires": "Sun, 15 Nov 2026 11:30:00 GMT", "date": "Sun, 15 Nov 2026 11:00:00 GMT", "age": "300"}, 1500.0),
        ({"expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, None),
    ],
)
def test_headers_that_ask_to_stay_away(headers: dict[str, str], stay: float | None) -> None:
    assert publisher_hints.of_headers(headers, NOW, ON) == stay
    assert publisher_hints.of_headers(headers, NOW, HintSwitches(cache_control=False)) is None


@pytest.mark.parametrize(
    ("minutes", "stay"),
    [("60", 3600.0), (" 5 ", 300.0), ("100000", 86400.0), ("0", None), ("-5", None), ("x", None), (None, None),
     ("nan", None), ("1e400", None)],
)  # fmt: skip
def test_ttl(minutes: str | None, stay: float | None) -> None:
    assert publisher_hints.of_ttl(minutes) == stay


def test_update_periods() -> None:
    assert publisher_hints.of_update_period("hourly", "2") == 1800.0
    assert publisher_hints.of_update_period(" Weekly ", None) == 604800.0
    assert publisher_hints.of_update_period(None, "24") == 3600.0
    assert publisher_hints.of_update_period("whenever", "1") is None
    assert publisher_hints.of_update_period("daily", "-3") == 86400.0
    assert publisher_hints.of_update_period(None, None) is None


def test_changefreq() -> None:
    assert publisher_hints.of_changefreq(["always"]) == 3600.0
    assert publisher_hints.of_changefreq(["never", "yearly"]) == 31557600.0
    assert publisher_hints.of_changefreq([]) is None


def test_hours_and_days_that_leave_no_time_are_a_mistake() -> None:
    assert publisher_hints.hours(map(str, range(24))) == ()
    assert publisher_hints.days(["Monday", "tuesday"]) == (0, 1)
    assert publisher_hints.days(publisher_hints.WEEKDAYS) == ()


def test_without_wishes_now_is_as_good_as_ever() -> None:
    assert publisher_hints.earliest(Findings(kind="feed"), last=NOW - 1, candidate=NOW) == NOW


def test_staying_away_counts_from_the_last_visit_and_at_most_a_day() -> None:
    assert publisher_hints.earliest(Findings(kind="feed", stay_away_s=600.0), last=NOW, candidate=NOW) == NOW + 600.0
    assert publisher_hints.earliest(Findings(kind="feed", stay_away_s=600.0), last=NOW - 900.0, candidate=NOW) == NOW
    assert publisher_hints.earliest(Findings(kind="feed", stay_away_s=1e9), last=NOW, candidate=NOW) == NOW + 86400.0


def test_hours_to_skip_end_at_the_full_hour_utc() -> None:
    assert (
        publisher_hints.earliest(Findings(kind="feed", skip_hours=(10, 11)), NOW, NOW)
        == datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp()
    )
    assert publisher_hints.earliest(Findings(kind="feed", skip_hours=(9,)), NOW, NOW) == NOW


def test_days_to_skip_end_at_midnight_utc() -> None:
    sunday = Findings(kind="feed", skip_days=(6,))
    assert publisher_hints.earliest(sunday, NOW, NOW) == datetime(2026, 11, 16, tzinfo=UTC).timestamp()
    both = Findings(kind="feed", skip_days=(6,), skip_hours=(0, 1))
    assert publisher_hints.earliest(both, NOW, NOW) == datetime(2026, 11, 16, 2, tzinfo=UTC).timestamp()


def test_wishes_nobody_could_follow_are_ignored() -> None:
    assert publisher_hints.earliest(Findings(kind="feed", skip_hours=tuple(range(24))), NOW, NOW) == NOW
    assert publisher_hints.earliest(Findings(kind="feed", skip_days=tuple(range(7))), NOW, NOW) == NOW
    assert publisher_hints.earliest(Findings(kind="feed", skip_hours=(1,)), 0.0, float("inf")) == float("inf")


@given(
    st.sets(st.integers(0, 23), max_size=23),
    st.sets(st.integers(0, 6), max_size=6),
    st.floats(0, 4e9),
    st.none() | st.floats(0, 1e6),
)
def test_the_earliest_moment_is_allowed_and_not_before(
    hours: set[int], days: set[int], candidate: float, stay: float | None
) -> None:
    wishes = Findings(kind="feed", stay_away_s=stay, skip_hours=tuple(hours), skip_days=tuple(days))
    found = publisher_hints.earliest(wishes, candidate, candidate)
    when = datetime.fromtimestamp(found, UTC)
    assert found >= candidate
    assert when.hour not in hours
    assert when.weekday() not in days
    assert found - candidate <= 8 * 86400.0
