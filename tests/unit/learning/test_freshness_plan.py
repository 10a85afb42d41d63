"""Planned crawl rates: they spend the pace, follow belief, and starve nobody."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.kernels.crawl_rates import lambda_crawl_rates
from recrawl.learning.freshness_plan import Plan
from recrawl.learning.posterior_points import Atoms


def sure_of(change: np.ndarray) -> Atoms:
    """Beliefs that are certain: one atom has all the mass."""
    atoms = Atoms(len(change), 2, "mean", np.random.default_rng(0))
    atoms.mass[:, 0] = 1.0
    atoms.rate[: len(change)] = change[:, None]
    return atoms


CHANGE = np.geomspace(1e-3, 10.0, 50)


def planned(atoms: Atoms, visits: int = 100, time: float = 40.0, weight: float = 1.0) -> Plan:
    plan = Plan(len(atoms), now=0.0)
    assert plan.due(visits, time)
    plan.make(time, atoms, np.full(len(atoms), weight), np.ones(len(atoms)))
    return plan


def test_nothing_is_planned_before_the_pace_is_known() -> None:
    plan = Plan(50, now=0.0)
    assert not plan.due(5, 1.0)
    assert not plan.made


def test_pages_slow_enough_to_be_kept_fresh_get_the_rates_of_the_closed_form() -> None:
    slow = CHANGE * 1e-6
    np.testing.assert_allclose(planned(sure_of(slow)).rate[:50], lambda_crawl_rates(slow, 100 / 40.0), rtol=1e-3)


def test_pages_too_fast_to_be_kept_fresh_lose_their_share() -> None:
    plan = planned(sure_of(np.concatenate([np.full(49, 0.05), [1000.0]])))
    assert plan.rate[49] < 0.05 * plan.rate[0]


@pytest.mark.parametrize("weight", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("visits", [20, 1000, 100_000])
def test_planned_rates_spend_the_pace_and_starve_nobody(visits: int, weight: float) -> None:
    plan = planned(sure_of(CHANGE), visits=visits, weight=weight)
    assert plan.rate.sum() == pytest.approx(visits / 40.0, rel=1e-6)
    assert (plan.rate[:50] > 0).all()


def test_doubt_averages_the_rates_not_the_change_rate() -> None:
    atoms = sure_of(CHANGE)
    atoms.mass[0] = 0.5
    atoms.rate[0] = [1e-3, 10.0]
    plan = planned(atoms)
    twin = planned(atoms)
    low, high = sure_of(CHANGE), sure_of(CHANGE)
    low.rate[0], high.rate[0] = 1e-3, 10.0
    for extreme in (low, high):
        twin.believed(np.array([0]), extreme, np.ones(1), np.ones(1))
        extreme.rate[1, 0] = twin.rate[0]
    assert plan.rate[0] == pytest.approx(0.5 * (low.rate[1, 0] + high.rate[1, 0]))


def test_new_beliefs_and_new_pages_take_the_standing_price() -> None:
    atoms = sure_of(CHANGE)
    plan = planned(atoms)
    atoms.rate[3] = CHANGE[30]
    plan.believed(np.array([3]), atoms, np.ones(1), np.ones(1))
    assert plan.rate[3] == pytest.approx(plan.rate[30])
    plan.grow(2)
    assert len(plan) == 52
