"""The reading page in a real browser: by keys, on a phone, without a network; and text of strangers in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from hostile import CORPUS
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl.reading.content import packed, sanitised
from recrawl.store.records import Batch, Content, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.views import reading
from until import until

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Show = Callable[[FastAPI], str]
Tab = Callable[..., Any]
NOW = 1_700_000_000.0
SHOTS = Path(__file__).parents[2] / "out" / "screenshots"
ARTICLE = (
    "<p>The harbour council voted <b>nine to two</b> for shore power on Tuesday. Ferries will plug in from 2027.</p>"
    "<h2>What it costs</h2><p>Twelve million, a third of it paid by the <a href='/line'>shipping line</a>.</p>"
    "<blockquote>We should have done this ten years ago.</blockquote>"
    "<ul><li>Berth 4: first</li><li>Berth 7: 2028</li></ul>"
    "<img src='https://pictures.example/ferry.jpg' width='640' height='360' alt='A ferry at berth 4'>"
)
TITLES = ("Harbour to get shore power for ferries from 2027", "Old bridge closes to cars for the summer",
          "Observatory asks neighbours to dim lamps", "Theatre finds a new director in its own choir")  # fmt: skip


def tell(store: SqliteStore, source: int, texts: dict[str, str], at: float = NOW - 3600.0, first: int = 1) -> None:
    """A feed says this: titles and contents."""
    items = [
        Item(source=source, key=k, title=title, link=f"https://s{source}.example/{k}", summary="Short", first_seen=at)
        for k, title in enumerate(texts, first)
    ]
    contents = {k: Content("Ann Author", packed(text)) for k, text in enumerate(texts.values(), first) if text}
    crawl, progress = Crawl(source=source, at=at, outcome="new"), Progress(source=source, last=at)
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items, contents=contents)]))


@pytest.fixture
def full(store: SqliteStore, show: Show) -> str:
    """The address of a page with something to read."""
    store.add([Source(url=f"https://s{k}.example/feed", kind="feed", title=f"Paper {k}", added=NOW) for k in (1, 2)])
    article = sanitised(ARTICLE, "https://s1.example/")
    tell(store, 1, dict.fromkeys(TITLES, article))
    tell(
        store, 2, {"Harbour gets shore power for ferries from 2027": article, "Market moves to Thursdays": ""}, NOW - 60
    )
    app = make_app(store, Config(), ManualClock(NOW))
    reading.read_everything(app.state.context, reading.reader_of(app.state.context))
    return show(app)


def state(store: SqliteStore) -> dict[str, tuple[bool, bool]]:
    [reader] = store.readers()
    items = [item.id for item in store.items()]
    return {each.item.title: (each.read, each.starred) for each in store.reading(reader.id, items)}


def met(page: Any, expression: str) -> None:
    """Asked from outside: the page's own policy refuses what is evaluated in it."""
    until(lambda: bool(page.evaluate(expression)))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_asks_nobody_else(full: str, tab: Tab, width: int, scheme: str) -> None:
    watched = tab(width, scheme)
    SHOTS.mkdir(parents=True, exist_ok=True)
    watched.page.goto(full + "/reading")
    assert watched.page.locator(".piece").count() == 6
    watched.page.locator(".piece summary").nth(1).click()
    met(watched.page, "document.querySelectorAll('.piece iframe')[1].style.height !== ''")
    watched.page.frame_locator("iframe >> nth=1").get_by_text("What it costs").wait_for()
    assert watched.overflow() <= 0
    watched.page.screenshot(path=SHOTS / f"reading-{scheme}-{width}.png", full_page=True)
    assert watched.strangers(full) == []


def test_it_is_read_by_keys(full: str, tab: Tab, store: SqliteStore) -> None:
    page = tab(1280, "light").page
    page.goto(full + "/reading")
    assert page.locator("#unread").inner_text() == "6 unread"
    for key in "jjs":
        page.keyboard.press(key)
    met(page, "document.querySelectorAll('.piece')[1].classList.contains('starred')")
    page.keyboard.press("o")
    met(page, "document.querySelectorAll('.piece')[1].classList.contains('read')")
    page.keyboard.press("k")
    page.keyboard.press("m")
    met(page, "document.getElementById('unread').textContent === '4 unread'")
    titles = page.locator(".piece .title").all_inner_texts()
    page.reload()
    assert page.locator(".piece").count() == 4
    assert state(store)[titles[1]] == (True, True)
    assert state(store)[titles[0]] == (True, False)
    page.goto(full + "/reading?show=starred")
    assert page.locator(".piece .title").all_inner_texts() == [titles[1]]


def test_the_full_article_is_asked_for(full: str, tab: Tab, store: SqliteStore) -> None:
    page = tab(1280, "light").page
    page.goto(full + "/reading")
    page.locator(".piece summary").first.click()
    page.locator(".piece").first.get_by_role("button", name="Fetch the full article").click()
    page.get_by_text("Asked for").wait_for()
    assert len(store.articles(NOW, 9)) == 1


def test_it_works_without_scripts(full: str, browser: Any, store: SqliteStore) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(full + "/reading")
    page.locator(".piece summary").first.click()
    page.locator(".piece").first.get_by_role("button", name="Mark read").click()
    assert page.locator(".piece").count() == 5
    page.get_by_role("button", name="Mark all read").click()
    assert page.get_by_text("Everything is read.").is_visible()
    assert all(read for read, _ in state(store).values())
    context.close()


def test_what_was_loaded_is_read_without_a_network_and_what_is_marked_then_is_sent_later(
    full: str, browser: Any, store: SqliteStore
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.add_init_script("navigator.serviceWorker.addEventListener('message', (m) => { window.kept = m.data.kept; })")
    page.goto(full + "/reading")
    met(page, "window.kept > 6")
    context.set_offline(True)
    page.reload()
    assert page.locator(".piece").count() == 6
    assert page.locator("#offline").is_visible()
    page.locator(".piece summary").nth(1).click()
    page.frame_locator("iframe >> nth=1").get_by_text("What it costs").wait_for()
    title = page.locator(".piece .title").nth(1).inner_text()
    met(page, "JSON.parse(localStorage.getItem('recrawl-reading-queue') || '[]').length === 1")
    assert state(store)[title] == (False, False)
    context.set_offline(False)
    met(page, "JSON.parse(localStorage.getItem('recrawl-reading-queue')).length === 0")
    assert state(store)[title] == (True, False)
    context.close()


def test_pictures_are_loaded_only_when_they_are_asked_for(full: str, tab: Tab) -> None:
    watched = tab(1280, "light")
    page = watched.page
    page.route(
        "https://pictures.example/**", lambda route: route.fulfill(status=200, content_type="image/png", body=b"")
    )
    page.goto(full + "/reading")
    page.locator(".piece summary").nth(1).click()
    page.frame_locator("iframe >> nth=1").get_by_text("What it costs").wait_for()
    assert not [each for each in watched.requests if "pictures.example" in each]
    with page.expect_request("https://pictures.example/ferry.jpg") as asked:
        page.locator(".piece").nth(1).get_by_role("button", name="Show pictures").click()
    assert "referer" not in asked.value.headers


def test_a_fault_of_the_sanitiser_runs_nothing(store: SqliteStore, show: Show, browser: Any) -> None:
    """What is stored here was never sanitised."""
    store.add([Source(url="https://s1.example/feed", kind="feed", title="<img src=x onerror=alert(1)>", added=NOW)])
    evil = ("<p>mark</p><script>parent.document.title = 'owned'; alert(1)</script><img src=x onerror='alert(1)'>"
            "<form action='https://e.example'><button>x</button></form>"
            "<meta http-equiv=refresh content='0;url=https://e.example'>"
            "<iframe src='https://e.example'></iframe><link rel=stylesheet href='https://e.example/x.css'>"
            "<svg onload=alert(1)></svg><style>@import 'https://e.example/y.css';</style>"
            "<object data='https://e.example'></object>")  # fmt: skip
    tell(store, 1, {text: evil + text for text in CORPUS})
    app = make_app(store, Config(), ManualClock(NOW))
    reading.read_everything(app.state.context, reading.reader_of(app.state.context))
    address = show(app)
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    asked: list[Any] = []
    context.on("request", lambda request: asked.append(request))
    page.goto(address + "/reading")
    for k in range(4):
        page.locator(".piece summary").nth(k).click()
        page.frame_locator(f"iframe >> nth={k}").get_by_text("mark").first.wait_for()
    assert "owned" not in page.title()
    page.goto(address + "/reading/items/1")
    assert said == []
    assert {each.failure for each in asked if "e.example" in each.url} <= {"csp"}
    context.close()


def test_the_same_story_is_one_entry_with_all_its_links_where_that_is_wanted(full: str, tab: Tab) -> None:
    page = tab(1280, "light").page
    page.goto(full + "/reading")
    assert page.locator(".others").count() == 0
    page.get_by_role("link", name="Same stories together").click()
    assert page.locator(".piece").count() == 5
    told = page.locator(".piece", has_text="Harbour gets shore power")
    assert "2 sources" in told.inner_text()
    told.locator("summary").click()
    assert "words of the titles" in told.locator(".others").inner_text()


def test_it_can_be_installed(full: str, tab: Tab) -> None:
    watched = tab(390, "light")
    watched.page.goto(full + "/reading")
    session = watched.context.new_cdp_session(watched.page)
    wrong = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [each["errorId"] for each in wrong] in ([], ["in-incognito"])
    assert session.send("Page.getAppManifest")["errors"] == []
