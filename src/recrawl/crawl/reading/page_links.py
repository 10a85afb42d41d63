"""Where a page leads: the addresses it links, in the order in which they stand in the document.

Of a page of which a part counts, the links of that part; never those of what its owner ignores.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from recrawl.crawl import urls

MOST_LINKS, MOST_LOOKED_AT = 1000, 10_000
"""Addresses that are kept, and links that are looked at for them: many may be of one address, or in what is ignored."""


def links_of(root: Any, url: str, parts: Sequence[Any], ignored: Collection[Any]) -> tuple[str, ...]:
    """Addresses linked in some parts of a page, each once, without fragments; not the page itself.

    Parameters
        url: where the page came from
        parts: elements of it, in document order
        ignored: elements whose links do not count
    """
    base = root.find(".//base[@href]")
    where = url if base is None else urls.join(url, base.get("href")) or url
    found: dict[str, None] = {}
    for link in islice((each for part in parts for each in part.iter("a", "area")), MOST_LOOKED_AT):
        href = link.get("href")
        if not href or href[0] == "#" or (ignored and _inside(link, ignored)):
            continue
        if (target := urls.join(where, href)) is not None:
            found[target] = None
        if len(found) > MOST_LINKS:
            return tuple(found)[:MOST_LINKS]
    found.pop(url, None)
    return tuple(found)


def _inside(link: Any, ignored: Collection[Any]) -> bool:
    return link in ignored or any(ancestor in ignored for ancestor in link.iterancestors())
