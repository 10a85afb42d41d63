"""A preview is asked for, looked at and kept in a real browser; its page is measured like all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fastapi import FastAPI

from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Politeness
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from servers import serving

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

MEASURE = (Path(__file__).parent / "boxes.js").read_text()
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
PAGE = f"""<!doctype html><html><head><title>Terms {LONG}</title></head><body><nav><p>Home<p>About<p>{LONG}</nav>
<h1>Terms</h1><p class=ad>Buy {LONG}</p><p>Read 3 minutes ago</p><p>{"Many words. " * 60}</p></body></html>"""


def site(running: Any) -> str:
    """The address of a page, up until the test is over."""
    up: asyncio.Queue[str] = asyncio.Queue()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        found = request.path == "/terms"
        return web.Response(text=PAGE, content_type="text/html") if found else web.Response(status=404)

    async def serve() -> None:
        async with serving(answer) as url:
            up.put_nowait(url)
            await asyncio.Event().wait()

    running.start(serve())
    return f"{running.call(up.get())}/terms"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_preview_is_shown_and_what_was_tried_is_kept(
    store: SqliteStore,
    show: Callable[[FastAPI], str],
    running: Any,
    tab: Callable[..., Any],
    width: int,
    scheme: str,
) -> None:
    store.add([Source(url=site(running), kind="page")])
    config = Config(fetch=Fetching(allow_private=True), politeness=Politeness(delay="10ms"))
    watched = tab(width, scheme)
    page = watched.page
    page.goto(show(make_app(store, config, SystemClock())) + "/sources/1")
    page.get_by_role("button", name="Preview").click()
    page.fill("#ignore", ".ad\n.gone")
    page.fill("#when", "appears sold out")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("(ignored: .ad)").wait_for()
    assert page.get_by_text("3 lines left out: <nav>").is_visible()
    assert page.get_by_text(".gone picks nothing on this page today").is_visible()
    assert page.get_by_text("Counts if: appears sold out it is not there now").is_visible()
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    assert page.evaluate(MEASURE) == []
    watched.picture(f"preview-{width}-{scheme}")
    page.get_by_role("button", name="Keep these for the source").click()
    page.get_by_role("heading", name="Its terms").wait_for()
    (source,) = store.sources()
    assert source.options.ignore == (".ad", ".gone")
    assert source.options.when == ("appears sold out",)
    assert watched.complaints == []
