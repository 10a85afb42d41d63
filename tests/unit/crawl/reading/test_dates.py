"""Dates as publishers write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading import dates

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


def test_dates_without_marks_are_read_too() -> None:
    assert dates.parse("20261102") == datetime(2026, 11, 2, tzinfo=UTC).timestamp()
    assert dates.parse("20261102T15") == datetime(2026, 11, 2, 15, tzinfo=UTC).timestamp()
    assert dates.parse("20261102T150304.250000Z") == MOMENT + 0.25


@pytest.mark.parametrize("text", ["2026-11-02T24:00:00Z", "Mon, 02 Nov 2026 24:00:00 GMT", "2026-11-03T00:00:00Z"])
def test_the_end_of_a_day_is_the_start_of_the_next(text: str) -> None:
    assert dates.parse(text) == datetime(2026, 11, 3, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", ["03 25 Sep", "25 03 Sep", "2026-11-02T24:00:01Z", "20261302", "20261102T"])
def test_what_is_no_one_date_is_none(text: str) -> None:
    assert dates.parse(text) is None


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


@pytest.mark.parametrize(
    ("text", "hours_west"),
    [
        ("Mon, 02 Nov 2026 03:03:04 PM GMT", 0), ("Monday, November 2, 2026 3:03:04pm", 0),
        ("Nov. 2, 2026, 3:03:04 p.m.", 0), ("Nov 02 2026 03:03:04PM", 0), ("Mon, 2 Nov 2026 3:03:04 PM -0700", 7),
        ("Mon Nov 02 2026 15:03:04 GMT-0700 (MST)", 7), ("Mon, 02 Nov 2026 15:03:04 GMT-0700", 7),
        ("Mon, 02 Nov 2026 15:03:04 UTC+02:00", -2), ("Mon, 02 Nov 2026 15:03:04 MST-07:00", 7),
        ("Mon, 02 Nov 2026 15:03:04-07:00", 7), ("Mon, 02 Nov 2026 15:03:04 -07", 7),
        ("Mon, 02 Nov 2026 15:03:04 --0700", 7), ("Mon, 02 Nov 2026 15:03:04 -700", 7),
        ("Mon, 02 Nov 2026 15:03:04 -0700 GMT", 7), ("Mon, 02 Nov 2026 15:03:04MST", 7),
        ("Mon, 02 Nov 2026 15:03:04 00", 0), ("Mon, 02 Nov 2026 15:03:04 MET", -1),
        ("Mon, 02 Nov 2026 15:03:04 MEST", -2), ("Mon, 02 Nov 2026 15:03:04 JST", -9),
        ("Mon, 02 Nov 2026 15:03:04 AEDT", -11), ("Mon, 02 Nov 2026 15:03:04 ET", 5),
        ("Mon, 02 Nov 2026 15:03:04 PT", 8), ("Mon, 02 Nov 2026 15:03:04 AT", 4),
        ("Mon, 02 Nov 2026 15:03:04 Europe/Brussels", -1), ("Mon, 02 Nov 2026 15:03:04 Etc/GMT+5", 5),
        ("Monday, 02-Nov-26 15:03:04 EST", 5), ("Mon Nov  2 15:03:04 EST 2026", 5),
        ("Mon Nov 02 15:03:04 +0000 2026", 0), ("Mon, Nov 02,2026 15:03:04 EST", 5),
        ("Mon , 02 Nov 2026 15:03:04 GMT", 0), ("mon,2 nov 2026 15:3:4 gmt", 0),
        ("Mon, 2nd November 2026 at 15:03:04", 0), ("15:03:04 at 2 November 2026", 0),
        ("Montag, 2. November 2026 - 15:03:04", 0),
        ("Lundi, 2. Novembre 2026 15:03:04", 0), ("lun., 02 nov. 2026 15:03:04 +0100", -1),
        ("02 Monday, Nov 2026 15:03:04", 0), ("2026 November 02 15:03:04", 0), ("15:03:04 02.11.2026 -0700", 7),
        ("2026-11-02 15:03:04 MST", 7), ("2026-11-02 at 15:03:04", 0), ("Mon, 2026-11-02 15:03:04", 0),
        ("Mon, 2026/11/02 15:03:04 EST", 5), ("2026-011-02T15:03:04Z", 0), ("2026-11-02T15:03:04-07:00:00", 7),
        ("2026-11-02T15:03:04:-0700", 7), ("2026-11-02T15:03:04-05:00Z", 5), ("20261102T15:03:04+01:00", -1),
        ("2.11.2026 15:03:04", 0), ("Mon, 02/11/2026 15:03:04", 0), ("Mon, 11/02/2026 - 15:03:04", 0),
        ("Mon, 02 11 2026 15:03:04 +0100", -1), ("11/02/2026 3:03:04 pm PST", 8),
        ("\u0394\u03b5\u03c5, 02 \u039d\u03bf\u03ad 2026 15:03:04 EST", 5),
        ("2026\ub144 11\uc6d4 02\uc77c  15:03:04", -9), ("2026-11-02 \uc624\ud6c4 03:03:04", -9),
    ],
)  # fmt: skip
def test_local_habits_and_zones(text: str, hours_west: int) -> None:
    assert dates.parse(text) == MOMENT + hours_west * 3600.0


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Mon, 02 Nov 2026", 2), ("Monday 02 November 2026", 2), ("November 2, 2026", 2), ("Nov 02, 2026", 2),
        ("2 November, 2026", 2), ("2 Nov 2026 GMT", 2), ("02.11.2026", 2), ("mar., 03 nov. 2026", 3), ("Nov. 2026", 1),
        ("11/25/2026", 25), ("25/11/2026", 25), ("11/25/26", 25), ("Fri, 06/11/2026", 6),
    ],
)  # fmt: skip
def test_days_in_words(text: str, day: int) -> None:
    assert dates.parse(text) == datetime(2026, 11, day, tzinfo=UTC).timestamp()


def test_zones_without_a_season_have_summer_time_in_summer() -> None:
    july = datetime(2026, 7, 2, 15, tzinfo=UTC).timestamp()
    assert dates.parse("Thu, 02 Jul 2026 11:00:00 ET") == dates.parse("Thu, 02 Jul 2026 08:00:00 PT") == july


@pytest.mark.parametrize(
    "text",
    ["02/01/2006", "1/2/2006 3:04:05 PM", "01-02-2006", "6/1/2 15:04", "30.10.23", "03-12-31", "031231",
     "Mon, 02 Nov 2026 15:03:04 IST", "Mon, 02 Nov 2026 15:03:04 XYZ", "Mon, 02 Nov 2026 15:03:04 Nowhere/Town",
     "Mon, 02 Nov 2026 15:03:04 ../../etc/passwd", "Mon, 02 Nov 2026 15:03:04 EST PST", "Mon, 02 Nov 2026 15:04 AM",
     "Mon, 02 Nov 2026 15:03:04 +zz:00", "Sun, 16 Dec 2012 1:2:3:4 GMT", "2013-01-27-01", "2013-01-28T11:30:00Textra",
     "9999-12-31T23:59:59-99:99", "2003-12-31T10:14:61Z", "5 Jun 2017 24:05 PDT", "Mon, 2 Jan 15:04:05 MST",
     "2006-002"],
)  # fmt: skip
def test_what_could_be_several_instants_or_is_not_understood_is_none(text: str) -> None:
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
