"""What recrawl sees of an address: fetched once, by the rules of crawling, and shown instead of stored.

Robots.txt, the rules on addresses, the delay of its host and its holds count as in a crawl; the budget does not,
because somebody is waiting for a single answer.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Protocol

import msgspec

from recrawl.clock import Clock, SystemClock
from recrawl.config import Config
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.robots import RobotsCache
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.hold_causes import Causes
from recrawl.crawl.met_conditions import standing
from recrawl.crawl.reading import restless
from recrawl.crawl.reading.diffs import is_binary
from recrawl.crawl.reading.findings import Findings, FoundItem, Number, Part, UnreadableError
from recrawl.crawl.reading.noise import without_noise
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.preview_parts import without_restless
from recrawl.crawl.reading.readers import Document, Readers
from recrawl.crawl.reading.regions import unpacked
from recrawl.crawl.rendering.messages import Rendered
from recrawl.crawl.rendering.renderer import NoBrowserError, Renderer
from recrawl.crawl.rendering.shown_pages import ShownPages, as_shown, wanted, without_browser
from recrawl.crawl.request_budget import NoBudget
from recrawl.crawl.urls import origin
from recrawl.store.records import Source
from recrawl.store.roles import CrawlLog, Items
from recrawl.store.source_terms import Defaults, EffectiveOptions

LONGEST_S = 60.0
"""For all of it: robots.txt, redirects and reading included."""
MOST_ITEMS, MOST_SITEMAPS = 500, 20


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen.

    Parameters
        url: what was asked for
        address: where it came from in the end
        status: of the answer; 0 if there was none
        requests: sent for it, robots.txt and redirects included
        size: of the document in bytes
        error: why nothing can be shown, in words
        reason: the same in one word, if nothing was fetched
        kind: what it is: "feed", "sitemap", "page"; empty if that is not known
        compared: of a page: what is compared from visit to visit, in words
        lines: of a page: all of them in parts, those that do not count with the reason
        text: of a page: what counts
        number: of a page: the one that is watched; `numbers` are those that could be
        items: of a feed or sitemap, the first of them; `item_count` are all
        feeds: that a page names
        sitemaps: that its robots.txt names
        children: that a sitemap index lists
        rendered: of a page that a browser showed: what that took
        remark: what its owner would be told
        idle: of what its owner ignores or keeps, what picks nothing on the page today
        when: of a page: each condition, and how things stand today, in words
    """

    url: str
    address: str
    status: int = 0
    requests: int = 0
    size: int = 0
    error: str = ""
    reason: str = ""
    kind: str = ""
    title: str = ""
    compared: str = ""
    lines: tuple[tuple[Part, ...], ...] = ()
    text: str = ""
    number: Number | None = None
    numbers: tuple[Number, ...] = ()
    items: tuple[FoundItem, ...] = ()
    item_count: int = 0
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    rendered: str = ""
    remark: str = ""
    idle: tuple[str, ...] = ()
    when: tuple[tuple[str, str], ...] = ()


class Known(CrawlLog, Items, Protocol):
    """What is known of hosts and of the page from crawls."""


async def look_at(config: Config, source: Source, store: Known | None = None, clock: Clock | None = None) -> Preview:
    """Fetch a source once and say what is seen of it. Whatever goes wrong is told in the preview.

    Parameters
        store: whose holds, copies of robots.txt, and restless text of the source count, if there is one
    """
    timer = clock or SystemClock()
    slots = HostSlots(config.politeness, timer.now(), Random(), Causes.of(config))
    if store is not None:
        slots.restore(store.holds(timer.now()))
    robots = RobotsCache(config.fetch.user_agent, (lambda _: None) if store is None else store.robots)
    fetcher = Fetcher(HttpTransport(config.fetch, timer), robots, slots, NoBudget(), timer, config.fetch)
    readers, pages = Readers(), ShownPages(Renderer(config.browser, config.fetch), fetcher)
    seen = Preview(url=source.url, address=source.url)
    try:
        async with asyncio.timeout(LONGEST_S):
            options = source.terms(Defaults.of(config))
            fetched = await fetcher.visit(source.url, source.headers, robots=options.robots)
            seen = _fetched(seen, fetched, robots, timer.now())
            if seen.error or fetched.response is None:
                return seen
            counts = WhatCounts.of(source.select, options)
            document = _document(source, fetched.final_url, fetched.response, counts, timer.now())
            found, shown = await _read_or_shown(readers, pages, source, options, fetched, document)
            if shown is not None:
                counts, seen = msgspec.structs.replace(counts, rendered=True), _told_of(seen, shown, fetched)
            if store is not None and source.id and options.restless:
                found = _without_restless(found, store.restless(source.id), document.now)
            return msgspec.structs.replace(_read(seen, found, counts), when=standing(options.when, found))
    except TimeoutError:
        return msgspec.structs.replace(seen, error=f"it took more than {LONGEST_S:g} s")
    except UnreadableError as error:
        return msgspec.structs.replace(seen, error=str(error))
    finally:
        await pages.close()
        await readers.close()
        await fetcher.close()


async def _read_or_shown(
    readers: Readers,
    pages: ShownPages,
    source: Source,
    options: EffectiveOptions,
    fetched: FetchResult,
    document: Document,
) -> tuple[Findings, Rendered | None]:
    """What a document says, and if a browser had to show it, what that took."""
    found, trouble, response = None, None, fetched.response
    assert response is not None
    try:
        found = await readers.read(document)
    except UnreadableError as error:
        trouble = error
    why = wanted(options.render, response, found, str(trouble or ""))
    if why is not None:
        try:
            shown = await pages.show(source, options, fetched)
            body = as_shown(response, shown)
            counts = msgspec.structs.replace(document.counts, rendered=True)
            again = _document(msgspec.structs.replace(source, kind="page"), shown.url, body, counts, document.now)
            return await readers.read(again), shown
        except NoBrowserError as missing:
            if why == "asked" or found is None:
                raise UnreadableError(str(missing)) from missing
            return msgspec.structs.replace(found, remark=without_browser(str(missing))), None
    if found is None:
        raise trouble or UnreadableError("nothing to read")
    return found, None


def _told_of(seen: Preview, shown: Rendered, fetched: FetchResult) -> Preview:
    own = f"{shown.requests} request{'' if shown.requests == 1 else 's'} of its own"
    refused = f" ({shown.refused} refused: {', '.join(shown.refusals)})" if shown.refusals else ""
    words = f"{shown.seconds:.1f} s, {shown.cpu_s:.1f} s of processor time, {own}{refused}"
    return msgspec.structs.replace(seen, rendered=words, requests=fetched.requests, size=len(shown.html))


def _document(source: Source, url: str, response: Response, counts: WhatCounts, now: float) -> Document:
    return Document(
        url=url,
        body=response.body,
        now=now,
        kind=source.kind,
        content_type=response.headers.get("content-type", ""),
        headers=response.headers,
        counts=counts,
        marked=True,
    )


def _without_restless(found: Findings, learned: bytes | None, now: float) -> Findings:
    """With the lines marked of which its visits have shown that they change nearly every time."""
    record = unpacked(learned)
    lines = restless.restless_lines(record, found.text.split("\n"), lambda lines: without_noise([*lines], (), now)[0])
    return msgspec.structs.replace(found, parts=without_restless(found.parts, found.text, lines))


def _fetched(seen: Preview, fetched: FetchResult, robots: RobotsCache, now: float) -> Preview:
    response = fetched.response
    status = 0 if response is None else response.status
    error = fetched.refused or fetched.error
    if not error and not 200 <= status < 300:
        error = f"HTTP status {status}"
    rules = robots.rules(origin(fetched.final_url).lower(), now)
    return msgspec.structs.replace(
        seen,
        address=fetched.final_url,
        status=status,
        requests=fetched.requests,
        size=0 if response is None else len(response.body),
        error=error,
        reason=fetched.reason,
        sitemaps=() if rules is None else rules.sitemaps[:MOST_SITEMAPS],
    )


def _compared(found: Findings, counts: WhatCounts) -> str:
    if found.kind != "page":
        return ""
    return "every byte" if is_binary(found.text) and not found.parts else counts.words


def _read(seen: Preview, found: Findings, counts: WhatCounts) -> Preview:
    return msgspec.structs.replace(
        seen,
        kind=found.kind,
        title=found.title,
        compared=_compared(found, counts),
        lines=found.parts,
        text=found.text,
        number=found.number,
        numbers=tuple(dict.fromkeys(filter(None, (found.number, *found.numbers)))),
        items=found.items[:MOST_ITEMS],
        item_count=len(found.items),
        feeds=found.advertises,
        children=found.children[:MOST_ITEMS],
        remark=found.remark,
        idle=found.idle,
    )
