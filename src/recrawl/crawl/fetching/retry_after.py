"""Retry-After: for how long a server that has had enough asks to be left alone, in whatever words it says so.

Retry-After comes first. Many servers send none with their 429, and some a 403 in its place, but say when their count
starts anew: `X-RateLimit-Remaining: 0` with `X-RateLimit-Reset` (seconds to go, or a moment in Unix time), the same
without the X, or the structured `RateLimit: "name";r=0;t=60`. The longest of these counts: all limits reached must have
passed. At last, the answer itself may say how long it is good for (Cache-Control of a 429).

Nobody else reads this header. `politeness` holds the host for as long as `hold_asked_for` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from recrawl import units
from recrawl.crawl.reading import publisher_hints

REFUSALS = (403, 429, 503)
"""Answers that may ask for time."""
MAX_RETRY_AFTER_S = 7 * 86_400.0
"""A host that asks for more than a week is asked again after one."""
LONGEST_HEADER = 1000
_FAMILIES = ("x-ratelimit", "x-rate-limit", "ratelimit")
_MOMENT_S, _MOMENT_MS = 1e8, 1e11
"""What is larger is a moment in Unix seconds, or milliseconds: nobody counts down from three years."""


def retry_after(status: int, headers: Mapping[str, str], now: float) -> str | None:
    """The Retry-After of an answer, its own or what amounts to one; None if it does not ask for time.

    Parameters
        headers: names in lower case

    >>> retry_after(403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000060"}, 1_700_000_000.0)
    '60'
    """
    if status not in REFUSALS:
        return None
    own = headers.get("retry-after")
    if status == 503 or retry_after_s(own, now) is not None:
        return own
    asked = max(_resets(headers, now, certain=status == 429), default=None)
    if asked is None and status == 429:
        asked = publisher_hints.fresh_for_s(headers, now)
    if asked is None:
        return own if status == 429 else None
    return str(math.ceil(asked))


def _resets(headers: Mapping[str, str], now: float, *, certain: bool) -> Iterator[float]:
    """Seconds until each limit that has been reached starts anew.

    Parameters
        certain: that one was reached, so that a limit that does not say how much is left is taken for it
    """
    said = [(headers.get(f"{name}-remaining"), headers.get(f"{name}-reset")) for name in _FAMILIES]
    for left, reset in [*said, *_structured(headers.get("ratelimit", "")[:LONGEST_HEADER])]:
        reached = certain if left is None else left.strip() == "0"
        if reached and reset and (seconds := _seconds(reset, now)) is not None:
            yield seconds


def _structured(text: str) -> Iterator[tuple[str | None, str | None]]:
    """What is left and when it starts anew, by `"name";r=0;t=60, …` and by `limit=9, remaining=0, reset=60`."""
    whole: dict[str, str] = {}
    for item in text.split(","):
        said = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in item.split(";"))}
        yield said.get("r"), said.get("t")
        whole |= said
    yield whole.get("remaining"), whole.get("reset")


def _seconds(text: str, now: float) -> float | None:
    """From now until a reset, written as seconds to go, as a moment or as a date; None if it is past or nonsense."""
    try:
        number = float(text[:40])
    except ValueError:
        return retry_after_s(text, now)
    if number > _MOMENT_MS:
        number /= 1000.0
    seconds = number - now if number > _MOMENT_S else number
    return seconds if 0.0 < seconds < _MOMENT_S else None


def retry_after_s(text: str | None, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, given as seconds or as a date; None for none, past or nonsense.

    >>> retry_after_s("120", 0.0), retry_after_s("Thu, 01 Jan 1970 00:01:00 GMT", 0.0), retry_after_s("soon", 0.0)
    (120.0, 60.0, None)
    """
    if not text or len(text) > 100:
        return None
    digits = text.strip()
    if digits.isascii() and digits.isdigit():
        seconds = float(digits[:15])
    else:
        try:
            moment = parsedate_to_datetime(digits)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return seconds if seconds > 0.0 else None


def hold_asked_for(status: int, text: str | None, now: float) -> tuple[float, str] | None:
    """For how many seconds a Retry-After holds its host, a week at most, and why in words; None if it does not."""
    seconds = retry_after_s(text, now)
    if seconds is None or status not in REFUSALS:
        return None
    words = f"status {status}, asked to come back in {units.show_duration(seconds)}"
    if seconds <= MAX_RETRY_AFTER_S:
        return seconds, words
    return MAX_RETRY_AFTER_S, f"{words}: held for {units.show_duration(MAX_RETRY_AFTER_S)}"
