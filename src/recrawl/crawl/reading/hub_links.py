"""What a document says of hubs that tell of its changes: discovery as in WebSub.

    W3C, WebSub (2018), section 4: Link headers (rel=hub, rel=self), else atom:link in a feed, else link in the head of
    an HTML page. JSON Feed 1.1 names hubs and itself (`hubs`, `feed_url`).

Links in the body of a page do not count: readers may have written them. The topic is kept as it is written, because
hubs compare it letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from recrawl.crawl import urls
from recrawl.crawl.reading.findings import Findings

MOST_HUBS, MOST_LINKS = 5, 500
LONGEST_TOPIC = 2048
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_REL = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_ABSOLUTE = re.compile(r"https?://[!-~]+", re.IGNORECASE)


class HubLinks(NamedTuple):
    """Hubs, and the name by which they know the document."""

    hubs: tuple[str, ...] = ()
    topic: str = ""


def of_links(elements: Iterable[Any], base: str) -> HubLinks:
    """Of elements with `rel` and `href`."""
    links = islice(elements, MOST_LINKS)
    return _gathered(((each.get("rel") or "", each.get("href") or "") for each in links), base)


def of_header(header: str, base: str) -> HubLinks:
    """Of a Link header [RFC 8288].

    >>> of_header('<https://hub.example/>; rel="hub", <https://a.example/feed>; rel=self', "https://a.example/")
    HubLinks(hubs=('https://hub.example/',), topic='https://a.example/feed')
    """
    return _gathered(_in_header(header), base)


def of_json(feed: Mapping[str, Any], base: str) -> HubLinks:
    """Of a JSON Feed."""
    hubs, topic = feed.get("hubs"), feed.get("feed_url")
    listed = [each for each in hubs[:MOST_LINKS] if isinstance(each, dict)] if isinstance(hubs, list) else []
    links = [("hub", each.get("url")) for each in listed if str(each.get("type", "websub")).lower() == "websub"]
    return _gathered(((rel, href) for rel, href in [*links, ("self", topic)] if isinstance(href, str)), base)


def completed(findings: Findings, headers: Mapping[str, str], base: str) -> Findings:
    """What a document says, where its headers do not say it."""
    said = of_header(headers["link"], base) if "link" in headers else HubLinks()
    if not (said.hubs or said.topic):
        return findings
    return msgspec.structs.replace(findings, hubs=said.hubs or findings.hubs, topic=said.topic or findings.topic)


def _in_header(header: str) -> Iterator[tuple[str, str]]:
    for link in islice(_LINK.finditer(header), MOST_LINKS):
        rel = _REL.search(link[2])
        if rel is not None:
            yield rel[1] or rel[2] or "", link[1]


def _gathered(links: Iterable[tuple[str, str]], base: str) -> HubLinks:
    hubs, topic = dict[str, None](), ""
    for rels, href in links:
        kinds = rels.lower().split()
        if "hub" in kinds and len(hubs) < MOST_HUBS and (hub := urls.join(base, href)):
            hubs[hub] = None
        if "self" in kinds and not topic:
            topic = _topic(base, href.strip())
    return HubLinks(tuple(hubs), topic)


def _topic(base: str, href: str) -> str:
    written = href if _ABSOLUTE.fullmatch(href) else urls.join(base, href) or ""
    return written if len(written) <= LONGEST_TOPIC else ""
