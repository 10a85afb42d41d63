"""What makes an item, whatever kind of feed lists it, and which item is which.

An item is known by its guid or id, else by its link, else by a digest of title and summary. Links are compared without
the parameters that say who led there (`utm_source`), and with their fragments, which are how a page with many items
links to each. An id that most of a list shares while their links differ says nothing: those are known by their links.
Ids that change at every fetch cannot be told from one document; `crawl.renaming` notices them.

A key is a promise to the store: what is known must not come back as new. Where a rule has changed, an item also has the
key it had before (`formerly`), and `crawl.renaming` looks for it under that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from recrawl.crawl import dates, urls
from recrawl.crawl.findings import FoundItem
from recrawl.crawl.text import SUMMARY_CHARACTERS, TITLE_CHARACTERS, clean

LONGEST_KEY = 500


def make_item(
    identity: str | None, title: str | None, link: str | None, summary: str | None, date: str | None, base: str,
    now: float, formerly: str | None = None,
) -> FoundItem:  # fmt: skip
    """One item from what the publisher wrote: cleaned, bounded, its link absolute, its date not after `now`.

    Parameters
        formerly: an id it was known by under older rules
    """
    title = clean(title, TITLE_CHARACTERS) if title else ""
    summary = clean(summary, SUMMARY_CHARACTERS) if summary else ""
    link = (urls.link(base, link) or "") if link else ""
    published = dates.parse(date) if date else None
    own = identity.strip() if identity else ""
    key = key_of(own, link if own else urls.without_tracking(link), title, summary)
    before = formerly or ("" if own else link.partition("#")[0])
    if before:
        before = key_of(before, "", "", "")
    return FoundItem(
        key=key,
        title=title,
        link=link,
        summary=summary,
        published=published if published is None or published <= now else now,
        formerly="" if before == key else before,
    )


def address(identity: str | None) -> str | None:
    """An id that is an address, which can stand in for a link."""
    found = (identity or "").strip()
    return found if found[:8].lower().startswith(("http://", "https://")) else None


def key_of(identity: str | None, link: str, title: str, summary: str) -> str:
    """What makes it the same item next time: its id, else its link, else a digest of title and summary."""
    key = (identity.strip() if identity else "") or link
    if not key:
        return "digest:" + blake2b(f"{title}\n{summary}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    if len(key) > LONGEST_KEY:
        return "digest:" + blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return key if key.isprintable() else key.encode("utf-8", "replace").decode()


def once(items: Iterable[FoundItem]) -> tuple[FoundItem, ...]:
    """Each key once, in document order; the first of each."""
    found: dict[str, FoundItem] = {}
    for item in items:
        found.setdefault(item.key, item)
    return tuple(found.values())


def told_apart(listed: Iterable[FoundItem]) -> tuple[FoundItem, ...]:
    """Each item once: an id that most of them share is none, if their links differ."""
    items = list(listed)
    found = once(items)
    if len(found) == len(items):
        return found
    ((shared, often),) = Counter(item.key for item in items).most_common(1)
    links = {urls.without_tracking(item.link) for item in items if item.key == shared and item.link}
    if 2 * often <= len(items) or len(links) < 2:
        return found
    return once(_known_by_link(item) if item.key == shared and item.link else item for item in items)


def _known_by_link(item: FoundItem) -> FoundItem:
    key = key_of(None, urls.without_tracking(item.link), "", "")
    return msgspec.structs.replace(item, key=key, formerly=item.key)


def oldest_first(fresh: list[tuple[int, FoundItem]]) -> list[tuple[int, FoundItem]]:
    """Items in the order in which they are stored, so that "latest first" is by date, then as the publisher lists.

    A list begins with its latest item; those without a date come after those with one.
    """
    latest_first = sorted(fresh, key=lambda pair: math.inf if pair[1].published is None else -pair[1].published)
    return latest_first[::-1]
