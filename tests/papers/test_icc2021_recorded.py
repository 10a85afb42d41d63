"""The policies of ICC 2021 on recorded pages, here made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recorded_pages import write_recordings
from recrawl import cli
from recrawl.papers import icc2021
from recrawl.papers.icc2021 import recorded, recorded_account, setting
from recrawl.papers.recordings import Recordings
from recrawl.papers.reproduction import Reproduction
from recrawl.papers.results import compare
from recrawl.report import Table, Text
from recrawl.report.progress import silent

COLUMNS = ["made@6", "made@12"]
SIMPLE = ["ours", "ours-changes", "round-robin", "uniform", "thompson", "static", recorded.FORGIVEN]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[recorded.Played]:
    """What can be played without a network, on two budgets and three seeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "WORKERS", 1)
        patch.setattr(recorded, "QUICK_SEEDS", 3)
        patch.setattr(setting, "find_spec", lambda name: None)
        folder = write_recordings(tmp_path_factory.mktemp("recorded"))
        return recorded.play(Recordings.read(folder), quick=True, seed=0, progress=silent)


def test_every_policy_is_played_on_the_first_budgets(played: list[recorded.Played]) -> None:
    assert [(each.column, each.policy) for each in played] == [(c, p) for c in COLUMNS for p in SIMPLE]


def test_only_policies_that_draw_lots_have_an_interval(played: list[recorded.Played]) -> None:
    results = {result.id: result for result in recorded.results(played)}
    assert len(results) == 2 * len(played)
    for name in SIMPLE:
        for suffix in ("", "-found"):
            result = results[f"icc2021/real/made@12/{name}{suffix}"]
            assert result.verdict == "not published"
            assert 0 <= result.measured <= 100
            assert (result.ci95 is None) == (name in recorded.ON_PAGES)


def test_the_mean_over_seeds_is_the_score_of_all_seeds(played: list[recorded.Played]) -> None:
    for each in played:
        assert each.fresh.value == pytest.approx(np.mean(each.fresh_of_seeds))
        assert each.found.value == pytest.approx(np.mean(each.found_of_seeds))
    assert any(np.ptp(each.fresh_of_seeds) > 0 for each in played)


def test_ours_told_to_find_changes_finds_more_and_keeps_less_fresh(played: list[recorded.Played]) -> None:
    by_name = {each.policy: each for each in played if each.column == "made@12"}
    fresh, changes = by_name["ours"], by_name["ours-changes"]
    assert recorded.against(changes, fresh, found=True)[0] > 0
    assert recorded.against(changes, fresh, found=False)[0] < 0


def test_the_section_says_what_to_remember_and_shows_both_scores(played: list[recorded.Played]) -> None:
    pytest.importorskip("matplotlib", reason="the extra `lab` is not installed")
    section = recorded_account.section(played)
    texts = [block.body for block in section.blocks if isinstance(block, Text)]
    assert texts[0] == recorded_account.remember(played)
    assert "of 2 columns" in texts[0]
    fresh, found = (block for block in section.blocks if isinstance(block, Table))
    assert [row[0] for row in fresh.rows] == [row[0] for row in found.rows]
    assert len(fresh.rows) == len(SIMPLE)
    assert [figure.name for figure in section.figures()] == ["icc2021-recorded"]


def test_the_command_reads_recordings_for_the_paper_that_plays_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Recordings | None] = []

    def reproduced(quick: bool, seed: int, progress: object, recordings: Recordings | None = None) -> Reproduction:
        heard.append(recordings)
        return Reproduction("icc2021", "The paper", "As published.", [compare("icc2021/some/number", 1.0, "1")], [])

    monkeypatch.setattr(icc2021, "reproduce", reproduced)
    data = write_recordings(tmp_path / "data")
    assert cli.run(["reproduce", "icc2021", "--out", str(tmp_path / "without")]) == 0
    assert cli.run(["reproduce", "icc2021", "--data", str(data), "--out", str(tmp_path / "with")]) == 0
    without, given = heard
    assert without is None
    assert given is not None
    assert list(given.traces) == ["made"]
    assert "--data DIR" in (tmp_path / "with" / "report.html").read_text()
