"""What comes around a body (interim answers, headers, chunks, trailers) is bounded: plainly, by TLS and by proxy."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator

import pytest
import trustme

from recrawl.clock import SystemClock
from recrawl.config import Fetching
from recrawl.crawl import framing
from recrawl.crawl.http import HttpTransport
from recrawl.crawl.transport import Request, Response, TransportError
from servers import Raw, run_on, saying, speaking

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MOST_SENT = 64 << 20
"""What a server gets rid of before it is hung up on is what the machine's buffers hold, not more and more."""
WITHOUT_END = {
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "102 Processing": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "103 Early Hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"),
    "header lines": (b"HTTP/1.1 200 OK\r\n", b"a:\r\n"),
    "chunks of a byte": (CHUNKED, b"1\r\nx\r\n"),
    "an extension of a chunk": (CHUNKED + b"1;a=", b"a" * 8),
    "extensions of chunks": (CHUNKED, b"1;" + b"a" * 3000 + b"\r\nx\r\n"),
    "trailers": (CHUNKED + b"0\r\n", b"X-A: aaaaaaaaaaaaaaaaaaaa\r\n"),
}
WAYS = ("plain", "tls", "proxy")


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on(monkeypatch, request.param)


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's that trusts it."""
    ca = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    ca.issue_cert("127.0.0.1").configure_cert(server)
    ca.configure_trust(client)
    return server, client


def fetched(raw: Raw, way: str) -> Response:
    """What comes of one request to a server that says this."""

    async def scene() -> Response:
        server, client = contexts() if way == "tls" else (None, None)
        async with speaking(raw, server) as base:
            proxy = base if way == "proxy" else ""
            fetching = Fetching(allow_private=True, timeout="60s", idle_timeout="30s", proxy=proxy)
            transport = HttpTransport(fetching, SystemClock(), ssl_context=client)
            url = "http://feeds.example/" if proxy else base + "/"
            try:
                return await transport.fetch(Request(url, max_bytes=10_000_000))
            finally:
                await transport.close()

    return asyncio.run(scene())


def on_and_on(start: bytes, more: bytes, sent: list[int]) -> Raw:
    async def raw(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        block = more * (65_536 // len(more))
        while sum(sent) < MOST_SENT:
            writer.write(block)
            sent.append(len(block))
            await writer.drain()
        await asyncio.Event().wait()

    return raw


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", WITHOUT_END)
def test_what_has_no_end_is_given_up_soon(what: str, way: str) -> None:
    sent: list[int] = []
    with pytest.raises(TransportError) as caught:
        fetched(on_and_on(*WITHOUT_END[what], sent), way)
    assert caught.value.reason == "protocol"
    assert sum(sent) < MOST_SENT


def bodies() -> Iterator[tuple[bytes, bytes]]:
    hello = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    yield b"HTTP/1.1 100 Continue\r\n\r\n" + hello, b"hello"
    yield b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * framing.MAX_INTERIM + hello, b"hello"
    yield CHUNKED + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n", b"x" * 20_000
    yield CHUNKED + (b"1e\r\n" + b"x" * 30 + b"\r\n") * 20_000 + b"0\r\n\r\n", b"x" * 600_000
    headers = b"".join(b"X-%d: %b\r\n" % (number, b"a" * 1000) for number in range(100))
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" + headers + b"\r\nhello", b"hello"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("said", "body"), list(bodies()), ids=range(5))
def test_what_honest_servers_do_is_within_the_bounds(said: bytes, body: bytes, way: str) -> None:
    assert fetched(saying(said), way).body == body


@pytest.mark.parametrize("way", WAYS)
def test_one_interim_answer_too_many_is_too_many(way: str) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * (framing.MAX_INTERIM + 1)
    with pytest.raises(TransportError, match="not proper HTTP"):
        fetched(saying(interim + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), way)


def test_bounds_start_anew_with_every_request_on_a_connection() -> None:
    async def raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            interim = b"HTTP/1.1 103 Early Hints\r\nX: %b\r\n\r\n" % (b"a" * 3000) * framing.MAX_INTERIM
            writer.write(interim + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await reader.readuntil(b"\r\n\r\n")

    async def scene() -> None:
        async with speaking(raw) as base:
            for proxy in ("", base):
                transport = HttpTransport(Fetching(allow_private=True, proxy=proxy), SystemClock())
                for _ in range(6):
                    url = "http://feeds.example/" if proxy else base + "/"
                    assert (await transport.fetch(Request(url))).body == b"ok"
                await transport.close()

    asyncio.run(scene())
