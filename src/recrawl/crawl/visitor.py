"""Carries out an intent: fetch the document and read it. What goes wrong is an error of this source alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import structlog
from msgspec import structs

from recrawl.clock import Clock
from recrawl.config import HintSwitches
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.fetching.answer_limits import MemoryBudget, MemoryShare
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.fetching.transport import usable_validator
from recrawl.crawl.read_before import ReadBefore, mark_of, may_stand
from recrawl.crawl.reading.digests import is_by
from recrawl.crawl.reading.findings import FoundItem, UnreadableError
from recrawl.crawl.reading.in_full import NOTHING, Asked
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import SLICE, Document, Readers
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.visits import Intent, Visit
from recrawl.logs import fault
from recrawl.redaction import message_of
from recrawl.store.records import item_key

NOTHING_COMPARED = WhatCounts()
"""Of lists, of which only items are told apart."""


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

    def __init__(
        self, fetcher: Fetcher, readers: Readers, request_budget: RequestBudget, clock: Clock, reading: Reading
    ) -> None:
        self._fetcher, self._readers, self._request_budget = fetcher, readers, request_budget
        self._clock, self._reading = clock, reading
        self._memory_budget = MemoryBudget()
        self._alone = asyncio.Semaphore(1)
        self._left: list[Intent] = []
        self._read_before = ReadBefore()
        self.item_rules: tuple[ItemRule, ...] = ()
        self._log = structlog.get_logger("recrawl")

    async def visit(self, intent: Intent) -> Visit:
        """Fetch and read one source; a large document keeps its memory until it is :meth:`stored`."""
        memory = self._memory_budget.share()
        try:
            return await self._carry_out(intent, memory)
        finally:
            memory.free()

    def stored(self, visit: Visit) -> None:
        """What it found is in the store."""
        if visit.findings is not None:
            self._read_before.note(visit.intent.number, visit.mark)
        if visit.alone:
            self._alone.release()

    def _asked(self, intent: Intent) -> Asked:
        """What is wanted of the items of its source, beside that they are there."""
        source, rules = intent.source, self.item_rules
        concerned = tuple(each for each in rules if each.concerns(source.id, source.tags)) if rules else ()
        return Asked(intent.options.content, concerned) if concerned or intent.options.content else NOTHING

    def take_rules(self, rules: tuple[ItemRule, ...]) -> None:
        """From now on items are held against these."""
        self.item_rules = rules

    def drain_left(self) -> list[Intent]:
        """Those whose requests have ended since the last call: their hosts are free, even if reading goes on."""
        left, self._left = self._left, []
        return left

    async def close(self) -> None:
        """End readers and connections."""
        await self._readers.close()
        await self._fetcher.close()

    async def _carry_out(self, intent: Intent, memory: MemoryShare) -> Visit:
        try:
            fetched = await self._fetch(intent, memory)
        finally:
            self._left.append(intent)
        if fetched.requests == 0:
            self._request_budget.give_back(intent.source.cost)
        response = fetched.response
        visit = Visit(intent, self._clock.now(), fetched, size=0 if response is None else len(response.body))
        if response is not None and not fetched.refused and 200 <= response.status < 300:
            visit = await self._read_if_new(visit, memory)
        if response is not None and response.body:
            fetched.response = structs.replace(response, body=b"")  # it has been read: its size is enough
        return visit

    async def _fetch(self, intent: Intent, memory: MemoryShare) -> FetchResult:
        source, progress = intent.source, intent.progress
        conditional = {}
        # "Not modified" says nothing of a page of which something else is compared now.
        counts = intent.counts
        if not progress.digest or any(is_by(rule, progress.digest) for rule in (counts.rule, counts.rule_of_bytes)):
            if etag := usable_validator(progress.etag):
                conditional["If-None-Match"] = etag
            if modified := usable_validator(progress.modified):
                conditional["If-Modified-Since"] = modified
        try:
            return await self._fetcher.visit(
                source.url, source.headers, conditional, memory=memory, robots=intent.options.robots
            )
        except Exception as error:
            self._log.error("a fetch went wrong", source=source.id, **fault(error))
            return FetchResult(
                response=None, final_url=source.url, requests=1, error=f"internal error: {message_of(error)}"
            )

    async def _read_if_new(self, visit: Visit, memory: MemoryShare) -> Visit:
        """Unless it is the very document that was read last."""
        intent, response = visit.intent, visit.fetched.response
        assert response is not None
        if intent.source.kind == "page":  # its words may depend on the moment: no mark is ever kept of it
            return await (self._read_alone(visit) if memory.size else self._read(visit))
        mark = mark_of(intent, visit.fetched.final_url, response.headers, response.body)
        if self._read_before.is_same(intent, mark):
            return structs.replace(visit, same=True)
        visit = await (self._read_alone(visit) if memory.size else self._read(visit))
        if visit.findings is None or not may_stand(intent, visit.findings):
            return visit
        return structs.replace(visit, mark=mark)

    async def _read_alone(self, visit: Visit) -> Visit:
        """What a large document holds may be many times its size: one at a time, from here until it is stored."""
        await self._alone.acquire()
        try:
            return await self._read(structs.replace(visit, alone=True))
        except BaseException:
            self._alone.release()
            raise

    async def _read(self, visit: Visit) -> Visit:
        response, source = visit.fetched.response, visit.intent.source
        assert response is not None
        document = Document(
            url=visit.fetched.final_url,
            kind=source.kind,
            content_type=response.headers.get("content-type", ""),
            body=response.body,
            headers=response.headers,
            now=visit.at,
            counts=NOTHING_COMPARED if source.kind in ("feed", "sitemap") else visit.intent.counts,
            keep_text=self._reading.keep_text,
            switches=visit.intent.hints(self._reading.switches),
            asked=self._asked(visit.intent),
        )
        try:
            findings = await self._readers.read(document)
            keys = await _keys(findings.items)
            return structs.replace(visit, findings=findings, keys=keys, item_rules=document.asked.rules)
        except UnreadableError as error:
            return structs.replace(visit, error=str(error))
        except Exception as error:
            self._log.error("a document could not be read", source=source.id, **fault(error))
            return structs.replace(visit, error=f"internal error: {message_of(error)}")


async def _keys(items: tuple[FoundItem, ...]) -> list[int]:
    """The keys of items, with the loop let in between where there are many."""
    keys: list[int] = []
    for start in range(0, len(items), SLICE):
        if start:
            await asyncio.sleep(0)
        keys += [item_key(item.key) for item in items[start : start + SLICE]]
    return keys
