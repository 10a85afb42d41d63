"""What answers may cost: around the body (plainly, by TLS and by proxy), unpacked, and in memory at once."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import tracemalloc
import zlib
from collections.abc import Iterator

import brotli
import pytest
import trustme
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from recrawl.clock import SystemClock
from recrawl.config import Fetching
from recrawl.crawl.fetching import answer_limits
from recrawl.crawl.fetching.answer_limits import SMALL_BYTES, MemoryBudget, unpacked, zstd
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.transport import Request, Response, TransportError
from servers import Raw, run_on, saying, serving, speaking

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


@pytest.fixture(params=["asyncio", "uvloop"])
def both_loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.usefixtures("both_loops")
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
    yield b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * answer_limits.MAX_INTERIM + hello, b"hello"
    yield CHUNKED + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n", b"x" * 20_000
    yield CHUNKED + (b"1e\r\n" + b"x" * 30 + b"\r\n") * 20_000 + b"0\r\n\r\n", b"x" * 600_000
    headers = b"".join(b"X-%d: %b\r\n" % (number, b"a" * 1000) for number in range(100))
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" + headers + b"\r\nhello", b"hello"


@pytest.mark.usefixtures("both_loops")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("said", "body"), list(bodies()), ids=range(5))
def test_what_honest_servers_do_is_within_the_bounds(said: bytes, body: bytes, way: str) -> None:
    assert fetched(saying(said), way).body == body


@pytest.mark.usefixtures("both_loops")
@pytest.mark.parametrize("way", WAYS)
def test_one_interim_answer_too_many_is_too_many(way: str) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" * (answer_limits.MAX_INTERIM + 1)
    with pytest.raises(TransportError, match="not proper HTTP"):
        fetched(saying(interim + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), way)


@pytest.mark.usefixtures("both_loops")
def test_bounds_start_anew_with_every_request_on_a_connection() -> None:
    async def raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            interim = b"HTTP/1.1 103 Early Hints\r\nX: %b\r\n\r\n" % (b"a" * 3000) * answer_limits.MAX_INTERIM
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


LIMIT = 100_000
TEXT = b"<rss>" + bytes(range(256)) * 40 + b"</rss>"


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}


def failure(body: bytes, encoding: str, limit: int = LIMIT) -> str:
    with pytest.raises(TransportError) as caught:
        unpacked(body, encoding, limit)
    return caught.value.reason


@pytest.mark.parametrize("encoding", PACKERS)
def test_every_accepted_encoding_is_undone(encoding: str) -> None:
    assert unpacked(PACKERS[encoding](TEXT), encoding, LIMIT) == TEXT


def test_names_are_read_as_servers_write_them() -> None:
    assert unpacked(gzip.compress(TEXT), "X-GZip", LIMIT) == TEXT
    assert unpacked(TEXT, "identity", LIMIT) == TEXT
    assert unpacked(raw_deflate(TEXT), "deflate", LIMIT) == TEXT
    assert unpacked(b"", "gzip", LIMIT) == b""


def test_layers_are_undone_from_the_last_to_the_first() -> None:
    assert unpacked(brotli.compress(gzip.compress(TEXT)), "gzip, br", LIMIT) == TEXT


def test_a_gzip_file_is_opened_once_and_no_further() -> None:
    assert unpacked(gzip.compress(TEXT), "", LIMIT) == TEXT
    assert unpacked(gzip.compress(gzip.compress(TEXT)), "gzip", LIMIT) == TEXT
    assert unpacked(gzip.compress(gzip.compress(TEXT)), "", LIMIT) == gzip.compress(TEXT)


def test_a_body_that_only_claims_to_be_compressed_is_taken_as_it_is() -> None:
    assert unpacked(TEXT, "gzip", LIMIT) == TEXT
    assert unpacked(TEXT, "zstd", LIMIT) == TEXT


def test_members_and_frames_follow_one_another_and_padding_is_ignored() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512, "gzip", LIMIT) == b"one two"
    assert unpacked(zstd.compress(b"one ") + zstd.compress(b"two"), "zstd", LIMIT) == b"one two"


@pytest.mark.parametrize("encoding", PACKERS)
def test_what_is_cut_short_is_damaged(encoding: str) -> None:
    assert failure(PACKERS[encoding](TEXT)[:-9], encoding) == "protocol"


def test_unknown_encodings_and_too_many_layers_are_refused() -> None:
    assert failure(TEXT, "compress") == "protocol"
    assert failure(TEXT, "gzip, gzip, gzip, gzip") == "protocol"


@pytest.mark.parametrize("encoding", PACKERS)
def test_the_limit_is_exact(encoding: str) -> None:
    assert len(unpacked(PACKERS[encoding](b"x" * LIMIT), encoding, LIMIT)) == LIMIT
    assert failure(PACKERS[encoding](b"x" * (LIMIT + 1)), encoding) == "too large"


def bombs() -> dict[str, tuple[bytes, str]]:
    zeros = bytes(24_000_000)
    once = gzip.compress(zeros)
    return {
        "gzip": (once, "gzip"),
        "deflate": (zlib.compress(zeros), "deflate"),
        "br": (brotli.compress(zeros, quality=5), "br"),
        "zstd": (zstd.compress(zeros), "zstd"),
        "nested": (gzip.compress(once), "gzip, gzip"),
        "file": (once, ""),
        "file in transit": (gzip.compress(once), "gzip"),
        "many members": (gzip.compress(bytes(100_000)) * 90, "gzip"),
    }


def test_a_bomb_costs_no_more_than_the_limit() -> None:
    limit = 2_000_000
    for name, (body, encoding) in bombs().items():
        tracemalloc.start()
        assert failure(body, encoding, limit) == "too large", name
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * limit, f"{name}: {peak}"


def test_empty_members_without_end_cost_bounded_time() -> None:
    assert failure(gzip.compress(b"") * 100_000, "gzip") == "protocol"


def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused() -> None:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    frame = packer.compress(bytes(1000)) + packer.flush()
    assert failure(frame, "zstd") == "protocol"


def test_what_is_too_large_may_be_cut_instead() -> None:
    assert unpacked(gzip.compress(b"x" * 1000), "gzip", 10, cut=True) == b"x" * 10


@given(st.binary(max_size=200), st.sampled_from([*PACKERS, "", "gzip, br"]))
def test_any_bytes_give_an_answer_or_a_transport_error(body: bytes, encoding: str) -> None:
    with contextlib.suppress(TransportError):
        assert len(unpacked(body, encoding, 1000)) <= 1000


LARGE = bytes(range(256)) * 2400
"""More than half a megabyte, of a kind that fits a limit of one."""


def test_room_is_given_in_order_of_asking() -> None:
    async def scene() -> list[str]:
        memory_budget = MemoryBudget(10)
        first, second, third = memory_budget.share(), memory_budget.share(), memory_budget.share()
        order: list[str] = []

        async def take(name: str, share: object, size: int) -> None:
            await share.take(size)  # type: ignore[attr-defined]
            order.append(name)

        await take("first", first, 8)
        waiting = [asyncio.create_task(take("second", second, 5)), asyncio.create_task(take("third", third, 1))]
        await asyncio.sleep(0)
        order.append("nobody else")
        first.shrink(4)
        await asyncio.gather(*waiting)
        for share in (first, second, third):
            share.free()
        assert memory_budget.taken == 0
        return order

    assert asyncio.run(scene()) == ["first", "nobody else", "second", "third"]


def test_a_load_larger_than_all_room_waits_for_all_of_it() -> None:
    async def scene() -> None:
        memory_budget = MemoryBudget(10)
        small, giant = memory_budget.share(), memory_budget.share()
        await small.take(1)
        asked = asyncio.create_task(giant.take(50))
        await asyncio.sleep(0)
        assert not asked.done()
        small.free()
        await asked
        assert memory_budget.taken == 50

    asyncio.run(scene())


def test_who_gives_up_waiting_leaves_no_trace() -> None:
    async def scene() -> None:
        memory_budget = MemoryBudget(10)
        holder, hasty, patient = memory_budget.share(), memory_budget.share(), memory_budget.share()
        await holder.take(10)
        gone, asked = asyncio.create_task(hasty.take(9)), asyncio.create_task(patient.take(9))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        holder.free()
        await asked
        assert memory_budget.taken == 9
        gone = asyncio.create_task(hasty.take(9))
        await asyncio.sleep(0)
        patient.free()  # the turn is given and the asker cancelled at the same moment
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert memory_budget.taken == 0

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
        memory_budget = MemoryBudget(1_100_000)
        transport = HttpTransport(Fetching(allow_private=True), SystemClock())
        async with serving(answer) as base:
            first, second, third = memory_budget.share(), memory_budget.share(), memory_budget.share()
            body = (await transport.fetch(Request(base + path, {}, 1_000_000, memory=first))).body
            assert memory_budget.taken == first.size == len(body) > SMALL_BYTES
            waiting = asyncio.create_task(transport.fetch(Request(base + path, {}, 1_000_000, memory=second)))
            small = await transport.fetch(Request(base + "/small", {}, 1_000_000, memory=third))
            assert (len(small.body), third.size, waiting.done()) == (1000, 0, False)
            first.free()
            assert (await waiting).body == body
            second.free()
            assert memory_budget.taken == 0
        await transport.close()

    asyncio.run(scene())


@pytest.mark.parametrize("path", ["/unknown", "/packed"])
def test_waiting_for_room_ends_with_the_timeout(path: str) -> None:
    async def scene() -> str:
        memory_budget = MemoryBudget(1)
        await memory_budget.share().take(1)
        hasty = Fetching(allow_private=True, timeout="300ms", idle_timeout="100ms")
        transport = HttpTransport(hasty, SystemClock())
        async with serving(answer) as base:
            with pytest.raises(TransportError, match="no room for a large answer in time") as failure:
                await transport.fetch(Request(base + path, {}, 1_000_000, memory=memory_budget.share()))
        await transport.close()
        assert memory_budget.taken == 1
        return failure.value.reason

    assert asyncio.run(scene()) == "timeout"


def test_waiting_for_room_is_part_of_the_time_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []
    timeout_at = asyncio.timeout_at

    def noted(when: float) -> asyncio.Timeout:
        ends.append(when)
        return timeout_at(when)

    async def scene() -> None:
        memory_budget, now = MemoryBudget(), asyncio.get_running_loop().time
        transport = HttpTransport(Fetching(allow_private=True, timeout="20s"), SystemClock())
        answered: list[float] = []

        async def late(request: web.BaseRequest) -> web.StreamResponse:
            answered.append(now())
            return await answer(request)

        async with serving(late) as base:
            monkeypatch.setattr(asyncio, "timeout_at", noted)
            began = now()
            await transport.fetch(Request(base + "/packed", {}, 1_000_000, memory=memory_budget.share()))
        await transport.close()
        assert any(began <= end - 20.0 <= answered[0] for end in ends)

    asyncio.run(scene())
