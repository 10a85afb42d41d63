"""Items of one fetch are listed as their publisher lists them, the latest first, wherever they are shown."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from aiohttp import web

from live import crawl, settings
from recrawl.cli import run
from recrawl.clock import SystemClock
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.web.app import make_app
from servers import serving
from visitor import Visitor

TITLES = ["fifth", "fourth", "third", "second", "first"]


def feed(dated: bool) -> bytes:
    """The latest first, as feeds do."""
    items = "".join(
        f"<item><title>{title} note</title><link>https://a.example/{title}</link>"
        + (f"<pubDate>{10 - k:02} Nov 2025 10:00:00 GMT</pubDate>" if dated else "")
        + "</item>"
        for k, title in enumerate(TITLES)
    )
    return f'<rss version="2.0"><channel><title>Notes</title>{items}</channel></rss>'.encode()


@pytest.mark.parametrize("dated", [True, False])
def test_latest_first_within_one_fetch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, dated: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    config = settings(tmp_path / "recrawl.db", "60/s")

    async def answer(request: web.Request) -> web.StreamResponse:
        status = 404 if request.path == "/robots.txt" else 200
        return web.Response(status=status, body=feed(dated), content_type="application/rss+xml")

    async def scene() -> None:
        async with serving(answer) as url:
            await crawl(config, enough=lambda _, store: bool(store.items()), sources=[Source(url=f"{url}/feed")])

    asyncio.run(scene())
    for command in (["items", "--source", "1"], ["items"], ["search", "note", "--newest"]):
        assert run([*command, "--json"]) == 0
        assert [each["title"].split()[0] for each in json.loads(capsys.readouterr().out)] == TITLES, command
    with open_store(config.store) as store:
        pages = Visitor(make_app(store, config, SystemClock()))
        for path in ("/sources/1", "/items?order=found", "/feed.atom", "/"):
            shown = re.findall(r">(\w+) note<", pages.get(path).text)
            assert shown == TITLES, path
