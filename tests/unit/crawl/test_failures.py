"""How long a source is left alone that brought nothing."""

from __future__ import annotations

from typing import Any

import pytest

from recrawl.crawl.failures import FAILURES_NOTED, REFUSED_S, back_off_until, failed, gone
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.visits import CrawlRules, Intent, Visit
from recrawl.store.records import Progress, Source
from recrawl.store.source_terms import Defaults

NOW = 1_700_000_000.0
RULES = CrawlRules(min_interval_s=30.0, backoff_s=60.0, max_backoff_s=600.0)


def waits_s(failures: int, **more: Any) -> float:
    said = {"refused": False, "host_held_until": 0.0, "alone": False} | more
    return back_off_until(NOW, failures, RULES, **said) - NOW


def visit(failures: int = 0, *, alone: bool = False, note: str = "", **fetched: Any) -> Visit:
    source = Source(id=1, url="https://a.example/", note=note)
    progress = Progress(source=1, failures=failures)
    intent = Intent(0, source, progress, "a.example", 0.5, 0.4, source.terms(Defaults()), alone)
    return Visit(intent, NOW, FetchResult(None, source.url, 1, **fetched))


def test_each_failure_doubles_the_wait_up_to_the_longest() -> None:
    assert [waits_s(failures) for failures in (1, 2, 3, 4, 5, 60)] == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0]


def test_what_is_refused_waits_an_hour_whatever_the_longest_wait_is() -> None:
    assert waits_s(1, refused=True) == waits_s(9, refused=True) == REFUSED_S
    assert waits_s(1, refused=True, nobody_asked=True) == 60.0


def test_a_back_off_begins_when_the_hold_of_its_host_ends() -> None:
    assert waits_s(1, host_held_until=NOW + 100.0) == 160.0
    assert waits_s(1, host_held_until=NOW + 100.0, alone=True) == 100.0
    assert waits_s(1, host_held_until=NOW + 1.0, alone=True) == RULES.min_interval_s


@pytest.mark.parametrize(("asked_s", "waits"), [(1.0, 30.0), (100.0, 100.0), (1e6, 600.0)])
def test_a_time_to_come_back_at_is_kept_to_within_bounds(asked_s: float, waits: float) -> None:
    outcome = failed(visit(retry_at=NOW + asked_s), RULES, "failed", "no answer", 0)
    assert outcome.hold_until == outcome.progress.held_until == NOW + waits


def test_sources_do_not_all_come_back_at_once() -> None:
    waits = {failed(visit(n), RULES, "failed", "no answer", 0).hold_until - NOW for n in range(4, 20)}
    assert len(waits) > 8
    assert all(0.75 * 600.0 <= wait <= 1.25 * 600.0 for wait in waits)


def test_a_turn_that_was_not_given_is_no_failure() -> None:
    assert failed(visit(2, reason="busy"), RULES, "failed", "busy", 0).progress.failures == 2
    assert failed(visit(2, reason="dns"), RULES, "failed", "no such name", 0).progress.failures == 3


def test_the_catalogue_notes_failures_once_there_are_a_few_in_a_row() -> None:
    assert failed(visit(FAILURES_NOTED - 2), RULES, "failed", "no answer", 0).source is None
    noted = failed(visit(FAILURES_NOTED - 1), RULES, "failed", "no answer", 0).source
    assert noted is not None
    assert noted.note == "failing: no answer"
    assert failed(visit(9, note=noted.note), RULES, "failed", "other words", 0).source is None


def test_what_is_gone_is_retired() -> None:
    outcome = gone(visit())
    assert outcome.source is not None
    assert outcome.source.state == "retired"
    assert len(outcome.events) == 1
