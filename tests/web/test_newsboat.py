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

from reading import Program
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.crawl.reading.content import packed
from recrawl.store.reader_records import Stream, Wanted
from recrawl.store.records import Batch, Content, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.reader_api.credentials import new_reader
from terminal import ENTER, Terminal, control
from until import until
from visitor import Visitor

pytest.importorskip("pyte", reason="pyte is not installed")
pytestmark = pytest.mark.skipif(shutil.which("newsboat") is None, reason="newsboat is not on this machine")
QUIT = "q"


class Desk:
    """One reader with newsboat, and with another program."""

    def __init__(self, store: SqliteStore, show: Callable[[FastAPI], str], folder: Path) -> None:
        self.store, self.clock, self.folder = store, SystemClock(), folder
        self.reader, self.password = new_reader("ann", self.clock.now())
        self.reader.id = store.add_reader(self.reader)
        app = make_app(store, Config(), self.clock)
        self.address = show(app)
        self.phone = Program.of(Visitor(app, browser=False), self.reader, self.clock.now())

    def newsboat(self, password: str = "") -> Terminal:
        (self.folder / "urls").touch()
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
        (self.folder / "config").write_text("\n".join(lines).replace("'", '"') + "\n")
        return Terminal(["newsboat", "-C", "config", "-u", "urls", "-c", "cache.db"], self.folder)

    def found(self, source: int, *titles: str) -> None:
        """A crawler finds items, with all they say."""
        now = self.clock.now()
        first = len(self.store.items(source=source))
        items = [
            Item(source=source, key=first + k, title=title, link=f"https://s{source}.example/{first + k}",
                 published=now - 60.0 * k, first_seen=now)
            for k, title in enumerate(titles)
        ]  # fmt: skip
        contents = {each.key: Content("Ann Author", packed(f"<p>All of {each.title}</p>")) for each in items}
        crawl, progress = Crawl(source=source, at=now, outcome="new"), Progress(source=source, last=now)
        self.store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items, contents=contents)]))

    def titles(self, **asked: bool) -> set[str]:
        """Of items that are read, or starred, or not."""
        items = self.store.stream(self.reader.id, Stream(limit=100, **asked))  # type: ignore[arg-type]
        return {each.item.title for each in self.store.reading(self.reader.id, items)}


@pytest.fixture
def desk(store: SqliteStore, show: Callable[[FastAPI], str], tmp_path: Path) -> Desk:
    made = Desk(store, show, tmp_path)
    sources = [Wanted(source=Source(url=f"https://s{k}.example/feed"), title=f"Paper {k}") for k in (1, 2)]
    store.subscribe(made.reader.id, sources, made.clock.now())
    made.found(1, "Harbour", "Bridge", "Theatre")
    made.found(2, "Comet", "Tide")
    return made


def test_items_are_listed_read_starred_and_swept_away(desk: Desk) -> None:
    with desk.newsboat() as terminal:
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


def test_what_another_program_adds_and_reads_is_there_after_the_next_look(desk: Desk) -> None:
    """It is once it stands on the screen; `wait_for` fails if it never does."""
    with desk.newsboat() as terminal:
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


def test_a_wrong_password_is_said(desk: Desk) -> None:
    with desk.newsboat(password="wrong") as terminal:
        terminal.wait_for("Authentication failed")
        assert terminal.left() != 0
