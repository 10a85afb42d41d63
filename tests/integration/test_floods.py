"""Thousands of sources of one host at once, found or added, while the crawler runs: it goes on, and serves others."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from live import crawl, settings
from recrawl.store.discovery import NOTE, left_out
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from servers import serving
from until import soon

NAMED, IMPORTED, OTHERS = 20_000, 5000, 20
EMPTY = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'


def index(base: str) -> bytes:
    named = "".join(f"<sitemap><loc>{base}/{k}.xml</loc></sitemap>" for k in range(NAMED))
    return f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{named}</sitemapindex>'.encode()


def test_an_index_of_20_000_and_an_import_of_5000_end_nothing_and_keep_nobody_waiting(tmp_path):
    config = settings(tmp_path / "recrawl.db", "200/s", {"cold_start": 0.5, "politeness.min_interval": "1h"})
    asked: dict[str, int] = {}

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        host = f"http://{request.host}"
        asked[host] = asked.get(host, 0) + 1
        body = index(host) if request.path == "/index.xml" else EMPTY
        return web.Response(body=body, content_type="application/xml")

    async def main() -> tuple[str, str]:
        async with serving(answer) as crowded, serving(answer) as other:

            async def meanwhile(_, store) -> None:
                await soon(lambda: store.count() > config.discovery.per_site, again_s=0.05)
                imported = [Source(url=f"{crowded}/imported/{k}", added=time.time()) for k in range(IMPORTED)]
                await asyncio.to_thread(store.add, imported)
                await asyncio.to_thread(store.add, [Source(url=f"{other}/{k}") for k in range(OTHERS)])

            def enough(*_) -> bool:
                return asked.get(other, 0) >= OTHERS and asked[crowded] >= 3 * OTHERS

            index_of_all = [Source(url=f"{crowded}/index.xml")]
            await crawl(config, sources=index_of_all, meanwhile=meanwhile, enough=enough)
            return crowded, other

    crowded, other = asyncio.run(main())
    assert asked[other] >= OTHERS
    store = open_store(config.store)
    found = [source for source in store.sources() if source.found_on]
    (told,) = left_out(store.note(NOTE))
    assert len(found) == told.found == config.discovery.per_site
    assert f"http://{told.site}" == crowded
    assert told.left_out == NAMED - config.discovery.per_site
    assert store.count() == 1 + len(found) + IMPORTED + OTHERS
    store.close()
