"""What is proved of single sources and of many, looked at in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import recrawl
from recrawl.papers.tcns2018 import structure
from recrawl.papers.tcns2018.setting import table_one


@pytest.mark.parametrize("which", [0, 3])
@pytest.mark.parametrize("share", [0.4, 0.7, 0.9])
def test_value_iteration_waits_until_theorem_1_reaches_the_price(which: int, share: float) -> None:
    table = table_one()
    price = share * table.ceiling[which]
    alone = structure.solve_alone(table, which, price)
    states = np.tile(table.inflow, (structure.GRID, 1))
    states[:, which] = alone.states
    index = np.array([recrawl.whittle_index(table, state)[which] for state in states])
    width = np.diff(index).max()
    sure = np.abs(index - price) > width  # the grid cannot tell states nearer to the price
    assert (alone.active == (index >= price))[sure].all()
    assert alone.one_threshold


def test_at_a_price_below_the_index_of_u_every_state_is_crawled_and_above_the_ceiling_none() -> None:
    table = table_one()
    assert structure.solve_alone(table, 0, 0.1 * table.ceiling[0]).active.all()
    assert not structure.solve_alone(table, 0, 1.1 * table.ceiling[0]).active.any()


def test_copies_that_start_alike_go_on_missing_what_one_misses() -> None:
    table = table_one()
    alike = [structure.copies_lost(table, copies, None) for copies in (1, 7)]
    assert alike[0] == pytest.approx(alike[1], rel=1e-6)
    assert alike[0] == pytest.approx(100 * (1 - 337.77455 / 338.05394), abs=2e-3)
    assert structure.copies_lost(table, 40, 0) < 0.5 * alike[0]
