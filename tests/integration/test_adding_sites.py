"""`recrawl add` of a site's address finds its feed or sitemap, and says what it took."""

import asyncio
import contextlib
import io
from pathlib import Path

import pytest
from aiohttp import web

from recrawl.cli import run
from recrawl.store.opening import open_store
from servers import serving

FEED = """<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><id>1</id><title>One</title></entry></feed>"""
MAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{home}/a</loc></url></urlset>"""


def page(*feeds: str) -> str:
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="{feed}">' for feed in feeds)
    return f"<html><head><title>A site</title>{links}</head><body><p>Words.</p></body></html>"


class Site:
    """A site of a test's making, and what was asked of it."""

    def __init__(self, documents: dict[str, str]) -> None:
        self.documents, self.asked = documents, list[str]()

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.asked.append(request.path)
        if request.path not in self.documents:
            return web.Response(status=404)
        home = f"http://{request.host}"
        text = self.documents[request.path].replace("{home}", home)
        plain = request.path.endswith(".txt")
        kind = "text/plain" if plain else "text/html" if text.startswith("<html") else "application/xml"
        return web.Response(text=text, content_type=kind)


def added(documents: dict[str, str], path: str = "/", *more: str, private: bool = True) -> tuple[Site, str]:
    """Add an address of a site; what was said, the site's own address written as SITE."""
    Path("recrawl.toml").write_text(f"[fetch]\nallow_private = {str(private).lower()}\n")
    site, out = Site(documents), io.StringIO()

    async def go() -> str:
        async with serving(site.answer) as home:  # type: ignore[arg-type]
            with contextlib.redirect_stdout(out):
                assert await asyncio.to_thread(run, ["add", home + path, *more]) == 0
            return out.getvalue().replace(home, "SITE")

    return site, asyncio.run(go())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)


def test_the_feed_a_site_advertises_is_taken_and_the_others_are_named() -> None:
    site, said = added({"/": page("/comments/feed", "/atom.xml", "/rss.xml"), "/atom.xml": FEED})
    assert said.splitlines() == [
        "added: 1 SITE/atom.xml (the feed of SITE/)",
        "  also advertised: SITE/comments/feed",
        "  also advertised: SITE/rss.xml",
    ]
    assert site.asked == ["/robots.txt", "/"]


def test_a_site_without_a_feed_gives_the_sitemap_of_its_robots_txt() -> None:
    documents = {"/": page(), "/robots.txt": "Sitemap: {home}/map.xml\nSitemap: {home}/more.xml\n"}
    assert added(documents)[1].splitlines() == [
        "added: 1 SITE/map.xml (the sitemap of SITE/)",
        "  also advertised: SITE/more.xml",
    ]


def test_or_the_sitemap_in_the_usual_place() -> None:
    assert added({"/": page(), "/sitemap.xml": MAP})[1] == "added: 1 SITE/sitemap.xml (the sitemap of SITE/)\n"
    assert added({"/": page(), "/sitemap.xml": page()})[1] == "added: 2 SITE/\n"


def test_a_page_within_a_site_stays_a_page_unless_the_feed_is_its_own() -> None:
    documents = {"/prices": page("/feed", "/prices/feed"), "/blog/": page("/blog/atom.xml", "/feed")}
    said = added(documents, "/prices")[1]
    assert said.splitlines() == [
        "added: 1 SITE/prices",
        "  it advertises: SITE/feed",
        "  it advertises: SITE/prices/feed",
    ]
    assert added(documents, "/blog/")[1].splitlines()[0] == "added: 2 SITE/blog/atom.xml (the feed of SITE/blog/)"


@pytest.mark.parametrize("more", [["--as-is"], ["--select", "main"], ["--kind", "page"], ["--ignore", "nav"]])
def test_nothing_is_fetched_where_it_is_said_what_it_is(more: list[str]) -> None:
    site, said = added({"/": page("/atom.xml")}, "/", *more)
    assert (site.asked, said) == ([], "added: 1 SITE/\n")


@pytest.mark.parametrize("path", ["/feed.xml", "/blog/feed/", "/rss", "/sitemap_index.xml", "/report.pdf"])
def test_nor_of_what_names_a_document(path: str) -> None:
    assert added({path: FEED}, path)[0].asked == []


def test_nor_of_a_private_address_that_is_not_allowed() -> None:
    site, said = added({"/": page("/atom.xml")}, private=False)
    assert site.asked == []
    assert said.splitlines() == [
        "added: 1 SITE/",
        "  not looked at: 127.0.0.1 is a loopback address (--allow-private looks)",
    ]
    assert "not looked at" not in added({}, "/feed.xml", private=False)[1]
    assert "not looked at" not in added({}, "/page", "--as-is", private=False)[1]


def test_allow_private_looks_also_at_one_that_was_added_without() -> None:
    site, out = Site({"/": page("/atom.xml"), "/atom.xml": FEED}), io.StringIO()

    async def go() -> str:
        async with serving(site.answer) as home:  # type: ignore[arg-type]
            with contextlib.redirect_stdout(out):
                for more in ([], ["--allow-private"]):
                    assert await asyncio.to_thread(run, ["add", home, *more]) == 0
            return out.getvalue().replace(home, "SITE")

    assert asyncio.run(go()).splitlines()[2:] == [
        "added: 2 SITE/atom.xml (the feed of SITE/)",
        "  SITE/ is there too: if the feed is enough, `recrawl remove 1`",
    ]


def test_robots_txt_is_obeyed_and_what_cannot_be_looked_at_is_taken_as_it_is() -> None:
    documents = {"/": page("/atom.xml"), "/robots.txt": "User-agent: *\nDisallow: /\n"}
    site, said = added(documents)
    assert said == "added: 1 SITE/ as it is: it could not be looked at (robots.txt does not allow it)\n"
    assert site.asked == ["/robots.txt"]
    assert "HTTP status 404" in added({}, "/nowhere")[1]


def test_a_feed_on_a_private_address_is_not_taken_from_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    from recrawl.crawl.catalogue import site_discovery

    monkeypatch.setattr(site_discovery, "host_refusal", lambda host: "private" if host == "10.0.0.1" else "")
    looker = site_discovery._Looker.__new__(site_discovery._Looker)
    looker._allow_private = False
    assert looker._usable("http://10.0.0.1/feed") == ""
    assert looker._usable("https://a.example/feed") == "https://a.example/feed"


def test_one_that_is_there_already_is_not_looked_at_again() -> None:
    documents = {"/": page()}
    site = Site(documents)

    async def go() -> None:
        async with serving(site.answer) as home:  # type: ignore[arg-type]
            for more in ([], ["--update", "--importance", "2"]):
                assert await asyncio.to_thread(run, ["add", home, *more]) == 0

    Path("recrawl.toml").write_text("[fetch]\nallow_private = true\n")
    asyncio.run(go())
    assert site.asked == ["/robots.txt", "/", "/sitemap.xml"]
    store = open_store("recrawl.db")
    assert [source.importance for source in store.sources()] == [2.0]
    store.close()


def test_headers_given_for_a_site_go_to_no_other_origin() -> None:
    elsewhere = Site({"/": page(), "/feed.xml": FEED, "/sitemap.xml": MAP})
    headers: list[tuple[str, str | None]] = []
    inner = elsewhere.answer

    async def noted(request: web.BaseRequest) -> web.Response:
        headers.append((request.path, request.headers.get("X-Key")))
        return await inner(request)

    async def go() -> list[str]:
        Path("recrawl.toml").write_text("[fetch]\nallow_private = true\n")
        async with serving(noted) as other:  # type: ignore[arg-type]

            async def answer(request: web.BaseRequest) -> web.StreamResponse:
                if request.path == "/moved/":
                    return web.Response(status=302, headers={"Location": f"{other}/"})
                found = request.path == "/"
                text = page(f"{other}/feed.xml") if found else ""
                return web.Response(text=text, status=200 if found else 404, content_type="text/html")

            async with serving(answer) as home:  # type: ignore[arg-type]
                given = ["add", f"{home}/", f"{home}/moved/", "--header", "X-Key: secret"]
                assert await asyncio.to_thread(run, given) == 0
                return [home, other]

    home, other = asyncio.run(go())
    with open_store("recrawl.db") as store:
        kept = {source.url: source.headers for source in store.sources()}
    assert all(url.startswith(home) for url, headers in kept.items() if headers), (kept, other)
    assert [path for path, key in headers if key] == []
