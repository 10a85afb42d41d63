"""What a visit asks for, and how many large documents are read at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.config import Config, effective
from recrawl.crawl.courier import Delivery
from recrawl.crawl.findings import Findings
from recrawl.crawl.freight import Load
from recrawl.crawl.intents import Intent
from recrawl.crawl.transport import Response
from recrawl.crawl.visiting import Reading, Visitor
from recrawl.store.base import Progress, Source


class Listening:
    """A courier that goes nowhere and remembers what it was given."""

    conditional: dict[str, str] | None = None

    async def visit(self, url: str, headers: object, conditional: dict[str, str], **more: object) -> Delivery:
        self.conditional = conditional
        return Delivery(None, url, 1, error="nobody there")


class Bringing:
    """A courier that brings a document, and needs room for it if it is large."""

    def __init__(self, room: int) -> None:
        self.room = room

    async def visit(self, url: str, headers: object, conditional: object, load: Load, robots: bool) -> Delivery:
        if self.room:
            await load.take(self.room)
        return Delivery(Response(url, 200, {}, b"words"), url, 1)


class Counting:
    """Readers that count."""

    read_so_far = 0

    async def read(self, document: object) -> Findings:
        self.read_so_far += 1
        return Findings(kind="page")


def asked_with(**progress: Any) -> dict[str, str] | None:
    courier = Listening()
    visitor = Visitor(courier, None, None, ManualClock(0.0), Reading())  # type: ignore[arg-type]
    source = Source(id=1, url="https://a.example/")
    intent = Intent(
        0, source, Progress(source=1, last=0.0, **progress), "a.example", 0.5, 0.4, effective(source, Config())
    )
    asyncio.run(visitor.visit(intent))
    return courier.conditional


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
        intent = Intent(0, source, Progress(source=1), "a.example", 0.5, 0.4, effective(source, Config()))
        first, second = await visitor.visit(intent), asyncio.create_task(visitor.visit(intent))
        for _ in range(20):
            await asyncio.sleep(0)
        assert readers.read_so_far == (1 if room else 2)
        visitor.stored(first)
        await second
        assert readers.read_so_far == 2

    asyncio.run(scene())
