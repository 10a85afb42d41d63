"""The way from a page to the network: what is checked, refused and counted on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from recrawl.crawl.fetching import address_guard, dns
from recrawl.crawl.rendering.guarded_proxy import GuardedProxy
from servers import serving

Said = list[web.BaseRequest]


def asked(
    lines: bytes,
    names: dict[str, list[str]] | None = None,
    rule: address_guard.Refusal = address_guard.anywhere,
    most_bytes: int = 1_000_000,
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] | None = None,
) -> tuple[bytes, GuardedProxy, Said]:
    """What comes back through a proxy, the proxy, and what reached the server; PORT in the lines is the server's."""
    reached: Said = []

    async def answered(request: web.BaseRequest) -> web.StreamResponse:
        reached.append(request)
        return await answer(request) if answer is not None else web.Response(text="here")

    async def talk() -> tuple[bytes, GuardedProxy]:
        async with serving(answered) as url:
            port = url.rpartition(":")[2].encode()
            resolver = dns.Resolver(rule=rule, lookup=lambda host, _: (names or {}).get(host, ["127.0.0.1"]))
            proxy = GuardedProxy(resolver, address_guard.Guard(rule), most_bytes)
            reader, writer = await asyncio.open_connection("127.0.0.1", await proxy.open())
            writer.write(lines.replace(b"PORT", port))
            said = await asyncio.wait_for(reader.read(), 30.0)
            writer.close()
            await proxy.close()
            return said, proxy

    said, proxy = asyncio.run(talk())
    return said, proxy, reached


GET = b"GET http://site.example:PORT/a?b=c HTTP/1.1\r\nHost: site.example\r\nProxy-Connection: keep-alive\r\n\r\n"


def test_a_plain_request_goes_on_without_what_was_for_the_proxy() -> None:
    said, proxy, (request,) = asked(GET)
    assert said.endswith(b"here")
    assert b"Connection: close" in said
    assert request.path_qs == "/a?b=c"
    assert "Proxy-Connection" not in request.headers
    assert proxy.received > 0


def test_a_tunnel_goes_through() -> None:
    inner = b"GET /in HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n"
    said, _, (request,) = asked(b"CONNECT site.example:PORT HTTP/1.1\r\nHost: site.example\r\n\r\n" + inner)
    assert said.startswith(b"HTTP/1.1 200 OK\r\n\r\n")
    assert said.endswith(b"here")
    assert request.path_qs == "/in"


@pytest.mark.parametrize("start", [GET, b"CONNECT site.example:PORT HTTP/1.1\r\n\r\n"])
@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["10.0.0.1", "::1"], ["::ffff:127.0.0.1"]])
def test_a_name_that_means_an_address_inside_is_refused(start: bytes, addresses: list[str]) -> None:
    said, proxy, reached = asked(start, {"site.example": addresses}, rule=address_guard.refusal)
    assert said.startswith(b"HTTP/1.1 403 ")
    assert reached == []
    assert proxy.refused == 1
    assert "address" in next(iter(proxy.refusals))


def test_a_redirect_is_left_to_the_browser_which_comes_back_here() -> None:
    async def elsewhere(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": "http://127.0.0.1/"})

    said, _, reached = asked(GET, answer=elsewhere)
    assert said.startswith(b"HTTP/1.1 302 ")
    assert len(reached) == 1


def test_a_name_that_changes_its_mind_gains_nothing() -> None:
    """Names are looked up once for a connection, and that goes to what was checked."""
    minds = [["127.0.0.1"], ["93.184.216.34"]]
    looked: list[str] = []

    def lookup(host: str, _: int) -> list[str]:
        looked.append(host)
        return minds[min(len(looked), len(minds)) - 1]

    async def talk() -> bytes:
        rule = address_guard.refusal
        proxy = GuardedProxy(dns.Resolver(rule=rule, lookup=lookup), address_guard.Guard(rule), 1000)
        reader, writer = await asyncio.open_connection("127.0.0.1", await proxy.open())
        writer.write(b"CONNECT site.example:80 HTTP/1.1\r\n\r\n")
        said = await asyncio.wait_for(reader.read(), 30.0)
        writer.close()
        await proxy.close()
        return said

    assert asyncio.run(talk()).startswith(b"HTTP/1.1 403 ")
    assert looked == ["site.example"]


@pytest.mark.parametrize(
    "lines",
    [
        b"GET / HTTP/1.1\r\n\r\n", b"GET ftp://site.example/ HTTP/1.1\r\n\r\n", b"\x16\x03\x01nonsense\r\n\r\n",
        b"CONNECT site.example HTTP/1.1\r\n\r\n", b"GET http:///nothing HTTP/1.1\r\n\r\n",
    ],
)  # fmt: skip
def test_what_no_browser_asks_is_refused(lines: bytes) -> None:
    said, _, reached = asked(lines)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert reached == []


def test_what_is_too_much_is_cut_off() -> None:
    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            try:
                await answer.write(b"x" * 65_536)
            except ConnectionError:
                return answer

    said, proxy, _ = asked(GET, most_bytes=200_000, answer=endless)
    assert len(said) < 400_000
    assert proxy.is_spent
