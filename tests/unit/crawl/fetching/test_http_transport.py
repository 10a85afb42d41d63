"""The transport against servers of every kind: it always comes back, bounded in time and size, and says why."""

from __future__ import annotations

import asyncio
import datetime
import gzip
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import brotli
import pytest
import trustme
from aiohttp import web

from recrawl.clock import ManualClock, SystemClock
from recrawl.config import Fetching
from recrawl.crawl.fetching.answer_limits import zstd
from recrawl.crawl.fetching.http_transport import HttpTransport, authorisation, without_userinfo
from recrawl.crawl.fetching.transport import Request, Response, TransportError
from servers import Raw, run_on, saying, serving, silence, speaking

OPEN = Fetching(allow_private=True, timeout="20s", idle_timeout="10s")
HASTY = Fetching(allow_private=True, timeout="300ms", idle_timeout="150ms")
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


@pytest.fixture(autouse=True, params=["asyncio", "uvloop"])
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    run_on(monkeypatch, request.param)


async def fetch(url: str, fetching: Fetching = OPEN, max_bytes: int = 100_000, **more: object) -> Response:
    transport = HttpTransport(fetching, SystemClock(), **more)  # type: ignore[arg-type]
    try:
        return await transport.fetch(Request(url, max_bytes=max_bytes))
    finally:
        await transport.close()


async def reason(url: str, fetching: Fetching = OPEN, max_bytes: int = 100_000, **more: object) -> tuple[str, str]:
    with pytest.raises(TransportError) as caught:
        await fetch(url, fetching, max_bytes, **more)
    return caught.value.reason, str(caught.value)


def answer(handler: Callable[[web.Request], web.Response], path: str = "/", **more: object) -> Response:
    """What the transport makes of one answer."""

    async def handle(request: web.BaseRequest) -> web.Response:
        return handler(request)  # type: ignore[arg-type]

    async def scene() -> Response:
        async with serving(handle) as base:
            return await fetch(base + path, **more)  # type: ignore[arg-type]

    return asyncio.run(scene())


def told(raw: Raw, fetching: Fetching = OPEN, max_bytes: int = 100_000) -> str:
    """Why a raw server's answer is none."""

    async def scene() -> str:
        async with speaking(raw) as base:
            return (await reason(base, fetching, max_bytes))[0]

    return asyncio.run(asyncio.wait_for(scene(), 10))


# -- answers


def test_an_answer_has_its_status_its_headers_in_lower_case_and_its_body() -> None:
    headers = {"ETag": '"1"', "Set-Cookie": "a=b"}
    response = answer(lambda _: web.Response(text="hello", headers=headers))
    assert (response.status, response.body, response.headers["etag"]) == (200, b"hello", '"1"')
    assert "set-cookie" not in response.headers
    assert response.elapsed_s > 0.0


def test_repeated_headers_are_joined() -> None:
    def handler(_: web.Request) -> web.Response:
        response = web.Response()
        response.headers.add("Cache-Control", "public")
        response.headers.add("Cache-Control", "max-age=60")
        return response

    assert answer(handler).headers["cache-control"] == "public, max-age=60"


def test_redirects_are_answers() -> None:
    response = answer(lambda _: web.Response(status=302, headers={"Location": "/b"}, text="moved"))
    assert (response.status, response.headers["location"], response.body) == (302, "/b", b"")


def test_bodies_of_answers_that_bring_no_document_are_dropped_whatever_they_hold() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    response = answer(lambda _: web.Response(status=404, body=bomb, headers={"Content-Encoding": "gzip"}))
    assert (response.status, response.body) == (404, b"")
    assert answer(lambda _: web.Response(status=500, body=bytes(1_000_000))).status == 500


def test_the_path_goes_out_as_it_was_written() -> None:
    response = answer(lambda request: web.Response(text=request.raw_path), path="/a%2Fb/%7Ec?q=%20x+y&z=a|b")  # type: ignore[attr-defined]
    assert response.body == b"/a%2Fb/%7Ec?q=%20x+y&z=a|b"


def test_what_cannot_go_out_as_written_is_quoted() -> None:
    response = answer(lambda request: web.Response(text=request.raw_path), path="/a b/ü\r\nX-Evil: 1")  # type: ignore[attr-defined]
    assert b"\r\n" not in response.body
    assert response.body.startswith(b"/a%20b/%C3%BC")


def test_requests_say_who_asks_and_carry_no_cookies() -> None:
    seen: list[dict[str, str]] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        seen.append(dict(request.headers))
        return web.Response(headers={"Set-Cookie": "track=1; Path=/"})

    async def scene() -> None:
        fetching = Fetching(allow_private=True, user_agent="mybot/1.0", contact="mailto:me@example.org")
        async with serving(handler) as base:
            transport = HttpTransport(fetching, SystemClock())
            for _ in range(2):
                await transport.fetch(Request(base, {"X-Key": "k"}))
            await transport.close()

    asyncio.run(scene())
    assert [each["User-Agent"] for each in seen] == ["mybot/1.0 (+mailto:me@example.org)"] * 2
    assert all("Cookie" not in each and each["X-Key"] == "k" for each in seen)
    assert "zstd" in seen[0]["Accept-Encoding"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("X", "a\r\nEvil: 1"), ("X\r\nEvil", "1"), ("X", "a\0b"), ("", "x"), ("Host", "evil"), ("Content-Length", "9")],
)
def test_headers_that_would_change_the_request_are_not_sent(name: str, text: str) -> None:
    async def scene() -> str:
        async with speaking(silence) as base:
            transport = HttpTransport(OPEN, SystemClock())
            with pytest.raises(TransportError) as caught:
                await transport.fetch(Request(base, {name: text}))
            await transport.close()
            return caught.value.reason

    assert asyncio.run(scene()) == "protocol"


def test_a_source_may_say_otherwise_what_every_request_says() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=repr(request.headers.getall("User-Agent") + request.headers.getall("Accept")))

    async def scene() -> bytes:
        async with serving(handler) as base:
            transport = HttpTransport(OPEN, SystemClock())
            response = await transport.fetch(Request(base, {"user-agent": "other", "X-More": "ü"}))
            await transport.close()
            return response.body

    assert asyncio.run(scene()).startswith(b"['other', 'application/atom+xml")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_no_connection_is_left_open_whatever_happens() -> None:
    raws = [
        silence,
        saying(b"", reset=True),
        saying(OK + b"\r\n" + bytes(200_000)),
        saying(OK + b"Content-Length: 9\r\n\r\n"),
    ]

    async def scene() -> tuple[int, int]:
        before = 0
        for round_ in range(3):
            for raw in raws:
                async with speaking(raw) as base:
                    transport = HttpTransport(HASTY, SystemClock())
                    tasks = [transport.fetch(Request(base, max_bytes=1000)) for _ in range(10)]
                    results = await asyncio.gather(*tasks, return_exceptions=True)
                    assert all(isinstance(each, TransportError) for each in results)
                    await transport.close()
            for _ in range(5):
                await asyncio.sleep(0)
            if round_ == 0:
                before = len(list(Path("/proc/self/fd").iterdir()))
        return before, len(list(Path("/proc/self/fd").iterdir()))

    before, after = asyncio.run(scene())
    assert after <= before + 3


def test_connections_are_kept_for_the_next_request() -> None:
    peers: set[object] = set()

    async def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text="x")

    async def scene() -> None:
        async with serving(handler) as base:
            transport = HttpTransport(OPEN, SystemClock())
            for _ in range(5):
                await transport.fetch(Request(base))
            await transport.close()

    asyncio.run(scene())
    assert len(peers) == 1


def test_no_more_connections_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recrawl.crawl.fetching.http1.MAX_IDLE", 1)
    peers: list[object] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        return web.Response(text="x")

    async def scene() -> None:
        async with serving(handler) as one, serving(handler) as two:
            transport = HttpTransport(OPEN, SystemClock())
            for base in (one, two, one, two):
                assert (await transport.fetch(Request(base))).body == b"x"
            await transport.close()

    asyncio.run(scene())
    assert len(set(peers)) == 4


def test_a_request_is_never_sent_twice() -> None:
    """A kept connection that breaks is not tried again behind the fetcher's back."""
    requests = 0

    async def one_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        await reader.readuntil(b"\r\n\r\n")
        requests += 1

    async def scene() -> None:
        async with speaking(one_answer) as base:
            transport = HttpTransport(OPEN, SystemClock())
            assert (await transport.fetch(Request(base))).body == b"x"
            with pytest.raises(TransportError) as caught:
                await transport.fetch(Request(base))
            assert caught.value.reason == "reset"
            await transport.close()

    asyncio.run(scene())
    assert requests == 2


@pytest.mark.parametrize(
    ("name", "packed"),
    [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstd.compress), ("identity", bytes)],
)
def test_compressed_answers_are_unpacked(name: str, packed: Callable[[bytes], bytes]) -> None:
    response = answer(lambda _: web.Response(body=packed(b"text" * 99), headers={"Content-Encoding": name}))
    assert response.body == b"text" * 99


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def scene() -> bytes:
        async with speaking(saying(OK + b"\r\nall of it")) as base:
            return (await fetch(base)).body

    assert asyncio.run(scene()) == b"all of it"


# -- sizes


def test_a_body_larger_than_allowed_is_refused() -> None:
    assert told(saying(OK + b"Content-Length: 100001\r\n\r\n")) == "too large"
    assert told(saying(OK + b"\r\n" + bytes(100_001))) == "too large"


def test_a_body_that_may_be_cut_is_cut() -> None:
    async def scene() -> bytes:
        async with speaking(saying(OK + b"\r\n" + b"x" * 5000)) as base:
            transport = HttpTransport(OPEN, SystemClock())
            response = await transport.fetch(Request(base, max_bytes=100, cut=True))
            await transport.close()
            return response.body

    assert asyncio.run(scene()) == b"x" * 100


def test_an_endless_body_is_given_up_at_the_limit() -> None:
    sent = 0

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(OK + b"\r\n")
        while True:
            writer.write(bytes(65_536))
            sent += 65_536
            await writer.drain()

    assert told(endless) == "too large"
    assert sent < 20_000_000


@pytest.mark.parametrize("kind", ["gzip", "br", "zstd", "nested", "file"])
def test_bombs_are_too_large(kind: str) -> None:
    zeros = bytes(5_000_000)
    body, encoding = {
        "gzip": (gzip.compress(zeros), "gzip"),
        "br": (brotli.compress(zeros, quality=3), "br"),
        "zstd": (zstd.compress(zeros), "zstd"),
        "nested": (gzip.compress(gzip.compress(zeros)), "gzip, gzip"),
        "file": (gzip.compress(zeros), "identity"),
    }[kind]
    head = OK + f"Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert told(saying(head + body)) == "too large"


def test_headers_of_any_size_are_not_read() -> None:
    assert told(saying(OK + b"X: " + b"y" * 100_000 + b"\r\n\r\n")) == "protocol"
    assert told(saying(OK + b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n")) == "protocol"


# -- connections that end badly


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 200", OK, OK + b"Content-Length: 10\r\n\r\nabc"],
    ids=["start", "status", "headers", "body"],
)
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_an_answer_that_ends_early_is_a_reset(said: bytes, reset: bool) -> None:
    assert told(saying(said, reset=reset)) == "reset"


def test_a_chunked_body_that_ends_early_is_a_reset() -> None:
    assert told(saying(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")) == "reset"


def test_what_is_not_http_is_a_protocol_error() -> None:
    assert told(saying(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")) == "protocol"
    assert told(saying(b"\x00\xff\x1b[2J" * 100 + b"\r\n\r\n")) == "protocol"


def test_a_server_that_never_answers_is_a_timeout() -> None:
    assert told(silence, HASTY) == "timeout"


def test_a_slow_drip_ends_with_the_total_timeout() -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)  # the drip

    assert told(drip, HASTY) == "timeout"


def test_a_body_that_stops_is_a_timeout() -> None:
    async def stop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"\r\nsome")
        await silence(reader, writer)

    assert told(stop, HASTY) == "timeout"


def test_a_port_where_nobody_listens_is_a_failed_connection() -> None:
    async def scene() -> tuple[str, str]:
        async with speaking(silence) as base:
            pass
        return await reason(base)

    word, sentence = asyncio.run(scene())
    assert word == "connect"
    assert "no connection" in sentence


def test_a_name_without_address_is_a_dns_failure() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("unknown")

    assert asyncio.run(reason("http://nowhere.example/", lookup=unknown))[0] == "dns"


# -- addresses


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://x.localhost:1/",
        "http://[::1]:1/",
        "http://[::ffff:127.0.0.1]:1/",
        "http://2130706433:1/",
        "http://0x7f.1:1/",
        "http://127.1:1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[64:ff9b::7f00:1]/",
        "http://user@127.0.0.1:1/",
    ],
)
def test_private_addresses_in_urls_are_refused(url: str) -> None:
    assert asyncio.run(reason(url, Fetching()))[0] == "address"


def test_a_name_that_turns_private_between_lookups_is_refused_at_the_connection() -> None:
    """Rebinding: public when it is asked for, loopback when it counts."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    word, sentence = asyncio.run(reason("http://rebind.example/", Fetching(), lookup=rebinding))
    assert (word, asked) == ("address", ["rebind.example"])
    assert "loopback" in sentence


def test_a_name_is_looked_up_once_and_that_address_is_connected_to() -> None:
    asked: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=request.headers["Host"])

    async def scene() -> None:
        async with serving(handler) as base:
            port = base.rpartition(":")[2]
            transport = HttpTransport(OPEN, SystemClock(), lookup=lookup)
            for _ in range(3):
                response = await transport.fetch(Request(f"http://named.example:{port}/"))
                assert response.body == f"named.example:{port}".encode()
            await transport.close()

    asyncio.run(scene())
    assert asked == ["named.example"]


@pytest.mark.parametrize("url", ["ftp://example.org/", "file:///etc/passwd", "gopher://x/", "javascript:1", "//x/", ""])
def test_other_schemes_are_refused(url: str) -> None:
    assert asyncio.run(reason(url))[0] == "scheme"


@pytest.mark.parametrize("url", ["http://", "http:///x", "http://[::1", "http://a:99999/", "http://exa mple/"])
def test_urls_that_are_none_are_protocol_errors(url: str) -> None:
    assert asyncio.run(reason(url))[0] in ("protocol", "dns")


# -- TLS


def tls(ca: trustme.CA, *names: str, **more: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names, **more).configure_cert(context)  # type: ignore[arg-type]
    return context


def trusting(ca: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    return context


def over_tls(server: ssl.SSLContext, scene: Callable[[str], Awaitable[object]]) -> object:
    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(text="secret")

    async def run() -> object:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda *_: None)  # the server's side of a refused handshake
        async with serving(handler, server) as base:
            return await scene(base)

    return asyncio.run(run())


def test_a_trusted_certificate_is_accepted() -> None:
    ca = trustme.CA()
    response = over_tls(tls(ca, "127.0.0.1"), lambda base: fetch(base, ssl_context=trusting(ca)))
    assert isinstance(response, Response)
    assert response.body == b"secret"


def test_bad_certificates_are_refused_by_kind() -> None:
    ca, stranger = trustme.CA(), trustme.CA()
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    cases = {
        "self-signed": (tls(stranger, "127.0.0.1"), "self-signed certificate|unable to get local issuer"),
        "expired": (tls(ca, "127.0.0.1", not_before=past, not_after=past), "expired"),
        "wrong host": (tls(ca, "other.example"), "mismatch|not valid for"),
    }
    for name, (server, words) in cases.items():
        word, sentence = over_tls(server, lambda base: reason(base, ssl_context=trusting(ca)))  # type: ignore[misc]
        assert word == "tls", name
        assert any(part in sentence for part in words.split("|")), sentence


def test_certificates_are_not_checked_only_where_the_settings_say_so() -> None:
    lax = Fetching(allow_private=True, verify_tls=False)
    response = over_tls(tls(trustme.CA(), "other.example"), lambda base: fetch(base, lax))
    assert isinstance(response, Response)
    assert response.status == 200


def test_plain_http_where_tls_is_expected_is_a_tls_failure() -> None:
    async def scene() -> tuple[str, str]:
        async with speaking(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as base:
            return await reason(base.replace("http:", "https:"), HASTY)

    assert asyncio.run(scene())[0] in ("tls", "reset", "connect")


# -- credentials


def test_credentials_in_an_url_become_a_header_and_appear_nowhere_else() -> None:
    def handler(request: web.Request) -> web.Response:
        return web.Response(text=request.headers.get("Authorization", "none"))

    async def handle(request: web.BaseRequest) -> web.Response:
        return handler(request)  # type: ignore[arg-type]

    async def scene() -> Response:
        async with serving(handle) as base:
            return await fetch(base.replace("http://", "http://me:s%40crt@"))

    response = asyncio.run(scene())
    assert response.body.startswith(b"Basic ")
    assert "crt" not in response.url


def test_messages_never_hold_credentials() -> None:
    urls = [
        "http://me:sesame@127.0.0.1:1/",
        "http://me:sesame@nowhere.invalid/",
        "ftp://me:sesame@example.org/",
        "http://me:sesame@[::1/",
        "http://me:sesame@:80/",
        "http://a@me:sesame@127.1/",
    ]
    for url in urls:
        assert "sesame" not in asyncio.run(reason(url, lookup=_nobody))[1], url


def _nobody(host: str, port: int) -> list[str]:
    raise OSError(f"{host} is unknown")


def test_userinfo_is_cut_off_wherever_it_ends() -> None:
    assert without_userinfo("http://a@b@example.org/?x=@") == "http://example.org/?x=@"
    assert without_userinfo("http://example.org/@me") == "http://example.org/@me"
    assert authorisation("http://example.org/@me") is None


# -- permits


class Whim:
    """A permit that can be withdrawn, and notes what it was asked."""

    def __init__(self) -> None:
        self.why = ""
        self.asked: list[str] = []

    def __call__(self, url: str) -> str:
        self.asked.append(url)
        return self.why


def test_a_permit_is_asked_for_each_request_with_an_url_that_may_be_shown() -> None:
    whim = Whim()

    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(text="x")

    async def scene() -> str:
        async with serving(handler) as base:
            transport = HttpTransport(OPEN, SystemClock(), permit=whim)
            for path in ("/1", "/2"):
                await transport.fetch(Request(base.replace("://", "://me:sesame@") + path))
            await transport.close()
            return base

    base = asyncio.run(scene())
    assert whim.asked == [base + "/1", base + "/2"]


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_a_permit_withdrawn_while_connecting_keeps_every_byte_back(secure: bool) -> None:
    """The name is looked up and the connection made while it still stood."""
    ca, whim = trustme.CA(), Whim()
    came: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        assert whim.asked == []
        whim.why = "stopped meanwhile"
        return ["127.0.0.1"]

    async def handler(request: web.BaseRequest) -> web.Response:
        came.append(request.path)
        return web.Response(text="x")

    async def scene() -> tuple[str, str]:
        async with serving(handler, tls(ca, "named.example") if secure else None) as base:
            url = base.replace("127.0.0.1", "named.example") + "/feed"
            return await reason(url, lookup=lookup, permit=whim, ssl_context=trusting(ca))

    assert asyncio.run(scene()) == ("permit", "named.example: stopped meanwhile")
    assert came == []
    assert len(whim.asked) == 1


def test_a_permit_withdrawn_holds_for_kept_connections_too_and_the_transport_goes_on_afterwards() -> None:
    whim, came = Whim(), []

    async def handler(request: web.BaseRequest) -> web.Response:
        came.append(request.path)
        return web.Response(text="x")

    async def scene() -> None:
        async with serving(handler) as base:
            transport = HttpTransport(OPEN, SystemClock(), permit=whim)
            for path, why in (("/1", ""), ("/2", "not now"), ("/3", "")):
                whim.why = why
                if not why:
                    assert (await transport.fetch(Request(base + path))).body == b"x"
                    continue
                with pytest.raises(TransportError, match=why):
                    await transport.fetch(Request(base + path))
            await transport.close()

    asyncio.run(scene())
    assert came == ["/1", "/3"]


def test_a_turn_that_was_lent_stands_for_the_permit_as_long_as_it_lasts() -> None:
    clock, whim = ManualClock(100.0), Whim()
    whim.why = "not ours"

    def slow(host: str, port: int) -> list[str]:
        clock.advance(10.0)
        return ["127.0.0.1"]

    async def handler(_: web.BaseRequest) -> web.Response:
        return web.Response(text="x")

    async def scene() -> None:
        async with serving(handler) as base:
            url = base.replace("127.0.0.1", "named.example")
            transport = HttpTransport(OPEN, clock, permit=whim, lookup=slow)
            assert (await transport.fetch(Request(url, lent_until=111.0))).body == b"x"
            with pytest.raises(TransportError, match="over") as caught:
                await transport.fetch(Request(url, lent_until=clock.now()))
            assert caught.value.reason == "permit"
            with pytest.raises(TransportError, match="not ours"):
                await transport.fetch(Request(url))
            await transport.close()

    asyncio.run(scene())
    assert len(whim.asked) == 1


def test_without_permit_nothing_leaves_through_a_proxy_either() -> None:
    whim, came = Whim(), []

    async def proxy(request: web.BaseRequest) -> web.Response:
        came.append(str(request.url))
        return web.Response(text="x")

    async def scene() -> None:
        async with serving(proxy) as base:
            transport = HttpTransport(Fetching(proxy=base), SystemClock(), permit=whim)
            assert (await transport.fetch(Request("http://feeds.example/0"))).body == b"x"
            whim.why = "not now"
            with pytest.raises(TransportError, match="not now") as caught:
                await transport.fetch(Request("http://feeds.example/1"))
            assert caught.value.reason == "permit"
            whim.why = ""
            assert (await transport.fetch(Request("http://feeds.example/2"))).body == b"x"
            await transport.close()

    asyncio.run(scene())
    assert came == ["http://feeds.example/0", "http://feeds.example/2"]
    assert whim.asked == [f"http://feeds.example/{n}" for n in range(3)]


def test_a_tunnel_through_a_proxy_is_asked_about_when_it_stands() -> None:
    ca, whim = trustme.CA(), Whim()
    inside: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        inside.append(request.path)
        return web.Response(text="secret")

    async def scene() -> tuple[str, str]:
        async with serving(handler, tls(ca, "feeds.example")) as base:
            port = int(base.rpartition(":")[2])

            async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                there, thence = await asyncio.open_connection("127.0.0.1", port)
                whim.why = "stopped meanwhile"
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                ways = [asyncio.ensure_future(_pass_on(*way)) for way in ((reader, thence), (there, writer))]
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for way in ways:
                        way.cancel()
                    await asyncio.gather(*ways, return_exceptions=True)
                    thence.transport.abort()

            async with speaking(tunnel) as proxy:
                return await reason(
                    "https://feeds.example/a", Fetching(proxy=proxy), permit=whim, ssl_context=trusting(ca)
                )

    assert asyncio.run(asyncio.wait_for(scene(), 10))[0] == "permit"
    assert (inside, len(whim.asked)) == ([], 1)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)


# -- proxies


def test_the_environments_proxy_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert answer(lambda _: web.Response(text="direct")).body == b"direct"


def test_the_settings_proxy_is_used_and_does_not_open_private_addresses() -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        return web.Response(text=f"via proxy: {request.url}")

    async def scene() -> None:
        async with serving(handler) as base:
            proxied = Fetching(proxy=base)
            assert (await fetch("http://feeds.example/a", proxied)).body == b"via proxy: http://feeds.example/a"
            assert (await reason("http://10.0.0.1/", proxied))[0] == "address"

    asyncio.run(scene())


@pytest.mark.parametrize("proxied", [False, True])
def test_a_form_is_posted_as_it_is(proxied: bool) -> None:
    came: list[tuple[str, str, bytes]] = []

    async def hub(request: web.BaseRequest) -> web.Response:
        came.append((request.method, request.headers["Content-Type"], await request.read()))
        return web.Response(status=202, text="thank you")

    async def scene() -> Response:
        async with serving(hub) as base:
            transport = HttpTransport(Fetching(allow_private=True, proxy=base if proxied else ""), SystemClock())
            url = "http://hub.example/" if proxied else f"{base}/hub"
            try:
                return await transport.fetch(Request(url, form=b"hub.mode=subscribe&x=%C3%A4"))
            finally:
                await transport.close()

    assert asyncio.run(scene()).status == 202
    assert came == [("POST", "application/x-www-form-urlencoded", b"hub.mode=subscribe&x=%C3%A4")]
