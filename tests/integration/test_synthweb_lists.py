"""Lists of pages over real sockets: sitemaps by their laws, listing pages, and what the web knows of both."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from lxml import etree

from raw_requests import get, served
from recrawl.clock import ManualClock
from recrawl.synthweb.list_laws import LIST_LAWS
from recrawl.synthweb.process import running
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.site_lists import LISTING, SITEMAP, UNDATED, ListTruth

NAMESPACE = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9"}
PAGES = {"sources": 8, "hosts": 1, "mix": "pages"}


async def stated(web: SynthWeb, host: int = 0) -> dict[str, float | None]:
    """What a sitemap says of each page."""
    tree = etree.fromstring((await get(web.bases[host] + SITEMAP)).body)
    found = {}
    for url in tree.findall("s:url", NAMESPACE):
        said = url.findtext("s:lastmod", namespaces=NAMESPACE)
        found[url.findtext("s:loc", namespaces=NAMESPACE)] = None if said is None else moment(said)
    return found


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def links(page: bytes) -> list[str]:
    return re.findall(r'<li><a href="([^"]+)">', page.decode())


def test_a_sitemap_says_of_each_page_what_its_law_tells() -> None:
    """An hour passes in a second."""
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        clock.advance(200.0)
        now = clock.now()
        for host, law in web.world.lists.items():
            said = await stated(web, host)
            pages = web.world.pages(host)
            assert list(said) == [web.url(page) for page in pages]
            changes = [web.truth(page.number).times for page in pages]
            last = np.array([times[-1] for times in changes])
            lastmods = list(said.values())
            if law.name == "honest":
                assert lastmods == pytest.approx(last, abs=2e-6)
            elif law.name == "nightly":
                midnight = web.timeline.moment(192.0)
                before = [max(time for time in times if time <= midnight) for times in changes]
                assert lastmods == pytest.approx(before, abs=2e-6)
            elif law.name == "rebuilt":
                assert set(lastmods) == {web.timeline.moment(192.0)}
            elif law.name == "rebuilt_weekly":
                assert set(lastmods) == {web.timeline.moment(168.0)}
            elif law.name == "silent":
                assert set(lastmods) == {None}
            elif law.name == "forgetful":
                assert (np.array(lastmods) <= last + 2e-6).all()
                assert (np.array(lastmods) < last - 1.0).any()
            else:
                assert (np.array(lastmods) >= last - 2e-6).all()
                assert (np.array(lastmods) > last + 1.0).any()
            assert all(lastmod is None or lastmod <= now for lastmod in lastmods)

    served(visit, clock=clock, sources=56, hosts=7, mix="pages", lists="mixed")


def test_an_unchanged_list_is_not_sent_again() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        clock.advance(25.5)
        for path in (SITEMAP, LISTING):
            url = web.base + path
            first = await get(url)
            again = await get(url, If_None_Match=first.headers["etag"])
            assert (first.status, again.status, again.body) == (200, 304, b"")
            assert (await get(url, If_Modified_Since=first.headers["last-modified"])).status == 304
        clock.advance(24.0)
        for path in (SITEMAP, LISTING):
            later = await get(web.base + path, If_None_Match=first.headers["etag"])
            assert later.status == 200
            assert later.headers["last-modified"] != first.headers["last-modified"]

    served(visit, clock=clock, lists="rebuilt", **PAGES)


def test_a_listing_page_has_those_on_top_that_changed_last() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        for hours in (3.0, 40.0, 40.0):
            clock.advance(hours)
            truths = sorted(web.truths(), key=lambda truth: -truth.times[-1])
            paths = [web.world.sources[truth.source].path for truth in truths]
            dated, bare = (await get(web.base + LISTING)).body, (await get(web.base + UNDATED)).body
            assert links(dated) == links(bare) == paths
            times = [moment(text) for text in re.findall(r'datetime="([^"]+)"', dated.decode())]
            assert times == pytest.approx([truth.times[-1] for truth in truths], abs=2e-6)
            assert all(before >= after for before, after in pairwise(times))
            assert b"<time" not in bare

    served(visit, clock=clock, lists="honest", **PAGES)


def test_a_silent_site_keeps_times_back_and_its_listing_in_order() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        clock.advance(60.0)
        shown = (await get(web.base + LISTING)).body
        newest = max(web.truths(), key=lambda truth: truth.times[-1])
        assert links(shown)[0] == web.world.sources[newest.source].path
        assert b"<time" not in shown

    served(visit, clock=clock, lists="silent", **PAGES)


def test_the_truth_tells_signals_that_were_true_from_those_that_were_not() -> None:
    clock = ManualClock()

    async def visit(web: SynthWeb) -> None:
        clock.advance(150.0)
        found = msgspec.json.decode((await get(web.base + "/_synthweb/lists")).body, type=list[ListTruth])
        assert [each.law for each in found] == ["honest", "touchy"]
        honest, touchy = found
        assert honest.sitemap == web.bases[0] + SITEMAP
        changes = sum(len([t for t in web.truth(page).times if t > web.timeline.start]) for page in honest.pages)
        assert len(honest.signals) == changes > 50
        assert all(each.true for each in honest.signals)
        false = [each for each in touchy.signals if not each.true]
        assert len(false) == pytest.approx(150.0 * len(touchy.pages) * LIST_LAWS["touchy"].false_per_h, rel=0.3)
        for each in false:
            assert each.lastmod not in web.truth(each.source).times
        assert [each.told_at for each in touchy.signals] == sorted(each.told_at for each in touchy.signals)
        without = msgspec.json.decode((await get(web.base + "/_synthweb/lists?events=0")).body, type=list[ListTruth])
        assert [each.signals for each in without] == [[], []]
        half = msgspec.json.decode(
            (await get(f"{web.base}/_synthweb/lists?until={web.timeline.moment(75.0)}")).body, type=list[ListTruth]
        )
        assert 0 < len(half[0].signals) < len(honest.signals)

    served(visit, clock=clock, sources=16, hosts=2, mix="pages", lists="honest,touchy")


def test_robots_txt_and_the_catalogue_name_sitemaps_where_there_are_any() -> None:
    async def visit(web: SynthWeb) -> None:
        assert f"Sitemap: {web.base}{SITEMAP}" in (await get(web.base + "/robots.txt")).body.decode().splitlines()
        rows = (await get(web.base + "/_synthweb/csv")).body.decode().splitlines()
        assert rows[-1] == f"{web.base}{SITEMAP},sitemap,1,"
        assert len(rows) == 1 + 8 + 1

    async def without(web: SynthWeb) -> None:
        assert b"Sitemap" not in (await get(web.base + "/robots.txt")).body
        assert (await get(web.base + SITEMAP)).status == 404
        assert (await get(web.base + LISTING)).status == 404

    served(visit, clock=ManualClock(), lists="honest", **PAGES)
    served(without, clock=ManualClock(), **PAGES)


def test_the_command_serves_lists_and_a_hub() -> None:
    options = ("--sources", 6, "--hosts", 2, "--mix", "pages", "--lists", "honest,silent", "--hub")
    with running(*options) as web:
        assert [each.law for each in web.lists()] == ["honest", "silent"]
        assert web.hub().subscribers == []
        answer = asyncio.run(get(web.base + SITEMAP))
    assert (answer.status, answer.body.count(b"<lastmod>")) == (200, 3)
