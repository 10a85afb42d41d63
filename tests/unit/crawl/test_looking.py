"""Looking again and again: what the store cannot do is said and tried anew, and a store that was taken ends it."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from recrawl.clock import ManualClock
from recrawl.crawl.looking import keep_looking
from recrawl.errors import StoreError, StoreTakenError


def test_trouble_is_said_and_the_next_look_comes() -> None:
    clock, looked = ManualClock(0.0), list[float]()

    async def look() -> None:
        looked.append(clock.now())
        if len(looked) == 1:
            raise StoreError("busy")
        if len(looked) == 3:
            raise StoreTakenError("another program has it")

    with capture_logs() as said, pytest.raises(StoreTakenError):
        asyncio.run(keep_looking(clock, 2.0, look, "it could not be read"))
    assert looked == [2.0, 4.0, 6.0]
    assert said == [{"event": "it could not be read", "reason": "busy", "log_level": "warning"}]
