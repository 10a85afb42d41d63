"""Dates as publishers write them, as Unix seconds.

Two spellings make up nearly all of the web's dates and are read by position: RFC 822 (RSS) and ISO 8601 (Atom, JSON
Feed, sitemaps). The rest is left to `worded_dates`, and then to feedparser, which knows Greek, Hungarian and Korean;
its readers of English take unknown zones for UTC, and are not asked. A date without a time zone is UTC. Anything that
is no date, or could be several, is None, never an error: a wrong date must not cost the item.
"""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime
from functools import lru_cache

from recrawl.crawl.reading import worded_dates
from recrawl.crawl.work_limit import slow_work

LONGEST = 100
"""Characters; what is longer is not a date."""
_MONTHS = {name: k + 1 for k, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))}  # fmt: skip
_ZONES = {"+0000": 0, "-0000": 0} | {
    name.upper(): hours * worded_dates.HOUR for name, hours in worded_dates.ZONES.items()
}
_TWO_DIGITS = {f"{number:02d}": number for number in range(61)}
_RFC822 = re.compile(
    r"(?:[A-Za-z]{3,9},? )?([0-9]{1,2}) ([A-Z][a-z]{2})[a-z]* ([0-9]{4}) ([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?"
    r"(?: ([+-])([0-9]{2}):?([0-9]{2})| ([A-Z]{1,4}))?"
)
_NUMERIC = re.compile(r"[0-9]{9,10}")
_COMPACT = re.compile(
    r"[0-9]{8}(?:T[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]{1,9})?)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_LOOSE_ISO = re.compile(
    r"([0-9]{4})(?:[-/.]([0-9]{1,2}(?![0-9])|[0-9]{3}(?=[-/.]))(?:[-/.]([0-9]{1,2}))?)?"
    r"(?:[T ]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?)? ?(?:Z|UTC|GMT|([+-])([0-9]{2}):?([0-9]{2})Z?)?",
    re.IGNORECASE,
)


def parse(text: str | None) -> float | None:
    """Unix seconds, fractions kept, negative before 1970; None for what is no date.

    >>> parse("Mon, 02 Nov 2026 15:03:03 GMT"), parse("2026-11-02T15:03:03.5Z"), parse("yesterday-ish")
    (1793631783.0, 1793631783.5, None)
    """
    if not text or len(text) > LONGEST:
        return None
    text = text.strip()
    if text[4:5] == "-":
        return _iso(text)
    if text[3:5] == ", " and text[19:20] == text[22:23] == ":" and (offset := _ZONES.get(text[26:])) is not None:
        day, hour = _midnight(text[5:17]), _TWO_DIGITS.get(text[17:19], 99)
        minute, second = _TWO_DIGITS.get(text[20:22], 99), _TWO_DIGITS.get(text[23:25], 99)
        if day is not None and hour < 24 and minute < 60 and second < 61 and text[25] == " ":
            return day + (hour * 3600 + minute * 60 + second - offset)
    found = _RFC822.fullmatch(text)
    return _unusual(text) if found is None else _rfc822(found, text)


@lru_cache(maxsize=4096)
def _midnight(text: str) -> float | None:
    """The start of a day written `02 Nov 2026 ` in UTC: items of a feed share their days."""
    day, month, year = text[:2], _MONTHS.get(text[3:6]), text[7:11]
    if text[2] != " " or text[6] != " " or text[11:] != " " or month is None or not (day + year).isdecimal():
        return None
    try:
        return datetime(int(year), month, int(day), tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _iso(text: str) -> float | None:
    try:
        if text[10:11] in ("T", " ", ""):
            return _aware(datetime.fromisoformat(text)).timestamp()
    except (ValueError, OverflowError):
        pass
    return _unusual(text)


def _rfc822(found: re.Match[str], text: str) -> float | None:
    day, name, year, hour, minute, second, sign, zone_hours, zone_minutes, zone = found.groups()
    month = _MONTHS.get(name)
    offset = _ZONES.get(zone) if zone else 0
    if month is None or offset is None:
        return _unusual(text)
    if sign:
        offset = (int(zone_hours) * 3600 + int(zone_minutes) * 60) * (1 if sign == "+" else -1)
    return _moment(int(year), month, int(day), int(hour), int(minute), int(second or 0), offset)


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: int, offset: int) -> float | None:
    """Unix seconds of a local time; None if there is no such time, or no such zone.

    A leap second is the next one, and 24:00 the next day's midnight.
    """
    if second > 60 or abs(offset) >= 86_400:
        return None
    ended = hour == 24 and minute == second == 0
    try:
        start = datetime(year, month, day, 0 if ended else hour, minute, tzinfo=UTC).timestamp()
        return start + 86_400 * ended + second - offset
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _unusual(text: str) -> float | None:
    """What two fast readers do not know; cached, because a feed that writes odd dates writes them every time."""
    slow_work(10)
    if _NUMERIC.fullmatch(text) and text.isascii():
        return float(text)
    if _COMPACT.fullmatch(text):
        return _compact(text)
    if found := _LOOSE_ISO.fullmatch(text):
        return _loose_iso(found)
    found_in_words = worded_dates.parse(text)
    return found_in_words if found_in_words is not None or text.isascii() else _foreign(text)


def _compact(text: str) -> float | None:
    try:
        return _aware(datetime.fromisoformat(text)).timestamp()
    except (ValueError, OverflowError):
        return None


def _loose_iso(found: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second = (int(group) if group else None for group in found.groups()[:6])
    offset = 0 if not found[8] else (int(found[9]) * 3600 + int(found[10]) * 60) * (1 if found[8] == "+" else -1)
    moment = _moment(year or 0, month or 1, day or 1, hour or 0, minute or 0, second or 0, offset)
    return None if moment is None else moment + float(found[7] or 0.0)


def _foreign(text: str) -> float | None:
    """Dates in Greek, Hungarian and Korean, by the library that knows them."""
    from feedparser import datetimes as known

    readers = (known._parse_date_greek, known._parse_date_hungarian, known._parse_date_nate, known._parse_date_onblog)
    for reader in readers:
        try:
            fields = reader(text)
        except Exception:  # a library of heuristics on strangers' text: whatever it raises, this is no date
            continue
        if fields is not None:
            return float(timegm(fields))
    return None
