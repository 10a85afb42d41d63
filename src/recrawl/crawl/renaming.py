"""Items whose keys changed: because their feed makes up its ids anew, or because keys are made by other rules now.

An id is the publisher's word for "the same item", and is believed, except where it proves worthless: nothing that a
feed lists is known by its id, although at least half of it is known by its link and can be no news: it is dated before
the last visit, or not at all, or as most of the list is (then the date is the stamp of whoever made the list).

Feeds in which a link stands for more than one item, or an item has none, are left alone: a board that always links to
its front page has nothing better than its ids.

An item stored under the key that older rules gave it is known. Those rules gave some keys to several items (links that
differ in their fragments); the stored one is the one with its title.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from recrawl.crawl.findings import FoundItem
from recrawl.crawl.intents import Visit
from recrawl.crawl.urls import without_tracking
from recrawl.store.base import Item, item_key

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
    links = [without_tracking(item.link) for item in items]
    if "" in links or len(set(links)) < len(items):
        return None
    (common, often), *_ = Counter(item.published for item in items).most_common(1)
    stamp = common if 2 * often > len(items) else None
    familiar = known_links(items, known)
    old = [
        item
        for item, met in zip(items, familiar, strict=True)
        if met and (item.published is None or item.published <= last or item.published == stamp)
    ]
    return [item_key(link) for link in links] if 2 * len(old) >= len(items) else None


def known_links(items: Sequence[FoundItem], known: Collection[str]) -> list[bool]:
    """Per item, whether its link is among those found before, which may have been stored without their fragments."""
    met = {without_tracking(link) for link in known}
    plain = [without_tracking(item.link) for item in items]
    return [link in met or link.partition("#")[0] in met for link in plain]


def renamed_since(visit: Visit) -> dict[int, FoundItem]:
    """Items whose keys were never seen and which had others by older rules: those keys, and the items."""
    findings = visit.findings
    if findings is None or visit.intent.progress.last is None:
        return {}
    pairs = zip(visit.keys, findings.items, strict=True)
    return {key: item for key, item in pairs if item.formerly and key in visit.unseen}


def known_before(renamed: Mapping[int, FoundItem], gone: Collection[int], stored: Iterable[Item]) -> set[int]:
    """Of renamed items, the keys of those that are stored under their former keys.

    Parameters
        renamed: by key, as `renamed_since` gives them
        gone: former keys that nobody knows
        stored: items of the source
    """
    found = {item.key: item for item in stored}
    often = Counter(item.formerly for item in renamed.values())
    known = set()
    for key, item in renamed.items():
        former = item_key(item.formerly)
        if former in gone:
            continue
        old = found.get(former)
        alone = often[item.formerly] == 1
        if (old is None and alone) or (old is not None and _same(item, old)):
            known.add(key)
    return known


def _same(item: FoundItem, old: Item) -> bool:
    return item.title == old.title and (item.published is None or item.published <= old.first_seen)
