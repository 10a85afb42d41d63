"""A change of what is no text is called one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from recrawl.cli import run
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
    assert "changed (binary, 12,345 → 12,400 bytes)" in shown
    assert "changed (binary, 12,400 → 12,400 bytes)" in shown
    assert shown.count("first seen") == 1
    assert all("binary" in str(event["diff"]) for event in pages.changes())
