"""The wheel and the source distribution hold what they should, and run where there is no repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import recrawl
from releasing import Built, script


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release")


@pytest.fixture(scope="module")
def built(release: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(*release.build(tmp_path_factory.mktemp("built")))


def test_both_hold_what_they_should_and_an_index_would_take_them(release: ModuleType, built: Built) -> None:
    release.check(built.sources, built.wheel)


def test_a_file_too_much_or_too_few_is_not_released(release: ModuleType, built: Built, tmp_path: Path) -> None:
    wheel = tmp_path / built.wheel.name
    shutil.copy(built.wheel, wheel)
    with zipfile.ZipFile(wheel, "a") as opened:
        opened.writestr("recrawl/left_behind.db", b"")
    with pytest.raises(release.NotReleasableError, match=r"left_behind\.db"):
        release.check(built.sources, wheel)


def test_the_version_is_said_in_one_place(release: ModuleType, built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as opened:
        told = Parser().parsestr(opened.read(f"recrawl-{recrawl.__version__}.dist-info/METADATA").decode())
    assert told["Version"] == release.version() == recrawl.__version__
    assert told["License-Expression"] == "Apache-2.0"
    assert release.announced() in (True, False)  # the changelog begins with it


def test_it_runs_from_an_empty_environment_with_no_repository_around(
    release: ModuleType, built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it needs is lent from here: `make release` and the long test install that as well."""
    venv.create(tmp_path / "empty", with_pip=False)
    python = tmp_path / "empty" / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    place = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, str(built.wheel)], check=True)
    (place / "lent.pth").write_text(f"{lending()}\n")
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [str(python), "-c", "import recrawl; print(recrawl.__file__)"],
        cwd=tmp_path, env=away, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert Path(found.stdout.strip()).is_relative_to(tmp_path / "empty")
    monkeypatch.chdir(tmp_path)
    release.runs(Path("empty/bin/python"), Path("empty"))  # as `make release` names them


def lending() -> Path:
    """Where what recrawl needs is installed here."""
    return Path(np.__file__).parents[1]


@pytest.mark.long
def test_it_installs_into_an_empty_environment_and_says_of_what_it_consists(
    release: ModuleType, built: Built, tmp_path: Path
) -> None:
    python = release.installed(built.wheel, tmp_path / "empty")
    release.runs(python, tmp_path / "empty")
    release.bill_of_materials(python, tmp_path / "sbom.json")
    parts = json.loads((tmp_path / "sbom.json").read_text())["components"]
    assert {"numpy", "numba", "aiohttp", "lxml"} <= {part["name"].lower() for part in parts}
    assert all(part.get("version") for part in parts)


@pytest.mark.parametrize("count", [1, 2])
def test_sums_are_as_sha256sum_checks_them(release: ModuleType, tmp_path: Path, count: int) -> None:
    files = [tmp_path / f"{k}.txt" for k in range(count)]
    for file in files:
        file.write_text(file.name)
    (tmp_path / "SHA256SUMS").write_text(release.sums(*files))
    done = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0
