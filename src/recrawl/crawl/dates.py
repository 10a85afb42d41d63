"""Dates as publishers write them, as Unix seconds.

Two spellings make up nearly all of the web's dates and are read by position: RFC 822 (RSS) and ISO 8601 (Atom, JSON
Feed, sitemaps). The rest is left to `email.utils` and then to feedparser, which knows dozens of local habits. A date
without a time zone is UTC. Anything that is no date is None, never an error: a wrong date must not cost the item.
"""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from functools import lru_cache

LONGEST = 100
"""Characters; what is longer is not a date."""
_MONTHS = {name: k + 1 for k, name in enumerate(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"))}  # fmt: skip
_ZONES = {"GMT": 0, "+0000": 0, "UTC": 0, "-0000": 0, "UT": 0, "Z": 0, "EST": -18000, "EDT": -14400, "CST": -21600,
          "CDT": -18000, "MST": -25200, "MDT": -21600, "PST": -28800, "PDT": -25200, "CET": 3600, "CEST": 7200,
          "BST": 3600}  # fmt: skip
_TWO_DIGITS = {f"{number:02d}": number for number in range(61)}
_RFC822 = re.compile(
    r"(?:[A-Za-z]{3,9},? )?([0-9]{1,2}) ([A-Z][a-z]{2})[a-z]* ([0-9]{4}) ([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?"
    r"(?: ([+-])([0-9]{2}):?([0-9]{2})| ([A-Z]{1,4}))?"
)
_NUMERIC = re.compile(r"[0-9]{9,10}")
_COMPACT = re.compile(r"[0-9]{8}T[0-9]{4,6}(?:Z|[+-][0-9]{4})?")
_LOOSE_ISO = re.compile(
    r"([0-9]{4})(?:[-/.]([0-9]{1,2})(?:[-/.]([0-9]{1,2}))?)?"
    r"(?:[T ]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?)? ?(?:Z|UTC|GMT|([+-])([0-9]{2}):?([0-9]{2}))?",
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
    return _unusual(text) if found is None else _rfc822(found)


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
        return _aware(datetime.fromisoformat(text)).timestamp()
    except (ValueError, OverflowError):
        return _unusual(text)


def _rfc822(found: re.Match[str]) -> float | None:
    day, name, year, hour, minute, second, sign, zone_hours, zone_minutes, zone = found.groups()
    month = _MONTHS.get(name)
    offset = _ZONES.get(zone, 0) if zone else 0
    if sign:
        offset = (int(zone_hours) * 3600 + int(zone_minutes) * 60) * (1 if sign == "+" else -1)
    if month is None:
        return None
    try:
        moment = datetime(int(year), month, int(day), int(hour), int(minute), min(int(second or 0), 59), tzinfo=UTC)
    except ValueError:
        return None
    return moment.timestamp() - offset


@lru_cache(maxsize=4096)
def _unusual(text: str) -> float | None:
    """What two fast readers do not know; cached, because a feed that writes odd dates writes them every time."""
    if not text.isascii():
        return _foreign(text)
    if _NUMERIC.fullmatch(text):
        return float(text)
    try:
        if _COMPACT.fullmatch(text):
            return _aware(datetime.fromisoformat(text)).timestamp()
        if found := _LOOSE_ISO.fullmatch(text):
            return _loose_iso(found)
        fields = parsedate_tz(text)
        return float(mktime_tz(fields)) if fields is not None and fields[0] > 0 else None
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _loose_iso(found: re.Match[str]) -> float:
    year, month, day, hour, minute, second = (int(group) if group else None for group in found.groups()[:6])
    offset = 0 if not found[8] else (int(found[9]) * 3600 + int(found[10]) * 60) * (1 if found[8] == "+" else -1)
    moment = datetime(year or 0, month or 1, day or 1, hour or 0, minute or 0, min(second or 0, 59), tzinfo=UTC)
    return moment.timestamp() + float(found[7] or 0.0) - offset


def _foreign(text: str) -> float | None:
    """Dates with months or weekdays in other scripts, by the library that knows them."""
    from feedparser.datetimes import _parse_date

    try:
        fields = _parse_date(text) if any(character.isalpha() for character in text) else None
        return None if fields is None else float(timegm(fields))
    except Exception:  # a library of heuristics on strangers' text: whatever it raises, this is no date
        return None
