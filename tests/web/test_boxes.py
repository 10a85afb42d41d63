"""Every page is measured in a real browser, on a desktop and on a phone, light and dark.

No text is cut off, no text lies over other text, no page scrolls sideways, and every colour can be read, whatever
sources are called and however large or small their numbers are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from fastapi import FastAPI

from a_fleet import fleet_status, put_up
from made_up import HOUR, NOW, fill
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl import list_notes
from recrawl.crawl.visit_outcome import change_of
from recrawl.store.records import Batch, Crawl, Hold, Item, Price, Progress, Source, Version, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.safety.access import Access
from recrawl.web.safety.credentials import Credentials, hashed
from recrawl.web.safety.hosts import HostList

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

MEASURE = (Path(__file__).parent / "boxes.js").read_text()
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
WORDY = "A title that goes on and on, as some do, because whoever wrote it wanted to say everything at once; " * 3
ERROR = (
    "certificate verify failed: unable to get local issuer certificate (_ssl.c:1006) for "
    "https://a-very-long-name-of-a-host-that-nobody-would-type.department.university.example:8443/feeds/all.atom.xml"
)
ADDRESS = "https://a-very-long-name-of-a-host.example/" + "path/" * 20 + "?" + "parameter=value&" * 10


def odd(store: SqliteStore) -> dict[str, int]:
    """Sources with all that is hard to show; their ids by what they are."""
    sources = {
        "long": Source(
            url=ADDRESS, title=LONG * 3, kind="feed", tags=(LONG, "b" * 60, "c"), note=f"moved from {ADDRESS}"
        ),
        "page": Source(url=f"{ADDRESS}page", title=WORDY[:290], kind="page", importance=1e-6),
        "never": Source(url="https://never.example/feed"),
        "held": Source(url="https://held.example/feed", title="Held back", kind="feed"),
        "failed": Source(url="https://failed.example/feed", title="Fails", kind="feed", note=f"failing: {ERROR}"),
        "huge": Source(url="https://huge.example/feed", title="Huge", kind="feed", importance=1e9, half_life=3e8),
        "tiny": Source(url="https://tiny.example/feed", title="Tiny", kind="feed", importance=1e-9, half_life=1.0),
    }
    ids = dict(zip(sources, (each.id for each in store.add(list(sources.values()))), strict=True))
    batch: list[VisitUpdate] = []
    for name, value in (("long", 1.0), ("held", 0.01), ("failed", 2.0), ("huge", 3.21e11), ("tiny", 2.5e-7)):
        batch += visits(ids[name], value, failed=name == "failed")
    batch[-1].progress.due = math.inf
    batch += page(msgspec.structs.replace(sources["page"], id=ids["page"]))
    hold = Hold(host="held.example", until=NOW + 5 * HOUR, reason=f"429 Too Many Requests: {WORDY}", failures=12)
    for at in range(40):
        price = Price(at=NOW - 86400 + 2000 * at, price=0.0003 * (1 + at % 3), budget=0.001, requests=3, captured=1e-5)
        store.commit(Batch(price=price))
    store.commit(Batch(updates=batch, holds=[hold]))
    list_notes.write(store, [listed(ids["long"], ADDRESS), listed(0, "a-very-long-name-of-a-host.example")])
    return ids


def listed(source: int, name: str) -> list_notes.NotedList:
    """A list with large numbers."""
    return list_notes.NotedList(
        source=source,
        name=name,
        trust=0.99,
        recall=1.0 / 3.0,
        precision=0.12345,
        pages=123_456_789,
        said=12_345,
        signals=1e7,
        waiting=1_234_567,
        visits=98_765.4,
        news_per_s=12.3,
        worth=(3.21e11,) * 40,
        at=NOW,
    )


def visits(id: int, value: float, failed: bool) -> list[VisitUpdate]:
    """A history whose numbers are of this size."""
    made = []
    for k in range(8):
        at = NOW - (8 - k) * 7 * HOUR
        believed = {"value": value * (1 + k / 10), "value_sd": value / 2, "rate": 1e-5, "rate_sd": 5e-6}
        bad = failed and k > 4
        crawl = Crawl(source=id, at=at, outcome="failed" if bad else "new", status=503 if bad else 200, new=123_456,
                      captured=value, index=value / 3, price=0.0003, elapsed_s=0.0004, error=ERROR if bad else "",
                      censored=True, **believed)  # fmt: skip
        progress = Progress(source=id, last=at, visits=k + 1, captured=value * 1000, due=NOW + 1e7, **believed)
        if bad:
            progress.failures, progress.held_until, progress.held_by = k, NOW + HOUR, ERROR
        title = (LONG * 3, WORDY, "x", "")[k % 4]
        item = Item(source=id, key=k, title=title, link=ADDRESS, summary=(WORDY + LONG) * 2, first_seen=at,
                    published=at - 1e8 if k % 2 else None)  # fmt: skip
        made.append(VisitUpdate(crawl=crawl, progress=progress, items=[item]))
    return made


def page(source: Source) -> list[VisitUpdate]:
    """A page that changed, line by long line."""
    made = []
    for k in range(3):
        at = NOW - (3 - k) * HOUR
        diff = f"@@ -1,3 +1,3 @@\n {WORDY}\n-{LONG * 4}\n+{ADDRESS}{k}\n+short\n… and 12345 more lines" if k else ""
        version = Version(source=source.id, at=at, digest=f"{k}", text=WORDY + "\n" + LONG * 5, diff=diff)
        crawl = Crawl(source=source.id, at=at, outcome="changed" if k else "first", status=200)
        progress = Progress(source=source.id, last=at, visits=k + 1, digest=f"{k}", value=1e-9, rate=1e-9)
        items = [change_of(source, version)] if k else []
        made.append(VisitUpdate(crawl=crawl, progress=progress, items=items, version=version))
    return made


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "empty.db") as opened:
        yield opened


@pytest.fixture
def pages(store: SqliteStore, empty: SqliteStore, show: Callable[[FastAPI], str]) -> dict[str, str]:
    """Addresses of all pages, by name, on a store with everything in it, and of those that an empty one shows."""
    fill(store)
    ids = odd(store)
    put_up(store, fleet_status(NOW - 1.0))
    full = show(make_app(store, Config(), ManualClock(NOW)))
    access = Access(HostList("127.0.0.1"), Credentials(hashed("correct horse")))
    locked = show(make_app(store, Config(), ManualClock(NOW), access=access))
    listed = {"overview": "/", "latest": "/items", "latest found": "/items?order=found", "sources": "/sources",
              "changes": "/items?kind=change", "search": "/items?q=library", "search odd": "/items?q=title&order=found",
              "nothing found": "/items?q=nothingofthekind", "source feed": "/sources/1", "source prices": "/sources/11",
              "source paused": "/sources/12", "what if": "/whatif", "what if more": "/whatif?budget=1000/day",
              "what if wrong": "/whatif?budget=many", "fleet": "/fleet", "api": "/api", "no page": "/nowhere",
              "preview": f"/preview?url={quote(ADDRESS)}",
              **{f"source {name}": f"/sources/{id}" for name, id in ids.items()}}  # fmt: skip
    bare = show(make_app(empty, Config(), ManualClock(NOW)))
    unfilled = {
        f"empty {path}": bare + path for path in ("/", "/items", "/items?q=word", "/sources", "/whatif", "/fleet")
    }
    return {name: full + path for name, path in listed.items()} | {"login": locked + "/login", **unfilled}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_on_top_of_each_other_or_too_pale(
    pages: dict[str, str], tab: Callable[..., Any], width: int, scheme: str
) -> None:
    watched = tab(width, scheme)
    complaints = []
    for name, address in pages.items():
        watched.page.goto(address)
        watched.page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
        complaints += [f"{name}: {found}" for found in watched.page.evaluate(MEASURE)]
        watched.picture("boxes-" + re.sub(r"\W+", "-", name) + f"-{width}-{scheme}")
    watched.complaints.clear()  # the browser remarks on the status of pages that say what is wrong
    assert not complaints, "\n".join(complaints)


def test_what_is_wrong_is_seen(tab: Callable[..., Any]) -> None:
    page = tab(390).page
    page.set_content("""<style>body { color: #777; background: #999 }</style>
        <p style="overflow: hidden; width: 60px; white-space: nowrap">This is cut off</p>
        <p style="position: absolute; top: 200px; color: #000">One text</p>
        <p style="position: absolute; top: 205px; color: #000">Another</p>
        <svg viewBox="0 0 100 20" style="color: #000"><text x="-20" y="12" fill="#000">0.0003</text></svg>
        <input placeholder="far too long for so small a field" style="width: 80px">
        <div style="width: 500px">wide</div>""")
    found = "\n".join(page.evaluate(MEASURE))
    for expected in ('cut off by <p class="">: This is cut off', 'cut off by <svg class="">: 0.0003',
                     "cut off in a field", "on top of each other: One text | Another", "pixels wider",
                     "contrast 1."):  # fmt: skip
        assert expected in found, (expected, found)
