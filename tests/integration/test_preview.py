"""`recrawl preview`: fetched once by the rules of crawling, shown, and not stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from servers import serving

PAGE = """<!doctype html><html><head><title>Terms</title><link rel=alternate type=application/rss+xml href=/feed></head>
<body><nav><p>Home<p>About</nav><h1>Terms</h1><p>Effective 5 March 2027</p><p class=ad>Buy <b>now</b></p>
<p>Read <i>3 minutes ago</i> · 12 views</p><p>Offer 7 ends</p><b id=fare></b></body></html>"""
FEED = """<rss version="2.0"><channel><title>Notes</title><item><title>One</title><link>https://a.example/1</link>
<pubDate>10 Nov 2025 10:00:00 GMT</pubDate></item><item><title>Two</title><link>https://a.example/2</link></item>
</channel></rss>"""

Preview = Callable[..., Any]


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Preview:
    """Runs the command, `{}` in its arguments being the address of a small site; what it said."""
    monkeypatch.chdir(tmp_path)

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(text=f"User-agent: *\nDisallow: /secret\nSitemap: http://{request.host}/sitemap.xml\n")
        if request.path == "/moved":
            return web.Response(status=302, headers={"Location": "/page"})
        if request.path == "/file.pdf":
            return web.Response(body=b"%PDF-1.7\n\0\1", content_type="application/pdf")
        bodies = {"/page": (PAGE, "text/html"), "/feed": (FEED, "application/rss+xml")}
        text, kind = bodies.get(request.path, ("", ""))
        return web.Response(text=text, content_type=kind) if kind else web.Response(status=404)

    def preview(*arguments: str, code: int = 0, before: Callable[[str], None] | None = None) -> Any:
        async def scene() -> int:
            async with serving(answer) as url:
                if before is not None:
                    before(url)
                given = [each.replace("{}", url) for each in arguments]
                return await asyncio.to_thread(run, ["preview", *given])

        assert asyncio.run(scene()) == code
        said = capsys.readouterr()
        return json.loads(said.out) if "--json" in arguments else said.out + said.err

    return preview


def test_what_counts_and_what_does_not(site: Preview) -> None:
    seen = site("{}/moved", "--allow-private", "--ignore", ".ad", "--ignore-text", r"^Offer \d", "--json")
    assert (seen["kind"], seen["title"], seen["status"], seen["requests"]) == ("page", "Terms", 200, 3)
    assert seen["address"] == seen["url"].replace("/moved", "/page")
    assert seen["text"] == "Terms\nEffective 5 March 2027\nRead 3 minutes ago · 12 views\nends"
    assert seen["compared"] == "its main text, without what .ad picks, without text like ^Offer \\d"
    assert seen["feeds"] == [seen["address"].replace("/page", "/feed")]
    assert seen["sitemaps"] == [seen["address"].replace("/page", "/sitemap.xml")]
    ignored = [(part["text"].strip(), part["why"]) for line in seen["lines"] for part in line if part["why"]]
    assert ignored == [
        ("Home", "<nav>"),
        ("About", "<nav>"),
        ("Buy now", "ignored: .ad"),
        ("3 minutes ago", "age"),
        ("12 views", "counter of visits"),
        ("Offer 7", "ignored: ^Offer \\d"),
    ]


def test_under_a_selector_nothing_is_ignored_unless_asked(site: Preview) -> None:
    assert "⟦" not in site("{}/page", "--allow-private", "--select", "p:last-of-type")
    assert "⟦3 minutes ago⟧ (age)" in site("{}/page", "--allow-private", "--select", "body", "--ignore-noise")


def test_of_what_is_no_text_every_byte_is_compared(site: Preview) -> None:
    seen = site("{}/file.pdf", "--allow-private", "--json")
    assert (seen["compared"], seen["text"]) == ("every byte", "binary, 11 bytes")


def test_items_of_a_feed_with_their_dates(site: Preview) -> None:
    shown = site("{}/feed", "--allow-private")
    assert "feed, status 200" in shown
    assert "2025-11-10 10:00 One" in shown
    assert "no date          Two" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{}/secret", "--allow-private"], "robots.txt does not allow it"),
        (["{}/page"], "is a loopback address: --allow-private fetches it"),
        (["{}/nothing", "--allow-private"], "HTTP status 404"),
        (["{}/page", "--allow-private", "--select", ".price"], "the selector '.price' picks nothing on this page"),
        (["{}/page", "--allow-private", "--select", "#fare"], "the selector '#fare' picks elements without text"),
        (["{}/feed", "--allow-private", "--kind", "sitemap"], "expected a sitemap, but this is a feed"),
    ],
)
def test_what_goes_wrong_is_said(site: Preview, arguments: list[str], words: str) -> None:
    assert words in site(*arguments, code=1)


@pytest.mark.parametrize(("option", "value"), [("--select", "[["), ("--ignore-text", "(")])
def test_a_mistake_is_named(site: Preview, option: str, value: str) -> None:
    assert value in site("{}/page", "--allow-private", option, value, code=2)


def test_a_source_is_shown_by_its_own_options_and_nothing_is_stored(site: Preview) -> None:
    def add(url: str) -> None:
        with open_store("recrawl.db") as store:
            store.add([Source(url=f"{url}/page", options=SourceOptions(ignore=("nav", ".ad")))])

    shown = site("1", "--allow-private", before=add)
    assert "⟦Buy now⟧ (ignored: .ad)" in shown
    with open_store("recrawl.db") as store:
        (source,) = store.sources()
        assert (source.title, store.crawls(), store.events(0)) == ("", [], [])
        assert [each.visits for each in store.progress()] == [0]
        assert store.robots(source.url.removesuffix("/page")) is None
        assert store.versions(source.id) == []


def test_what_is_no_address_and_no_source_is_said(site: Preview) -> None:
    assert "no source is called 'sport'" in site("sport", code=2, before=lambda _: open_store("recrawl.db").close())
