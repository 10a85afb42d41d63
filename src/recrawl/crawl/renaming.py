"""Feeds that make up their ids anew for every answer: their items are known by their links instead.

An id is the publisher's word for "the same item", and is believed, except where it proves worthless: nothing that a
feed lists is known by its id, although at least half of it is known by its link and can be no news: it is dated before
the last visit, or not at all, or as most of the list is (then the date is the stamp of whoever made the list).

Feeds in which a link stands for more than one item, or an item has none, are left alone: a board that always links to
its front page has nothing better than its ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from recrawl.crawl.findings import FoundItem
from recrawl.crawl.intents import Visit
from recrawl.store.base import item_key

FEWEST = 2
"""Of a single item with a known link, a new id may well mean a new item."""
LOOK_BACK = 1000
"""So many items found before are compared, and twice as many as are listed now."""
NOTE = "ids change at every fetch: items are known by their links"


def suspected(visit: Visit) -> bool:
    """Whether a feed visited before lists nothing but ids never seen."""
    findings, before = visit.findings, visit.intent.progress
    if findings is None or findings.kind != "feed" or before.last is None or not before.listing:
        return False
    return len(visit.keys) >= FEWEST and len(visit.unseen) == len(visit.keys)


def links_instead(items: Sequence[FoundItem], known: Collection[str], last: float) -> list[int] | None:
    """Keys made of links, if the ids have proved worthless; None if they have not.

    Parameters
        known: links of items found before
        last: the last visit, Unix seconds
    """
    links = {item.link for item in items}
    if "" in links or len(links) < len(items):
        return None
    (common, often), *_ = Counter(item.published for item in items).most_common(1)
    stamp = common if 2 * often > len(items) else None
    old = [
        item
        for item in items
        if item.link in known and (item.published is None or item.published <= last or item.published == stamp)
    ]
    return [item_key(item.link) for item in items] if 2 * len(old) >= len(items) else None
