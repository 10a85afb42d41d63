"""Carries out an intent: fetch the document and read it. What goes wrong is an error of this source alone."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

import structlog
from msgspec import structs

from recrawl.clock import Clock
from recrawl.config import HintSwitches
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.fetching.answer_limits import SMALL_BYTES, MemoryBudget, MemoryShare
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.fetching.transport import usable_validator
from recrawl.crawl.read_before import ReadBefore, mark_of, may_stand
from recrawl.crawl.reading import shells
from recrawl.crawl.reading.digests import is_by
from recrawl.crawl.reading.findings import FoundItem, UnreadableError
from recrawl.crawl.reading.in_full import NOTHING, Asked
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import SLICE, Document, Readers
from recrawl.crawl.rendering.record import Why
from recrawl.crawl.rendering.renderer import SOON_S, BusyError, NoBrowserError
from recrawl.crawl.rendering.shown_pages import ShownPages, as_shown, wanted, without_browser
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.visits import Intent, Visit
from recrawl.logs import fault
from recrawl.redaction import message_of
from recrawl.store.records import item_keys

AGAIN_S = 86_400.0
"""How long a page is not shown again of which a browser showed nothing more than there is without."""
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
        self,
        fetcher: Fetcher,
        readers: Readers,
        request_budget: RequestBudget,
        clock: Clock,
        reading: Reading,
        shown_pages: ShownPages | None = None,
    ) -> None:
        self._fetcher, self._readers, self._request_budget = fetcher, readers, request_budget
        self._clock, self._reading, self._shown_pages = clock, reading, shown_pages
        self._in_vain: dict[int, float] = {}
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
        if self._shown_pages is not None:
            await self._shown_pages.close()
        await self._readers.close()
        await self._fetcher.close()

    async def _carry_out(self, intent: Intent, memory: MemoryShare) -> Visit:
        try:
            fetched = self._no_room(intent) or await self._fetch(intent, memory)
        finally:
            self._left.append(intent)
        if fetched.requests == 0:
            self._request_budget.give_back(intent.source.cost)
        response = fetched.response
        visit = Visit(intent, self._clock.now(), fetched, size=0 if response is None else len(response.body))
        if response is not None and not fetched.refused and 200 <= response.status < 300:
            began = self._clock.now()
            visit = await self._read_if_new(visit, memory)
            if self._shown_pages is not None:
                plain_s = response.elapsed_s + self._clock.now() - began
                visit = await self._show_if_wanted(structs.replace(visit, plain_s=plain_s), self._shown_pages, memory)
        if fetched.response is not None and fetched.response.body:
            fetched.response = structs.replace(fetched.response, body=b"")  # it has been read: its size is enough
        return visit

    async def _fetch(self, intent: Intent, memory: MemoryShare) -> FetchResult:
        source, progress = intent.source, intent.progress
        conditional = {}
        # "Not modified" says nothing of a page of which something else is compared now.
        counts = intent.counts
        if _always_shown(intent) or intent.source.note.startswith(shells.WORDS):
            pass  # nor of what its scripts show
        elif not progress.digest or any(is_by(rule, progress.digest) for rule in (counts.rule, counts.rule_of_bytes)):
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

    def _no_room(self, intent: Intent) -> FetchResult | None:
        """Where a page that needs the browser would have to wait long for it: it comes back, before it is fetched."""
        shown = _always_shown(intent) or is_by(intent.counts_when_shown.rule, intent.progress.digest)
        pages = self._shown_pages
        if not shown or pages is None or pages.renderer.missing or pages.renderer.has_room:
            return None
        return _busy(FetchResult(None, intent.source.url), self._clock.now())

    async def _show_if_wanted(self, visit: Visit, pages: ShownPages, memory: MemoryShare) -> Visit:
        """The page as a browser shows it, where its owner wants that or it is empty without scripts."""
        intent, fetched, response = visit.intent, visit.fetched, visit.fetched.response
        assert response is not None
        why = None if visit.same else wanted(intent.options.render, response, visit.findings, visit.error)
        if why is None or (why == "shell" and self._is_in_vain(visit)):
            return visit
        try:
            shown = await pages.show(intent.source, intent.options, fetched)
        except NoBrowserError as error:
            return _without_browser(visit, str(error), why)
        except BusyError:
            return structs.replace(visit, findings=None, fetched=_busy(fetched, self._clock.now()))
        except UnreadableError as error:
            return structs.replace(visit, findings=None, error=str(error))
        fetched.response = as_shown(response, shown)
        memory.free()
        if len(shown.html) > SMALL_BYTES:
            await memory.take(len(shown.html))
        again = structs.replace(visit, shown=shown, shown_why=why, findings=None, error="", size=len(shown.html))
        again = structs.replace(again, at=self._clock.now())
        again = await (self._read_alone(again) if memory.size and not visit.alone else self._read(again))
        if why == "shell" and self._shows_nothing_more(visit, again):
            self._in_vain[intent.number] = self._clock.now()
            fetched.response = response
            return structs.replace(visit, alone=again.alone)
        return again

    def _is_in_vain(self, visit: Visit) -> bool:
        """Whether a browser showed nothing more of the page not long ago."""
        return self._clock.now() < self._in_vain.get(visit.intent.number, -math.inf) + AGAIN_S

    @staticmethod
    def _shows_nothing_more(plain: Visit, shown: Visit) -> bool:
        """Of a page that was never shown by a browser before."""
        if plain.findings is None or shown.findings is None:
            return False
        before = shown.intent.progress.digest
        known = is_by(shown.intent.counts_when_shown.rule, before)
        return not known and len(shown.findings.text) <= len(plain.findings.text)

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
            url=(visit.shown and visit.shown.url) or visit.fetched.final_url,
            kind=source.kind if visit.shown is None else "page",
            content_type=response.headers.get("content-type", ""),
            body=response.body,
            headers=response.headers,
            now=visit.at,
            counts=NOTHING_COMPARED if source.kind in ("feed", "sitemap") else _counts(visit),
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


def _always_shown(intent: Intent) -> bool:
    """Whether its owner wants it shown by a browser; what a tag says of that is not about feeds and sitemaps."""
    return intent.options.render == "browser" and intent.source.kind not in ("feed", "sitemap")


def _counts(visit: Visit) -> WhatCounts:
    return visit.intent.counts if visit.shown is None else visit.intent.counts_when_shown


def _busy(fetched: FetchResult, now: float) -> FetchResult:
    """It comes back later: nobody failed."""
    fetched.refused, fetched.reason, fetched.retry_at = "the browser is busy with other pages", "busy", now + SOON_S
    return fetched


def _without_browser(visit: Visit, missing: str, why: Why) -> Visit:
    """There is no browser: what its owner wants shown cannot be read, and of a page that is empty that is said."""
    if why == "asked" or visit.findings is None:
        return structs.replace(visit, findings=None, error=f"{visit.error}: {missing}" if visit.error else missing)
    return structs.replace(visit, findings=structs.replace(visit.findings, remark=without_browser(missing)))


async def _keys(items: tuple[FoundItem, ...]) -> list[int]:
    """The keys of items, with the loop let in between where there are many."""
    keys: list[int] = []
    for start in range(0, len(items), SLICE):
        if start:
            await asyncio.sleep(0)
        keys += item_keys([item.key for item in items[start : start + SLICE]])
    return keys
