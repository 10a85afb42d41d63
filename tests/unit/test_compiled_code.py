"""Compiled code has a place, if only for as long as the process lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recrawl import compiled_code

LOADED = "from recrawl.kernels.elementary import vector_exp; print(vector_exp.stats.cache_path)"


@pytest.fixture(params=["beside the program", "where it was told to"])
def nowhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "beside the program":
        monkeypatch.delenv(compiled_code.VARIABLE, raising=False)
        monkeypatch.setattr(compiled_code, "_writable", lambda place: False)
    else:
        monkeypatch.setenv(compiled_code.VARIABLE, f"{os.devnull}/cache")
    monkeypatch.setitem(sys.modules, "numba", None)


def test_where_none_can_be_written_to_a_folder_of_the_process_takes_it(nowhere: None) -> None:
    compiled_code.find_a_place()
    folder = Path(os.environ[compiled_code.VARIABLE])
    assert os.access(folder, os.W_OK)
    assert compiled_code.passing()
    folder.rmdir()


def test_a_folder_that_is_yet_to_be_made_is_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled_code.VARIABLE, str(tmp_path / "to" / "be" / "made"))
    compiled_code.find_a_place()
    assert os.environ[compiled_code.VARIABLE] == str(tmp_path / "to" / "be" / "made")
    assert not compiled_code.passing()


def test_a_program_whose_folder_cannot_be_written_to_starts_and_leaves_nothing_behind() -> None:
    environment = os.environ | {compiled_code.VARIABLE: f"{os.devnull}/cache"}
    ran = subprocess.run([sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True)
    folder = Path(ran.stdout.strip())
    assert compiled_code.PASSING in str(folder)
    assert not folder.exists()
