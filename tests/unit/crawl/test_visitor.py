"""What a visit asks for, and how many large documents are read at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.fetching.answer_limits import MemoryShare
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.visitor import Reading, Visitor
from recrawl.crawl.visits import Intent
from recrawl.store.records import Progress, Source
from recrawl.store.source_terms import Defaults


class Listening:
    """A fetcher that goes nowhere and remembers what it was given."""

    conditional: dict[str, str] | None = None

    async def visit(self, url: str, headers: object, conditional: dict[str, str], **more: object) -> FetchResult:
        self.conditional = conditional
        return FetchResult(None, url, 1, error="nobody there")


class Bringing:
    """A fetcher that brings a document, and needs room for it if it is large."""

    def __init__(self, room: int) -> None:
        self.room = room

    async def visit(
        self, url: str, headers: object, conditional: object, memory: MemoryShare, robots: bool
    ) -> FetchResult:
        if self.room:
            await memory.take(self.room)
        return FetchResult(Response(url, 200, {}, b"words"), url, 1)


class Counting:
    """Readers that count."""

    read_so_far = 0

    async def read(self, document: object) -> Findings:
        self.read_so_far += 1
        return Findings(kind="page")


def asked_with(**progress: Any) -> dict[str, str] | None:
    fetcher = Listening()
    visitor = Visitor(fetcher, None, None, ManualClock(0.0), Reading())  # type: ignore[arg-type]
    source = Source(id=1, url="https://a.example/")
    intent = Intent(
        0, source, Progress(source=1, last=0.0, **progress), "a.example", 0.5, 0.4, source.terms(Defaults())
    )
    asyncio.run(visitor.visit(intent))
    return fetcher.conditional


def test_what_the_server_said_of_its_version_is_sent_back() -> None:
    assert asked_with(etag='W/"1"', modified="Sun, 15 Nov 2026 11:30:00 GMT") == {
        "If-None-Match": 'W/"1"',
        "If-Modified-Since": "Sun, 15 Nov 2026 11:30:00 GMT",
    }


@pytest.mark.parametrize("text", ['"a\x7fb"', '"a\x00"', '"a\r\nHost: b"'])
def test_what_no_request_may_hold_is_not_sent_though_it_was_stored_once(text: str) -> None:
    assert asked_with(etag=text, modified=text) == {}


@pytest.mark.parametrize("room", [0, 10])
def test_a_large_document_is_not_read_before_the_one_before_it_is_stored(room: int) -> None:
    async def scene() -> None:
        readers = Counting()
        visitor = Visitor(Bringing(room), readers, None, ManualClock(0.0), Reading())  # type: ignore[arg-type]
        source = Source(id=1, url="https://a.example/")
        intent = Intent(0, source, Progress(source=1), "a.example", 0.5, 0.4, source.terms(Defaults()))
        first, second = await visitor.visit(intent), asyncio.create_task(visitor.visit(intent))
        for _ in range(20):
            await asyncio.sleep(0)
        assert readers.read_so_far == (1 if room else 2)
        visitor.stored(first)
        await second
        assert readers.read_so_far == 2

    asyncio.run(scene())


class Hanging:
    """A fetcher that never brings anything."""

    async def visit(self, *_: object, **more: object) -> FetchResult:
        return await asyncio.Future()


def test_a_visit_that_is_given_up_makes_no_more_requests_either() -> None:
    async def scene() -> None:
        visitor = Visitor(Hanging(), None, None, ManualClock(0.0), Reading())  # type: ignore[arg-type]
        source = Source(id=1, url="https://a.example/")
        intent = Intent(0, source, Progress(source=1), "a.example", 0.5, 0.4, source.terms(Defaults()))
        visit = asyncio.create_task(visitor.visit(intent))
        await asyncio.sleep(0)
        visit.cancel()
        await asyncio.gather(visit, return_exceptions=True)
        assert visitor.drain_left() == [intent]

    asyncio.run(scene())
