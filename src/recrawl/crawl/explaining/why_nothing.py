"""Why a run brought nothing, and what to do about it: a sentence for each cause, the most frequent first.

A run that ends without one good answer says so. Either everything it fetched failed, and the causes of these failures
are told; or it fetched nothing, and what kept it from doing so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from recrawl.crawl import hold_causes
from recrawl.crawl.hold_causes import Wait
from recrawl.crawl.stats import GONE, Stats
from recrawl.units import show_duration, show_rate

ALLOW_PRIVATE = (
    "to fetch from private networks and this machine, give --allow-private, or set allow_private = true under [fetch]"
)
ONLINE = "is this machine online? If it needs a proxy, set proxy under [fetch]"
WAYS_OUT = {
    "address": ALLOW_PRIVATE,
    "dns": ONLINE,
    "connect": f"is anybody there? And {ONLINE}",
    "robots": "of sites of your own, set robots = false under [politeness], or add them with --no-robots",
    "tls": "to trust them all the same, set verify_tls = false under [fetch]",
    "too large": "to read more, set max_size under [fetch]",
    "timeout": "to wait longer, set timeout and idle_timeout under [fetch]",
    "redirects": "to follow more, set max_redirects under [fetch]",
    GONE: "what is gone is retired: `recrawl pause --resume TARGET` takes it back",
}
"""What can be done, by the cause of a hold."""
RELEASE = "`recrawl release TARGET` lifts it now, --all for all"
QUIET, BUDGET, NOT_DUE = "quiet hours", "budget", "not due"
EMPTY, PAUSED, STORE = "empty", "paused", "store"
ADD = "the catalogue is empty: add sources with `recrawl add URL` or `recrawl import FILE`"
RESUME = "no source is active: `recrawl sources` lists them, `recrawl pause --resume TARGET` takes a pause back"
UNREACHABLE = ("dns", "connect")
REFUSED = ("address", "robots", "scheme")
MOST = 5
"""Causes told of."""


class Why(msgspec.Struct, frozen=True):
    """One cause: in a word, of how many sources, and in a sentence with the way out."""

    cause: str
    sources: int
    text: str


@dataclass(frozen=True, slots=True)
class RunState:
    """How things are when a run ends. Times in Unix seconds.

    Parameters
        known, active: sources in the catalogue, and those neither paused nor retired
        waits: of active sources that may not be fetched now
        quiet_until: when the quiet hours end, at most `now` outside them
        next_due: when the first of the others is due, inf for nobody knows
        budget_wait_s: until the budget allows a request
        per_second: the budget
    """

    now: float
    known: int
    active: int
    waits: tuple[Wait, ...] = ()
    quiet_until: float = 0.0
    next_due: float = float("inf")
    budget_wait_s: float = 0.0
    per_second: float = 0.0


def why_nothing(stats: Stats, around: RunState) -> list[Why]:
    """Nothing to say where anything was fetched."""
    if stats.crawls > stats.failed + stats.refused:
        return []
    if stats.crawls:
        return _failures(stats)
    return _nothing_tried(stats, around)


def _failures(stats: Stats) -> list[Why]:
    """Of fetches, none of which brought anything."""
    every = "every fetch" if stats.crawls > 1 else "the only fetch"
    told = []
    for cause, count in stats.causes.most_common(MOST):
        ended = "was refused" if cause in REFUSED else "has to wait" if cause == hold_causes.BUSY else "failed"
        many = f"{every} {ended}" if count == stats.crawls else f"{count} of {stats.crawls} fetches, all in vain"
        way_out = WAYS_OUT.get(cause, "`recrawl sources` says when each is tried again")
        told.append(Why(cause, count, f"{many}: {_in_words(stats, cause)}; {way_out}"))
    return told


def _in_words(stats: Stats, cause: str) -> str:
    """The words of one cause: all of them if there are two at most, else the most frequent."""
    first, *more = (words for words, _ in stats.words[cause].most_common(3))
    if not more:
        return first
    return f"{first} and {more[0] if len(more) == 1 else 'others'}"


def _nothing_tried(stats: Stats, around: RunState) -> list[Why]:
    now = around.now
    if not around.active:
        return [Why(PAUSED, around.known, RESUME) if around.known else Why(EMPTY, 0, ADD)]
    if around.quiet_until > now:
        text = f"nothing is fetched in quiet hours, until {_clock(around.quiet_until, now)} (politeness.quiet_hours)"
        return [Why(QUIET, around.active, text)]
    if stats.trouble:
        return [Why(STORE, around.active, f"nothing was fetched: {stats.trouble}")]
    waiting = _waiting(around.waits, now)
    ready = around.active - len(around.waits)
    if ready and around.budget_wait_s > 0.0:
        text = f"the budget of {show_rate(around.per_second)} allows the next request in "
        waiting.append(Why(BUDGET, ready, text + show_duration(around.budget_wait_s)))
    elif ready:
        known = now < around.next_due < float("inf")
        soon = f", the next in {show_duration(around.next_due - now)}" if known else ""
        waiting.append(Why(NOT_DUE, ready, f"nothing is due yet{soon}: `recrawl status` shows what is next"))
    return waiting


def _waiting(waits: Iterable[Wait], now: float) -> list[Why]:
    """Those that may not be fetched, by cause."""
    by_cause: dict[str, list[Wait]] = {}
    for each in waits:
        by_cause.setdefault(each.cause, []).append(each)
    told = []
    for cause, count in Counter({cause: len(some) for cause, some in by_cause.items()}).most_common(MOST):
        first = min(by_cause[cause], key=lambda wait: wait.until)
        many = f"{count} sources wait" if count > 1 else "a source waits"
        until = f"until {_clock(first.until, now)}" + (" at the earliest" if count > 1 else "")
        way_out = {hold_causes.INTERVAL: "", **WAYS_OUT}.get(cause, RELEASE)
        way_out += f"; {RELEASE}" if cause in UNREACHABLE else ""
        told.append(Why(cause, count, f"{many} {until}: {first.words}" + (f"; {way_out}" if way_out else "")))
    return told


def _clock(moment: float, now: float) -> str:
    """On the wall, and how long that is."""
    there = datetime.fromtimestamp(moment)
    day = "" if moment - now < 12 * 3600 else f"{there:%Y-%m-%d} "
    return f"{day}{there:%H:%M:%S} (in {show_duration(max(moment - now, 0.0))})"
