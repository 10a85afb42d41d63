"""The lists of pages that sites serve, and the truth about them.

=======================  ===========================================================================================
`/sitemap.xml`           all pages of the site, each with the time at which its list says it changed
`/latest.html`           a listing page: links to all pages, those that changed last on top, with the same times
`/latest-undated.html`   the same without times
=======================  ===========================================================================================

A site that keeps times back (the law `silent`) has them in no list, but its listing pages are in order all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from zlib import crc32

import msgspec

from recrawl.synthweb import documents
from recrawl.synthweb.prepared import Prepared, prepare
from recrawl.synthweb.world import SynthSource, Timeline, World

SITEMAP, LISTING, UNDATED = "/sitemap.xml", "/latest.html", "/latest-undated.html"


class ListSignal(msgspec.Struct, frozen=True, gc=False):
    """A list said that a page changed: when it said so, the time it stated, and whether that was so."""

    source: int
    told_at: float
    lastmod: float
    true: bool


class ListTruth(msgspec.Struct, frozen=True, kw_only=True):
    """What the list of one host is, and what it has said so far.

    Parameters
        law: the law of honesty it follows
        pages: the sources it names
        signals: all it said since the web began, in order
    """

    host: str
    law: str
    sitemap: str
    listing: str
    undated: str
    pages: list[int]
    signals: list[ListSignal]


class Entry(NamedTuple):
    """A page as it stands in a list; times in Unix seconds, 0 for a page that never was and None for one not said."""

    page: SynthSource
    moved: float
    lastmod: float | None


def sitemap(base: str, entries: list[Entry]) -> str:
    """All pages, in the order of the site."""
    return documents.page_sitemap([(f"{base}{each.page.path}", each.lastmod) for each in entries])


def listing(base: str, entries: list[Entry]) -> str:
    """Links to all pages, those that changed last on top."""
    ordered = sorted(entries, key=lambda each: -each.moved)
    return documents.listing([(each.page.path, f"Source {each.page.number}", each.lastmod) for each in ordered])


def undated(base: str, entries: list[Entry]) -> str:
    """The same without times."""
    ordered = sorted(entries, key=lambda each: -each.moved)
    return documents.listing([(each.page.path, f"Source {each.page.number}", None) for each in ordered])


XML, HTML = "application/xml", "text/html; charset=utf-8"
LISTS: dict[str, tuple[Callable[[str, list[Entry]], str], str]] = {
    SITEMAP: (sitemap, XML),
    LISTING: (listing, HTML),
    UNDATED: (undated, HTML),
}


class SiteLists:
    """The lists of a world's hosts, prepared until they change."""

    def __init__(self, world: World, compress: bool = True) -> None:
        self._world, self._compress = world, compress
        self._pages = {host: world.pages(host) for host in world.lists}
        self._ready: dict[tuple[int, str], tuple[bytes, Prepared]] = {}

    def ready(self, host: int, path: str, base: str, line: Timeline, now: float) -> Prepared | None:
        """The answers of a list at a Unix time; None if the host has none there."""
        if path not in LISTS or host not in self._pages:
            return None
        latest, entries = self._entries(host, line, now)
        write, content_type = LISTS[path]
        body = write(base, entries).encode()
        known, ready = self._ready.get((host, path), (b"", None))
        if ready is None or body != known or (not ready.lasting and now >= ready.latest + 1.0):
            etag = f'"{crc32(body):08x}"'
            ready = prepare(
                body, {"Content-Type": content_type}, now=now, latest=latest, etag=etag, compress=self._compress
            )
            self._ready[host, path] = body, ready
        return ready

    def truth(self, host: int, netloc: str, base: str, line: Timeline, until: float) -> ListTruth:
        """All that the list of a host said between the beginning of the web and a Unix time."""
        signals = []
        for page in self._pages[host]:
            told = self._world.listed(page.number).told(line.hour(until))
            signals += [
                ListSignal(page.number, line.moment(at), line.moment(lastmod), true)
                for at, lastmod, true in zip(told.at.tolist(), told.lastmod.tolist(), told.true.tolist(), strict=True)
                if at > 0.0
            ]
        return ListTruth(
            host=netloc,
            law=self._world.lists[host].name,
            sitemap=base + SITEMAP,
            listing=base + LISTING,
            undated=base + UNDATED,
            pages=[page.number for page in self._pages[host]],
            signals=sorted(signals, key=lambda each: (each.told_at, each.source)),
        )

    def _entries(self, host: int, line: Timeline, now: float) -> tuple[float, list[Entry]]:
        """When the list changed last, and how its pages stand in it."""
        hour, latest, entries = line.hour(now), line.start, []
        says = self._world.lists[host].dated
        for page in self._pages[host]:
            told = self._world.listed(page.number).last(hour)
            moved = 0.0 if told is None else line.moment(told.lastmod)
            entries.append(Entry(page, moved, moved if says and told is not None else None))
            latest = latest if told is None else max(latest, line.moment(told.at))
        return latest, entries
