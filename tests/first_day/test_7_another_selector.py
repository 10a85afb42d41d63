"""Whoever changes what is compared of a page changes no page: no event, no lesson, but a word of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from recrawl.cli import run
from recrawl.clock import SystemClock
from recrawl.config import SourceOptions
from recrawl.store.opening import open_store
from recrawl.web.app import make_app
from visitor import Visitor
from watching import Watched, html

BODY = "<h1>Shop</h1><p class=price>5 EUR</p><p class=note>fresh</p>"


def versioned(body: str) -> Any:
    """The same page with a validator, for whoever asks whether it is still that."""
    answer = html(body)()
    answer.etag = f"{hash(body)}"
    return lambda: web.Response(text=answer.text, content_type="text/html", headers={"ETag": answer.headers["ETag"]})


EDITS: dict[str, tuple[dict[str, Any], str]] = {
    "select": ({"select": ".price"}, "now compared by what .price picks"),
    "css": (
        {"options": SourceOptions(ignore=(".note",))},
        "now compared by its main text, without what .note picks",
    ),
    "regex": (
        {"options": SourceOptions(ignore_text=("fr.sh",))},
        "now compared by its main text, without text like fr.sh",
    ),
    "digest": ({"options": SourceOptions(digest="raw")}, "now compared by every byte"),
}


def test_another_selector_is_a_new_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = Watched(tmp_path)
    same, other = ({name: versioned(body) for name in EDITS} for body in (BODY, BODY.replace("5", "6")))
    edits = {name: edits for name, (edits, _) in EDITS.items()}
    asyncio.run(pages.visit(same, same, same, other, told=[{}, {}, edits]))
    assert pages.outcomes() == {name: ["first", "unchanged", "unchanged", "changed"] for name in EDITS}
    assert len(pages.changes()) == len(EDITS)
    for name, (_, words) in EDITS.items():
        changed, baseline, first = pages.versions(name)
        assert (first.note, first.diff, baseline.diff, changed.note) == ("", "", "", ""), name
        assert baseline.note == words
        assert "+6 EUR" in changed.diff
        assert run(["changes", f"/{name}", "--store", pages.config.store]) == 0
        shown = capsys.readouterr().out
        assert words in shown
        assert shown.count("first seen") == 1
    assert run(["changes", "/select", "--store", pages.config.store, "--json"]) == 0
    assert [each["note"] for each in json.loads(capsys.readouterr().out)] == ["", EDITS["select"][1], ""]
    with open_store(pages.config.store) as store:
        visitor = Visitor(make_app(store, pages.config, SystemClock()))
        (source,) = store.sources(text="/select")
        shown = visitor.get(f"/sources/{source.id}").text
        told = visitor.get(f"/api/v1/sources/{source.id}/versions").json
    assert (shown.count(EDITS["select"][1]), shown.count("first seen")) == (1, 1)
    assert [each["note"] for each in told] == ["", EDITS["select"][1], ""]
    asked = [request.headers.get("If-None-Match") for request in pages.asked if request.path == "/select"]
    assert [each is not None for each in asked] == [False, True, False, True]
