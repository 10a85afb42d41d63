"""What changed on a page, in a real browser: word by word, inline and side by side, on a desktop and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config, SourceOptions
from recrawl.crawl.reading.diffs import Noise, unified
from recrawl.crawl.reading.number_history import History, packed
from recrawl.crawl.reading.regions import Record, Region
from recrawl.crawl.reading.regions import packed as packed_record
from recrawl.crawl.rendering import screenshots
from recrawl.crawl.rendering.screenshots import Screenshots
from recrawl.store.records import Batch, Crawl, Progress, Source, Version, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Show = Callable[[FastAPI], str]
Tab = Callable[..., Any]
PICTURES = "<body style='background: {}; font: 40px serif'><h1>Oak chair</h1><p>with four legs"
OLD = """Oak chair with four legs
It costs 129.00 euros, delivery within three days, and can be sent back within a month.
Delivery to islands is not possible at the moment
Colours: natural, black
Others bought: a table
price: 129.00 EUR"""
NEW = """Oak chair with four legs
It costs 119.00 euros, delivery within five days, and can be sent back within a month.
Colours: natural, black, green
A matching stool is new in our shop
Others bought: a lamp
price: 119.00 EUR"""


def jpeg(tab: Tab, html: str) -> bytes:
    page = tab().page
    page.set_content(html)
    return bytes(page.screenshot(type="jpeg", quality=60))


@pytest.fixture
def address(store: SqliteStore, show: Show, tab: Tab) -> str:
    """The page of a source that has changed, some of it restless, and whose number is watched."""
    conditions = SourceOptions(number="price", when=("number < 120", "appears sold out"))
    store.add([Source(url="https://shop.example/chair", kind="page", title="Oak chair", options=conditions)])
    diff = unified(OLD, NEW, noise=Noise({4}, {4}))
    restless = Region(0, 1, "Others bought: a lamp", 4.0, 4.0, 6, 9, True, soonest_s=3600.0)
    prices = [(139.0, 40), (129.0, 31), (135.0, 22), (129.0, 12), (119.0, 1)]
    history = History("price", "EUR", [(NOW - 86400.0 * day, value) for value, day in prices], 119.0)
    versions = (Version(source=1, at=NOW - 90_000.0, digest="a", text=OLD),
                Version(source=1, at=NOW - 3600.0, digest="b", text=NEW, diff=diff))  # fmt: skip
    looks = [PICTURES.format(colour) for colour in ("beige", "tan")]
    taken = Screenshots(
        before_at=NOW - 90_000.0, before=jpeg(tab, looks[0]), after_at=NOW - 3600.0, after=jpeg(tab, looks[1])
    )
    for version in versions:
        progress = Progress(source=1, last=version.at, visits=9, digest=version.digest)
        crawl = Crawl(source=1, at=version.at, outcome="changed")
        known = {"restless": packed_record(Record(9, [restless])), "numbers": packed(history),
                 "screenshots": screenshots.packed(taken)}  # fmt: skip
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, version=version, **known)]))
    return show(make_app(store, Config(), ManualClock(NOW))) + "/sources/1"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_changes_are_read_inline_and_side_by_side(address: str, tab: Tab, width: int, scheme: str) -> None:
    watched = tab(width, scheme)
    page = watched.page
    page.goto(address)
    first = page.locator(".version").first
    gone, come = (first.locator(f".inline {tag}").all_inner_texts() for tag in ("del", "ins"))
    assert gone[:3] == ["129.00", "three", "Delivery to islands is not possible at the moment"]
    assert come[:4] == ["119.00", "five", ", green", "A matching stool is new in our shop"]
    assert watched.overflow() <= 0
    watched.picture(f"change-inline-{scheme}-{width}")
    page.get_by_label("Side by side").check()
    assert watched.overflow() <= 0
    assert first.locator(".inline:visible").count() == 0
    row = first.locator("tr.changed:visible").first
    old, new = row.locator("td").all()
    assert "129.00 euros, delivery within three days" in old.inner_text()
    assert "119.00 euros, delivery within five days" in new.inner_text()
    beside = new.bounding_box()["y"] < old.bounding_box()["y"] + 1
    assert beside == (width > 640)
    watched.picture(f"change-sides-{scheme}-{width}")
    page.get_by_label("Inline").check()
    assert first.locator(".sides:visible").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_a_watched_page_says_first_what_changed_and_what_counts(address: str, tab: Tab, width: int) -> None:
    page = tab(width).page
    page.goto(address)
    headings = page.locator("main h2").all_inner_texts()
    assert headings[:3] == ["The number that is watched", "What changed", "Left out of what is compared"]
    assert "A change counts only if: number < 120, or appears sold out." in page.locator("main").inner_text()


def test_how_it_looked_before_and_after_is_shown(address: str, tab: Tab) -> None:
    page = tab(390).page
    page.goto(address)
    assert page.locator(".pictures figcaption").all_inner_texts() == ["Before, 1d1h ago", "After, 1h ago"]
    for picture in page.locator(".pictures img").all():
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("each => each.decode().then(() => each.naturalWidth)") == 1280
        assert picture.bounding_box()["width"] < 390


def test_what_is_ignored_is_grey_and_said(address: str, tab: Tab) -> None:
    page = tab(390).page
    page.goto(address)
    noise = page.locator(".hunk.restless").first
    assert "a table" in noise.inner_text()
    grey, said = (
        noise.locator(which).evaluate("each => getComputedStyle(each).color") for which in (".inline del", "p.small")
    )
    assert grey == said
    assert page.get_by_text("Ignored, because it changes at nearly every visit").is_visible()


def test_the_number_is_drawn_with_its_unit(address: str, tab: Tab) -> None:
    page = tab(390).page
    page.goto(address)
    figure = page.get_by_role("figure").filter(has_text="Price: now 119 EUR")
    assert figure.is_visible()
    assert "130 EUR" in figure.locator("svg").inner_html()
    assert figure.bounding_box()["width"] <= 390
