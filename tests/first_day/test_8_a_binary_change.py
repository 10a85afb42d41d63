"""A change of what is no text is called one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import web

from recrawl.cli import run
from recrawl.clock import SystemClock
from recrawl.store.opening import open_store
from recrawl.web.app import make_app
from visitor import Visitor
from watching import Watched


def pdf(size: int, fill: bytes = b"\0") -> web.Response:
    return web.Response(body=b"%PDF-1.7\n".ljust(size, fill), content_type="application/pdf")


def test_a_pdf_that_changed_is_not_first_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = Watched(tmp_path)
    rounds = [{"file.pdf": lambda size=size, fill=fill: pdf(size, fill)} for size, fill in
              ((12_345, b"\0"), (12_400, b"\0"), (12_400, b"\1"))]  # fmt: skip
    asyncio.run(pages.visit(*rounds))
    assert pages.outcomes() == {"file.pdf": ["first", "changed", "changed"]}
    assert run(["changes", "1", "--store", pages.config.store]) == 0
    shown = capsys.readouterr().out
    told = ["changed (binary, 12,400 bytes)", "changed (binary, 12,345 → 12,400 bytes)"]
    assert [line for line in shown.splitlines() if "binary" in line] == told
    assert shown.count("first seen") == 1
    assert [str(event["diff"]) for event in pages.changes()] == told[::-1]
    for command in ("changes", "items"):
        assert run([command, "--store", pages.config.store]) == 0
        shown = capsys.readouterr().out
        assert all(shown.count(words) == 1 for words in told), shown
        assert "@@" not in shown
        assert not re.search(r"\+ *(changed|binary)", shown), shown


def test_the_web_page_and_the_feed_say_it_once(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    asyncio.run(pages.visit(*({"file.pdf": lambda fill=fill: pdf(312, fill)} for fill in (b"\0", b"\1"))))
    with open_store(pages.config.store) as store:
        visitor = Visitor(make_app(store, pages.config, SystemClock()))
        for path in ("/items", "/feed.atom", "/sources/1"):
            text = visitor.get(path).text
            assert text.count("changed (binary, 312 bytes)") == 1, path
            assert "@@" not in text
