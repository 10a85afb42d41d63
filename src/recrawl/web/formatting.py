"""How numbers and times are said on the pages. Text that came from the web passes `plain` before it is shown."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from urllib.parse import urlsplit

from recrawl.crawl.reading.plain_text import clean, visible
from recrawl.units import show_duration, show_rate

DASH = "–"


def plain(text: str, limit: int = 300) -> str:
    """One line of text without markup or control characters."""
    return clean(text, limit)


def address(url: str, limit: int = 90) -> str:
    """An address short enough to read, its beginning kept."""
    shown = visible(url)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def http_link(url: str) -> str | None:
    """The address if it is http or https, else None: nothing else becomes a link.

    >>> http_link("https://a.example/x"), http_link("javascript:alert(1)"), http_link(" http://[bad")
    ('https://a.example/x', None, None)
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    return url if sound and url.isprintable() and not any(c.isspace() for c in url) else None


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits.

    >>> number(1234.5), number(0.01234), number(float("nan")), number(float("inf"))
    ('1,230', '0.0123', '–', '∞')
    """
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def whole(value: int) -> str:
    """A count.

    >>> whole(1234567)
    '1,234,567'
    """
    return f"{value:,}"


def percent(share: float) -> str:
    """A share of 1 in percent.

    >>> percent(0.1234), percent(1.0), percent(float("nan"))
    ('12.3 %', '100 %', '–')
    """
    return DASH if not math.isfinite(share) else f"{100.0 * share:.3g} %"


def duration(seconds: float | None) -> str:
    """A time span."""
    return show_duration(seconds)


def ago(seconds: float) -> str:
    """How long something is past, to the second.

    >>> ago(0.4), ago(22.4), ago(321.0)
    ('just now', '22s ago', '5m21s ago')
    """
    return "just now" if seconds < 1.0 else f"{show_duration(round(seconds))} ago"


def rate(per_second: float) -> str:
    """A budget."""
    return show_rate(per_second) if math.isfinite(per_second) and per_second > 0 else DASH


def moment(at: float | None) -> str:
    """A time in UTC, to the minute; a dash for what is not known, or no time at all."""
    if at is None or not math.isfinite(at):
        return DASH if at is None or math.isnan(at) else "never"
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return DASH


def stamp(at: float | None) -> str:
    """A time as RFC 3339, for machines; empty if there is none."""
    if at is None or not math.isfinite(at):
        return ""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""


def distance(at: float | None, now: float) -> str:
    """How far a time is from now.

    >>> distance(100.0, 160.0), distance(260.0, 160.0), distance(160.2, 160.0), distance(None, 0.0)
    ('1m ago', 'in 1m40s', 'now', '–')
    """
    if at is None or math.isnan(at):
        return DASH
    if math.isinf(at):
        return "never"
    if abs(at - now) < 1.0:
        return "now"
    return f"in {show_duration(at - now)}" if at > now else f"{show_duration(now - at)} ago"
