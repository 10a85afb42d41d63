"""What the server bears: requests that never arrive whole, that come in hundreds, or from pages of other sites.

Real sockets on loopback, on both event loops the program may run on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop
from fastapi import FastAPI
from starlette.responses import Response, StreamingResponse

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.store.sqlite import SqliteStore
from recrawl.web import connections
from recrawl.web.app import make_app
from recrawl.web.connections import Limits
from recrawl.web.safety.proxies import Proxies
from recrawl.web.server import bound, serve

PATIENCE_S = 60.0
HEALTHY = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
IMPORT = b"POST /api/v1/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
LIST = b"https://a.example/\nhttps://b.example/\n"

Runs = Callable[[Coroutine[Any, Any, None]], None]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setattr(connections, "SWEEP_S", 0.05)
    factory = uvloop.new_event_loop if request.param == "uvloop" else None

    def runs(work: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(work, PATIENCE_S))

    return runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        yield opened


@pytest.fixture
def app(store: SqliteStore) -> FastAPI:
    return make_app(store, Config(), ManualClock(NOW))


class Place:
    """Where a server is, and ways to talk to it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._open: list[asyncio.StreamWriter] = []

    async def send(self, data: bytes, address: str = "127.0.0.1") -> Streams:
        """A connection on which this was said."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))
        self._open.append(writer)
        writer.write(data)
        return reader, writer

    async def ask(self, data: bytes, address: str = "127.0.0.1") -> bytes:
        """The head of the answer to this."""
        reader, _ = await self.send(data, address)
        return await reader.readuntil(b"\r\n\r\n")

    async def leave(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        for writer in self._open:
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def served(app: FastAPI, **limits: Any) -> AsyncIterator[Place]:
    listener = bound("127.0.0.1", 0)
    place = Place(listener.getsockname()[1])
    serving = asyncio.create_task(serve(app, listener=listener, limits=Limits(**limits)))
    try:
        yield place
    finally:
        await place.leave()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes before the end; a reset is one."""
    data = b""
    with suppress(ConnectionError):
        while part := await reader.read(65536):
            data += part
    return data


class TestHalfSentRequests:
    @pytest.mark.parametrize(
        "half",
        [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow:", IMPORT + b"Content-Length: 1000\r\n\r\nhttps://a"],
    )
    def test_hundreds_of_them_keep_nobody_out(self, app: FastAPI, run: Runs, half: bytes) -> None:
        async def attack() -> None:
            async with served(app) as place:
                held = [await place.send(half) for _ in range(410)]
                assert b" 200 " in await place.ask(HEALTHY)
                assert len(held) == 410

        run(attack())

    def test_they_make_room_for_each_other_in_all_as_well(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app, most=20, most_per_place=15) as place:
                for number in range(40):
                    await place.send(b"GET /", f"127.0.0.{2 + number % 4}")
                assert b" 200 " in await place.ask(HEALTHY, "127.0.0.9")

        run(attack())

    def test_a_head_that_does_not_arrive_is_given_up(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app, head_s=0.2) as place:
                for half in (b"", b"GET / HTTP/1.1\r\n"):
                    reader, _ = await place.send(half)
                    assert b" 408 " in await rest(reader)
                reader, writer = await place.send(HEALTHY)
                assert b" 200 " in await reader.readuntil(b"ok")
                writer.write(b"GET /heal")  # the next one on a connection that was kept
                assert b" 408 " in await rest(reader)

        run(attack())

    def test_a_body_must_keep_coming(self, app: FastAPI, store: SqliteStore, run: Runs) -> None:
        async def attack() -> None:
            async with served(app, body_s=0.2, least_pace=1) as place:
                head = IMPORT + b"Content-Length: %d\r\n\r\n" % len(LIST)
                steady, writer = await place.send(head.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
                assert b" 100 " in await steady.readuntil(b"\r\n\r\n")
                writer.write(LIST[:30])
                stalled, _ = await place.send(head)
                assert b" 408 " in await rest(stalled)
                writer.write(LIST[30:])
                assert b'"added":2' in await steady.readuntil(b"refused")

        run(attack())
        assert store.count() == 2


class TestCutUploads:
    @pytest.mark.parametrize(
        "upload",
        [
            IMPORT + b"Content-Length: 1000\r\n\r\n" + LIST,
            IMPORT + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(LIST), LIST),
            IMPORT + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + LIST,
            IMPORT + b"Content-Length: 1000\r\n",
        ],
    )
    def test_nothing_is_imported_and_the_sender_is_told(
        self, app: FastAPI, store: SqliteStore, run: Runs, upload: bytes
    ) -> None:
        async def attack() -> None:
            async with served(app) as place:
                reader, writer = await place.send(upload)
                writer.write_eof()
                told = await rest(reader)
                assert b" 400 " in told
                assert b"nothing was done" in told

        run(attack())
        assert store.count() == 0

    def test_a_broken_connection_imports_nothing(self, app: FastAPI, store: SqliteStore, run: Runs) -> None:
        async def attack() -> None:
            async with served(app) as place:
                _, writer = await place.send(IMPORT + b"Content-Length: 1000\r\n\r\n" + LIST)
                await writer.drain()
                writer.transport.abort()
                assert b" 200 " in await place.ask(HEALTHY)

        run(attack())
        assert store.count() == 0


class TestRefusedBodies:
    FORGED = (
        b"POST /sources/import HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n"
    )
    PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'

    def test_the_answer_comes_before_the_body(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app) as place:
                answer = await place.ask(self.FORGED % 9_000_000)
                assert b" 403 " in answer
                assert b"connection: close" in answer.lower()

        run(attack())

    def test_whoever_sends_it_all_the_same_can_read_the_answer(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app) as place:
                body = self.PART * (9_000_000 // len(self.PART))
                reader, writer = await place.send(self.FORGED % len(body) + body)
                told = await rest(reader)
                assert b" 403 " in told
                assert b"another site" in told
                assert b" 200 " in await place.ask(HEALTHY)
                writer.close()

        run(attack())

    def test_a_question_brings_no_body(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app) as place:
                for said in (b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: 5\r\n\r\n"):
                    question = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + said
                    assert b" 400 " in await place.ask(question)

        run(attack())

    def test_a_body_in_the_smallest_pieces_is_taken(self, app: FastAPI, store: SqliteStore, run: Runs) -> None:
        async def upload() -> None:
            async with served(app) as place:
                reader, writer = await place.send(
                    IMPORT + b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
                )
                assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
                chunks = b"".join(b"1\r\n%c\r\n" % each for each in LIST) + b"0\r\n\r\n"
                for k in range(len(chunks)):
                    writer.write(chunks[k : k + 1])
                    await asyncio.sleep(0)
                assert b'"added":2' in await reader.readuntil(b"refused")

        run(upload())
        assert store.count() == 2

    def test_heads_are_bounded(self, app: FastAPI, run: Runs) -> None:
        async def attack() -> None:
            async with served(app) as place:
                start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                assert b" 431 " in await place.ask(start + b"a: b\r\n" * 200 + b"\r\n")
                reader, _ = await place.send(start + b"a: " + b"b" * 1_000_000 + b"\r\n\r\n")
                assert b" 200 " not in await rest(reader)
                assert b" 200 " in await place.ask(HEALTHY)

        run(attack())


class TestPlaces:
    @staticmethod
    def endless() -> FastAPI:
        app = FastAPI()

        async def lines() -> AsyncIterator[bytes]:
            yield b"begun"
            await asyncio.Event().wait()

        @app.get("/stream")
        async def stream() -> StreamingResponse:
            return StreamingResponse(lines())

        @app.get("/large")
        async def large() -> Response:
            return Response(b"x" * 64_000_000)

        return app

    STREAM = b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def test_one_address_cannot_take_all_places(self, run: Runs) -> None:
        async def attack() -> None:
            async with served(self.endless(), most_per_place=5) as place:
                for _ in range(5):
                    assert b" 200 " in await place.ask(self.STREAM, "127.0.0.2")
                assert b" 503 " in await place.ask(self.STREAM, "127.0.0.2")
                assert b" 200 " in await place.ask(self.STREAM, "127.0.0.3")

        run(attack())

    def test_a_trusted_proxy_may(self, run: Runs) -> None:
        async def attack() -> None:
            async with served(self.endless(), most=8, most_per_place=5, proxies=Proxies(["127.0.0.2"])) as place:
                for _ in range(8):
                    assert b" 200 " in await place.ask(self.STREAM, "127.0.0.2")
                assert b" 503 " in await place.ask(self.STREAM, "127.0.0.2")

        run(attack())

    def test_an_answer_nobody_takes_is_given_up(self, run: Runs) -> None:
        async def attack() -> None:
            async with served(self.endless(), most=1, stall_s=0.3) as place:
                reader, writer = await place.send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                await reader.readuntil(b"\r\n\r\n")
                writer.transport.pause_reading()
                answer = b" 503 "
                while b" 503 " in answer:
                    answer = await place.ask(self.STREAM)
                assert b" 200 " in answer

        run(attack())
