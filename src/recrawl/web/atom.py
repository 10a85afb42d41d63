"""What was found as an Atom feed [RFC 4287]: the latest, or what a search finds, for any feed reader."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlsplit

from lxml import etree

from recrawl.crawl.reading.diffs import without_noise
from recrawl.web.formatting import http_link, plain, stamp
from recrawl.web.views.latest import FoundLine, Latest

NAMESPACE = "http://www.w3.org/2005/Atom"


def feed(view: Latest, address: str, now: float) -> bytes:
    """The document; `address` is where it was asked for."""
    root = etree.Element(f"{{{NAMESPACE}}}feed", nsmap={None: NAMESPACE})
    searched = plain(view.wanted.text, 100)
    add_text(root, "title", f"recrawl: {searched}" if searched else "recrawl: latest")
    add_text(root, "id", address)
    add_text(root, "updated", stamp(max((e.item.first_seen for e in view.entries), default=now)))
    etree.SubElement(root, f"{{{NAMESPACE}}}link", rel="self", href=_sound(address))
    for entry in view.entries:
        _entry(root, entry)
    return bytes(etree.tostring(root, xml_declaration=True, encoding="utf-8"))


def _entry(root: Any, entry: FoundLine) -> None:
    item, source = entry.item, entry.source
    element = etree.SubElement(root, f"{{{NAMESPACE}}}entry")
    add_text(element, "id", f"tag:{urlsplit(source.url).hostname or 'recrawl'},2000:recrawl:{item.id}")
    title = plain(item.title) or plain(item.link) or "untitled"
    add_text(element, "title", f"{title}: changed" if entry.changed else title)
    add_text(element, "updated", stamp(item.first_seen if item.published is None else item.published) or stamp(0.0))
    if http_link(item.link):
        etree.SubElement(element, f"{{{NAMESPACE}}}link", href=_sound(item.link))
    add_text(etree.SubElement(element, f"{{{NAMESPACE}}}author"), "name", plain(source.title) or source.url)
    if item.summary:
        add_text(element, "summary", plain(item.summary, 1000))
    diff = without_noise(entry.diff)
    if diff and diff != item.summary:
        # As plain text, readers would run its lines together.
        add_text(element, "content", f"<pre>{escape(diff)}</pre>").set("type", "html")


def add_text(parent: Any, name: str, text: str) -> Any:
    """An element with a text, without what XML cannot hold."""
    element = etree.SubElement(parent, f"{{{NAMESPACE}}}{name}")
    element.text = _sound(text)
    return element


def _sound(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(
        c for c in text if c in "\t\n\r" or " " <= c < "\ud800" or (c >= "\ue000" and c not in "\ufffe\uffff")
    )
