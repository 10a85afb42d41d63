"""Visits that brought nothing: how long their sources are left alone, and what is gone for good.

A failure (404, 5xx, no answer, nothing to read) doubles the wait of its source, up to `max_backoff`; so does a refusal
by robots.txt, from an hour on. 410 retires the source. Whether a failure holds the whole host is `politeness`'
business, and a wait that a server asks for `retry_after`'s.
"""

from __future__ import annotations

import math

import msgspec

from recrawl.crawl import hold_causes
from recrawl.crawl.events import source_event
from recrawl.crawl.visits import CrawlRules, Visit, VisitOutcome
from recrawl.store.records import Outcome, Progress, item_key

FAILURES_NOTED = 3
"""So many failures in a row are noted in the catalogue."""
REFUSED_S = 3600.0
"""The first wait of a source whose robots.txt (or scheme) forbids it; doubled up to a day."""
FAILING = "failing: "


def back_off_s(first: float, longest: float, failures: int) -> float:
    """The wait after so many failures in a row, doubled with each.

    >>> [back_off_s(60.0, 300.0, failures) for failures in (1, 2, 3, 4)]
    [60.0, 120.0, 240.0, 300.0]
    """
    return min(first * 2.0 ** min(max(failures - 1, 0), 40), longest)


def failed(visit: Visit, rules: CrawlRules, outcome: Outcome, error: str, status: int) -> VisitOutcome:
    """Nothing was found, for this reason: the source backs off, and says so after a few failures in a row."""
    progress = msgspec.structs.replace(visit.intent.progress)
    progress.failures += int(visit.fetched.reason not in ("busy", "permit"))  # nobody failed: it was not our turn
    until = _asked_again_at(visit, rules, outcome, progress.failures)
    hold(progress, visit, rules, until, error, _cause(visit, status))
    source = visit.intent.source
    if progress.failures >= FAILURES_NOTED and not source.note.startswith(FAILING):
        source = msgspec.structs.replace(source, note=f"{FAILING}{error}")
    return VisitOutcome(
        kind="failed",
        crawl=visit.crawl(outcome, error=error),
        progress=progress,
        source=None if source is visit.intent.source else source,
        hold_until=until,
    )


def _cause(visit: Visit, status: int) -> str:
    """Why a visit brought nothing, in a word."""
    return visit.fetched.reason or (hold_causes.UNREADABLE if 200 <= status < 300 else hold_causes.STATUS)


def hold(progress: Progress, visit: Visit, rules: CrawlRules, until: float, words: str, cause: str) -> None:
    """Leave a source alone until then."""
    progress.held_until, progress.held_by, progress.held_cause = until, words, cause
    progress.held_under = rules.causes.of_source(cause, visit.intent.source, visit.intent.options)


def _asked_again_at(visit: Visit, rules: CrawlRules, outcome: Outcome, failures: int) -> float:
    """When a source that brought nothing is asked again: when somebody said, else after a back-off."""
    fetched, refused = visit.fetched, outcome == "refused"
    if fetched.retry_at > 0.0:
        return visit.at + min(max(fetched.retry_at - visit.at, rules.min_interval_s), _longest_s(rules, refused))
    return back_off_until(
        visit.at,
        failures,
        rules,
        refused=refused,
        host_held_until=fetched.host_held_until,
        alone=visit.intent.alone,
        nobody_asked=fetched.reason in ("address", "secret"),
        factor=_jitter(visit),
    )


def back_off_until(
    at: float,
    failures: int,
    rules: CrawlRules,
    *,
    refused: bool,
    host_held_until: float,
    alone: bool,
    nobody_asked: bool = False,
    factor: float = 1.0,
) -> float:
    """When a source that brought nothing is asked again, after so many failures in a row.

    If its host is held now, its back-off begins when that ends: another source of the host goes first. Where there is
    no other (`alone`), it is asked again when the hold ends.

    Parameters
        refused: it may not be fetched, by robots.txt or by its scheme
        nobody_asked: refused is its address alone, by the settings: the name may lead elsewhere before long
        factor: of the wait
    """
    if alone and host_held_until > at:
        return max(host_held_until, at + rules.min_interval_s)
    first = REFUSED_S if refused and not nobody_asked else rules.backoff_s
    doubled = back_off_s(first, _longest_s(rules, refused), failures) * factor
    return max(at, host_held_until) + max(doubled, rules.min_interval_s)


def _longest_s(rules: CrawlRules, refused: bool) -> float:
    return max(rules.max_backoff_s, REFUSED_S) if refused else rules.max_backoff_s


def gone(visit: Visit) -> VisitOutcome:
    """410: the publisher says it will not come back. It stays in the catalogue, retired."""
    progress = msgspec.structs.replace(visit.intent.progress)
    progress.clear_hold()
    source = msgspec.structs.replace(visit.intent.source, state="retired", note="gone: the server says so (410)")
    return VisitOutcome(
        kind="failed",
        crawl=visit.crawl("failed", error="HTTP status 410: gone"),
        progress=progress,
        source=source,
        events=[source_event(source, "retired", visit.at)],
        hold_until=math.inf,
    )


def _jitter(visit: Visit) -> float:
    """A factor of 0.75 to 1.25 that differs between sources and failures, so that they do not all come back at once."""
    seed = item_key(f"{visit.intent.source.id}/{visit.intent.progress.failures}")
    return 0.75 + (seed % 1000) / 2000.0
