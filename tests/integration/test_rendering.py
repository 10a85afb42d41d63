"""Pages that are empty without scripts: found out, shown by a browser, and watched like any other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from apps import CHROMIUM, WITH_BROWSER, app, saying
from live import QUICK
from recrawl.config import Config, SourceOptions
from recrawl.config.loading import replaced
from recrawl.crawl.catalogue.preview import Preview, look_at
from recrawl.crawl.rendering import screenshots
from recrawl.crawl.rendering.record import unpacked
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from servers import serving
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


def test_a_screenshot_is_kept_of_the_last_two_states(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)
    asyncio.run(watched.visit(*({"app": saying(f"<h1>{text}</h1>")} for text in ("one", "one", "two", "three"))))
    with open_store(watched.config.store) as store:
        (source,) = store.sources()
        kept = screenshots.unpacked(store.screenshots(source.id))
        latest, before, *_ = store.versions(source.id)
    assert kept.after.startswith(screenshots.JPEG)
    assert kept.before.startswith(screenshots.JPEG)
    assert kept.before != kept.after
    assert (kept.before_at, kept.after_at) == (before.at, latest.at)


class Site:
    """Pages on loopback, and what was asked of them with which cookies."""

    def __init__(self, pages: dict[str, str], robots: str = "") -> None:
        self.pages, self.robots = pages, robots
        self.asked: list[tuple[str, str, str]] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        said = (await request.read()).decode()
        self.asked.append((request.method, request.path, request.headers.get("Cookie", "") + said))
        if request.path == "/robots.txt":
            return web.Response(text=self.robots)
        text = self.pages.get(request.path)
        if text is None:
            return web.Response(status=404)
        if text.startswith("->"):
            return web.Response(status=302, headers={"Location": text.removeprefix("->")})
        return web.Response(text=text, content_type="text/html")


def previews(site: Site, *sources: dict[str, object], overrides: dict[str, object] | None = None) -> list[Preview]:
    """What is seen of pages of a site by the rules of visits, one after the other."""

    async def look() -> list[Preview]:
        async with serving(site.answer) as url:
            settings = replaced(Config(), {**QUICK, **WITH_BROWSER, **(overrides or {})})
            return [
                await look_at(settings, Source(**{**said, "url": f"{url}{said['url']}"}))  # type: ignore[arg-type]
                for said in sources
            ]

    return asyncio.run(look())


SHELL = "<!doctype html><div id=root></div><script>{}</script>"


def test_steps_are_done_before_a_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_PAGE_WORD", "sesame")
    form = (
        "<form action=/in method=post><input name=word><button>Go</button></form>"
        "<script>document.cookie = 'visited=1'</script>"
    )
    site = Site({"/door": f"<p>A door.</p>{form}", "/in": "<h1>Treasure</h1><p id=t>gold and silver</p>"})
    steps = ("type 'form input' env:RECRAWL_PAGE_WORD", "click button", "wait_for #t")
    (seen, lacking, wrong) = previews(
        site,
        {"url": "/door", "options": SourceOptions(render="browser", steps=steps)},
        {"url": "/door", "options": SourceOptions(render="browser", steps=("type input env:RECRAWL_PAGE_NONE",))},
        {"url": "/door", "options": SourceOptions(render="browser", steps=("wait 0.1", "click #nowhere"))},
        overrides={"browser.timeout": "15s"},
    )
    assert seen.text == "Treasure\ngold and silver"
    assert ("POST", "/in", "visited=1word=sesame") in site.asked
    assert lacking.error == "a step needs the environment variable RECRAWL_PAGE_NONE, which is not set"
    assert wrong.error.startswith("a browser cannot show it: step 2 (click #nowhere) could not be done")
    assert "sesame" not in str(seen)


def test_steps_are_done_on_a_page_that_needs_no_browser() -> None:
    site = Site({"/page": f"{LONG}<button onclick=\"t.innerText = 'opened'\">Open</button><p id=t>closed</p>"})
    closed, opened, never = previews(
        site,
        {"url": "/page"},
        {"url": "/page", "options": SourceOptions(steps=("click button",))},
        {"url": "/page", "options": SourceOptions(steps=("click button",), render="never")},
    )
    assert [seen.text.rpartition("\n")[2] for seen in (closed, opened, never)] == ["closed", "opened", "closed"]


def test_where_scripts_lead_is_fetched_by_our_own_rules() -> None:
    pages = {
        "/to": SHELL.format("location = '/hop'"),
        "/hop": "->/there",
        "/there": SHELL.format("root.innerText = 'there at ' + location.pathname"),
        "/astray": SHELL.format("location = '/private'"),
        "/private": "<p>not for robots</p>",
    }
    site = Site(pages, robots="User-agent: *\nDisallow: /private")
    seen, astray = previews(site, {"url": "/to"}, {"url": "/astray"})
    assert seen.text == "there at /there"
    assert astray.error.endswith("/private: robots.txt does not allow it")
    assert not any(path == "/private" for _, path, _ in site.asked)


def test_cookies_of_a_source_go_to_its_own_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "fetch('http://localhost:' + location.port + '/elsewhere', {mode: 'no-cors', credentials: 'include'});"
        "fetch('/data').then(a => a.text()).then(t => root.innerText = t)"
    )
    site = Site({"/app": SHELL.format(script), "/data": "its data"})
    monkeypatch.setenv("RECRAWL_PAGE_KEY", "secret")
    (seen,) = previews(site, {"url": "/app", "headers": {"Cookie": "key=env:RECRAWL_PAGE_KEY"}})
    assert seen.text == "its data"
    assert ("GET", "/data", "key=secret") in site.asked
    assert [cookie for _, path, cookie in site.asked if path == "/elsewhere"] == [""]


def test_a_page_in_utf_8_that_does_not_say_so_is_shown_as_it_is() -> None:
    text = "fünf €"

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        body = SHELL.format(f"root.innerText = '{text}'").encode()
        return web.Response(body=body, headers={"Content-Type": "text/html"})

    site = Site({})
    site.answer = answer  # type: ignore[method-assign]
    (seen,) = previews(site, {"url": "/app"}, overrides={"politeness.robots": False})
    assert seen.text == text


def test_shadow_trees_are_read_too() -> None:
    script = (
        "customElements.define('a-b', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = '<p>in the shadow</p>' } })"
    )
    (seen,) = previews(Site({"/app": f"<a-b></a-b><script>{script}</script>"}), {"url": "/app"})
    assert seen.text == "in the shadow"


class TestWithoutBrowser:
    """Where there is none, nothing is silently well."""

    def visited(self, tmp_path: Path, **options: object) -> tuple[list[str], Source, str]:
        watched = Watched(tmp_path, {**WITH_BROWSER, "browser.path": "/nowhere/chromium"})
        told = [{"app": {"options": SourceOptions(**options)}}]  # type: ignore[arg-type]
        asyncio.run(watched.visit({"app": saying("hello")}, told=told))
        with open_store(watched.config.store) as store:
            (source,) = store.sources()
            (crawl,) = store.crawls()
        return watched.outcomes()["app"], source, crawl.error

    def test_an_empty_page_says_what_is_missing(self, tmp_path: Path) -> None:
        outcomes, source, _ = self.visited(tmp_path)
        assert outcomes == ["first"]
        missing = "there is no browser at /nowhere/chromium (browser.path)"
        assert source.note == f"it is empty without scripts, and there is no browser to show it: {missing}"

    def test_a_page_that_is_to_be_shown_fails(self, tmp_path: Path) -> None:
        outcomes, _, error = self.visited(tmp_path, render="browser")
        assert outcomes == ["failed"]
        assert error == "there is no browser at /nowhere/chromium (browser.path)"

    def test_a_page_that_never_is_says_nothing_of_it(self, tmp_path: Path) -> None:
        outcomes, source, _ = self.visited(tmp_path, render="never")
        assert outcomes == ["first"]
        assert "browser" not in source.note


def test_a_page_that_gets_text_of_its_own_needs_no_browser_any_more(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)
    asyncio.run(watched.visit({"app": saying("hello")}, {"app": html(f"{LONG}<script>1</script>")}))
    assert watched.outcomes()["app"] == ["first", "unchanged"]
    with open_store(watched.config.store) as store:
        (source,) = store.sources()
        assert not unpacked(store.rendering(source.id)).since
    assert source.cost == 1.0
    assert "browser" not in source.note
    assert "now compared by its main text" in watched.versions("app")[0].note


def test_a_cost_that_its_owner_gave_stands(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)
    asyncio.run(watched.visit({"app": saying("hello")}, told=[{"app": {"cost": 3.0}}]))
    with open_store(watched.config.store) as store:
        assert [source.cost for source in store.sources()] == [3.0]


def test_what_the_document_says_of_its_age_is_not_said_of_what_scripts_make(tmp_path: Path) -> None:
    watched = Watched(tmp_path, WITH_BROWSER)

    def cached() -> web.Response:
        answer = saying("hello")()
        answer.headers["ETag"] = '"1"'
        answer.headers["Cache-Control"] = "max-age=3600"
        return answer

    asyncio.run(watched.visit({"app": cached}))
    with open_store(watched.config.store) as store:
        (progress,) = store.progress()
        (crawl,) = store.crawls()
    assert progress.etag == ""
    assert progress.held_until < crawl.at + 60.0
    assert crawl.elapsed_s > 0.3
