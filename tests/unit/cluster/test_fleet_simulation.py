"""Many shards with one price against one scheduler, in the mathematics of the relaxed problem."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))
fleet = pytest.importorskip("benchmarks.fleet", reason="benchmarks are not beside the tests")


@pytest.fixture(scope="module")
def outcome():
    (outcome,) = fleet.run(10_000, [16], hours=6.0)
    return outcome


def test_shards_with_one_price_capture_what_one_scheduler_does(outcome):
    assert outcome.value > 0.999
    assert abs(outcome.price_error) < 1e-4


def test_the_budget_is_spent_and_never_exceeded(outcome):
    assert outcome.budget_error < 0.01
    assert outcome.highest <= 1.0


def test_spend_is_back_within_the_length_of_a_grant_and_two_rounds(outcome):
    for loss in outcome.losses:
        assert loss.within_1_s <= 13.0
        assert loss.moved_10_s <= 4.0
        assert loss.value > 0.999


def test_the_coordinator_hears_and_answers_each_shard_once_a_second(outcome):
    assert outcome.post.messages == 2 * 16 * outcome.seconds
    assert outcome.post.up / outcome.post.messages < 150


def test_settling_is_counted_from_the_last_moment_that_was_wrong():
    seen = [0.5] * fleet.MOMENTS + [1.0] * fleet.MOMENTS
    assert fleet.settled(seen, 1.0, 0.1) == 1.0
    assert fleet.settled(seen, 1.0, 0.1, begin=1) == 0.0
