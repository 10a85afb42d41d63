"""`recrawl reader`: people are let in, given another password, and forgotten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recrawl.cli import run
from recrawl.store.reader_records import Reader
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.web.safety.credentials import matches


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)
    with SqliteStore("recrawl.db") as store:
        store.add([Source(url="https://a.example/feed", tags=("news",)), Source(url="https://b.example/feed")])


def reader(name: str) -> Reader | None:
    with SqliteStore("recrawl.db") as store:
        return store.reader(name)


def folders(of: Reader) -> dict[str, tuple[str, ...]]:
    with SqliteStore("recrawl.db") as store:
        return {each.url: each.labels for each in store.subscribed(of.id)}


def password(said: str) -> str:
    found = re.search(r"^password: (\S+)$", said, re.MULTILINE)
    assert found is not None, said
    return found[1]


def test_who_is_taken_in_is_told_all_their_program_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reader", "add", "Ann"]) == 0
    said = capsys.readouterr().out
    assert "/api/greader.php, the user ann, and this password" in said
    ann = reader("ann")
    assert ann is not None
    assert matches(password(said), ann.password)
    assert folders(ann) == {}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (["--all"], {"https://a.example/feed": ("news",), "https://b.example/feed": ()}),
        (["--tag", "news"], {"https://a.example/feed": ("news",)}),
    ],
)
def test_sources_are_subscribed_to_in_folders_by_their_tags(
    chosen: list[str], expected: dict[str, tuple[str, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reader", "add", "ann", *chosen]) == 0
    assert f"ann reads {len(expected)} source" in capsys.readouterr().out
    ann = reader("ann")
    assert ann is not None
    assert folders(ann) == expected
    assert run(["reader", "list"]) == 0
    assert f"ann: subscriptions {len(expected)}, unread 0" in capsys.readouterr().out


def test_another_password_locks_the_old_one_out(capsys: pytest.CaptureFixture[str]) -> None:
    run(["reader", "add", "ann"])
    old, before = password(capsys.readouterr().out), reader("ann")
    assert run(["reader", "password", "ann"]) == 0
    new, after = password(capsys.readouterr().out), reader("ann")
    assert before is not None
    assert after is not None
    assert matches(new, after.password)
    assert not matches(old, after.password)
    assert before.key != after.key


def test_who_is_removed_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    run(["reader", "add", "ann"])
    assert run(["reader", "remove", "ann"]) == 0
    assert reader("ann") is None
    assert run(["reader", "list"]) == 0
    assert "nobody reads yet: recrawl reader add NAME" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add", "ann b"], "the reader's name must be"),
        (["add", "bob"], "there is a reader bob already"),
        (["add", "ann", "--tag", "nws"], "nws"),
        (["password", "eve"], "there is no reader 'eve'; there are bob"),
        (["remove", "eve"], "there is no reader 'eve'; there are bob"),
    ],
)
def test_what_cannot_be_is_refused_in_words(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(["reader", "add", "bob"])
    assert run(["reader", *words]) == 2
    assert reason in capsys.readouterr().err
    assert reader("ann") is None
