"""Dates as publishers write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl import dates

MOMENT = datetime(2026, 11, 2, 15, 3, 4, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    ["Mon, 02 Nov 2026 15:03:04 GMT", "Mon, 02 Nov 2026 15:03:04 +0000", "Mon, 02 Nov 2026 16:03:04 +0100",
     "Mon, 02 Nov 2026 10:03:04 EST", "02 Nov 2026 15:03:04 GMT", "Mon, 2 Nov 2026 15:03:04 GMT",
     "Monday, 2 November 2026 15:03:04 GMT", "Mon, 02 Nov 26 15:03:04 GMT", "2026-11-02T15:03:04Z",
     "2026-11-02T15:03:04+00:00", "2026-11-02T10:03:04-05:00", "2026-11-02T15:03:04", "2026-11-02 15:03:04",
     " 2026-11-02T15:03:04Z\n", "20261102T150304Z", "2026/11/02 15:03:04 UTC", "2026-11-02T15:03:04 +0000",
     "1793631784", "Mon Nov  2 15:03:04 2026"],
)  # fmt: skip
def test_many_spellings_of_one_moment(text: str) -> None:
    assert dates.parse(text) == MOMENT


def test_fractions_of_seconds_are_kept() -> None:
    assert dates.parse("2026-11-02T15:03:04.25Z") == MOMENT + 0.25


def test_a_day_alone_is_its_start_in_utc() -> None:
    assert dates.parse("2026-11") == datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    assert dates.parse("2026-11-02") == datetime(2026, 11, 2, tzinfo=UTC).timestamp()


def test_a_hundred_years_ago_is_before_the_epoch() -> None:
    assert dates.parse("Tue, 02 Nov 1926 15:03:04 GMT") == datetime(1926, 11, 2, 15, 3, 4, tzinfo=UTC).timestamp()
    assert dates.parse("1926-11-02T15:03:04Z") == datetime(1926, 11, 2, 15, 3, 4, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    ["", None, "soon", "Mon, 45 Nov 2026 15:03:04 GMT", "Mon, 02 Foo 2026 15:03:04 GMT", "2026-13-45T99:99:99Z",
     "Mon, 02 Nov 2026 25:03:04 GMT", "0000-00-00T00:00:00Z", "x" * 1000, "9" * 90, "-1", "١٢٣٤٥٦٧٨٩"],
)  # fmt: skip
def test_what_is_no_date_is_none(text: str | None) -> None:
    assert dates.parse(text) is None


@given(st.text(max_size=60) | st.text("0123456789-:TZ+ ,.MonNvGT", max_size=40))
def test_nothing_is_an_error(text: str) -> None:
    found = dates.parse(text)
    assert found is None or -1e12 < found < 1e12


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))
def test_every_moment_survives_both_spellings(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    assert dates.parse(moment.isoformat()) == moment.timestamp()
    if moment.year >= 1900:
        assert dates.parse(format_datetime(moment, usegmt=True)) == moment.timestamp()
