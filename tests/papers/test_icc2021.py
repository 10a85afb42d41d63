"""The ICC 2021 numbers, and that a report on them can be made."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import numpy as np
import pytest

import recrawl
from paper_results import read_results
from recorded_pages import write_recordings
from recrawl import policies
from recrawl.kernels.static_allocation import lottery_reward
from recrawl.papers import icc2021
from recrawl.papers.icc2021 import recorded, runs, setting
from recrawl.papers.recordings import Recordings
from recrawl.papers.reproduction import write
from recrawl.report.output_folder import prepare

ONE_PAGE, GROUPS = setting.EXAMPLES["one-page"], setting.EXAMPLES["groups"]
TINY = setting.Length(runs=2, steps=250, window=20, long=250, variant_runs=2, variant_steps=60)


def test_the_best_possible_with_one_page_per_group_is_to_crawl_page_one_always() -> None:
    assert recrawl.relaxed_bound(ONE_PAGE.pages(), 1).value == pytest.approx(3.0)
    for name in ("whittle", "greedy"):
        found = recrawl.simulate(ONE_PAGE.pages(), name, steps=500)
        assert found.mean_reward == pytest.approx(3.0, rel=1e-6)
        assert found.crawl_share[0] == 1.0


def test_bound_index_greedy_and_round_robin_over_the_pages_of_the_groups() -> None:
    pages = GROUPS.pages()
    assert recrawl.relaxed_bound(pages, 1).value == pytest.approx(2.0549, abs=5e-5)
    figures = {"whittle": 2.0549, "greedy": 2.0475, "round_robin": 0.343}
    for name, expected in figures.items():
        found = recrawl.simulate(pages, name, steps=20_000).mean_between(10_000, 20_000)
        assert found == pytest.approx(expected, abs=1e-3), name


def test_uniform_over_groups() -> None:
    for world, expected in ((ONE_PAGE, 1.173), (GROUPS, 1.197)):
        arms = world.arms
        value = lottery_reward([0.25] * 4, arms.arrivals_per_slot, arms.interest, world.pages_per_group)
        assert value == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("importance", "expected"), [(False, 1.73), (True, 2.05)])
def test_thompson_sampling_over_groups(importance: bool, expected: float) -> None:
    policy = policies.make("thompson", importance=importance)
    found = recrawl.simulate(GROUPS, policy, steps=3000, runs=6, noise="change")
    assert found.mean_between(500, 3000) == pytest.approx(expected, rel=0.06)


def test_a_state_met_before_is_one_with_the_same_ages_findings_and_choice() -> None:
    """Arms 0, 1, 0, 1, … always finding a change: from the third slot on every second state is the same."""
    found = recrawl.simulate(setting.GroupedPages([1, 1], [1.0, 1.0], [1.0, 1.0]), "round_robin", steps=6)
    chosen = found.actions.argmax(axis=1).tolist()
    assert chosen == [0, 1, 0, 1, 0, 1]
    # States: (1, 1; no, no), (1, 2; yes, no), (2, 1; yes, yes), (1, 2; yes, yes), (2, 1; …) again, (1, 2; …) again.
    assert runs.met_before(found) == pytest.approx(2 / 6)


def test_every_policy_meets_the_same_changes() -> None:
    a = runs.one_run(runs.Task("groups", "whittle", 3, 400, seed=1))
    b = runs.one_run(runs.Task("groups", "whittle", 3, 400, seed=1))
    other = runs.one_run(runs.Task("groups", "whittle", 4, 400, seed=1))
    np.testing.assert_array_equal(a.rewards, b.rewards)
    assert (a.rewards != other.rewards).any()


def test_expected_rewards_have_the_mean_of_the_rewards() -> None:
    found = runs.one_run(runs.Task("one-page", "ours", 0, 3000, seed=2))
    assert found.expected.shape == found.rewards.shape
    assert found.expected.mean() == pytest.approx(found.rewards.mean(), rel=0.05)
    assert found.expected.std() < found.rewards.std()


@pytest.mark.usefixtures("one_process")
def test_a_short_reproduction_writes_every_number_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra `deep` is not installed")
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    monkeypatch.setattr(icc2021, "QUICK", TINY)
    heard: dict[str, float] = {}
    monkeypatch.setattr(recorded, "WORKERS", 1)
    recordings = Recordings.read(write_recordings(tmp_path / "recorded"))
    found = icc2021.reproduce(quick=True, seed=0, progress=heard.__setitem__, recordings=recordings)
    report = write([found], prepare(tmp_path / "out"))
    results = {result.id: result for result in read_results(tmp_path / "out" / "results.json")}
    for example in ("one-page", "groups"):
        names = [*setting.lines(example), "bound", "ours-first-1000", "changes-per-slot"]
        assert {f"icc2021/{example}/{name}" for name in names} <= set(results)
    assert results["icc2021/one-page/static-probability-2"].verdict == "differs"
    assert results["icc2021/groups/static-groups"].measured == pytest.approx(1.98, abs=0.005)
    assert results["icc2021/groups/static"].measured == pytest.approx(1.73, abs=0.005)
    assert all(f"icc2021/groups/{name}-minus-drl" in results for name in ("semi-gradient", "no-noise"))
    assert len({claim.id for claim in found.claims}) == len(found.claims) >= 30
    known = {
        "intractable": "holds under",
        "true-bellman-error": "does not hold",
    }
    said = {claim.id.rpartition("/")[2]: claim.verdict for claim in found.claims}
    assert {name: said[name] for name in known} == known
    for example in ("one-page", "groups"):
        for name in ("whittle", "greedy"):
            bound = results[f"icc2021/{example}/bound"].measured
            assert results[f"icc2021/{example}/{name}"].measured <= bound * (1 + 1e-5), "without noise, none is above"
    assert found.remember in unescape(report.read_text())
    assert set(heard.values()) == {1.0}
    assert len(list((tmp_path / "out" / "figures").glob("icc2021-figure-*.png"))) == 4
    assert "What had to be chosen" in report.read_text()
    assert {f"icc2021/real/made@6/{name}" for name in ("drl", "hybrid", "ours")} <= set(results)
    assert "On recorded pages" in report.read_text()


def test_without_torch_the_other_lines_are_still_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setting, "find_spec", lambda name: None)
    assert set(setting.LINES) - set(setting.lines()) == {"drl", "hybrid"}


@pytest.mark.long
def test_our_learner_reaches_99_percent_of_the_bound_on_the_groups() -> None:
    """By expected rewards over the last half of 20 000 slots."""
    shares = []
    for run in range(4):
        found = runs.one_run(runs.Task("groups", "ours", run, 20_000, seed=0))
        shares.append(found.expected[10_000:].mean() / recrawl.relaxed_bound(GROUPS.pages(), 1).value)
    assert np.mean(shares) >= 0.99


@pytest.mark.long
def test_the_deep_learner_passes_thompson_sampling_as_published_on_one_page() -> None:
    pytest.importorskip("torch", reason="the extra `deep` is not installed")
    deep, thompson = (
        [runs.one_run(runs.Task("one-page", name, run, 5000, seed=0)).rewards[-1000:].mean() for run in range(4)]
        for name in ("drl", "thompson")
    )
    assert np.mean(deep) > np.mean(thompson)
