"""The soft threshold policy with true thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Sources, simulate
from recrawl.errors import ParameterError
from recrawl.policies.soft_threshold import SoftThreshold, worth_now

TABLE = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])


def test_sharp_enough_it_is_the_index_policy() -> None:
    # In a tiny unit both the slope and the offset ½ are negligible against any difference of worths.
    soft = simulate(TABLE, SoftThreshold(unit=1e-6), 1, 300)
    index = simulate(TABLE, "whittle", 1, 300)
    np.testing.assert_array_equal(soft.actions, index.actions)
    assert soft.spend == 1.0


def test_softness_engages_more_or_fewer_arms_than_the_index() -> None:
    assert simulate(TABLE, SoftThreshold(unit=500.0), 1, 2000).spend != pytest.approx(1.0, abs=0.01)


def test_unobserved_worth_is_the_expected_one() -> None:
    mortal = Sources.ephemeral(arrival_rate=[1, 2], interest=1, decay=0.5, lifetime=3)
    after = worth_now(mortal, np.array([2.0, 9.0]), None)
    kept = np.exp(-0.5)
    np.testing.assert_allclose(after, mortal.inflow * [1 + kept, 1 + kept + kept**2])
    np.testing.assert_allclose(worth_now(mortal, np.array([2.0, 9.0]), np.array([np.nan, 7.0])), [after[0], 7.0])


def test_options_are_checked() -> None:
    with pytest.raises(ParameterError, match="sharpness"):
        SoftThreshold(sharpness=0.0)
    with pytest.raises(ParameterError, match="unit"):
        SoftThreshold(unit=-1.0)
