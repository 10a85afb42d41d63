"""Which store an address means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recrawl.errors import MissingExtraError, StoreError
from recrawl.store.opening import open_store


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}"])
def test_a_path_with_or_without_scheme_is_a_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / "a store.db"
    open_store(form.format(path=path)).close()
    assert path.exists()
    with open_store(path, read_only=True) as store:
        assert store.count() == 0


def test_a_relative_address_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_store("sqlite:///here.db").close()
    assert (tmp_path / "here.db").exists()


def test_postgresql_says_which_extra_it_comes_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"recrawl\[postgres\]"):
        open_store("postgresql://somewhere/recrawl")


@pytest.mark.parametrize("url", ["", "mysql://x/y", "sqlite://", "sqlite:///", "sqlite://relative.db"])
def test_what_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(StoreError):
        open_store(url)


def test_an_address_that_is_refused_is_not_repeated() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("postgresql+driver://me:geheim@127.0.0.1/db")
    assert "geheim" not in str(caught.value)
