"""A stream as an Atom feed, as old programs ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recrawl.web.formatting import stamp


def document(name: str, items: Sequence[dict[str, Any]], now: float) -> bytes:
    """The items of a page of a stream, in the words of `answers.item`."""
    from lxml import etree

    from recrawl.web.atom import NAMESPACE, add_text

    root = etree.Element(f"{{{NAMESPACE}}}feed", nsmap={None: NAMESPACE})
    add_text(root, "title", name)
    add_text(root, "id", f"tag:google.com,2005:reader/{name}")
    add_text(root, "updated", stamp(now))
    for item in items:
        entry = etree.SubElement(root, f"{{{NAMESPACE}}}entry")
        add_text(entry, "id", item["id"])
        add_text(entry, "title", item["title"])
        add_text(entry, "published", stamp(float(item["published"])) or stamp(0.0))
        add_text(entry, "updated", stamp(float(item["updated"])) or stamp(0.0))
        for link in item["alternate"]:
            etree.SubElement(entry, f"{{{NAMESPACE}}}link", rel="alternate", href=link["href"], type="text/html")
        for category in item["categories"]:
            label = category.rpartition("/")[2]
            scheme = "http://www.google.com/reader/"
            etree.SubElement(entry, f"{{{NAMESPACE}}}category", term=category, scheme=scheme, label=label)
        add_text(entry, "summary", item["summary"]["content"]).set("type", "html")
    return bytes(etree.tostring(root, xml_declaration=True, encoding="utf-8"))
