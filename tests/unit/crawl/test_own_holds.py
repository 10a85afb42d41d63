"""Until when a source is held for reasons of its own."""

from __future__ import annotations

import math

import pytest

from recrawl.crawl.own_holds import due_at, own_hold

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("interval_s", "held_until", "until"),
    [
        (None, 0.0, NOW + 30.0),
        (10.0, 0.0, NOW + 30.0),
        (90.0, 0.0, NOW + 90.0),
        (90.0, NOW + 500.0, NOW + 500.0),
        (None, math.inf, math.inf),
    ],
)
def test_the_longest_reason_holds_it(interval_s: float | None, held_until: float, until: float) -> None:
    assert own_hold(NOW, 30.0, interval_s, held_until).until == until


def test_a_source_never_fetched_is_held_by_its_failures_alone() -> None:
    assert own_hold(math.nan, 30.0, 90.0).until == 0.0
    assert own_hold(math.nan, 30.0, 90.0, NOW).until == NOW


def test_with_a_fixed_interval_it_is_not_asked_what_a_fetch_is_worth() -> None:
    assert due_at(math.inf, NOW, 90.0) == NOW
    assert due_at(math.inf, NOW, 0.0) == math.inf
    assert due_at(NOW - 1.0, NOW, 0.0) == NOW
