"""A folder of recorded pages is read whole before any work, or what it lacks is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorded_pages import ITEMS_SCENARIO, write_recordings
from recrawl import cli
from recrawl.errors import ParameterError
from recrawl.papers.recordings import Recordings


def test_the_freshness_scenarios_are_read_with_their_traces(tmp_path: Path) -> None:
    found = Recordings.read(write_recordings(tmp_path, extra=ITEMS_SCENARIO))
    assert [each.name for each in found.scenarios] == ["made"]
    assert len(found.traces["made"]) == 24


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"--data must be a folder of traces, got .*nowhere"):
        Recordings.read(tmp_path / "nowhere")


def test_a_folder_without_scenarios_is_told_what_to_bring(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"--data must be a folder with scenarios\.toml"):
        Recordings.read(tmp_path)


def test_scenarios_without_pages_to_keep_fresh_are_told_so(tmp_path: Path) -> None:
    (tmp_path / "scenarios.toml").write_text(ITEMS_SCENARIO)
    with pytest.raises(ParameterError, match="a scenario of kind freshness"):
        Recordings.read(tmp_path)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    (write_recordings(tmp_path) / "page_changes.csv").unlink()
    with pytest.raises(ParameterError, match=r"page_changes\.parquet or page_changes\.csv"):
        Recordings.read(tmp_path)


@pytest.mark.parametrize("paper", ["icc2021", "all"])
def test_a_wrong_folder_is_said_before_any_work(paper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert cli.run(["reproduce", paper, "--data", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
    assert "--data" in capsys.readouterr().err
    assert not out.exists()


def test_a_paper_without_policies_for_pages_takes_no_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_recordings(tmp_path / "data")
    assert cli.run(["reproduce", "tcns2018", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]) == 2
    assert "--data must be given for icc2021 or all" in capsys.readouterr().err
