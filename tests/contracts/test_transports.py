"""Every transport keeps the contract: one request, one answer or one TransportError, whatever the server does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from recrawl.clock import SystemClock
from recrawl.config import Fetching
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.transport import Request, Transport, TransportError
from servers import run_on, saying, serving, silence, speaking

PATIENT = Fetching(allow_private=True, timeout="20s", idle_timeout="10s")
HASTY = Fetching(allow_private=True, timeout="400ms", idle_timeout="200ms")


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on(monkeypatch, request.param)


def http(fetching: Fetching) -> Transport:
    return HttpTransport(fetching, SystemClock())


def permitted(fetching: Fetching) -> Transport:
    return HttpTransport(fetching, SystemClock(), permit=lambda _: "")


TRANSPORTS = {"http": http, "permitted": permitted}


@pytest.fixture(params=TRANSPORTS)
def make(request: pytest.FixtureRequest) -> object:
    return TRANSPORTS[request.param]


@contextlib.asynccontextmanager
async def opened(make: object, fetching: Fetching = PATIENT) -> AsyncIterator[Transport]:
    transport: Transport = make(fetching)  # type: ignore[operator]
    try:
        yield transport
    finally:
        await transport.close()


async def echo(request: web.BaseRequest) -> web.Response:
    status = int(request.query.get("status", "200"))
    return web.Response(text=request.headers.get("X-Own", ""), status=status, headers={"X-Name": "Value"})


@pytest.mark.parametrize("status", [200, 204, 301, 304, 404, 410, 429, 500, 503])
def test_an_answer_comes_back_whatever_its_status(make: object, status: int) -> None:
    async def scene() -> None:
        async with serving(echo) as base, opened(make) as transport:
            response = await transport.fetch(Request(f"{base}/?status={status}"))
            assert response.status == status
            assert response.url == f"{base}/?status={status}"

    asyncio.run(scene())


def test_headers_go_out_and_come_back_in_lower_case(make: object) -> None:
    async def scene() -> None:
        async with serving(echo) as base, opened(make) as transport:
            response = await transport.fetch(Request(base, {"X-Own": "mine"}))
            assert response.body == b"mine"
            assert response.headers["x-name"] == "Value"
            assert all(name == name.lower() for name in response.headers)

    asyncio.run(scene())


def test_a_body_over_the_limit_is_refused_and_one_at_the_limit_is_not(make: object) -> None:
    async def scene() -> None:
        async with serving(echo) as base, opened(make) as transport:
            assert len((await transport.fetch(Request(base, {"X-Own": "x" * 50}, max_bytes=50))).body) == 50
            with pytest.raises(TransportError) as caught:
                await transport.fetch(Request(base, {"X-Own": "x" * 51}, max_bytes=50))
            assert caught.value.reason == "too large"

    asyncio.run(scene())


@pytest.mark.parametrize("misbehaviour", ["silent", "closed", "reset", "noise"])
def test_misbehaviour_ends_in_a_transport_error_within_the_timeout(make: object, misbehaviour: str) -> None:
    raws = {
        "silent": silence,
        "closed": saying(b""),
        "reset": saying(b"HTTP/1.1 200 OK\r\n", reset=True),
        "noise": saying(b"\xff" * 1000 + b"\r\n\r\n"),
    }

    async def scene() -> None:
        async with speaking(raws[misbehaviour]) as base, opened(make, HASTY) as transport, asyncio.timeout(5):
            with pytest.raises(TransportError) as caught:
                await transport.fetch(Request(base))
            assert caught.value.reason in ("timeout", "reset", "protocol")
            assert str(caught.value)

    asyncio.run(scene())


def test_one_bad_server_does_not_disturb_the_others(make: object) -> None:
    async def scene() -> None:
        async with speaking(silence) as bad, serving(echo) as good, opened(make) as transport:
            waiting = asyncio.create_task(transport.fetch(Request(bad)))
            for _ in range(20):
                assert (await transport.fetch(Request(good))).status == 200
            assert not waiting.done()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await transport.fetch(Request(good))).status == 200

    asyncio.run(scene())


def test_a_transport_that_was_closed_unused_is_closed(make: object) -> None:
    """Closing raises nothing, and no connection or session is left to be warned of."""

    async def scene() -> None:
        async with opened(make):
            pass

    asyncio.run(scene())
