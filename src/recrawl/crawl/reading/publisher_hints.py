"""What publishers say about their own pace, and what follows from it.

Two sorts. *Evidence*: sy:updatePeriod and changefreq say how often something changes; a learner may use it as a prior.
*Requests*: ttl, Cache-Control max-age and Expires ask not to come back for a while, skipHours and skipDays not at
certain hours (UTC); these are a floor under the schedule.

The time an answer has spent in caches on the way counts (Age), and what an unchanged answer (304) says of its freshness
takes the place of what was said before; what the document itself asks for stays, since the document does.

A request is believed up to `LONGEST_STAY_S`, one day: servers send `max-age=31536000` for everything without meaning
that nobody should look for a year. Of several requests the longest counts. Hours and days that leave no time at all are
ignored as a mistake. Each hint can be switched off (`config.HintSwitches`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from recrawl.config import HintSwitches
from recrawl.crawl.reading import dates
from recrawl.crawl.reading.findings import Findings
from recrawl.units import show_duration, whole_number

LONGEST_STAY_S = 86400.0
PERIODS_S = {"hourly": 3600.0, "daily": 86400.0, "weekly": 604800.0, "monthly": 2629800.0, "yearly": 31557600.0}
"""Of sy:updatePeriod and changefreq. changefreq's `always` counts as hourly; `never` says nothing."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,12})", re.IGNORECASE)
_NOT_CACHED = re.compile(r"no-cache|no-store", re.IGNORECASE)


def of_headers(headers: Mapping[str, str], now: float, switches: HintSwitches) -> float | None:
    """Seconds to stay away by Cache-Control, else by Expires; None if neither asks for it."""
    fresh = fresh_for_s(headers, now) if switches.cache_control else None
    return None if fresh is None else _believed(fresh)


def fresh_for_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds for which an answer is still good, the time it spent in caches on the way (Age) taken off.

    None if it is not, or says nothing of it [RFC 9111, 4.2].
    """
    control = headers.get("cache-control", "")
    if _NOT_CACHED.search(control):
        return None
    found = _MAX_AGE.search(control)
    if found is not None:
        lifetime = float(found[1])
    else:
        expires = dates.parse(headers.get("expires"))
        if expires is None:
            return None
        sent = dates.parse(headers.get("date"))
        lifetime = expires - (now if sent is None else sent)
    age = whole_number(headers.get("age", "").partition(",")[0].strip(), 2**31) or 0
    return lifetime - age if lifetime > age else None


def says_how_fresh(headers: Mapping[str, str]) -> bool:
    """Whether an answer says for how long it is good, be it not at all."""
    return "cache-control" in headers or "expires" in headers


def of_feed(head: Iterable[tuple[str, Any]], switches: HintSwitches) -> dict[str, Any]:
    """What a feed says of its pace, by the names that findings have for it.

    Parameters
        head: the elements about the feed as a whole, each with its name in small letters
    """
    ttl = period = frequency = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    for name, element in head:
        if name == "ttl" and switches.ttl:
            ttl = of_ttl(element.text)
        elif name == "updateperiod" and switches.update_period:
            period = element.text
        elif name == "updatefrequency" and switches.update_period:
            frequency = element.text
        elif name == "skiphours" and switches.skip_hours:
            skip_hours = hours(hour.text for hour in element)
        elif name == "skipdays" and switches.skip_days:
            skip_days = days(day.text for day in element)
    period_s = of_update_period(period, frequency)
    return {"stay_away_s": ttl, "period_s": period_s, "skip_hours": skip_hours, "skip_days": skip_days}


def of_ttl(minutes: str | None) -> float | None:
    """Seconds to stay away by RSS's ttl; None for what is no positive number."""
    number = _number(minutes)
    return None if number is None else _believed(number * 60.0)


def of_update_period(period: str | None, frequency: str | None) -> float | None:
    """Seconds between changes by sy:updatePeriod (daily if only a frequency is given) and sy:updateFrequency."""
    times = _number(frequency)
    if period is None and times is None:
        return None
    length = PERIODS_S.get((period or "daily").strip().lower())
    return None if length is None else length / (times or 1.0)


def of_changefreq(words: Iterable[str]) -> float | None:
    """The shortest of what a sitemap's changefreq elements say, in seconds."""
    known = [PERIODS_S.get("hourly" if word == "always" else word) for word in words]
    return min((length for length in known if length is not None), default=None)


def hours(texts: Iterable[str | None]) -> tuple[int, ...]:
    """The hours of skipHours; 24 is midnight, as in RSS 0.91."""
    numbers = (whole_number((text or "").strip(), 25) for text in texts)
    found = {number % 24 for number in numbers if number is not None and number <= 24}
    return tuple(sorted(found)) if len(found) < 24 else ()


def days(texts: Iterable[str | None]) -> tuple[int, ...]:
    """The weekdays of skipDays, Monday 0."""
    found = {WEEKDAYS.index(text.strip().lower()) for text in texts if text and text.strip().lower() in WEEKDAYS}
    return tuple(sorted(found)) if len(found) < 7 else ()


def longest(*stays: float | None) -> float | None:
    """Of several requests the longest."""
    return max((stay for stay in stays if stay is not None), default=None)


def earliest(said: Findings, last: float, candidate: float) -> float:
    """The first moment from `candidate` on that the publisher has nothing against, all in Unix seconds.

    Parameters
        last: when it was read last; `stay_away_s` counts from there

    >>> earliest(Findings(kind="feed", stay_away_s=600.0, skip_hours=(0,)), last=0.0, candidate=60.0)
    3600.0
    """
    moment = candidate if said.stay_away_s is None else max(candidate, last + min(said.stay_away_s, LONGEST_STAY_S))
    hours_off, days_off = set(said.skip_hours), set(said.skip_days)
    if not (hours_off or days_off) or len(hours_off) >= 24 or len(days_off) >= 7:
        return moment
    try:
        at = datetime.fromtimestamp(moment, UTC)
    except (ValueError, OverflowError, OSError):
        return moment
    for _ in range(24 * 7 + 1):
        if at.hour not in hours_off and at.weekday() not in days_off:
            return max(moment, at.timestamp())
        at = at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    return moment


def in_words(said: Findings, headers: Mapping[str, str], by_headers_s: float | None, last: float, until: float) -> str:
    """Which of the publisher's words ask to stay away from `last` to `until`, by name and value.

    Parameters
        by_headers_s: what `of_headers` made of the headers

    >>> in_words(Findings(kind="feed", stay_away_s=1800.0), {}, None, last=0.0, until=1800.0)
    'ttl of the feed: 30m'
    >>> in_words(Findings(kind="feed", stay_away_s=60.0), {"cache-control": "max-age=60"}, 60.0, last=0.0, until=60.0)
    'Cache-Control max-age: 1m'
    >>> in_words(Findings(kind="feed", skip_hours=(0, 1)), {}, None, last=0.0, until=7200.0)
    'skipHours of the feed: 0, 1 (UTC)'
    """
    stay = said.stay_away_s
    if stay is None or last + min(stay, LONGEST_STAY_S) < until - 1.0:
        hours_off = [f"skipHours of the feed: {', '.join(map(str, said.skip_hours))} (UTC)"] if said.skip_hours else []
        days_off = ", ".join(WEEKDAYS[day].capitalize() for day in said.skip_days)
        return "; ".join(hours_off + ([f"skipDays of the feed: {days_off} (UTC)"] if days_off else []))
    if stay == by_headers_s:
        return headers_in_words(headers, last)
    return f"ttl of the feed: {show_duration(stay)}"


def headers_in_words(headers: Mapping[str, str], now: float) -> str:
    """What the headers of an answer ask for, by name and value."""
    asked = fresh_for_s(headers, now) or 0.0
    name = "Cache-Control max-age" if _MAX_AGE.search(headers.get("cache-control", "")) else "Expires"
    words = f"{name}: {show_duration(asked)}"
    return words if asked <= LONGEST_STAY_S else f"{words}, kept to for {show_duration(LONGEST_STAY_S)} at most"


def _believed(seconds: float) -> float | None:
    return min(seconds, LONGEST_STAY_S) if seconds > 0.0 else None


def _number(text: str | None) -> float | None:
    try:
        number = float((text or "").strip()[:20])
    except ValueError:
        return None
    return number if 0.0 < number < 1e9 else None
