"""The tools over HTTP, as one more part of the API: the same gate, token and bounds as all of it.

No session is kept: each request stands for itself, so nothing grows with the number of clients. The SDK is loaded when
somebody first asks, and its task ends with the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from recrawl.web.context import Context
from recrawl.web.mcp.answers import Answers

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/api/mcp"
METHODS = ["GET", "POST"]
MOST_BODY = 64 * 1024


def installed() -> bool:
    """Whether the extra `mcp` is."""
    return find_spec("mcp") is not None


class Endpoint:
    """An ASGI application for one path."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._starting = asyncio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None
        self._ended: asyncio.Event | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a client."""
        async with self._starting:
            if self._manager is None or self._running is None or self._running.done():
                self._manager = await self._start()
            manager = self._manager
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End it, if it was ever started."""
        if self._ended is not None and self._running is not None:
            self._ended.set()
            await self._running

    async def _start(self) -> StreamableHTTPSessionManager:
        manager = await asyncio.to_thread(_make_manager, self._context)
        ready, ended = asyncio.Event(), asyncio.Event()
        self._running = asyncio.create_task(_run(manager, ready, ended))
        await ready.wait()
        self._ended = ended
        return manager


def _make_manager(context: Context) -> StreamableHTTPSessionManager:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from recrawl.web.mcp.server import make_server

    @contextmanager
    def writing() -> Iterator[Context]:
        yield context  # the page's store is open for writing

    server = make_server(Answers(context, writing))
    return StreamableHTTPSessionManager(
        server._lowlevel_server, json_response=True, stateless=True, max_request_body_size=MOST_BODY
    )


async def _run(manager: StreamableHTTPSessionManager, ready: asyncio.Event, ended: asyncio.Event) -> None:
    async with manager.run():
        ready.set()
        await ended.wait()
