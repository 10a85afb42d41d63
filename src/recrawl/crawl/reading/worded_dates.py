"""Dates in words and in local habits: `Monday, January 2, 2006 - 3:04pm`, `16. Novembre 2020`, `02.01.2006 15:04 MET`.

The text is taken apart into what can be told from its shape alone (a time, an offset, a date of three numbers) and into
words (months, weekdays, zones), and put together only if everything in it was understood and one reading is left.
`02/01/2006` is two dates, and therefore none, unless a weekday tells which. A zone that is not known, or means several
(IST), leaves the date unread: an instant that is wrong by hours is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

HOUR = 3600
ZONES = {
    "gmt": 0, "utc": 0, "ut": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "met": 1, "mez": 1, "cest": 2,
    "mest": 2, "mesz": 2, "eet": 2, "sast": 2, "eest": 3, "msk": 3, "hkt": 8, "sgt": 8, "awst": 8, "jst": 9, "kst": 9,
    "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "ast": -4, "adt": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5,
    "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10, "brt": -3,
}  # fmt: skip
"""Hours east of Greenwich. Where a name means several zones, it is here only if one of them is meant nearly always."""
_AMERICAN = frozenset(("est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "akst", "akdt", "hst", "et", "ct", "mt",
                       "pt"))  # fmt: skip
_AREAS = {"et": "America/New_York", "ct": "America/Chicago", "mt": "America/Denver", "pt": "America/Los_Angeles",
          "at": "America/Halifax"}  # fmt: skip
"""Names that stand for summer and winter time alike."""
_MONTHS = {
    name: number + 1
    for number, names in enumerate((
        "jan january janvier janv januar jänner enero ene gennaio gen janeiro januari",
        "feb february février févr fév fevrier februar febrero febbraio fevereiro fev februari",
        "mar march mars märz mär mrz marzo março maart mrt",
        "apr april avril avr abril abr aprile",
        "may mai mayo maggio mag maio mei",
        "jun june juin juni junio giugno giu junho",
        "jul july juillet juil juli julio luglio lug julho",
        "aug august août aout agosto ago augustus",
        "sep sept september septembre septiembre settembre set setembro",
        "oct october octobre oktober okt octubre ottobre ott outubro out",
        "nov november novembre noviembre novembro",
        "dec december décembre déc decembre dezember dez diciembre dic dicembre dezembro",
    ))
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: number
    for number, names in enumerate((
        "mon monday mo montag lun lundi lunes lunedì ma maandag",
        "tue tues tuesday di dienstag mar mardi martes martedì dinsdag",
        "wed weds wednesday mi mittwoch mer mercredi miércoles mercoledì wo woensdag",
        "thu thur thurs thursday do donnerstag jeu jeudi jueves giovedì donderdag",
        "fri friday fr freitag ven vendredi viernes venerdì vr vrijdag",
        "sat saturday sa samstag sam samedi sábado sabato za zaterdag",
        "sun sunday so sonntag dim dimanche domingo domenica zo zondag",
    ))
    for name in names.split()
}  # fmt: skip
_FILLING = frozenset(("at", "um", "uhr", "à", "de", "of", "st", "nd", "rd", "th", "t"))
_TOKEN = re.compile(
    r"(?P<skip>[\s,]+|-(?=\s)|\([^()]*\))"
    r"|(?P<time>[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:[.,][0-9]{1,9})?)?(?::(?:00(?![0-9])|(?=[+-])))?)"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"|(?P<date>[0-9]{1,4}(?P<mark>[-/.])[0-9]{1,3}(?P=mark)[0-9]{1,4}(?![0-9]))(?:t(?=[0-9]))?"
    r"|(?P<offset>(?P<sign>[+-]{1,2})(?P<hours>[0-9]{1,2}?)(?::?(?P<minutes>[0-9]{2})(?::00)?)?(?![0-9:]))"
    r"|(?P<number>[0-9]{1,4}(?![0-9]))\.?"
    r"|(?P<area>[a-z]+(?:/[a-z_+-]+[0-9]*)+)"
    r"|-?(?P<word>[^\W\d_]+)\.?",
    re.IGNORECASE,
)


class _NoDateError(Exception):
    """Not everything in it was understood, or it contradicts itself."""


@dataclass(slots=True)
class _Parts:
    """What was found in a text; at most one of each, but for numbers."""

    time: timedelta | None = None
    half: str = ""
    numbers: list[str] = field(default_factory=list)
    mark: str = ""
    month: int | None = None
    weekday: int | None = None
    offset: timedelta | None = None
    zone: str = ""


class Written(NamedTuple):
    """A date or time as it is written.

    Parameters
        days: every day it can mean; none for a time alone
        time: of the day; None for a day alone
        east_s: seconds east of Greenwich, if it says so
    """

    days: frozenset[datetime]
    time: timedelta | None
    east_s: float | None


def as_written(text: str) -> Written | None:
    """What is written, without choosing what it means; None if not everything in it is understood.

    >>> as_written("02/01/2006 15:04").time, len(as_written("02/01/2006").days), as_written("two o'clock")
    (datetime.timedelta(seconds=54240), 2, None)
    """
    try:
        parts = _taken_apart(text)
        days = frozenset(day for day in _days(parts) if day is not None)
    except (_NoDateError, ValueError, OverflowError):
        return None
    if not days and (parts.numbers or parts.month is not None or parts.time is None):
        return None
    east_s = parts.offset.total_seconds() if parts.offset is not None else None
    if east_s is None and parts.zone in ZONES:
        east_s = float(ZONES[parts.zone] * HOUR)
    return Written(days, parts.time, east_s)


def parse(text: str) -> float | None:
    """Unix seconds; None for what is no date, or could be several. Without a zone it is UTC.

    >>> parse("Monday, January 2, 2006 - 3:04pm") == parse("2. Januar 2006 16:04 MEZ") == 1136214240.0
    True
    >>> parse("02/01/2006"), parse("Mon, 02/01/2006")
    (None, 1136160000.0)
    """
    try:
        parts = _taken_apart(text)
        days = {day for day in _days(parts) if day is not None}
        if len(days) > 1 and parts.weekday is not None:
            days = {day for day in days if day.weekday() == parts.weekday}
        if len(days) != 1:
            return None
        (day,) = days
        return _at(day + (parts.time or timedelta()), parts)
    except (_NoDateError, ValueError, OverflowError):
        return None


def _at(moment: datetime, parts: _Parts) -> float:
    """The instant of a local time: an offset says more than a name beside it."""
    if parts.offset is not None:
        return (moment - parts.offset).timestamp()
    if not parts.zone:
        return moment.timestamp()
    if parts.zone in ZONES:
        return moment.timestamp() - ZONES[parts.zone] * HOUR
    return moment.replace(tzinfo=ZoneInfo(_area(parts.zone))).timestamp()


def _taken_apart(text: str) -> _Parts:
    parts, place = _Parts(), 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None or token.end() == place:
            raise _NoDateError
        place = token.end()
        if token["time"]:
            _take_time(parts, token["time"], (token["half"] or "").lower())
        elif token["date"]:
            if parts.numbers or parts.mark:
                raise _NoDateError
            parts.numbers, parts.mark = token["date"].split(token["mark"]), token["mark"]
        elif token["offset"]:
            _take_offset(parts, token)
        elif token["number"] == "00" and parts.time is not None and len(parts.numbers) > 1:
            parts.offset = timedelta()
        elif token["number"]:
            parts.numbers.append(token["number"])
        elif token["area"]:
            _take_zone(parts, _area(token["area"]))
        elif token["word"]:
            _take_word(parts, token["word"].lower())
            place += text[place : place + 1] == "-" and token["word"].lower() in _MONTHS
    return parts


def _take_time(parts: _Parts, text: str, half: str) -> None:
    hour, minute, second = (*text.replace(",", ".").rstrip(":").split(":"), "0")[:3]
    hours, minutes, seconds = int(hour), int(minute), float(second)
    if parts.time is not None or hours > 23 or minutes > 59 or seconds >= 61 or (hours > 12 and half == "a"):
        raise _NoDateError
    if half and hours <= 12:
        hours = hours % 12 + (12 if half == "p" else 0)
    parts.time, parts.half = timedelta(hours=hours, minutes=minutes, seconds=seconds), half


def _take_offset(parts: _Parts, token: re.Match[str]) -> None:
    hours, minutes = int(token["hours"]), int(token["minutes"] or 0)
    alone = parts.time is None and (not parts.numbers or token["minutes"] is None)
    if parts.offset is not None or alone or hours > 15 or minutes > 59:
        raise _NoDateError
    east = timedelta(hours=hours, minutes=minutes)
    parts.offset = -east if "-" in token["sign"] else east


def _take_zone(parts: _Parts, name: str) -> None:
    if parts.zone and name not in ("z", parts.zone):
        raise _NoDateError
    parts.zone = parts.zone or name


def _take_word(parts: _Parts, word: str) -> None:
    """A month, a weekday, a zone or nothing of weight; `mar` is Tuesday where another month follows."""
    month, day = _MONTHS.get(word), WEEKDAYS.get(word)
    if month is not None and parts.month is None:
        if sum(len(number) < 4 for number in parts.numbers) > 1:
            raise _NoDateError  # `03 25 Sep`: either may be the year
        parts.month = month
    elif month is not None and parts.month == _MONTHS["mar"] and parts.weekday is None:
        parts.month, parts.weekday = month, WEEKDAYS["mar"]
    elif day is not None and parts.weekday is None:
        parts.weekday = day
    elif (word in ZONES or word in _AREAS) and _zone_may_follow(parts, word):
        _take_zone(parts, word)
    elif word not in _FILLING:
        raise _NoDateError


def _zone_may_follow(parts: _Parts, word: str) -> bool:
    """Behind a date or a time; `at` stands between the two, and is a zone behind both."""
    found = (parts.time is not None, bool(parts.numbers))
    return all(found) if word == "at" else any(found)


def _days(parts: _Parts) -> Iterator[datetime | None]:
    """Every day that the numbers can mean."""
    numbers = parts.numbers
    if parts.month is not None:
        if parts.mark:
            raise _NoDateError
        yield _with_month(numbers, parts.month)
    elif len(numbers) == 3:
        first, second, third = numbers
        if len(first) == 4:
            yield _day(first, second, third)
        elif parts.mark == "." and len(third) == 4:
            yield _day(third, second, first)
        elif parts.half and parts.zone in _AMERICAN and parts.mark == "/":
            yield _day(third, first, second)
        else:
            yield _day(third, second, first)
            yield _day(third, first, second)
            if len(third) < 4:
                yield _day(first, second, third)


def _with_month(numbers: list[str], month: int) -> datetime | None:
    """A day of a month that was named: the number of four digits is the year, else the last of two is."""
    years = [number for number in numbers if len(number) == 4]
    if len(numbers) == 1 and years:
        return _day(years[0], str(month), "1")
    if len(numbers) != 2 or len(years) > 1:
        return None
    year = years[0] if years else numbers[1]
    day = numbers[0] if year is numbers[1] else numbers[1]
    return _day(year, str(month), day)


def _day(year: str, month: str, day: str) -> datetime | None:
    if len(year) not in (2, 4):
        return None
    number = int(year)
    if len(year) == 2:
        number += 1900 if number >= 69 else 2000
    try:
        return datetime(number, int(month), int(day), tzinfo=UTC)
    except ValueError:
        return None


def _area(name: str) -> str:
    """A zone of the time zone database, as it is spelled there."""
    name = _AREAS.get(name, name)
    known = _areas().get(name.lower())
    if known is None:
        raise _NoDateError
    return known


@cache
def _areas() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}
