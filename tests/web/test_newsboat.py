"""newsboat, driven in a terminal, reads from a real server: what stands on its screen, and what then is in the store.

It has no backend under this API's name but FeedHQ's, whose address can be given. Subscriptions are added by another
program of the same reader's, as newsboat adds none where they are kept elsewhere.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI

from desk import Desk
from recrawl.store.sqlite import SqliteStore
from terminal import ENTER, Terminal, control
from until import until

pytest.importorskip("pyte", reason="pyte is not installed")
pytestmark = pytest.mark.skipif(shutil.which("newsboat") is None, reason="newsboat is not on this machine")
QUIT = "q"


class AtNewsboat(Desk):
    """One reader with newsboat, and with another program."""

    def newsboat(self, folder: Path, password: str = "") -> Terminal:
        (folder / "urls").touch()
        settings = {
            "urls-source": "feedhq",
            "feedhq-url": self.address,
            "feedhq-login": self.reader.name,
            "feedhq-password": password or self.password,
            "feedhq-flag-star": "s",
            "feedhq-show-special-feeds": "no",
            "auto-reload": "yes",
            "browser": "true",
        }
        lines = [f"{name} {value if value in ('yes', 'no') else repr(value)}" for name, value in settings.items()]
        (folder / "config").write_text("\n".join(lines).replace("'", '"') + "\n")
        return Terminal(["newsboat", "-C", "config", "-u", "urls", "-c", "cache.db"], folder)


@pytest.fixture
def desk(store: SqliteStore, show: Callable[[FastAPI], str]) -> AtNewsboat:
    return AtNewsboat(store, show)


def test_items_are_listed_read_starred_and_swept_away(desk: AtNewsboat, tmp_path: Path) -> None:
    with desk.newsboat(tmp_path) as terminal:
        terminal.wait_for("(3/3) Paper 1", "(2/2) Paper 2")
        terminal.press(ENTER)
        terminal.wait_for("3 unread, 3 total", "Harbour", "Bridge", "Theatre")
        terminal.press(ENTER)
        terminal.wait_for("Article 'Harbour'", "All of Harbour", "Link: https://s1.example/0")
        terminal.press(QUIT)
        terminal.wait_for("2 unread, 3 total")
        until(lambda: desk.titles(read=True) == {"Harbour"})
        terminal.press(control("e"))
        terminal.wait_for("Flags:")
        terminal.press("s", ENTER)
        terminal.wait_for("Flags updated.")
        assert "!" in terminal.line("Harbour")
        until(lambda: desk.titles(starred=True) == {"Harbour"})
        terminal.press("N")
        terminal.wait_for("3 unread, 3 total")
        until(lambda: not desk.titles(read=True))
        terminal.press("A")
        terminal.wait_for("0 unread, 3 total")
        until(lambda: desk.titles(read=True) == {"Harbour", "Bridge", "Theatre"})
        terminal.press(QUIT)
        terminal.wait_for("1 unread, 2 total", "(0/3) Paper 1", "(2/2) Paper 2")
        terminal.press("C")
        terminal.wait_for("mark all feeds as read")
        terminal.press("y")
        terminal.wait_for("0 unread, 2 total", "(0/2) Paper 2")
        until(lambda: not desk.titles(read=False))
        terminal.press(QUIT)
        assert terminal.left() == 0
    clicks = {(each.item, each.client) for each in desk.store.clicks()}
    assert clicks == {(1, "reader:1"), (1, "star:1")}, "what was swept away says nothing"


def test_what_another_program_adds_and_reads_is_there_after_the_next_look(desk: AtNewsboat, tmp_path: Path) -> None:
    """It is once it stands on the screen; `wait_for` fails if it never does."""
    with desk.newsboat(tmp_path) as terminal:
        terminal.wait_for("(3/3) Paper 1", "(2/2) Paper 2")
        answer = desk.phone.post("subscription/quickadd", ("quickadd", "https://s3.example/feed")).json
        desk.found(3, "Lamp")
        desk.phone.post("subscription/edit", ("ac", "edit"), ("s", answer["streamId"]), ("t", "Paper 3"))
        desk.phone.post("edit-tag", ("i", "2"), ("a", "user/-/state/com.google/read"))
        desk.found(1, "Market")
        terminal.press(control("r"))
        terminal.wait_for("3 total", "Paper 3")
        terminal.press("R")
        terminal.wait_for("(3/4) Paper 1", "(2/2) Paper 2", "(1/1)")


def test_a_wrong_password_is_said(desk: AtNewsboat, tmp_path: Path) -> None:
    with desk.newsboat(tmp_path, "wrong") as terminal:
        terminal.wait_for("Authentication failed")
        assert terminal.left() != 0
