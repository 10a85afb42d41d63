"""The page that shows what is seen of an address: by a form of ours only, by the rules of crawling, nothing stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Politeness, SourceOptions
from recrawl.crawl.catalogue.preview import Preview
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.pages import preview
from servers import serving
from visitor import Answer, Visitor

PAGE = """<!doctype html><html><head><title>Terms &lt;b&gt;</title></head><body><nav><p>Home<p>About<p>More</nav>
<h1>Terms</h1><p class=ad>Buy &lt;script&gt;now</p><p>Read 3 minutes ago</p></body></html>"""
FEED = """<rss version="2.0"><channel><title>Notes</title><item><title>One</title><link>https://a.example/1</link>
<pubDate>10 Nov 2025 10:00:00 GMT</pubDate></item></channel></rss>"""
OPEN = Config(fetch=Fetching(allow_private=True), politeness=Politeness(delay="10ms"))

Act = Callable[[Visitor, str], Answer]


def seen(store: SqliteStore, act: Act, config: Config = OPEN) -> Answer:
    """What somebody gets to see who acts while a small site is up at an address."""
    headers: list[str | None] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        headers.append(request.headers.get("X-Key"))
        if request.path == "/feed":
            return web.Response(text=FEED, content_type="application/rss+xml")
        found = request.path == "/page"
        return web.Response(text=PAGE, content_type="text/html") if found else web.Response(status=404)

    async def scene() -> Answer:
        async with serving(answer) as url:
            visitor = Visitor(make_app(store, config, SystemClock()))
            return await asyncio.to_thread(act, visitor, url)

    return asyncio.run(scene())


def test_the_form_is_there(visitor: Visitor) -> None:
    page = visitor.get("/preview?url=https://a.example/%3Cb%3E")
    assert page.status == 200
    assert 'value="https://a.example/&lt;b&gt;"' in page.text


def test_what_its_owner_wrote_is_said_letter_by_letter(store: SqliteStore) -> None:
    terms = {"ignore_text": r"(?P<age>\d+) minutes &amp; more"}
    page = seen(store, lambda visitor, url: visitor.form("/preview", {"url": f"{url}/page", **terms}))
    assert r"without text like (?P&lt;age&gt;\d+) minutes &amp;amp; more" in page.text


def test_what_counts_and_what_does_not(store: SqliteStore) -> None:
    page = seen(store, lambda visitor, url: visitor.form("/preview", {"url": f"{url}/page", "ignore": ".ad"}))
    assert page.status == 200
    assert "Terms &lt;b&gt;" not in page.text  # cleaned: markup is no part of a title
    assert "⟦Buy" in page.text
    assert "<script>now" not in page.text
    assert "⟧ (ignored: .ad)" in page.text
    assert "Read <span" in page.text
    assert "⟦3 minutes ago⟧ (age)" in page.text
    assert "3 lines left out: &lt;nav&gt;" in page.text
    assert "its main text, without what .ad picks" in page.text
    assert 'formaction="/sources"' in page.text
    assert store.sources() == []


def test_a_feed(store: SqliteStore) -> None:
    page = seen(store, lambda visitor, url: visitor.form("/preview", {"url": f"{url}/feed"}))
    assert "2025-11-10 10:00 UTC" in page.text
    assert "One" in page.text


def test_a_source_by_its_own_options(store: SqliteStore) -> None:
    def act(visitor: Visitor, url: str) -> Answer:
        options = SourceOptions(ignore=(".ad",))
        store.add([Source(url=f"{url}/page", kind="page", options=options, headers={"X-Key": "k"})])
        assert 'action="/preview"' in visitor.get("/sources/1").text
        return visitor.form("/preview", {"source": "1"})

    page = seen(store, act)
    assert "⟧ (ignored: .ad)" in page.text
    assert 'formaction="/sources/1"' in page.text
    assert store.crawls() == []


def test_headers_of_a_source_are_not_for_another_address(store: SqliteStore) -> None:
    asked: list[Source] = []

    async def look_at(config: Config, source: Source, store: object) -> Preview:
        asked.append(source)
        return Preview(url=source.url, address=source.url)

    store.add([Source(url="https://a.example/page", headers={"X-Key": "k"})])
    visitor = Visitor(make_app(store, OPEN, SystemClock()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preview, "look_at", look_at)
        for url in ("https://a.example/page", "https://b.example/page"):
            assert visitor.form("/preview", {"source": "1", "url": url, "select": "p"}).status == 200
    assert [(each.url, each.headers, each.select) for each in asked] == [
        ("https://a.example/page", {"X-Key": "k"}, "p"),
        ("https://b.example/page", {}, "p"),
    ]


@pytest.mark.parametrize("by", ["url", "source"])
def test_private_networks_are_not_looked_into(store: SqliteStore, by: str) -> None:
    def act(visitor: Visitor, url: str) -> Answer:
        store.add([Source(url=f"{url}/page")])
        return visitor.form("/preview", {"url": f"{url}/page"} if by == "url" else {"source": "1"})

    page = seen(store, act, Config())
    assert "Terms" not in page.text
    assert "loopback" in page.text


@pytest.mark.parametrize("fields", [{"select": "[["}, {"ignore": "a\n[["}, {"ignore_text": "("}, {"url": "ftp://x/"}])
def test_mistakes_are_named_and_nothing_is_fetched(visitor: Visitor, fields: dict[str, str]) -> None:
    page = visitor.form("/preview", {"url": "https://a.example/", **fields})
    assert page.status == 422
    assert 'role="alert"' in page.text


def test_only_by_a_form_of_ours_and_only_for_members(visitor: Visitor, stranger: Visitor) -> None:
    assert visitor.form("/preview", {"url": "https://a.example/"}, token=False).status == 403
    assert stranger.get("/preview").status in (303, 401)
    assert stranger.form("/preview", {"url": "https://a.example/"}).status in (303, 401, 403)


def test_one_at_a_time(store: SqliteStore, tmp_path: Path) -> None:
    visitor = Visitor(make_app(store, OPEN, SystemClock()))
    meanwhile: list[int] = []

    async def look_at(config: Config, source: Source, store: object) -> Preview:
        again = await asyncio.to_thread(visitor.form, "/preview", {"url": "https://a.example/"})
        meanwhile.append(again.status)
        return Preview(url=source.url, address=source.url)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preview, "look_at", look_at)
        assert visitor.form("/preview", {"url": "https://a.example/"}).status == 200
        assert visitor.form("/preview", {"url": "https://a.example/"}).status == 200
    assert meanwhile == [503, 503]
