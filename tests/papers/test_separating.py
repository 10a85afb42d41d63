"""The law of the separating instances, and what it separates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper_results import read_results
from recrawl.papers import separating, separating_law, separating_small
from recrawl.papers.reproduction import write
from recrawl.report.output_folder import prepare

TINY = separating.Length(slots=200, draws=2, learners_draws=1, small_slots=40, small_draws=2)


def share(name: str, budget: int, slots: int = 3000, seed: int = 0) -> float:
    found, _, _ = separating.one_run(separating.Task(name, budget, 0, slots, seed))
    return 100 * float(found[slots // 2 :].mean())


def test_the_catalogue_follows_its_law_and_its_seed() -> None:
    pages = separating_law.catalogue(seed=3, pages=20_000)
    logs = np.log(pages.arrivals_per_slot)
    assert logs.min() >= np.log(separating_law.SLOWEST)
    assert logs.max() <= np.log(separating_law.FASTEST)
    assert logs.mean() == pytest.approx((np.log(separating_law.SLOWEST) + np.log(separating_law.FASTEST)) / 2, abs=0.05)
    assert np.log(pages.interest).std() == pytest.approx(separating_law.IMPORTANCE_SIGMA, rel=0.02)
    np.testing.assert_array_equal(separating_law.catalogue(1).ceiling, separating_law.catalogue(1).ceiling)


@pytest.mark.parametrize("budget", separating.BUDGETS)
def test_policies_that_know_the_parameters_are_told_apart(budget: int) -> None:
    index, greedy, static, turns = (share(name, budget) for name in ("whittle", "greedy", "static", "round-robin"))
    assert index > 99.8
    assert greedy < 97
    assert static < greedy
    assert turns < 55


def test_no_policy_passes_the_bound() -> None:
    for name in separating.KNOWING:
        assert share(name, 50) <= 100.1


def test_learning_from_nothing_earns_nearly_as_much_as_knowing() -> None:
    assert share("ours", 50, slots=2000) > 98


@pytest.mark.long
def test_unknown_parameters_cost_less_than_one_percent_at_fifty_crawls_a_slot() -> None:
    assert share("ours", 50, slots=20_000) >= 99


@pytest.mark.usefixtures("one_process")
def test_a_short_comparison_writes_every_number_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    monkeypatch.setattr(separating, "QUICK", TINY)
    write([separating.reproduce(quick=True)], prepare(tmp_path))
    ids = {result.id for result in read_results(tmp_path / "results.json")}
    for budget in (50, 5):
        for name in (*separating.KNOWING, *separating_small.able(separating.LEARNING), "bound"):
            assert f"separating/k{budget}/{name}" in ids
    for name in (*separating_small.KNOWS, *separating_small.able(separating_small.LEARNS)):
        assert f"separating/n20-k1/{name}" in ids
    assert (tmp_path / "figures" / "separating-regret-k5.png").exists()
