"""Fetches the pages of items for what they say in full, where their owner wants that, once each.

Every such fetch is a request of the budget, sent with the same manners as a visit: robots.txt, the pause of its host,
address guard, limits. Articles take a fifth of the budget at most, so that sources go on being visited however many are
asked for; what is left over waits. The page's main text is kept in place of what the feed said. A page that cannot be
had is tried three times, and then left at that.
"""

from __future__ import annotations

from functools import partial

import structlog

from recrawl.clock import Clock
from recrawl.config import QuietHours, quiet_until
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.looking import keep_looking
from recrawl.crawl.push.budget_share import BudgetShare
from recrawl.crawl.reading.content import packed, paragraphs, sanitised
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.readers import Document, Readers
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.store_writer import StoreWriter
from recrawl.crawl.urls import origin
from recrawl.logs import fault
from recrawl.store.records import Content, Item, Source
from recrawl.store.roles import Store
from recrawl.store.source_terms import Defaults

LOOK_S = 1.0
SHARE = 0.2
"""Of the budget, for articles."""
AT_ONCE = 4.0
"""Requests that may be saved up."""
MOST_TRIES, RETRY_S = 3, 600.0
LEAST = 200
"""Characters; a page that says less is a wall or a stub, and what the feed said stays."""
KEPT = 64 * 1024


class Articles:
    """Settles what is asked for."""

    def __init__(
        self,
        fetcher: Fetcher,
        readers: Readers,
        store_writer: StoreWriter,
        request_budget: RequestBudget,
        clock: Clock,
        defaults: Defaults,
        quiet_hours: tuple[QuietHours, ...] = (),
    ) -> None:
        self._fetcher, self._readers, self._store_writer, self._clock = fetcher, readers, store_writer, clock
        self._defaults, self._quiet_hours = defaults, quiet_hours
        self._share = BudgetShare(request_budget, clock, SHARE, most=AT_ONCE)
        self._log = structlog.get_logger("recrawl")

    async def run(self) -> None:
        """Until it is cancelled."""
        await keep_looking(self._clock, LOOK_S, self.look, "articles could not be asked for")

    async def look(self) -> None:
        """Fetch as many as may be now, one after the other."""
        now = self._clock.now()
        count = self._share.available()
        if not count or quiet_until(self._quiet_hours, now) > now:
            return
        for item, source, tries in await self._store_writer.ask(lambda store: _wanted(store, now, count)):
            self._share.spend(1)
            found = await self._read(item, source)
            if found is None and tries + 1 < MOST_TRIES:
                put_off = partial(_put_off, id=item.id, due=self._clock.now() + RETRY_S * 2.0**tries)
                await self._store_writer.ask(put_off)
            else:
                await self._store_writer.ask(partial(_write, id=item.id, found=found))

    async def _read(self, item: Item, source: Source) -> Content | None:
        """What the page says; empty where it says nothing, None where it could not be had."""
        headers = source.headers if origin(item.link) == origin(source.url) else {}
        terms = source.terms(self._defaults)
        try:
            answer = await self._fetcher.visit(item.link, headers, prepaid=0, robots=terms.robots)
        except Exception as error:
            self._log.error("an article could not be fetched", item=item.id, **fault(error))
            return None
        response = answer.response
        if answer.refused:
            return Content()
        if response is None or response.status >= 500 or response.status == 429:
            return None
        if response.status != 200:
            return Content()
        document = Document(
            url=answer.final_url,
            body=response.body,
            now=self._clock.now(),
            kind="page",
            content_type=response.headers.get("content-type", ""),
            keep_text=KEPT,
        )
        try:
            findings = await self._readers.read(document)
        except UnreadableError:
            return Content()
        text = findings.text if len(findings.text) >= LEAST else ""
        return Content(record=packed(sanitised(paragraphs(text), answer.final_url)))


def _wanted(store: Store, now: float, count: int) -> list[tuple[Item, Source, int]]:
    """The next ones, each with its source and how often it was tried in vain."""
    found = []
    for id, tries in store.articles(now, count):
        item = store.item(id)
        source = None if item is None else store.source(item.source)
        if item is None or source is None or not item.link.startswith(("http://", "https://")):
            store.write_article(id, Content())
        else:
            found.append((item, source, tries))
    return found


def _put_off(store: Store, id: int, due: float) -> None:
    store.put_off_article(id, due)


def _write(store: Store, id: int, found: Content | None) -> None:
    store.write_article(id, found)
