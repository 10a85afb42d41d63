"""What a search teaches: that somebody is interested in what it shows first. What was searched for is never kept.

`tcns2018` (§II) takes the interest in content from the search requests it answers. Here each of the first items shown
counts as a small share of a click (:data:`recrawl.crawl.click_reader.SEARCH_SHARE`), and goes the same way: through
the store's clicks to the policy, with the same shrinkage.

Nobody can push a source by searching: a client counts once per item and day, whatever the words, which the store sees
to, and with so many searches a day. A program that searches through the API is one client.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

from fastapi import Request

from recrawl.errors import StoreError
from recrawl.store.records import SEARCHER, Click
from recrawl.web.clicks import DAY_S, client_of
from recrawl.web.context import Context
from recrawl.web.views.latest import Latest, search_words

FIRST = 3
"""Items that count, of those a search shows."""
PER_DAY = 30
"""Searches of one client that count in a day."""
MOST_CLIENTS = 10_000
"""Clients whose searches are counted at a time; those heard of first are forgotten first."""


class Searches:
    """Hears of searches, and hands on what they teach."""

    def __init__(self, context: Context, key: bytes) -> None:
        self._context, self._key = context, key
        self._made: dict[str, int] = {}
        self._day = 0
        self._lock = threading.Lock()

    def teach(self, request: Request, found: Latest) -> None:
        """Somebody saw the answer to a search."""
        wanted, context = found.wanted, self._context
        shown = [entry.item for entry in found.entries if not entry.changed][:FIRST]
        if not context.config.web.search_teaches or wanted.page > 1 or not search_words(wanted.text) or not shown:
            return
        now, address = context.now(), request.client.host if request.client else ""
        client = SEARCHER + client_of(self._key, address, request.headers.get("user-agent", ""), now)
        if self._counts(client, int(now // DAY_S)):
            # Whoever searches should not be kept by a store that cannot write.
            with suppress(StoreError):
                context.store.record_clicks(_clicks([item.id for item in shown], now, client))

    def _counts(self, client: str, day: int) -> bool:
        """Whether one more search of a client counts today."""
        with self._lock:
            if day != self._day:
                self._day, self._made = day, {}
            made = self._made.pop(client, 0) + 1
            self._made[client] = made
            if len(self._made) > MOST_CLIENTS:
                del self._made[next(iter(self._made))]
        return made <= PER_DAY


def _clicks(items: Sequence[int], now: float, client: str) -> list[Click]:
    return [Click(item=item, at=now, client=client) for item in items]
