"""What a document said, whoever wrote it: the common form of feeds, sitemaps and pages; and why one was not read.

Parsers are pure functions from bytes to :class:`Findings`; they run in another process when a document is large, so
everything here is plain data. Text is cleaned (no control characters, no markup) before it gets into a finding.
"""

from __future__ import annotations

import msgspec

from recrawl.errors import RecrawlError
from recrawl.store.records import SourceKind


class FoundItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One item of a feed, or one URL of a sitemap.

    Parameters
        key: what makes it the same item next time: its id, else its link, else a digest of title and summary
        published: Unix seconds as the publisher says, never after the fetch; None if it does not say
        modified: when the document it links was last modified, as the publisher says; None if it does not say
        formerly: the key it had by rules that are no longer followed, where that was another; it may be stored by it
        author: who wrote it; only where asked for, as are the next two
        content: what it says in full, as it is stored (`reading.content`)
        matched: numbers of the owner's rules that it matches
    """

    key: str
    title: str = ""
    link: str = ""
    summary: str = ""
    published: float | None = None
    modified: float | None = None
    formerly: str = ""
    author: str = ""
    content: bytes = b""
    matched: tuple[int, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """A part of a line of a page, and why it does not count; nothing if it does."""

    text: str
    why: str = ""


class Number(msgspec.Struct, frozen=True):
    """A number of a page: what it is, its value, how it is said, its unit, and where it stands."""

    name: str
    value: float
    said: str
    unit: str = ""
    where: str = ""

    @property
    def line(self) -> str:
        """As it stands in the text that is compared."""
        return f"{self.name}: {self.said}"


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What one document held.

    Parameters
        kind: what it turned out to be
        title: of the feed or page
        items: of a feed or sitemap, in document order, each key once
        text: of a page: its main text, or what the selector picks, bounded
        kept: the numbers of its lines that always count, by its owner's word
        number: the one its owner wants watched
        numbers: those that could be watched, where asked for
        matched: the lines of it that match its owner's conditions
        digest: of a page: what is compared from visit to visit
        children: of a sitemap index: the sitemaps it lists, by the protocol's cross-host rule
        advertises: feeds an HTML page names in its head
        links: of a page: where it leads, in document order, each address once
        shell: of a page: it is empty without scripts
        remark: something the owner should know ("cut off after 50 000 entries"), or nothing
        parts: of a page, where asked for: all its lines, those that do not count included
        idle: selectors of what is ignored or kept that pick nothing, where asked for
        stay_away_s: the publisher asks not to be read again within so many seconds (ttl, Cache-Control, Expires)
        period_s: how often the publisher says it changes (sy:updatePeriod, changefreq)
        skip_hours: hours of the day, UTC, in which the publisher asks not to be read
        skip_days: weekdays, Monday 0, in which the publisher asks not to be read
        hubs: where to subscribe to changes of it (WebSub), the publisher's first choice first
        topic: by which name hubs know it; empty if it does not say
    """

    kind: SourceKind
    title: str = ""
    items: tuple[FoundItem, ...] = ()
    text: str = ""
    kept: tuple[int, ...] = ()
    number: Number | None = None
    numbers: tuple[Number, ...] = ()
    matched: tuple[str, ...] = ()
    digest: str = ""
    children: tuple[str, ...] = ()
    advertises: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    shell: bool = False
    remark: str = ""
    parts: tuple[tuple[Part, ...], ...] = ()
    idle: tuple[str, ...] = ()
    stay_away_s: float | None = None
    period_s: float | None = None
    skip_hours: tuple[int, ...] = ()
    skip_days: tuple[int, ...] = ()
    hubs: tuple[str, ...] = ()
    topic: str = ""


class UnreadableError(RecrawlError):
    """A document that cannot be read as what it should be; the message says what it is instead."""
