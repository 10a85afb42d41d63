"""Requests through the proxy of the settings, by aiohttp: it knows tunnels, proxy credentials and TLS in TLS.

The proxy connects and looks up names, so what it reaches is its own affair; only addresses written in URLs are checked
on this side. All bounds on time and size are the same as without a proxy.

The permit is asked when there is a connection (for https: the tunnel and TLS through it) and the request is about to be
written to it. When the proxy passes it on is the proxy's affair.
"""

from __future__ import annotations

import asyncio
import ssl
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage
from multidict import CIMultiDictProxy

from recrawl.config import Fetching
from recrawl.crawl.fetching import address_guard, dns, http1
from recrawl.crawl.fetching.answer_limits import SMALL_BYTES, Framing
from recrawl.crawl.fetching.transport import Request, TransportError

_PERMIT: ContextVar[http1.Permit | None] = ContextVar("permit", default=None)
"""Of the request that this task makes: aiohttp hands nothing through to where it writes."""


class _PermittedRequest(aiohttp.ClientRequest):
    """One that is written with permit only."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        permit = _PERMIT.get()
        if permit is not None and (why := permit()):
            raise TransportError("permit", why)
        return await super().send(conn)  # does not pause before it has written


class _BoundedHandler(ResponseHandler):
    """A connection that bounds what comes around bodies, as ours without a proxy do."""

    def set_response_params(self, **params: Any) -> None:
        self._framing = Framing()
        super().set_response_params(**params)

    def feed_data(self, data: tuple[RawResponseMessage, aiohttp.StreamReader], size: int = 0) -> None:
        if data[0].code < 200 and data[0].code != 101:
            self._framing.interim += 1  # nobody waits for these
        else:
            super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        framing, payload = getattr(self, "_framing", None), self._payload
        if framing is None or self._exception is not None:
            return
        framing.received += len(data)
        if self._reading_paused:
            return  # the rest of what was received has not been parsed yet
        if what := framing.excess(0 if payload is None else payload.total_bytes):
            error = HttpProcessingError(message=what)
            self.set_exception(error)
            if payload is not None:
                payload.set_exception(error)
            self.abort()


class ProxiedSession:
    """Sends requests through a proxy."""

    def __init__(self, fetching: Fetching, tls: ssl.SSLContext, headers: dict[str, str]) -> None:
        connector = aiohttp.TCPConnector(
            ssl=tls,
            limit=0,
            resolver=dns.Resolver(rule=address_guard.anywhere),
            keepalive_timeout=http1.KEEP_ALIVE_S,
        )
        connector._factory = partial(_BoundedHandler, loop=asyncio.get_running_loop())  # type: ignore[assignment]
        idle_s = fetching.idle_timeout_s
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=fetching.timeout_s, sock_connect=idle_s, sock_read=idle_s),
            auto_decompress=False,
            trust_env=False,
            proxy=fetching.proxy,
            request_class=_PermittedRequest,
            max_line_size=http1.MAX_LINE_BYTES,
            max_field_size=http1.MAX_FIELD_BYTES,
        )
        # A request repeated behind our back would be neither in its host's turn nor paid for.
        self._session._retry_connection = False

    async def exchange(
        self, url: str, headers: dict[str, str], request: Request, permit: http1.Permit | None = None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """One request and its answer: status, headers and body, still packed."""
        _PERMIT.set(permit)
        try:
            method = "GET" if request.form is None else "POST"
            answer = await self._session.request(method, url, headers=headers, data=request.form, allow_redirects=False)
            try:
                return answer.status, answer.headers, await _body(answer, request)
            finally:
                if not answer.content.at_eof():
                    answer.close()
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError) as error:
            raise _explained(error) from error

    async def close(self) -> None:
        """Give back connections."""
        await self._session.close()


async def _body(answer: aiohttp.ClientResponse, request: Request) -> bytes:
    """All of it, or TransportError past the limit; empty if it is no document's."""
    wanted = 200 <= answer.status < 300
    limit = request.max_bytes if wanted else http1.DROPPED_BODY_BYTES
    length = answer.content_length
    if wanted and not request.cut and length is not None and length > limit:
        raise TransportError("too large", f"the answer has {length} bytes, more than {limit}")
    parts: list[bytes] = []
    size = 0
    while size <= limit and (part := await answer.content.readany()):
        parts.append(part)
        size += len(part)
        if size > SMALL_BYTES and request.memory is not None:
            await request.memory.take(limit)
    if not wanted:
        return b""
    if size > limit and not request.cut:
        raise TransportError("too large", f"the answer has more than {limit} bytes")
    return parts[0] if len(parts) == 1 and size <= limit else b"".join(parts)[:limit]


def _explained(error: Exception) -> TransportError:
    """The same in one of our words. The order matters: some are kinds of others."""
    match error:
        case aiohttp.ClientSSLError():
            return TransportError("tls", "no trusted connection through the proxy")
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() | aiohttp.ConnectionTimeoutError():
            return TransportError("connect", "no connection through the proxy")
        case TimeoutError():
            return TransportError("timeout", "no complete answer in time")
        case aiohttp.InvalidURL() | aiohttp.ClientResponseError() | HttpProcessingError():
            return TransportError("protocol", "the answer is not proper HTTP")
        case OSError() | aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError():
            return TransportError("reset", "the connection ended before the answer did")
        case _:
            return TransportError("protocol", f"the request could not be made: {type(error).__name__}")
