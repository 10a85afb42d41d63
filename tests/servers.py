"""Servers on loopback for tests: well-behaved ones (aiohttp) and ones that speak raw bytes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

import pytest
from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that answers every path with `handler`; its base URL."""
    runner = web.ServerRunner(web.Server(handler), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def speaking(raw: Raw, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that lets `raw` say what it likes once a request's headers have come; its base URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            await raw(reader, writer)
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def saying(data: bytes, *, reset: bool = False) -> Raw:
    """Say these bytes and hang up, politely or with a reset."""

    async def raw(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if reset:
            writer.transport.abort()

    return raw


def run_on(monkeypatch: pytest.MonkeyPatch, loop: str) -> None:
    """Let `asyncio.run` use this kind of event loop."""
    factory = asyncio.new_event_loop if loop == "asyncio" else pytest.importorskip("uvloop").new_event_loop

    def run(main: Coroutine[object, object, object]) -> object:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(main)

    monkeypatch.setattr(asyncio, "run", run)


async def silence(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()
