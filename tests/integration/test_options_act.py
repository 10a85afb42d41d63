"""What is said of a source while a crawler runs acts within seconds."""

import asyncio
import contextlib
import io
import time
from pathlib import Path

import pytest
from aiohttp import web

from live import settings
from recrawl import wiring
from recrawl.cli import run
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.store.roles import Store
from servers import serving
from until import soon


class Site:
    """Pages that differ at every look; robots.txt allows /open alone."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.asked.append(request.path)
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nAllow: /open\nDisallow: /\n")
        text = f"<html><body><p>Paragraph {' '.join(['word'] * len(self.asked))}.</p></body></html>"
        return web.Response(text=text, content_type="text/html", headers={"Cache-Control": "max-age=86400"})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)


async def say(*arguments: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        assert await asyncio.to_thread(run, list(arguments)) == 0


def test_robots_hints_interval_and_notice_are_heeded_by_a_crawler_that_runs() -> None:
    """`_told` waits for each to show in the crawl log, and asserts what must not."""

    async def go() -> None:
        site = Site()
        async with serving(site.answer) as home:  # type: ignore[arg-type]
            store = open_store("recrawl.db")
            store.add([Source(url=home + path, kind="page") for path in ("/closed", "/open")])
            store.cursor("somebody")
            store.claim(wiring.owner(), time.time())
            crawler = wiring.make_crawler(settings(Path("recrawl.db"), "100/s"), store)
            running = asyncio.create_task(crawler.run())
            try:
                await _told(store, home)
            finally:
                crawler.stop()
                await running
                store.close()

    asyncio.run(go())


async def _told(store: Store, home: str) -> None:
    def outcomes(id: int) -> list[str]:
        return [crawl.outcome for crawl in reversed(store.crawls(source=id))]

    await soon(lambda: outcomes(1) == ["refused"] and outcomes(2) == ["first"])
    await say("add", f"{home}/closed", "--update", "--no-robots")
    await soon(lambda: outcomes(1)[:2] == ["refused", "first"])
    # The server asks to stay away for a day.
    await say("add", f"{home}/open", "--update", "--interval", "500ms")
    await soon(lambda: "changed" in outcomes(2))
    before = len(store.events(0))
    assert before
    await say("add", f"{home}/closed", "--update", "--no-hints", "--no-notify", "--interval", "500ms")
    await say("pause", "2")
    await soon(lambda: "changed" in outcomes(1))
    assert all(b"/open" in event.body for event in store.events(0))
