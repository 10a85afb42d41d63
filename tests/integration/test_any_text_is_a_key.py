"""Keys of a `Scheduler` are any text: every command that looks, every page and the API bear a store that has them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from recrawl import Scheduler
from recrawl.cli import run
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.opening import open_store
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from visitor import Visitor

KEYS = ["http://[::1", "a\0b", "http://a:b:c/", "http://a..b/", "https://user:secret@example.org/x", "\u202ecba",
        "\ufffe", "a\nb", "row 17", "#", "?", "//", "=1+1", "<b>&amp;", "http://", "//[", "\x1b[31m", "http://exa\u2100mple/",
        "x" * 5000]  # fmt: skip
COMMANDS = [["status"], ["status", "--json"], ["sources"], ["sources", "--json"], ["sources", "--sort", "due"],
            ["explain", "1"], ["explain", "2"], ["items"], ["changes"], ["search", "row"],
            ["whatif", "--budget", "2/s"], ["export"], ["export", "--format", "csv"], ["export", "--format", "text"],
            ["export", "opml.opml"], ["release", "--all"], ["pause", "1", "2"]]  # fmt: skip
VIEWS = ["/", "/sources", "/sources?q=row", "/items", "/whatif", "/feed.atom", "/sources.opml", "/metrics", "/healthz",
         "/api/v1/sources", "/api/v1/status", "/api/v1/whatif", "/api/v1/items", "/api/v1/export",
         *(f"/sources/{id}" for id in range(1, len(KEYS) + 1)),
         *(f"/api/v1/explain/{id}" for id in range(1, len(KEYS) + 1))]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every key was fetched, and half of them in vain."""
    found: Path = tmp_path_factory.mktemp("keys") / "keys.db"
    clock = ManualClock(time.time() - 600.0)
    with Scheduler(found, budget="100/s", scope="domain", clock=clock, write_every="1h") as scheduler:
        scheduler.add_many({key: {} for key in KEYS})
        reported: set[str] = set()
        while len(reported) < len(KEYS):
            clock.advance(1.0)
            for key in scheduler.due():
                scheduler.report(key, failed=len(reported) % 2 == 1, error="no\0answer")
                reported.add(key)
                assert scheduler.explain(key).why
    return found


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with open_store(path) as opened:
        assert isinstance(opened, SqliteStore)
        yield opened


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_bears_them(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*command, "--store", str(path)]) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    if command[0] != "export" and "--json" not in command:  # these are for programs
        assert [each for each in told.out + told.err if each != "\n" and not each.isprintable()] == []


def test_every_page_bears_them(store: SqliteStore) -> None:
    visitor = Visitor(make_app(store, Config(), ManualClock(time.time())))
    assert {view: status for view in VIEWS if (status := visitor.get(view).status) != 200} == {}


def test_a_list_for_feed_readers_has_them_without_what_xml_cannot_hold(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "--store", str(path)]) == 0
    outlines = etree.fromstring(capsys.readouterr().out.encode()).findall(".//outline")
    assert len(outlines) == len(KEYS)
    assert [each.get("xmlUrl") for each in outlines[:2]] == ["http://[::1", "ab"]
