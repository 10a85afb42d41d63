"""The tour runs to its end by itself where nobody can press Enter, and ends with an error where a command fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from recrawl.cli import run, tour


def test_it_goes_through_every_step_and_leaves_what_it_made(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--tour", "--seconds", "2", "--out", str(tmp_path)]) == 0
    said = capfd.readouterr().out
    at = [said.index(f"{number}/{len(tour.STEPS)}  {step.words}") for number, step in enumerate(tour.STEPS, 1)]
    assert at == sorted(at)
    assert "40 added" in said
    assert "copy.db is sound" in said
    assert (tmp_path / "tour" / "recrawl.db").exists()


def test_it_leaves_alone_the_settings_and_the_store_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECRAWL_CONFIG", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("RECRAWL_STORE", str(tmp_path / "mine.db"))
    monkeypatch.setattr(tour, "STEPS", tour.STEPS[:1])
    assert run(["demo", "--tour", "--out", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "mine.db").exists()
    assert (tmp_path / "out" / "tour" / "recrawl.db").exists()


def test_a_command_that_fails_ends_it_and_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tour, "STEPS", (tour.Step("There is no such source.", "explain 77"),))
    assert run(["demo", "--tour", "--out", str(tmp_path)]) == 2
    assert "the tour ends here: recrawl explain 77 ended with 2" in capfd.readouterr().err


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert run(["demo", "--tour", "--out", str(tmp_path / "taken")]) == 2
    assert "cannot write there" in capfd.readouterr().err
