"""The score is what a patient bookkeeper would get, and broken rules are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.synthweb.ledger import (
    SeenRequest,
    SourceTruth,
    budget_violations,
    capture_of,
    delay_violations,
    hold_violations,
    overlaps,
    read_log,
    robots_violations,
    score,
    score_log,
)
from recrawl.synthweb.world import Robots

HOST = "a:1"


def truth(times: list[float], window: int = 3, source: int = 0, half_life_s: float = 10.0) -> SourceTruth:
    return SourceTruth(
        source=source, url="u", host=HOST, kind="rss", law="steady", rate=1.0, interest=2.0, half_life_s=half_life_s,
        window=window, forbidden=False, times=times,
    )  # fmt: skip


def by_hand(it: SourceTruth, crawls: list[float]) -> tuple[float, int, int]:
    """Look at the document at every crawl, item by item."""
    seen, value, found, lost = None, 0.0, 0, 0
    for moment in sorted(crawls):
        out = [k for k, t in enumerate(it.times) if t <= moment]
        document = out[-it.window :]
        if seen is not None:
            for k in set(out) - seen:
                if k in document:
                    value += it.interest * 2 ** (-(moment - it.times[k]) / it.half_life_s)
                    found += 1
                else:
                    lost += 1
        seen = set(out)
    return value, found, lost


moments = st.lists(st.floats(0, 100), max_size=30).map(sorted)


@given(moments, moments, st.integers(1, 8))
def test_value_captured_is_counted_item_by_item(times: list[float], crawls: list[float], window: int) -> None:
    it = truth(times, window)
    got = capture_of(it, crawls)
    value, found, lost = by_hand(it, crawls)
    assert got.captured == pytest.approx(value)
    assert (got.found, got.lost, got.crawls) == (found, lost, len(crawls))


def test_the_backlog_of_the_first_visit_counts_nothing() -> None:
    assert capture_of(truth([1, 2, 3]), [5.0]).captured == 0
    assert capture_of(truth([1, 2, 3, 6]), [5.0, 6.0]).captured == 2.0


def test_items_that_left_the_document_are_lost() -> None:
    got = capture_of(truth([1, 2, 3, 4, 5], window=2), [0.0, 5.0])
    assert (got.found, got.lost, got.offered) == (2, 3, 10.0)


def test_the_total_is_the_sum_and_every_request_is_a_fetch() -> None:
    truths = [truth([1, 4], source=0), truth([2, 3], source=1)]
    log = [access(0, path="/robots.txt", source=None), access(0), access(0, source=1), access(5), access(5, status=500)]
    got = score_log(truths, log)
    assert got.sources[0].captured == pytest.approx(2 * 2**-0.1 + 2 * 2**-0.4)
    assert got.sources[1].crawls == 1
    assert got.total.captured == got.sources[0].captured
    assert got.fetches == 5
    assert got.per_fetch == got.total.captured / 5
    assert score(truths, [(0, 0.0), (0, 5.0)]).fetches == 2


def access(
    start: float, end: float | None = None, path: str = "/s0/rss.xml", source: int | None = 0, status: int = 200, **more
) -> SeenRequest:
    shown = 0 if source is not None and status == 200 else None
    given = {"host": HOST, **more}
    ended = start if end is None else end
    return SeenRequest(start=start, end=ended, path=path, source=source, status=status, shown=shown, **given)


def test_a_spender_within_the_budget_is_not_accused() -> None:
    log = [access(t) for t in [0, 0, 0, 1, 2, 3, 10, 10, 10]]
    assert budget_violations(log, per_second=1.0, burst=3.0) == []


def test_one_request_too_many_is_found() -> None:
    log = [access(t) for t in [0, 0, 0, 0.9, 5]]
    assert budget_violations(log, per_second=1.0, burst=3.0) == [log[3]]


@given(st.lists(st.floats(0, 20), min_size=1, max_size=25), st.floats(0.2, 3), st.integers(1, 4))
def test_the_budget_is_kept_exactly_if_every_window_keeps_it(starts: list[float], rate: float, burst: int) -> None:
    starts = sorted(starts)
    slack = [
        burst + rate * (starts[j] - starts[i]) - (j - i + 1) for i in range(len(starts)) for j in range(i, len(starts))
    ]
    if abs(min(slack)) > 1e-5:
        assert bool(budget_violations(map(access, starts), rate, burst)) == (min(slack) < 0)


def test_a_host_visited_too_early_is_found_and_other_hosts_do_not_matter() -> None:
    log = [access(0), access(0.5, host="b:1"), access(0.9), access(2.0)]
    assert delay_violations(log, 1.0) == [(log[0], log[2])]
    assert delay_violations(log, {HOST: 0.5, "b:1": 9.0}) == []
    assert delay_violations(log, 1.0, tolerance_s=0.2) == []


def test_two_requests_at_once_are_found() -> None:
    log = [access(0, 3.0), access(1.0, 2.0), access(1.5, host="b:1"), access(3.0, 4.0)]
    assert overlaps(log) == [log[1]]
    assert overlaps(log, parallel=2) == []


def test_a_request_still_in_flight_overlaps_everything_after() -> None:
    pending = SeenRequest(start=0, host=HOST, path="/")
    assert overlaps([pending, access(50)])


def test_a_hold_broken_is_found() -> None:
    log = [access(0, status=503, retry_after_s=10.0), access(9.0), access(10.5)]
    assert hold_violations(log) == [log[1]]
    assert hold_violations(log, at_most_s=5.0) == []


def robots_log(*answers: tuple[float, int]) -> list[SeenRequest]:
    return [access(t, t + 0.1, path="/robots.txt", source=None, status=status) for t, status in answers]


@pytest.mark.parametrize(
    ("robots", "path", "why"),
    [
        ([], "/s0/rss.xml", "before robots.txt was read"),
        ([(4.95, 200)], "/s0/rss.xml", "before robots.txt was read"),
        ([(0, 200)], "/s0/rss.xml", ""),
        ([(0, 200)], "/private/x", "disallowed"),
        ([(0, 404)], "/private/x", ""),
        ([(0, 503)], "/s0/rss.xml", "robots.txt could not be read"),
        ([(0, 200), (1, 503)], "/s0/rss.xml", ""),
        ([(0, 200), (1, 503)], "/private/x", "disallowed"),
    ],
)
def test_robots_rules_broken_are_found(robots: list[tuple[float, int]], path: str, why: str) -> None:
    asked = access(5.0, path=path)
    found = robots_violations([*robots_log(*robots), asked], {HOST: Robots(disallow=("/private/",))})
    assert found == ([(asked, why)] if why else [])


def test_a_log_survives_its_trip_as_json_lines() -> None:
    import msgspec

    log = [access(1.5, 2.5, fault="drip"), SeenRequest(start=3.0, host=HOST, path="/")]
    assert read_log(msgspec.json.Encoder().encode_lines(log)) == log


def test_scoring_a_large_log_takes_time_in_proportion() -> None:
    """Tens of thousands of requests of one host: none is compared with all others."""
    log = robots_log((0, 200)) + [access(1.0 + k * 1e-3) for k in range(20_000)]
    assert robots_violations(log, {}) == []
    assert np.isfinite(score_log([truth([1.0, 5.0])], log).total.captured)
