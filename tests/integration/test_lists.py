"""A crawler over a site that says in its sitemap what changed: what is announced is fetched, what is not waits."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from honest_site import SITEMAP, HonestSite, watch
from live import crawl, settings
from recrawl import Scheduler
from recrawl.cli import run
from recrawl.clock import ManualClock
from recrawl.crawl.pipeline import Crawler
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from recrawl.store.roles import Store
from recrawl.units import DAY_S
from servers import serving
from until import soon

SLOW: dict[str, Any] = {"objective": "freshness", "max_age": "1000d"}


class Served:
    """A site with a sitemap and a front page; it remembers what it was asked for."""

    def __init__(self, modified: dict[str, float]) -> None:
        self.modified, self.asked, self.home = modified, list[str](), ""

    async def answer(self, request: web.BaseRequest) -> web.Response:
        path = request.path
        if path == "/robots.txt":
            return web.Response(text="User-agent: *\nAllow: /\n")
        self.asked.append(path)
        if path == SITEMAP:
            return web.Response(text=self.sitemap(), content_type="application/xml", headers={"ETag": '"1"'})
        if path == "/":
            latest = sorted(self.modified, key=lambda each: -self.modified[each])
            links = "".join(f"<p><a href='{each}#top'>{each}</a></p>" for each in latest)
            text = f"<html><body>{links}<a href='https://elsewhere.example/'>elsewhere</a></body></html>"
            return web.Response(text=text, content_type="text/html")
        if path not in self.modified:
            return web.Response(status=404)
        text = f"<html><body><p>What {path} says since {self.modified[path]!r}.</p></body></html>"
        return web.Response(text=text, content_type="text/html")

    def sitemap(self) -> str:
        lines = (
            f"<url><loc>{self.home}{path}</loc><lastmod>{datetime.fromtimestamp(at, UTC).isoformat()}</lastmod></url>"
            for path, at in self.modified.items()
        )
        return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{''.join(lines)}</urlset>"


def said(*arguments: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run(list(arguments)) == 0
    return " ".join(out.getvalue().split())


def watched_for_months(store: Path, home: str) -> HonestSite:
    """A store in which a truthful sitemap has been found to be one; its sources are as a crawler would have them."""
    clock = ManualClock(time.time() - 90 * DAY_S)
    site = HonestSite(home)
    with Scheduler(store, budget="8/d", burst=2.0, clock=clock, **SLOW) as scheduler:
        scheduler.add_many({key: {} for key in (*site.modified, site.sitemap)})
        watch(site, scheduler, clock, days=89)
    with contextlib.closing(open_store(str(store))) as opened:
        lines = opened.sources()
        kinds: dict[str, Any] = {site.sitemap: "sitemap"}
        opened.edit([msgspec.structs.replace(each, kind=kinds.get(each.url, "page")) for each in lines])
    return site


def test_what_an_honest_sitemap_announces_is_fetched_next(tmp_path: Path) -> None:
    """There is a token a second: time enough to learn what the sitemap says before the next fetch, or after."""
    path, served = tmp_path / "recrawl.db", Served({})
    config = settings(path, "1/s", {**SLOW, "burst": 1.0, "politeness.robots": False})

    async def main() -> None:
        async with serving(served.answer) as home:  # type: ignore[arg-type]
            served.home = home
            site = watched_for_months(path, home)
            served.modified = {key.removeprefix(home): at for key, at in site.modified.items()}
            with contextlib.closing(open_store(str(path))) as store:
                last = {each.source: each.last or 0.0 for each in store.progress()}
                announced = min(
                    (each for each in store.sources() if "/page/" in each.url), key=lambda each: last[each.id]
                )
                served.modified[announced.url.removeprefix(home)] = time.time() - 1.0
                list_ = store.source(site.sitemap)
                assert list_ is not None
                store.edit([msgspec.structs.replace(list_, wanted=time.time())])

            await crawl(config, enough=lambda *_: announced.url.removeprefix(home) in served.asked)
            assert served.asked[0] == SITEMAP, "which somebody asked for"
            assert served.asked.index(announced.url.removeprefix(home)) <= 3, "of thirty pages, as soon as that is read"

    asyncio.run(main())
    told = json.loads(said("explain", "--json", "--store", str(path), "sitemap.xml"))["as_list"]
    assert (told["pages"], told["trust"] > 0.9, told["right"] > 0.8) == (30, True, True)
    words = said("explain", "--store", str(path), "sitemap.xml")
    assert "It names 30 watched pages" in words
    assert " times out of 100 and tells of " in words
    assert "A fetch now would name about" in words
    page = json.loads(said("explain", "--json", "--store", str(path), "page/3"))["named_by"]
    assert (page["name"].endswith(SITEMAP), page["told"] > 0.5) == (True, True)


@pytest.mark.parametrize(("path", "kind"), [(SITEMAP, "sitemap"), ("/", "page")])
def test_the_pages_of_a_followed_list_are_watched_with_it(tmp_path: Path, path: str, kind: str) -> None:
    began = time.time() - 30 * DAY_S
    served = Served({f"/page/{number}": began + number for number in range(8)})
    config = settings(tmp_path / "recrawl.db", "50/s", {"discovery.per_site": 7})

    async def main() -> None:
        async with serving(served.answer) as home:  # type: ignore[arg-type]
            served.home = home
            options = msgspec.structs.replace(Source(url="").options, follow=True)
            first = Source(url=home + path, kind=kind, importance=3.0, added=time.time(), options=options)  # type: ignore[arg-type]
            await crawl(config, sources=[first], meanwhile=all_found)

    async def all_found(crawler: Crawler, store: Store) -> None:
        await soon(lambda: len({each for each in served.asked if each.startswith("/page/")}) == 7)
        await soon(lambda: served.asked.count(path) >= 2, again_s=0.05)
        found = [each for each in store.sources() if "/page/" in each.url]
        assert len(found) == 7, "as many as the bound allows"
        assert {(each.kind, each.importance, each.options.follow) for each in found} == {("page", 3.0, None)}
        assert all(each.found_on for each in found)
        assert store.source("https://elsewhere.example/") is None
        (list_,) = [each for each in store.sources() if each.url.endswith(path)]
        store.remove([list_.id])
        await soon(lambda: len(crawler.decider) == 7)

    asyncio.run(main())
