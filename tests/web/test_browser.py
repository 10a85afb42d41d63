"""The pages in a real browser: what a person sees and does, by mouse and by keyboard, on a desktop and on a phone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from aiohttp import web
from fastapi import FastAPI

from a_fleet import fleet_status, put_up, well
from hostile import hostile_feed, hostile_page
from made_up import NOW, fill
from recrawl import wiring
from recrawl.clock import ManualClock, SystemClock
from recrawl.config import Config, Fetching, Politeness
from recrawl.store.records import Batch, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import World
from recrawl.web.app import make_app
from recrawl.web.safety.access import Access
from recrawl.web.safety.credentials import Credentials, hashed
from recrawl.web.safety.hosts import HostList
from servers import serving

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Show = Callable[[FastAPI], str]
Tab = Callable[..., Any]
PAGES = ("/", "/sources", "/sources/1", "/sources/11", "/items", "/items?q=library", "/whatif", "/fleet", "/api")


@pytest.fixture
def full(store: SqliteStore, show: Show) -> str:
    """The address of a server over a full store, on a day long ago."""
    fill(store)
    put_up(store, fleet_status(NOW - 1.0))
    return show(make_app(store, Config(), ManualClock(NOW)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_fits_and_asks_nobody_else(full: str, tab: Tab, width: int, scheme: str) -> None:
    watched = tab(width, scheme)
    for path in PAGES:
        watched.page.goto(full + path)
        assert watched.overflow() <= 0, path
        name = re.sub(r"\W+", "-", path).strip("-") or "overview"
        watched.picture(f"{name}-{scheme}-{width}")
    assert watched.strangers(full) == []


def test_the_picture_of_the_readme_is_drawn(store: SqliteStore, show: Show, tab: Tab) -> None:
    fill(store)
    store.claim("process 4711 on reader", NOW)
    watched = tab(1200)
    watched.page.goto(show(make_app(store, Config(), ManualClock(NOW))))
    assert watched.page.get_by_role("heading", name="Found last").is_visible()
    watched.picture("readme", clip={"x": 0, "y": 0, "width": 1200, "height": 860})
    store.release()


def test_a_first_visit_says_what_to_do(store: SqliteStore, show: Show, tab: Tab) -> None:
    watched = tab(360)
    watched.page.goto(show(make_app(store, Config(), SystemClock())))
    assert watched.page.get_by_role("heading", name="Nothing to crawl yet").is_visible()
    assert watched.page.get_by_label("Address of a feed").evaluate("each => each === document.activeElement")
    watched.page.get_by_label("Address of a feed").fill("not an address")
    watched.page.keyboard.press("Enter")
    assert "must be an http or https address" in watched.page.get_by_role("alert").inner_text()
    assert watched.overflow() <= 0
    watched.complaints.clear()  # the browser remarks on the status 422


@pytest.fixture
def crawled(store: SqliteStore, running: Any) -> Iterator[tuple[Config, list[str]]]:
    """A crawler at work on the store, and the addresses of a few feeds of a web of our own."""
    config = Config(
        budget="20/s", fetch=Fetching(allow_private=True), politeness=Politeness(delay="0s", min_interval="0s")
    )
    synthetic = SynthWeb(World.make(sources=3, hosts=1))
    running.call(synthetic.__aenter__())
    store.claim("the test", SystemClock().now())
    crawler = running.call(_made(config, store))
    running.start(crawler.run())
    yield config, synthetic.urls()
    running.loop.call_soon_threadsafe(crawler.stop)
    running.finish()
    running.call(synthetic.__aexit__(None, None, None))


async def _made(config: Config, store: SqliteStore) -> Any:
    return wiring.make_crawler(config, store)


def test_a_feed_is_added_and_its_first_items_arrive(
    store: SqliteStore, crawled: tuple[Config, list[str]], show: Show, tab: Tab
) -> None:
    config, urls = crawled
    page = tab().page
    page.goto(show(make_app(store, config, SystemClock())))
    page.get_by_label("Address of a feed").fill(urls[0])
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_text("Added. It is fetched first").wait_for()
    page.locator(".entries h3").first.wait_for()
    assert store.items(limit=1)


def test_sources_are_sorted_and_filtered(full: str, tab: Tab) -> None:
    page = tab().page
    page.goto(full + "/sources")
    page.get_by_role("link", name="Source", exact=True).click()
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Source")
    first = page.locator("tbody th a").first.inner_text()
    page.locator("th[aria-sort=ascending] a").click()
    page.wait_for_selector("th[aria-sort=descending]")
    assert page.locator("tbody th a").first.inner_text() != first
    page.get_by_label("Address or title contains").fill("library")
    page.keyboard.press("Enter")
    page.get_by_text("1 source matches").wait_for()
    page.get_by_label("Tag", exact=True).fill("culture")
    page.get_by_label("State").select_option("active")
    page.get_by_role("button", name="Filter").click()
    page.get_by_text("1 source matches").wait_for()


def test_a_source_is_explained_edited_paused_and_removed(full: str, store: SqliteStore, tab: Tab) -> None:
    page = tab().page
    page.goto(full + "/sources/1")
    assert "Due in" in page.locator(".why").inner_text()
    chart = page.get_by_role("img", name="What a fetch is worth")
    assert chart.is_visible()
    assert chart.locator(".mark.crossing").count() == 1
    cadence = page.locator(".figures").inner_text()
    page.get_by_label("Importance").fill("9")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Changed.").wait_for()
    assert page.locator(".figures").inner_text() != cadence
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused by its owner").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Crawl now").click()
    page.get_by_text("It is fetched as soon as").wait_for()
    page.get_by_text("Remove this source").click()
    page.get_by_role("button", name="Remove for good").click()
    page.get_by_text("Removed, with all").wait_for()
    assert store.source(1) is None


def test_a_search_is_clicked_and_counted(full: str, store: SqliteStore, tab: Tab) -> None:
    watched = tab()
    page = watched.page
    page.route(
        re.compile(r"https://.*\.example/.*"), lambda route: route.fulfill(body="read", content_type="text/html")
    )
    page.goto(full)
    page.get_by_label("Search items").fill("library")
    page.keyboard.press("Enter")
    page.locator("mark").first.wait_for()
    page.locator(".entry h3 a").first.click()
    page.wait_for_url(re.compile(r"https://library\.example/"))
    (click,) = [each for each in store.clicks() if not each.client.startswith("search:")]
    page.goto(f"{full}/sources/{click.source}")
    assert page.locator(".figures div", has_text="Clicks").locator("dd").first.inner_text() == "1"


def test_the_budget_slides(full: str, tab: Tab) -> None:
    page = tab().page
    page.goto(full + "/whatif?budget=40/day")
    before = page.locator("#answer strong").first.inner_text()
    slider = page.get_by_label("Budget, from a thirtieth")
    slider.focus()
    with page.expect_response(re.compile("/whatif.budget=")):
        for _ in range(8):
            page.keyboard.press("ArrowRight")
    page.wait_for_function("before => document.querySelector('#answer strong').innerText !== before", arg=before)
    assert page.get_by_label("Requests").input_value() != "40/day"


def test_one_logs_in_and_out(store: SqliteStore, show: Show, tab: Tab) -> None:
    fill(store)
    access = Access(HostList("127.0.0.1"), Credentials(hashed("correct horse")))
    address = show(make_app(store, Config(), ManualClock(NOW), access=access))
    watched = tab(360)
    page = watched.page
    page.goto(address + "/sources")
    assert page.url == address + "/login"
    assert watched.overflow() <= 0
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("That is not the password.").wait_for()
    watched.complaints.clear()  # the browser remarks on the status 403
    page.get_by_label("Password").fill("correct horse")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview").wait_for()
    (cookie,) = watched.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in").wait_for()


def test_the_keyboard_is_enough(full: str, tab: Tab) -> None:
    page = tab().page
    page.goto(full)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_a_page_has_landmarks_names_and_headings(full: str, tab: Tab) -> None:
    page = tab().page
    for path in PAGES:
        page.goto(full + path)
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("banner").count() == 1
        assert page.get_by_role("navigation", name="Main").count() == 1
        assert page.locator("h1").count() == 1
        unnamed = page.evaluate(
            """[...document.querySelectorAll('input:not([type=hidden]), select, button, a, svg[role=img]')].filter(e =>
              !(e.innerText || '').trim() && !e.labels?.length && !e.getAttribute('aria-label')
              && !e.getAttribute('aria-labelledby') && !e.textContent.trim()).map(e => e.outerHTML)"""
        )
        assert unnamed == [], path
        assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.querySelector('caption'))"), path
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(ids) == len(set(ids)), path


def test_what_happens_is_shown_without_reloading(store: SqliteStore, show: Show, tab: Tab) -> None:
    fill(store, SystemClock().now())
    page = tab().page
    with page.expect_response("**/api/v1/stream"):
        page.goto(show(make_app(store, Config(), SystemClock())))
    now = SystemClock().now()
    for key in range(100):  # the first look may come after the first of these
        item = Item(source=1, key=key, title="Something quite new", link="https://a.example/", first_seen=now)
        update = VisitUpdate(
            crawl=Crawl(source=1, at=now + key, outcome="new"), progress=Progress(source=1), items=[item]
        )
        store.commit(Batch(updates=[update]))
        with suppress(sync_api.TimeoutError):
            page.get_by_text("Something quite new").first.wait_for(timeout=1500)
            return
    raise AssertionError("nothing was shown")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_fleet_is_shown_as_it_goes(store: SqliteStore, show: Show, tab: Tab, width: int) -> None:
    clock, watched = ManualClock(NOW), tab(width)
    page = watched.page
    put_up(store, well(NOW))
    with page.expect_response("**/api/v1/stream"):
        page.goto(show(make_app(store, Config(), clock)) + "/fleet")
    assert page.get_by_role("link", name="Fleet").get_attribute("aria-current") == "page"
    assert page.get_by_role("alert").count() == 0
    while not page.get_by_text("shard-3 is silent").count():
        clock.advance(1.0)
        put_up(store, fleet_status(clock.now()))
        with suppress(sync_api.TimeoutError):
            page.get_by_text("shard-3 is silent").wait_for(timeout=1500)
    assert page.locator("tr.troubled").count() == 2
    _taken(watched, f"fleet-{width}")
    while not page.get_by_text("The fleet is down.").count():
        clock.advance(11.0)
        with suppress(sync_api.TimeoutError):
            page.get_by_text("The fleet is down.").wait_for(timeout=1500)
    assert "recrawl cluster up" in page.locator(".notice code").inner_text()
    _taken(watched, f"fleet-down-{width}")


def _taken(watched: Any, name: str) -> None:
    """A picture of a page that fits its window, whatever its tables do."""
    watched.picture(f"{name}")
    assert watched.overflow() <= 0, name


@pytest.fixture
def bad_web(running: Any) -> Iterator[str]:
    """A feed and a page that say what strangers may say; the page says something else each time."""
    turns = count()

    async def answered(request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        if request.path == "/page":
            return web.Response(body=hostile_page(next(turns)), content_type="text/html")
        return web.Response(body=hostile_feed(f"http://{request.host}"), content_type="application/rss+xml")

    opened = serving(answered)
    yield running.call(opened.__aenter__())
    running.call(opened.__aexit__(None, None, None))


def test_nothing_a_stranger_wrote_is_executed(
    store: SqliteStore, bad_web: str, running: Any, show: Show, tab: Tab
) -> None:
    config = Config(
        budget="50/s", fetch=Fetching(allow_private=True), politeness=Politeness(delay="0s", min_interval="0s")
    )
    store.add([Source(url=f"{bad_web}/feed", kind="feed"), Source(url=f"{bad_web}/page", kind="page")])
    for _ in range(2):
        running.call(_crawled_once(config, store))
    assert store.items(limit=1)
    assert store.versions(2)[0].diff
    watched = tab()
    address = show(make_app(store, config, SystemClock()))
    views = ("/", "/sources", "/sources/1", "/sources/2", "/items", "/items?order=found&page=2", "/items?q=alert")
    for path in (*views, "/api/v1/items", "/api/v1/sources/2/versions"):
        watched.page.goto(address + path)
        assert watched.page.evaluate("document.querySelectorAll('main script, main iframe, main img').length") == 0
        watched.page.mouse.move(600, 400)
    assert watched.strangers(address) == []


async def _crawled_once(config: Config, store: SqliteStore) -> None:
    await wiring.make_crawler(config, store).run(once=True)
