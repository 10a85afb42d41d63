"""Large bodies share one room, in order of asking; small ones need none."""

from __future__ import annotations

import asyncio
import gzip

import pytest
from aiohttp import web

from recrawl.clock import SystemClock
from recrawl.config import Fetching
from recrawl.crawl.freight import SMALL_BYTES, Freight
from recrawl.crawl.http import HttpTransport
from recrawl.crawl.transport import Request, TransportError
from servers import serving

LARGE = bytes(range(256)) * 2400
"""More than half a megabyte, of a kind that fits a limit of one."""


def test_room_is_given_in_order_of_asking() -> None:
    async def scene() -> list[str]:
        freight = Freight(10)
        first, second, third = freight.load(), freight.load(), freight.load()
        order: list[str] = []

        async def take(name: str, load: object, size: int) -> None:
            await load.take(size)  # type: ignore[attr-defined]
            order.append(name)

        await take("first", first, 8)
        waiting = [asyncio.create_task(take("second", second, 5)), asyncio.create_task(take("third", third, 1))]
        await asyncio.sleep(0)
        order.append("nobody else")
        first.settle(4)
        await asyncio.gather(*waiting)
        for load in (first, second, third):
            load.drop()
        assert freight.taken == 0
        return order

    assert asyncio.run(scene()) == ["first", "nobody else", "second", "third"]


def test_a_load_larger_than_all_room_waits_for_all_of_it() -> None:
    async def scene() -> None:
        freight = Freight(10)
        small, giant = freight.load(), freight.load()
        await small.take(1)
        asked = asyncio.create_task(giant.take(50))
        await asyncio.sleep(0)
        assert not asked.done()
        small.drop()
        await asked
        assert freight.taken == 50

    asyncio.run(scene())


def test_who_gives_up_waiting_leaves_no_trace() -> None:
    async def scene() -> None:
        freight = Freight(10)
        holder, hasty, patient = freight.load(), freight.load(), freight.load()
        await holder.take(10)
        gone, asked = asyncio.create_task(hasty.take(9)), asyncio.create_task(patient.take(9))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        holder.drop()
        await asked
        assert freight.taken == 9
        gone = asyncio.create_task(hasty.take(9))
        await asyncio.sleep(0)
        patient.drop()  # the turn is given and the asker cancelled at the same moment
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert freight.taken == 0

    asyncio.run(scene())


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    match request.path:
        case "/small":
            return web.Response(body=b"x" * 1000)
        case "/packed":
            return web.Response(body=gzip.compress(b" " * 700_000), headers={"Content-Encoding": "gzip"})
        case "/known":
            return web.Response(body=LARGE)
    response = web.StreamResponse()
    await response.prepare(request)
    for start in range(0, len(LARGE), 10_000):
        await response.write(LARGE[start : start + 10_000])
    return response


@pytest.mark.parametrize("path", ["/unknown", "/known", "/packed"])
def test_a_large_answer_is_not_read_until_there_is_room(path: str) -> None:
    async def scene() -> None:
        freight = Freight(1_100_000)
        transport = HttpTransport(Fetching(allow_private=True), SystemClock())
        async with serving(answer) as base:
            first, second, third = freight.load(), freight.load(), freight.load()
            body = (await transport.fetch(Request(base + path, {}, 1_000_000, load=first))).body
            assert freight.taken == first.size == len(body) > SMALL_BYTES
            waiting = asyncio.create_task(transport.fetch(Request(base + path, {}, 1_000_000, load=second)))
            small = await transport.fetch(Request(base + "/small", {}, 1_000_000, load=third))
            assert (len(small.body), third.size, waiting.done()) == (1000, 0, False)
            first.drop()
            assert (await waiting).body == body
            second.drop()
            assert freight.taken == 0
        await transport.close()

    asyncio.run(scene())


@pytest.mark.parametrize("path", ["/unknown", "/packed"])
def test_waiting_for_room_ends_with_the_timeout(path: str) -> None:
    async def scene() -> str:
        freight = Freight(1)
        await freight.load().take(1)
        hasty = Fetching(allow_private=True, timeout="300ms", idle_timeout="100ms")
        transport = HttpTransport(hasty, SystemClock())
        async with serving(answer) as base:
            with pytest.raises(TransportError, match="no room for a large answer in time") as failure:
                await transport.fetch(Request(base + path, {}, 1_000_000, load=freight.load()))
        await transport.close()
        assert freight.taken == 1
        return failure.value.reason

    assert asyncio.run(scene()) == "timeout"


def test_waiting_for_room_is_part_of_the_time_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []
    timeout_at = asyncio.timeout_at

    def noted(when: float) -> asyncio.Timeout:
        ends.append(when)
        return timeout_at(when)

    async def scene() -> None:
        freight, now = Freight(), asyncio.get_running_loop().time
        transport = HttpTransport(Fetching(allow_private=True, timeout="20s"), SystemClock())
        answered: list[float] = []

        async def late(request: web.BaseRequest) -> web.StreamResponse:
            answered.append(now())
            return await answer(request)

        async with serving(late) as base:
            monkeypatch.setattr(asyncio, "timeout_at", noted)
            began = now()
            await transport.fetch(Request(base + "/packed", {}, 1_000_000, load=freight.load()))
        await transport.close()
        assert any(began <= end - 20.0 <= answered[0] for end in ends)

    asyncio.run(scene())
