"""Sitemaps of the sitemaps.org protocol: lists of URLs, indexes of lists, news sitemaps, plain text.

What counts as an item. A sitemap's news are URLs newly listed and URLs newly modified, so an item is a URL *with its
lastmod*: when lastmod moves, the item is new. Two exceptions keep this honest. An article of a news sitemap is known by
its URL alone, because it is dated by its publication. And a lastmod shared by more than half of a list of ten or more
is the stamp of whoever generated the list, not of a change; such URLs are known by themselves alone. With the switch
`lastmod` off, all are. What is said of watched pages (`modified`) is told as it stands, stamps included: how far it is
believed is learned.

Cross-host rule. A sitemap speaks for its own host only: URLs elsewhere are dropped and counted. http and https on their
default ports count as one site, since most hosts moved from one to the other and left their lists behind. The
protocol's rule on directories is not applied: robots.txt may lift it, as search engines do for everybody.

The document is streamed and every element forgotten once read, so memory grows with what is found alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from lxml import etree

from recrawl.config import HintSwitches
from recrawl.crawl import urls
from recrawl.crawl.reading import dates, decoding, publisher_hints
from recrawl.crawl.reading.findings import Findings, FoundItem, UnreadableError
from recrawl.crawl.reading.items import key_of, once
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean

MOST_URLS = 100_000
"""Twice what the protocol allows."""
STAMP_LEAST = 10
_TAGS = ("{*}url", "{*}sitemap")


class _Listed:
    """What was met on the way through a list."""

    def __init__(self, url: str) -> None:
        self.own = _own(url)
        self.listed: list[FoundItem] = []
        self.stamps: list[str] = []
        self.children: dict[str, None] = {}
        self.frequencies: set[str] = set()
        self.elsewhere = 0
        self.cut = self.broken = False


def read_sitemap(body: bytes, url: str, now: float, switches: HintSwitches) -> Findings:
    """What a sitemap or an index of sitemaps holds.

    Parameters
        body: UTF-8, starting with the document
        now: of the fetch, Unix seconds; nothing is dated later
    """
    decoding.refuse_entities(body, "the sitemap")
    found = _Listed(url)
    events = _events(body)
    try:
        for number, element in enumerate(_forgetting(events)):
            if number == 0:
                decoding.refuse_entities(element, "the sitemap")
            if len(found.listed) + len(found.children) >= MOST_URLS:
                found.cut = True
                break
            _take(element, url, now, switches, found)
    except etree.XMLSyntaxError:
        found.broken = True
    found.broken |= bool(events.error_log)
    if found.broken:
        whole, cut = decoding.whole_entries(body)
        if cut and len(whole) < len(body):
            return read_sitemap(whole, url, now, switches)
    if found.broken and not found.listed and not found.children:
        raise UnreadableError("not a readable sitemap: " + str(events.error_log.last_error)[:200])
    return Findings(
        kind="sitemap",
        items=_items(found, switches),
        children=tuple(found.children),
        period_s=publisher_hints.of_changefreq(found.frequencies),
        remark=_remark(found),
    )


def read_text_sitemap(body: bytes, url: str) -> Findings:
    """What a list with one URL per line holds; UnreadableError if its first line is none."""
    found = _Listed(url)
    for line in body.decode("utf-8", "replace").split("\n"):
        text = line.strip()
        if not text:
            continue
        if not text.startswith(("http://", "https://")):
            if found.listed or found.elsewhere:
                continue
            raise UnreadableError("not a sitemap: neither XML nor one URL per line")
        _list(found, urls.join(url, text), "", "", None, None)
        if len(found.listed) >= MOST_URLS:
            found.cut = True
            break
    if not found.listed and not found.elsewhere:
        raise UnreadableError("not a sitemap: nothing is listed in it")
    return Findings(kind="sitemap", items=once(found.listed), remark=_remark(found))


def _events(body: bytes) -> Any:
    return etree.iterparse(
        BytesIO(body), events=("end",), tag=_TAGS, encoding="utf-8", resolve_entities=False, load_dtd=False,
        no_network=True, huge_tree=False, recover=True, remove_comments=True, remove_pis=True, collect_ids=False,
    )  # fmt: skip


def _forgetting(events: Any) -> Iterator[Any]:
    """The elements, each gone from the tree once the next is asked for."""
    for _, element in events:
        yield element
        element.clear()
        parent = element.getparent()
        while parent is not None and element.getprevious() is not None:
            del parent[0]


def _take(element: Any, url: str, now: float, switches: HintSwitches, found: _Listed) -> None:
    loc = lastmod = title = published = None
    for child in element:
        tag = child.tag
        if not isinstance(tag, str):
            continue
        name = tag.rpartition("}")[2]
        if name == "loc" and loc is None:
            loc = child.text
        elif name == "lastmod":
            lastmod = child.text
        elif name == "changefreq" and switches.changefreq:
            found.frequencies.add((child.text or "").strip().lower()[:20])
        elif name == "news":
            title, published = _news(child)
    target = urls.join(url, loc.strip()) if loc else None
    if element.tag.endswith("sitemap"):
        if target and target.startswith(found.own):
            found.children[target] = None
        elif target:
            found.elsewhere += 1
        return
    said = (lastmod or "").strip()[:40]
    stamp = said if switches.lastmod and published is None else ""
    modified = _not_after(now, dates.parse(said)) if said else None
    moment = modified if published is None and stamp else _not_after(now, dates.parse(published or ""))
    _list(found, target, stamp, title or "", moment, moment if modified is None else modified)


def _not_after(now: float, moment: float | None) -> float | None:
    return moment if moment is None or moment <= now else now


def _list(
    found: _Listed, target: str | None, stamp: str, title: str, moment: float | None, modified: float | None
) -> None:
    if target is None or not target.startswith(found.own):
        found.elsewhere += bool(target)
        return
    cleaned = clean(title, TITLE_CHARACTERS) if title else ""
    key = key_of(target, "", "", "")
    found.listed.append(FoundItem(key=key, title=cleaned, link=target, published=moment, modified=modified))
    found.stamps.append(stamp)


def _news(element: Any) -> tuple[str | None, str | None]:
    title = published = None
    for child in element:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if name == "title":
            title = child.text
        elif name == "publication_date":
            published = child.text
    return title, published


def _items(found: _Listed, switches: HintSwitches) -> tuple[FoundItem, ...]:
    """The URLs, each with its lastmod in its key unless that is the stamp of a whole list."""
    if not switches.lastmod or not any(found.stamps):
        return once(found.listed)
    counts = Counter(found.stamps)
    half = len(found.stamps) / 2
    stamps = {stamp for stamp, count in counts.items() if not stamp or (count > half and count >= STAMP_LEAST)}
    return once(
        item if stamp in stamps else FoundItem(key=f"{item.key} {stamp}", title=item.title, link=item.link,
                                               published=item.published, modified=item.modified)
        for item, stamp in zip(found.listed, found.stamps, strict=True)
    )  # fmt: skip


def _own(url: str) -> tuple[str, ...]:
    """What addresses of a sitemap's own site begin with; on default ports http and https are one site."""
    parts = urlsplit(url)
    schemes = (parts.scheme,) if parts.port else ("https", "http")
    return tuple(f"{scheme}://{parts.netloc}/" for scheme in schemes)


def _remark(found: _Listed) -> str:
    remarks = []
    if found.cut:
        remarks.append(f"cut off after {MOST_URLS} URLs")
    if found.elsewhere:
        remarks.append(f"{found.elsewhere} URLs of other hosts were dropped")
    if found.broken:
        remarks.append("the sitemap is malformed; what could be read was read")
    return "; ".join(remarks)
