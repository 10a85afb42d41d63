"""What strangers wrote, where people look at it: terminals get no escapes, spreadsheets no formulas."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from crawling import crawled, world_of
from recrawl.cli import run
from recrawl.crawl.catalogue.source_lists import read_csv, write_csv
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.faults import Rule

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b5m\u202egnp.exe\x00\x08\x7f"
FORMULAS = ("=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\tplain", "'=quoted", "'plain", '="a"\n,b')


@pytest.fixture(scope="module")
def crawl_of_escapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of a feed full of escapes, and sources whose owner pasted some too."""
    folder = tmp_path_factory.mktemp("escapes")
    crawled(
        world_of(["rss", "page"]),
        folder,
        [Rule(name="control_characters", host=k) for k in "01"],
        seconds=1.0,
        enough=lambda web: len(web.log) >= 8,
    )
    store = SqliteStore(folder / "recrawl.db")
    store.add([Source(url="https://example.org/feed", title=ESCAPES, tags=(ESCAPES,), note=f"failing: {ESCAPES}")])
    store.close()
    return folder


@pytest.fixture
def catalogue(crawl_of_escapes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(crawl_of_escapes)
    monkeypatch.setenv("COLUMNS", "200")
    return crawl_of_escapes


@pytest.mark.parametrize("arguments", [
    ["items"], ["items", "--json"], ["sources"], ["sources", "--json"], ["status"], ["search", "gnorw"],
    ["explain", "1"], ["explain", "2"], ["explain", "3"], ["explain", "1", "--json"],
], ids=" ".join)  # fmt: skip
def test_no_command_prints_a_terminal_escape(
    arguments: list[str], catalogue: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(arguments) == 0
    said, complained = capfdbinary.readouterr()
    assert said
    text = (said + complained).decode()
    forbidden = {letter for letter in text if not letter.isprintable()} - {"\n"}
    assert forbidden == set(), ascii(text)


def test_no_cell_of_an_export_is_a_formula_and_all_come_back() -> None:
    sources = [
        Source(url=f"https://example.org/{k}", title=text, select=text.strip())
        for k, text in enumerate(FORMULAS)
        if "," not in text
    ]
    written = write_csv(sources, with_headers=False)
    for row in csv.reader(io.StringIO(written)):
        assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    back = read_csv(written)
    assert [entry.fields["title"] for entry in back] == [source.title.strip() for source in sources]
    assert [entry.fields["select"] for entry in back] == [source.select for source in sources]


def test_headers_are_exported_inert_too() -> None:
    written = write_csv([Source(url="https://example.org/", headers={"-x": "=1+1"})], with_headers=True)
    assert read_csv(written)[0].fields["headers"] == ["-x: =1+1"]
    assert ",'-x" in written
