"""How old sources may get at the pace the catalogue is crawled at."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from recrawl.policies.age_floor import AgeFloor

NOW = 1_700_000_000.0


def floor(max_age: float | None = 100.0, rounds: float = 4.0, own: float = math.nan) -> AgeFloor:
    """Of ten sources that cost a token each."""
    kept: Any = SimpleNamespace(max_age=np.full(10, own), total_cost=10.0)
    return AgeFloor(kept, max_age, rounds, NOW)


def test_the_usual_age_is_not_below_so_many_rounds_at_the_pace() -> None:
    ages = floor()
    assert not ages.pay(NOW + 100.0, 5.0), "it is higher, not lower"
    assert ages.floor == 4.0 * 10.0 * 100.0 / 5.0
    assert ages.pace(NOW + 100.0) == (5.0, 100.0)


def test_a_faster_pace_lowers_it_down_to_what_was_asked_for() -> None:
    ages = floor()
    ages.pay(NOW + 100.0, 5.0)
    assert ages.pay(NOW + 101.0, 10.0)
    assert ages.floor == 4.0 * 10.0 * 101.0 / 15.0
    ages.resume(NOW, paid=10.0, elapsed=1.0, floor=1.0)
    assert ages.floor == 100.0


def test_old_spending_fades() -> None:
    ages = floor()
    ages.pay(NOW + 100.0, 30.0)
    assert ages.pace(NOW + 100.0) == (15.0, 50.0)


def test_what_an_owner_said_stands() -> None:
    ages = floor(own=7.0)
    ages.pay(NOW + 100.0, 5.0)
    assert ages.of(np.arange(2)).tolist() == [7.0, 7.0]


def test_without_a_maximum_age_or_rounds_nothing_changes() -> None:
    for ages, usual in ((floor(max_age=None), math.inf), (floor(rounds=0.0), 100.0)):
        assert not ages.pay(NOW + 100.0, 5.0)
        assert ages.of(np.arange(1)).tolist() == [usual]
