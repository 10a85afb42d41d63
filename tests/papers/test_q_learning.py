"""How fast learners with and without a model are, and that a report on it can be made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper_results import read_results
from recrawl.papers import q_learning
from recrawl.papers.expected_rewards import AuditedGroups
from recrawl.papers.icc2021.setting import EXAMPLES
from recrawl.papers.reproduction import write
from recrawl.policies import make
from recrawl.report.output_folder import prepare
from recrawl.sim.runs import simulate


def measured(world: str, learner: str, slots: int, runs: int = 3) -> q_learning.Measured:
    shares = [q_learning.one_run(q_learning.Task(world, learner, run, slots, 4000, seed=0)) for run in range(runs)]
    return q_learning.Measured(np.stack(shares), q_learning.WORLDS[world].budget)


def test_learning_with_a_model_costs_less_than_a_tenth_on_table_one() -> None:
    ours, tables = measured("table1", "ours", 1200), measured("table1", "q-whittle", 1200)
    assert ours.cost().mean() < 10
    assert tables.cost().mean() > 10 * ours.cost().mean()
    assert tables.reached() == 3


def test_a_hundred_pages_are_learnt_in_a_tenth_of_the_crawls() -> None:
    ours, tables = measured("pages", "ours", 400, runs=2), measured("pages", "q-whittle", 1500, runs=2)
    assert np.median(ours.crawls()) < 1000
    assert np.median(tables.crawls()) > 5000


def test_crawls_are_those_before_the_first_good_window() -> None:
    share = np.zeros((2, 500))
    share[0, 120:] = 1.0
    found = q_learning.Measured(share, budget=5)
    assert found.crawls().tolist() == [5 * 115, 5 * 500]  # five bad slots in a hundred still earn 95 %
    assert found.reached() == 1
    assert found.cost().tolist() == [120.0, 500.0]


def test_expected_rewards_on_groups_have_the_mean_of_the_rewards() -> None:
    world = EXAMPLES["groups"]
    audited = AuditedGroups(make("uniform"), world)
    found = simulate(world, audited, steps=20_000, noise="change")
    assert np.mean(audited.expected) == pytest.approx(found.mean_reward, rel=0.03)
    assert np.std(audited.expected) < found.rewards.std()


@pytest.mark.usefixtures("one_process")
def test_a_short_comparison_writes_every_number_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    monkeypatch.setattr(q_learning, "QUICK", q_learning.Length(runs=2, slots=150, many_slots=150, index_slots=200))
    write([q_learning.reproduce(quick=True)], prepare(tmp_path))
    ids = {result.id for result in read_results(tmp_path / "results.json")}
    for world in q_learning.WORLDS:
        for name in q_learning.learners(world):
            assert {f"q_learning/{world}/{name}{end}" for end in ("", "-crawls", "-cost")} <= ids
    assert (tmp_path / "figures" / "q-learning-pages.png").exists()
