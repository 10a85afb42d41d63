"""The items of feeds and sitemaps: what makes one, which is which, and which of their dates are dates.

*Identity.* An item is known by its guid or id, else by its link, else by a digest of title and summary. Links are
compared without the parameters that say who led there (`utm_source`), and with their fragments, which are how a page
with many items links to each. An id that most of a list shares while their links differ says nothing: those are known
by their links.

*Renamed items.* An id is the publisher's word for "the same item", and is believed, except where it proves worthless:
nothing that a feed lists is known by its id, although at least half of it is known by its link and can be no news: it
is dated before the last visit, or not at all, or as most of the list is (then the date is the stamp of whoever made the
list). Feeds in which a link stands for more than one item, or an item has none, are left alone: a board that always
links to its front page has nothing better than its ids.

A key is a promise to the store: what is known must not come back as new. Where a rule has changed, an item also has the
key it had before (`formerly`), and one stored under that is known. Older rules gave some keys to several items (links
that differ in their fragments); the stored one is the one with its title.

*Dates.* Publishers date items in 1970, leave one date in every item of a template, or write the moment of the fetch
into all of them. An item with such a date counts as one without: it came at some moment since the last visit.

A date that is none (`believed`) is not stored either:

- 1970 is what computers make of no date, and nobody publishes the day after tomorrow.
- Items of a list that all have one date to the second are not told apart by it.

A date that tells nothing (`telling`) is what the publisher says, but the item was not listed when it was written:

- Nothing was listed before there were feeds.
- An item that was not listed at the last visit, and is dated long before that, came later than its date. Some delay is
  usual: items are approved, imported, and dated by the day.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b

import msgspec

from recrawl.crawl import urls
from recrawl.crawl.reading import dates
from recrawl.crawl.reading.findings import FoundItem
from recrawl.crawl.reading.plain_text import SUMMARY_CHARACTERS, TITLE_CHARACTERS, clean
from recrawl.store.records import Item, item_key
from recrawl.units import DAY_S

LONGEST_KEY = 500
FEWEST = 2
"""Of a single item with a known link, a new id may well mean a new item."""
LOOK_BACK = 1000
"""So many items found before are compared, and twice as many as are listed now."""
RENAMED_NOTE = "ids change at every fetch: items are known by their links"
NO_DATE = (-DAY_S, 366 * DAY_S)
"""The year 1970, wherever on Earth, in Unix seconds."""
AHEAD_S = DAY_S
"""A date so far ahead may be one of another time zone; it is taken for now."""
ALIKE = 3
"""So many items of one date are no coincidence."""
FEEDS_BEGAN = 788_918_400.0
"""1995, some years before the first feeds, in Unix seconds."""
LATE_S = 2 * DAY_S
"""An item listed so long after its date was delayed, or dated by the day."""


def make_item(
    identity: str | None, title: str | None, link: str | None, summary: str | None, date: str | None, base: str,
    now: float, formerly: str | None = None, updated: str | None = None,
) -> FoundItem:  # fmt: skip
    """One item from what the publisher wrote: cleaned, bounded, its link absolute, its date not after `now`.

    Parameters
        formerly: an id it was known by under older rules
        updated: the publisher's date of its latest change
    """
    title = clean(title, TITLE_CHARACTERS) if title else ""
    summary = clean(summary, SUMMARY_CHARACTERS) if summary else ""
    link = (urls.link(base, link) or "") if link else ""
    published = dates.parse(date) if date else None
    if published is not None and published > now:
        published = now
    modified = _not_after(now, dates.parse(updated)) if updated and updated != date else None
    own = identity.strip() if identity else ""
    if own:
        key, before = _spelt(own), formerly or ""
    else:
        key, before = key_of(None, urls.without_tracking(link), title, summary), formerly or link.partition("#")[0]
    if before:
        before = key_of(before, "", "", "")
    return FoundItem(
        key=key,
        title=title,
        link=link,
        summary=summary,
        published=published,
        modified=published if modified is None else modified,
        formerly="" if before == key else before,
    )


def _not_after(now: float, moment: float | None) -> float | None:
    return moment if moment is None or moment <= now else now


def address(identity: str | None) -> str | None:
    """An id that is an address, which can stand in for a link."""
    found = (identity or "").strip()
    return found if found[:8].lower().startswith(("http://", "https://")) else None


def key_of(identity: str | None, link: str, title: str, summary: str) -> str:
    """What makes it the same item next time: its id, else its link, else a digest of title and summary."""
    key = (identity.strip() if identity else "") or link
    if not key:
        return "digest:" + blake2b(f"{title}\n{summary}".encode("utf-8", "replace"), digest_size=16).hexdigest()
    return _spelt(key)


def _spelt(key: str) -> str:
    """An id or a link as a key."""
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
    if len({item.key for item in items}) == len(items):
        return tuple(items)
    found = once(items)
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


# -- renamed items


def may_be_renamed(keys: Sequence[int], unseen: Collection[int]) -> bool:
    """Whether a feed visited before lists nothing but ids never seen."""
    return len(keys) >= FEWEST and len(unseen) == len(keys)


def links_instead(items: Sequence[FoundItem], known: Collection[str], last: float) -> list[int] | None:
    """Keys made of links, if the ids have proved worthless; None if they have not.

    Parameters
        known: links of items found before
        last: the last visit, Unix seconds
    """
    links = [urls.without_tracking(item.link) for item in items]
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
    met = {urls.without_tracking(link) for link in known}
    plain = [urls.without_tracking(item.link) for item in items]
    return [link in met or link.partition("#")[0] in met for link in plain]


def renamed_since(items: Sequence[FoundItem], keys: Sequence[int], unseen: Collection[int]) -> dict[int, FoundItem]:
    """Items whose keys were never seen and which had others by older rules: those keys, and the items."""
    return {key: item for key, item in zip(keys, items, strict=True) if item.formerly and key in unseen}


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


# -- dates


def believed(dates: Sequence[float | None], now: float) -> list[float | None]:
    """The dates of all items of a list, none after `now`; None for those that cannot be.

    >>> believed([0.0, 1.6e9, 1.7e9, 9e9], now=1.75e9), believed([1.6e9, 1.6e9, 1.6e9], now=1.75e9)
    ([None, 1600000000.0, 1700000000.0, None], [None, None, None])
    """
    if len(dates) >= ALIKE and dates[0] is not None and all(date == dates[0] for date in dates):
        return [None] * len(dates)
    return [date if date is not None and NO_DATE[1] <= date <= now else _possible(date, now) for date in dates]


def _possible(date: float | None, now: float) -> float | None:
    if date is None or NO_DATE[0] <= date < NO_DATE[1] or date > now + AHEAD_S:
        return None
    return min(date, now)


def with_believed_dates(items: Sequence[FoundItem], now: float) -> list[FoundItem]:
    """All items of a list, without the dates that cannot be."""
    dates = believed([item.published for item in items], now)
    return [
        item if item.published == date else msgspec.structs.replace(item, published=date)
        for item, date in zip(items, dates, strict=True)
    ]


def telling(dates: Sequence[float | None], last: float | None) -> list[float]:
    """Of the dates of new items, as `believed`, those that fit in with the last visit (None: there was none)."""
    since = FEEDS_BEGAN if last is None else max(FEEDS_BEGAN, last - LATE_S)
    return [date for date in dates if date is not None and date >= since]
