"""Pages that are empty without scripts: found out, shown by a browser, and watched like any other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from apps import CHROMIUM, WITH_BROWSER, app, saying
from recrawl.crawl.rendering.record import unpacked
from recrawl.store.opening import open_store
from watching import Watched, html

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
LONG = "<p>" + "Plenty of words stand here already. " * 20 + "</p>"


def test_changes_of_an_app_are_found(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)
    fetching = app(
        "fetch('/data').then(r => r.json()).then(d => root.innerText = d.said + ' and some words beside it')"
    )

    def data(said: str) -> web.Response:
        return web.json_response({"said": said})

    said = ("one", "one", "two")
    asyncio.run(watched.visit(*({"app": fetching, "data": lambda each=each: data(each)} for each in said)))  # type: ignore[misc]

    assert watched.outcomes()["app"] == ["first", "unchanged", "changed"]
    assert [version.text for version in watched.versions("app")] == [
        "two and some words beside it",
        "one and some words beside it",
    ]
    with open_store(watched.config.store) as store:
        (source,) = (each for each in store.sources() if each.url.endswith("/app"))
        record = unpacked(store.rendering(source.id))
    assert source.note.startswith("it is empty without scripts: shown by a browser since ")
    assert source.cost > 1.0
    assert record.requests == 1
    assert record.cpu_s > 0.0


def test_a_page_that_says_enough_needs_no_browser(tmp_path: Path) -> None:
    watched = Watched(tmp_path, {**WITH_BROWSER, "browser.path": "/nowhere/chromium"})
    asyncio.run(watched.visit({"page": html(f"{LONG}<script>1</script>")}))
    assert watched.outcomes()["page"] == ["first"]


def test_x(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)
    asyncio.run(watched.visit({"app": saying("hello")}, {"app": saying("other")}))
    assert watched.outcomes()["app"] == ["first", "changed"]
