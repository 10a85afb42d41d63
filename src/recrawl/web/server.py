"""Serving an app: on an event loop of its own, or beside a crawler on the crawler's."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI

from recrawl.errors import OutputError
from recrawl.web.connections import ConnectionLimit, Limits

LAST_WORDS_S = 2
"""How long requests under way are waited for at the end; open event streams are then cut."""
IDLE_S = 30
"""How long a connection is kept for a next request."""


class _Quiet(uvicorn.Server):
    """Leaves signals to whoever started it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bound(host: str, port: int, option: str = "--port") -> socket.socket:
    """A listening socket; OutputError in words if the address is taken. Port 0 takes a free one.

    Parameters
        option: that names another port
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Told its protocol, the event loop sends small answers at once instead of waiting for more to send.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        why = (error.strerror or str(error)).lower()
        another = f"; {option} PORT takes another, 0 any free one" if error.errno == errno.EADDRINUSE else ""
        raise OutputError(f"cannot listen on {host}, port {port}: {why}{another}") from error
    return listener


async def serve(
    app: FastAPI,
    host: str = "127.0.0.1",
    port: int = 8080,
    *,
    listener: socket.socket | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve until cancelled. No signal handlers are installed, and nothing is logged per request."""
    taken = listener or bound(host, port)
    connections = ConnectionLimit(limits or Limits())
    server = _Quiet(
        uvicorn.Config(
            app,
            http=connections.protocol,  # type: ignore[arg-type]  # all that is asked of it is to be called
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=LAST_WORDS_S,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[taken]))
    sweeping = asyncio.create_task(connections.sweep())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise
    finally:
        sweeping.cancel()
        taken.close()
