"""What holds for every test of a store in this folder."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pytest

NAMED = re.compile(r"\$\d")


class Strict(sqlite3.Connection):
    """Refuses a sequence for `$1`, as Python 3.14 does: to SQLite that is a name."""

    def execute(self, statement: str, given: Any = ()) -> sqlite3.Cursor:
        assert isinstance(given, Mapping) or not NAMED.search(statement), statement
        return super().execute(statement, given)

    def executemany(self, statement: str, given: Iterable[Any]) -> sqlite3.Cursor:
        assert not NAMED.search(statement), statement
        return super().executemany(statement, given)


@pytest.fixture(autouse=True)
def _strict_about_named_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Strict))
