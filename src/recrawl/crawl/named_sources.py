"""What a visited document says of other sources of the catalogue, as the policy hears it.

A sitemap says when each of its URLs was modified, a feed when each of its entries was published or updated. A page that
links watched pages (a front page, an index) says it by their order: a page that is linked for the first time, or has
**moved up**, has changed by the time of the visit. Of the others it says nothing.

*Moved up.* Compared are the watched pages of both visits, in the order in which they are linked. The most of them that
can be taken for having kept their order have kept it; whoever of the rest now stands before one of these that stood
before it has moved up. So one that is inserted at the top moves nobody, and one that sinks is no news.

The order has to be remembered (`Progress.listing`): so it is of watched pages only, and of a bounded number. A page
without a remembered order tells nothing yet. Pages that never showed any news by their order are no lists to the
policy, and only `MOST_LISTINGS` are: a menu that stands on every page of a site would make lists of them all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from recrawl.crawl.mentions import Mentions
from recrawl.crawl.reading.items import NO_DATE
from recrawl.crawl.roster import Roster
from recrawl.crawl.urls import without_tracking
from recrawl.crawl.visits import VisitOutcome
from recrawl.records import Listed
from recrawl.store.records import item_key, keys_in, packed

MOST_REMEMBERED = 500
"""Watched pages whose order on a page is remembered."""
MOST_LISTINGS = 1000
"""Pages that count as lists, the first to show news."""
_NOBODY = -1


@dataclass(slots=True)
class NamedSources:
    """Finds out which sources documents name."""

    roster: Roster
    lists_among: Callable[[Sequence[int]], Collection[int]] = field(default=lambda numbers: ())
    """Those of some sources that are known to be lists, from before this run perhaps."""
    _lists: set[int] = field(default_factory=set)
    """Those that have named sources in this run."""
    _listings: set[int] = field(default_factory=set)
    """Pages among them."""

    def told(self, numbers: Sequence[int], outcomes: Sequence[VisitOutcome]) -> dict[int, Listed]:
        """What visits to lists showed, by their numbers; the order of a page goes into its progress."""
        out: dict[int, Listed] = {}
        naming = self._naming([outcome.mentions for outcome in outcomes])
        lists = self.lists_among(numbers)
        for number, outcome, names in zip(numbers, outcomes, naming, strict=True):
            mentions, at, progress = outcome.mentions, outcome.crawl.at, outcome.progress
            if mentions is None or number not in self.roster:
                continue
            if mentions.by_order:
                entry, progress.listing = self.heard_in_order(number, mentions, at, progress.listing)
            else:
                entry = self._heard(number, mentions, at, names, number in lists)
            if entry is not None:
                out[number] = entry
        return out

    def heard(self, number: int, mentions: Mentions, at: float) -> Listed | None:
        """What a document says of known sources; None if it is no list, or is none so far.

        Parameters
            number: of the source it was found at
            at: when it was visited
        """
        return self._heard(number, mentions, at, self._naming([mentions])[0], number in self.lists_among([number]))

    def _heard(self, number: int, mentions: Mentions, at: float, names: bool, is_list: bool) -> Listed | None:
        listed = is_list or number in self._lists
        if not listed and not names:
            return None
        ids, lastmod = self._known(number, mentions, at)
        if not len(ids) and not listed:
            return None
        self._lists.add(number)
        return ids, lastmod

    def heard_in_order(self, number: int, mentions: Mentions, at: float, order: bytes) -> tuple[Listed | None, bytes]:
        """What a page says by its order, and that order, to be remembered.

        Parameters
            order: what was remembered at its last visit
        """
        known = [found for url in mentions.urls if (found := self.roster.urls.get(url)) is not None and found != number]
        pages = known[:MOST_REMEMBERED]
        keys = [item_key(self.roster.url(page)) for page in pages]
        news = self._news(number, pages, keys, keys_in(order))
        if number not in self._listings and (not news or len(self._listings) >= MOST_LISTINGS):
            return None, packed(keys)
        self._listings.add(number)
        lastmod = np.array([at if key in news else np.nan for key in keys])
        return (np.array(pages, np.int64), lastmod), packed(keys)

    def forget(self, number: int) -> None:
        """A list is gone."""
        self._lists.discard(number)
        self._listings.discard(number)

    def _naming(self, documents: Sequence[Mentions | None]) -> list[bool]:
        """Whether anything that each names is in the catalogue: most feeds name nothing that is."""
        urls: list[str] = []
        ends = []
        for mentions in documents:
            if mentions is not None and not mentions.by_order:
                urls += mentions.urls
                urls += [without_tracking(url.partition("#")[0]) for url in mentions.urls if "#" in url or "?" in url]
            ends.append(len(urls))
        out = [False] * len(ends)
        for place in self.roster.urls.those_of(urls):
            out[bisect_right(ends, place)] = True
        return out

    def _known(self, number: int, mentions: Mentions, at: float) -> Listed:
        """Those of the catalogue, each once, with the latest time said of it."""
        find, none = self.roster.urls.get, _NOBODY
        places = np.array([find(url, none) for url in mentions.urls], np.int64)
        for k in np.flatnonzero(places == none).tolist():
            url = mentions.urls[k]
            if "#" in url or "?" in url:
                places[k] = find(without_tracking(url.partition("#")[0]), none)
        here = (places != none) & (places != number)
        stated = mentions.lastmod[here]
        stated = np.where((stated >= NO_DATE[0]) & (stated < NO_DATE[1]), np.nan, np.minimum(stated, at))
        ids, place = np.unique(places[here], return_inverse=True)
        lastmod = np.full(len(ids), np.nan)
        np.fmax.at(lastmod, place, stated)
        return ids, lastmod

    def _news(self, number: int, pages: Sequence[int], keys: Sequence[int], before: Sequence[int]) -> set[int]:
        """Keys of those that are newly linked or have moved up."""
        if not before:
            return set()
        known, since = set(before), self.roster.last(number)
        end = len(keys)
        if len(before) >= MOST_REMEMBERED:  # those that come after all of them may have been linked before
            end = max((k for k, key in enumerate(keys) if key in known), default=-1)
        fresh = {
            key for key, page in zip(keys[:end], pages, strict=False) if key not in known and self._old(page, since)
        }
        return fresh | moved_up(before, keys)

    def _old(self, page: int, since: float) -> bool:
        """Whether a page was in the catalogue at a time: before, its place was not remembered."""
        return self.roster.added(page) <= since


def moved_up(before: Sequence[int], after: Sequence[int]) -> set[int]:
    """Those of two orders that have moved up; what is in one of them only does not count.

    >>> moved_up([1, 2, 3], [9, 1, 2, 3]), moved_up([1, 2, 3, 4], [3, 1, 2, 4]), moved_up([1, 2, 3], [2, 3, 1])
    (set(), {3}, set())
    """
    place = {key: k for k, key in enumerate(before)}
    common = [key for key in after if key in place]
    old = [place[key] for key in common]
    kept = _longest_rising(old)
    places = [old[k] for k in kept]
    return {
        key
        for k, key in enumerate(common)
        if bisect_left(places, old[k]) > bisect_left(kept, k)  # more of those that stayed were before it than are now
    }


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """Places of a longest rising run of distinct numbers, gaps allowed, in O(n log n)."""
    ends: list[int] = []
    values: list[int] = []
    previous = [-1] * len(numbers)
    for k, value in enumerate(numbers):
        length = bisect_left(values, value)
        values[length : length + 1] = [value]
        ends[length : length + 1] = [k]
        previous[k] = ends[length - 1] if length else -1
    found, k = [], ends[-1] if ends else -1
    while k >= 0:
        found.append(k)
        k = previous[k]
    return found[::-1]
