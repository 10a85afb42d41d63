"""Compiled code has a place, if only for as long as the process lives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
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


def test_what_was_compiled_into_a_folder_that_can_only_be_read_is_used_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what has to be compiled beside it is put elsewhere."""
    kept = tmp_path / "of the image"
    (kept / "kernels.elementary-0").mkdir(parents=True)
    (kept / "kernels.elementary-0" / "vector_exp-1.py311.nbi").write_bytes(b"index")
    (kept / "recrawl-compiling.lock").touch()
    monkeypatch.setenv(compiled_code.VARIABLE, str(kept))
    monkeypatch.setattr(compiled_code, "_writable", lambda place: False)
    compiled_code.find_a_place()
    folder = Path(os.environ[compiled_code.VARIABLE])
    lent = folder / "kernels.elementary-0" / "vector_exp-1.py311.nbi"
    assert folder != kept
    assert lent.read_bytes() == b"index"
    replaced = lent.with_suffix(".new")
    replaced.write_bytes(b"another")
    replaced.replace(lent)  # as numba does
    assert (kept / "kernels.elementary-0" / lent.name).read_bytes() == b"index"
    assert [path.name for path in folder.iterdir()] == ["kernels.elementary-0"]
    shutil.rmtree(folder)


A_MODULE = """
from recrawl.compiled_code import njit
from recrawl.{other} import {name}

@njit(cache=True)
def called(x):
    return {name}(x)
"""
ANOTHER = """
from recrawl.compiled_code import njit

@njit(cache=True)
def inner(x):
    return x + {addend}
"""
CALLED = """
import sys
sys.path.insert(0, {folder!r})
from recrawl.outer import called
print(called(1.0), sum(called.stats.cache_hits.values()))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Callable[[str, float], list[str]]:
    """Install a package of two modules under some path and call it: what it gives, and how often code was there."""

    def call(where: str, addend: float) -> list[str]:
        package = tmp_path / where / "recrawl"
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy(str(compiled_code.__file__), package / "compiled_code.py")
        (package / "__init__.py").touch()
        (package / "outer.py").write_text(A_MODULE.format(other="inner", name="inner"))
        (package / "inner.py").write_text(ANOTHER.format(addend=addend))
        environment = os.environ | {compiled_code.VARIABLE: str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", CALLED.format(folder=str(package.parent))]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout.split()

    return call


def test_equal_text_is_compiled_once_wherever_it_is(installed: Callable[[str, float], list[str]]) -> None:
    assert installed("here", 1.0) == ["2.0", "0"]
    assert installed("here", 1.0) == ["2.0", "1"]
    assert installed("elsewhere", 1.0) == ["2.0", "1"]


def test_code_that_calls_another_file_changes_with_it(installed: Callable[[str, float], list[str]]) -> None:
    assert installed("here", 1.0) == ["2.0", "0"]
    assert installed("here", 2.0) == ["3.0", "0"]
    assert installed("here", 1.0) == ["2.0", "1"]


def test_what_a_module_imports_is_followed_in_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "__init__": "from recrawl import never",
        "a": "from recrawl import b\nimport recrawl.c\n",
        "b": "def late():\n    from recrawl.room import (\n        d,\n        thing,\n    )\n",
        "c": "import math\nfrom numpy import never\n",
        "room/__init__": "",
        "room/d": "from recrawl import a\n",
        "never": "",
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(compiled_code, "_PACKAGE", tmp_path)
    reached = {str(path.relative_to(tmp_path).with_suffix("")) for path in compiled_code._reached(tmp_path / "a.py")}
    assert reached == {"a", "b", "c", "room/__init__", "room/d"}


def test_old_code_of_a_module_goes_when_it_is_compiled_anew(tmp_path: Path) -> None:
    for name in ("kernels.price-old", "kernels.price-new", "kernels.prices-old"):
        (tmp_path / name).mkdir()
        if name.endswith("old"):
            os.utime(tmp_path / name, (0.0, 0.0))
    compiled_code._sweep(tmp_path, "kernels.price")
    assert {path.name for path in tmp_path.iterdir()} == {"kernels.price-new", "kernels.prices-old"}


def test_one_folder_that_another_process_removed_leaves_the_others_to_go(tmp_path: Path) -> None:
    (tmp_path / "kernels.price-away").symlink_to(tmp_path / "nothing")  # listed, and not there when looked at
    for name in ("kernels.price-a", "kernels.price-z"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0.0, 0.0))
    compiled_code._sweep(tmp_path, "kernels.price")
    assert [path.name for path in tmp_path.iterdir()] == ["kernels.price-away"]


class TestWhoseCodeItIs:
    """Numba unpickles what it finds: only what nobody else can have written is looked at."""

    @pytest.fixture(autouse=True)
    def _a_package_of_its_own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.delenv(compiled_code.VARIABLE, raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.setattr(compiled_code, "_PACKAGE", tmp_path / "package")
        (tmp_path / "package").mkdir()
        (tmp_path / "package" / "a.py").touch()
        compiled_code._folder_of.cache_clear()
        yield
        compiled_code._folder_of.cache_clear()

    @pytest.fixture
    def users(self, tmp_path: Path) -> Path:
        return tmp_path / "cache" / "recrawl"

    @pytest.fixture
    def beside(self, tmp_path: Path) -> Path:
        return tmp_path / "package" / "__pycache__" / "compiled"

    @staticmethod
    def kept(tmp_path: Path) -> Path:
        return Path(str(compiled_code._folder_of(str(tmp_path / "package" / "a.py")))).parent

    def test_a_folder_that_is_made_is_for_its_owner_alone(self, users: Path, tmp_path: Path) -> None:
        assert self.kept(tmp_path) == users
        assert users.stat().st_mode & 0o777 == 0o700

    def test_others_are_shut_out_of_one_they_could_only_read(self, users: Path, tmp_path: Path) -> None:
        users.mkdir(parents=True)
        users.chmod(0o755)
        assert self.kept(tmp_path) == users
        assert users.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
    def test_one_that_others_may_write_to_is_passed_over(
        self, mode: int, users: Path, beside: Path, tmp_path: Path
    ) -> None:
        users.mkdir(parents=True)
        users.chmod(mode)
        assert self.kept(tmp_path) == beside
        assert users.stat().st_mode & 0o777 == mode
        assert [*users.iterdir()] == []

    def test_one_of_somebody_else_is_passed_over(
        self, users: Path, beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        users.mkdir(parents=True)
        users.chmod(0o755)
        me = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: me + 1)
        assert compiled_code.place() == beside  # which is not there yet
        beside.mkdir(parents=True)
        assert compiled_code.place() is None

    def test_one_that_somebody_made_in_between_is_not_used(
        self, users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(compiled_code, "place", lambda: users)
        users.mkdir(parents=True)
        users.chmod(0o777)
        assert compiled_code._folder_of(str(tmp_path / "package" / "a.py")) is None

    def test_one_that_was_named_stays_as_it_is(
        self, users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        named = tmp_path / "named"
        named.mkdir()
        named.chmod(0o777)
        monkeypatch.setenv(compiled_code.VARIABLE, str(named))
        assert self.kept(tmp_path) == named
        assert named.stat().st_mode & 0o777 == 0o777

    def test_code_that_is_used_is_not_old(self, users: Path, tmp_path: Path) -> None:
        file = str(tmp_path / "package" / "a.py")
        folder = Path(str(compiled_code._folder_of(file)))
        os.utime(folder, (0.0, 0.0))
        compiled_code._folder_of.cache_clear()
        assert compiled_code._folder_of(file) == str(folder)
        compiled_code._sweep(users, "a")
        assert folder.is_dir()


def test_all_compiled_functions_are_known_by_their_text() -> None:
    package = Path(str(compiled_code.__file__)).parent
    others = [path for path in package.rglob("*.py") if "from numba import" in path.read_text()]
    assert others == []
