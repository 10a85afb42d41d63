"""Carries out an intent: fetch the document and read it. Whatever goes wrong is told of this source alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog

from recrawl.clock import Clock
from recrawl.config import HintSwitches
from recrawl.crawl.courier import Courier, Delivery
from recrawl.crawl.digests import is_by
from recrawl.crawl.findings import FoundItem, UnreadableError
from recrawl.crawl.freight import Freight, Load
from recrawl.crawl.intents import Intent, Visit
from recrawl.crawl.purse import Purse
from recrawl.crawl.readers import SLICE, Readers
from recrawl.crawl.reading import Document
from recrawl.crawl.validators import usable
from recrawl.crawl.what_counts import WhatCounts
from recrawl.logs import fault
from recrawl.redaction import message_of
from recrawl.store.base import item_key


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are read.

    Parameters
        keep_text: bytes of a page's text that are kept
        switches: which of the publisher's hints count
    """

    keep_text: int = 200_000
    switches: HintSwitches = field(default_factory=HintSwitches)


class Visitor:
    """Makes visits, any number at a time, of large documents one at a time."""

    def __init__(self, courier: Courier, readers: Readers, purse: Purse, clock: Clock, reading: Reading) -> None:
        self._courier, self._readers, self._purse = courier, readers, purse
        self._clock, self._reading = clock, reading
        self._freight = Freight()
        self._alone = asyncio.Semaphore(1)
        self._left: list[Intent] = []
        self._log = structlog.get_logger("recrawl")

    async def visit(self, intent: Intent) -> Visit:
        """Fetch and read one source; a large document keeps its room until it is :meth:`stored`."""
        load = self._freight.load()
        try:
            return await self._carry_out(intent, load)
        finally:
            load.drop()

    def stored(self, visit: Visit) -> None:
        """What it found is in the store."""
        if visit.alone:
            self._alone.release()

    def drain_left(self) -> list[Intent]:
        """Those whose requests are over since the last call: their hosts are free, whatever is left to do."""
        left, self._left = self._left, []
        return left

    async def close(self) -> None:
        """End readers and connections."""
        await self._readers.close()
        await self._courier.close()

    async def _carry_out(self, intent: Intent, load: Load) -> Visit:
        delivery = await self._fetch(intent, load)
        self._left.append(intent)
        if delivery.requests == 0:
            self._purse.give_back(intent.source.cost)
        visit = Visit(intent, self._clock.now(), delivery)
        if delivery.response is not None and not delivery.refused and 200 <= delivery.response.status < 300:
            await (self._read_alone(visit) if load.size else self._read(visit))
        visit.let_go()
        return visit

    async def _fetch(self, intent: Intent, load: Load) -> Delivery:
        source, progress = intent.source, intent.progress
        conditional = {}
        # "Not modified" says nothing of a page of which something else is compared now.
        if not progress.digest or is_by(_counts(intent).rule, progress.digest):
            if etag := usable(progress.etag):
                conditional["If-None-Match"] = etag
            if modified := usable(progress.modified):
                conditional["If-Modified-Since"] = modified
        try:
            return await self._courier.visit(
                source.url, source.headers, conditional, load=load, robots=intent.options.robots
            )
        except Exception as error:
            self._log.error("a fetch went wrong", source=source.id, **fault(error))
            return Delivery(
                response=None, final_url=source.url, requests=1, error=f"internal error: {message_of(error)}"
            )

    async def _read_alone(self, visit: Visit) -> None:
        """What a large document holds may be many times its size: one at a time, from here until it is stored."""
        await self._alone.acquire()
        visit.alone = True
        try:
            await self._read(visit)
        except BaseException:
            self._alone.release()
            raise

    async def _read(self, visit: Visit) -> None:
        response, source = visit.delivery.response, visit.intent.source
        assert response is not None
        visit.counts = _counts(visit.intent)
        document = Document(
            url=visit.delivery.final_url,
            kind=source.kind,
            content_type=response.headers.get("content-type", ""),
            body=response.body,
            headers=response.headers,
            now=visit.at,
            counts=visit.counts,
            keep_text=self._reading.keep_text,
            switches=visit.intent.hints(self._reading.switches),
        )
        try:
            visit.findings = await self._readers.read(document)
            visit.keys = await _keys(visit.findings.items)
        except UnreadableError as error:
            visit.error = str(error)
        except Exception as error:
            self._log.error("a document could not be read", source=source.id, **fault(error))
            visit.error = f"internal error: {message_of(error)}"


def _counts(intent: Intent) -> WhatCounts:
    return WhatCounts.of(intent.source.select, intent.options)


async def _keys(items: tuple[FoundItem, ...]) -> list[int]:
    """The keys of items, with the loop let in between where there are many."""
    keys: list[int] = []
    for start in range(0, len(items), SLICE):
        if start:
            await asyncio.sleep(0)
        keys += [item_key(item.key) for item in items[start : start + SLICE]]
    return keys
