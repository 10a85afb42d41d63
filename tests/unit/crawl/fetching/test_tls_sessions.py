"""TLS sessions are taken up again, by the host they were made with and by no other."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme

from recrawl.clock import SystemClock
from recrawl.config import Fetching
from recrawl.crawl.fetching import tls_sessions
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.tls_sessions import ResumingContext, client_context
from recrawl.crawl.fetching.transport import Request, TransportError

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


class Served:
    """A server that hangs up after each answer, and clients that trust it."""

    def __init__(self, *names: str) -> None:
        self.authority, self.context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(*names).configure_cert(self.context)
        self.port = 0

    def client(self) -> ResumingContext:
        context = client_context(verify=True)
        self.authority.configure_trust(context)
        return context

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(ANSWER)
                await writer.drain()
            finally:
                writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=self.context) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield

    @property
    def resumed(self) -> int:
        return self.context.session_stats()["hits"]


async def fetched(served: Served, context: ssl.SSLContext, host: str, times: int = 1) -> None:
    transport = HttpTransport(Fetching(allow_private=True), SystemClock(), ssl_context=context)
    try:
        for _ in range(times):
            assert (await transport.fetch(Request(f"https://{host}:{served.port}/"))).body == b"ok"
    finally:
        await transport.close()


def test_the_second_connection_takes_up_the_session_of_the_first() -> None:
    async def scene() -> None:
        served = Served("127.0.0.1")
        async with served.listening():
            await fetched(served, served.client(), "127.0.0.1", times=4)
        assert served.resumed == 3

    asyncio.run(scene())


def test_a_session_is_of_no_use_under_another_name() -> None:
    async def scene() -> None:
        served = Served("127.0.0.1")
        async with served.listening():
            context = served.client()
            await fetched(served, context, "127.0.0.1")
            with pytest.raises(TransportError, match="no trusted connection"):
                await fetched(served, context, "localhost")
        assert served.resumed == 0

    asyncio.run(scene())


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_sessions, "MOST_SESSIONS", 1)

    async def scene() -> None:
        served = Served("127.0.0.1", "localhost")
        async with served.listening():
            context = served.client()
            for host in ("127.0.0.1", "localhost", "127.0.0.1"):
                await fetched(served, context, host)
            assert served.resumed == 0
            await fetched(served, context, "127.0.0.1")
        assert served.resumed == 1

    asyncio.run(scene())


def test_who_does_not_verify_does_not_start_to() -> None:
    context = client_context(verify=False)
    assert (context.check_hostname, context.verify_mode) == (False, ssl.CERT_NONE)
    usual, made = ssl.create_default_context(), client_context(verify=True)
    assert (made.check_hostname, made.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert (made.verify_flags, made.options, made.minimum_version) == (
        usual.verify_flags,
        usual.options,
        usual.minimum_version,
    )
