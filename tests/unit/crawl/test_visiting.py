"""What a visit asks for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from recrawl.clock import ManualClock
from recrawl.crawl.courier import Delivery
from recrawl.crawl.intents import Intent
from recrawl.crawl.visiting import Reading, Visitor
from recrawl.store.base import Progress, Source


class Listening:
    """A courier that goes nowhere and remembers what it was given."""

    conditional: dict[str, str] | None = None

    async def visit(self, url: str, headers: object, conditional: dict[str, str], load: object) -> Delivery:
        self.conditional = conditional
        return Delivery(None, url, 1, error="nobody there")


def asked_with(**progress: Any) -> dict[str, str] | None:
    courier = Listening()
    visitor = Visitor(courier, None, None, ManualClock(0.0), Reading())  # type: ignore[arg-type]
    source = Source(id=1, url="https://a.example/")
    intent = Intent(0, source, Progress(source=1, last=0.0, **progress), "a.example", 0.5, 0.4)
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
