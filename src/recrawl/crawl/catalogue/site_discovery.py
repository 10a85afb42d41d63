"""What the address of a site leads to: the feed it advertises, its sitemap, or the page itself.

One look, before a source is added: robots.txt, which is obeyed, and the page; a third request for the usual place of a
sitemap where neither names anything. Private addresses are refused as in a run, time and size are bounded, and whatever
goes wrong is no error: the address is then taken as it is. So it is where headers were given for it and what it leads
to has another origin: they belong to its own alone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from urllib.parse import urlsplit

import msgspec

from recrawl.clock import SystemClock
from recrawl.config import Config, Politeness
from recrawl.crawl.fetching.address_guard import host_refusal
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.robots import RobotsCache
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.readers import Document, Readers
from recrawl.crawl.request_budget import NoBudget
from recrawl.crawl.urls import host, normalise, origin
from recrawl.errors import ParameterError
from recrawl.store.records import Robots, SourceKind

PATIENCE_S = 10.0
"""For everything that is looked at for one address."""
AT_ONCE = 8
"""Addresses looked at at a time."""
MOST_OTHERS = 10
_COMMENTS = re.compile(r"comment|kommentar", re.IGNORECASE)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a look at an address.

    Parameters
        url: what to add
        kind: what it is, where that is known; "auto" otherwise
        others: what else is advertised
        trouble: why it could not be looked at, in words
    """

    url: str
    kind: SourceKind = "auto"
    others: tuple[str, ...] = ()
    trouble: str = ""


def look(
    urls: Sequence[str],
    config: Config,
    stored: Callable[[str], Robots | None],
    headers: Mapping[str, str] | None = None,
    robots: bool | None = None,
) -> dict[str, Look]:
    """Look at addresses, normalised ones, side by side.

    Parameters
        stored: the copy of a robots.txt that somebody has
        headers: for the origins of the addresses
        robots: whether robots.txt is obeyed; by default as the settings say
    """
    return asyncio.run(_look(urls, config, stored, dict(headers or {}), robots)) if urls else {}


async def _look(
    urls: Sequence[str],
    config: Config,
    stored: Callable[[str], Robots | None],
    headers: Mapping[str, str],
    robots: bool | None,
) -> dict[str, Look]:
    looker = _Looker(config, stored, headers, config.politeness.robots if robots is None else robots)
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(url: str) -> Look:
        async with turns:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await looker.look(url)
            except TimeoutError:
                return Look(url=url, trouble=f"no answer within {PATIENCE_S:g} s")

    try:
        return dict(zip(urls, await asyncio.gather(*map(one, urls)), strict=True))
    finally:
        await looker.close()


class _Looker:
    def __init__(
        self, config: Config, stored: Callable[[str], Robots | None], headers: Mapping[str, str], robots: bool
    ) -> None:
        self._clock, self._readers = SystemClock(), Readers()
        fetching = msgspec.structs.replace(config.fetch, timeout="8s", idle_timeout="5s")
        self._cache = RobotsCache(fetching.user_agent, stored)
        self._allow_private, self._headers, self._obeys = fetching.allow_private, headers, robots
        slots = HostSlots(Politeness(delay="0s"), self._clock.now(), Random())
        transport = HttpTransport(fetching, self._clock)
        self._fetcher = Fetcher(transport, self._cache, slots, NoBudget(), self._clock, fetching)

    async def close(self) -> None:
        await self._readers.close()
        await self._fetcher.close()

    async def look(self, url: str) -> Look:
        found, where = await self._read(url)
        if isinstance(found, str):
            return Look(url=url, trouble=found)
        if found.kind != "page":
            return Look(url=url, kind=found.kind)
        feeds = [feed for feed in map(self._usable, found.advertises) if feed]
        own = [feed for feed in feeds if self._may_have_headers(feed, url)]
        return _feed_of(where, own, feeds) or await self._sitemap_of(url, where) or Look(url=url, others=tuple(feeds))

    async def _read(self, url: str) -> tuple[Findings | str, str]:
        """What is there, or why nothing is, and where it was in the end."""
        fetched = await self._fetcher.visit(url, self._headers, robots=self._obeys)
        response = fetched.response
        if response is None or response.status >= 400:
            why = fetched.refused or fetched.error or (f"HTTP status {response.status}" if response else "no answer")
            way_out = "; --allow-private looks" if fetched.reason == "address" else ""
            return why + way_out, fetched.final_url
        document = Document(
            url=fetched.final_url,
            body=response.body,
            now=self._clock.now(),
            content_type=response.headers.get("content-type", ""),
            headers=response.headers,
        )
        try:
            return await self._readers.read(document), fetched.final_url
        except UnreadableError as error:
            return str(error), fetched.final_url

    async def _sitemap_of(self, url: str, where: str) -> Look | None:
        """The sitemap of a site, if this is its address: by robots.txt, or in the usual place."""
        if not _is_root(where) or not self._may_have_headers(where, url):
            return None
        home = origin(where)
        rules = self._cache.rules(home, self._clock.now())
        usable = filter(None, map(self._usable, rules.sitemaps if rules else ()))
        named = [each for each in usable if self._may_have_headers(each, url)]
        if named:
            return Look(url=named[0], kind="sitemap", others=tuple(named[1:MOST_OTHERS]))
        usual = f"{home}/sitemap.xml"
        found, _ = await self._read(usual)
        return Look(url=usual, kind="sitemap") if isinstance(found, Findings) and found.kind == "sitemap" else None

    def _may_have_headers(self, url: str, asked: str) -> bool:
        """Whether what was given for an address may be sent to another."""
        return not self._headers or origin(url) == origin(asked)

    def _usable(self, url: str) -> str:
        """The address as it would be added; empty for one that may not be fetched."""
        try:
            address = normalise(url)
        except ParameterError:
            return ""
        return address if self._allow_private or not host_refusal(host(address)) else ""


def _feed_of(where: str, usable: Sequence[str], feeds: Sequence[str]) -> Look | None:
    """The feed of a site, or of the part of one that lies under the address; a page beside it keeps its own news."""
    own = [feed for feed in usable if not _COMMENTS.search(feed)] or list(usable)
    if not own or not (_is_root(where) or _lies_under(own[0], where)):
        return None
    rest = [feed for feed in feeds if feed != own[0]]
    return Look(url=own[0], kind="feed", others=tuple(rest[:MOST_OTHERS]))


def _is_root(url: str) -> bool:
    return urlsplit(url).path in ("", "/") and not urlsplit(url).query


def _lies_under(feed: str, page: str) -> bool:
    return origin(feed) == origin(page) and urlsplit(feed).path.startswith(urlsplit(page).path.rstrip("/"))
