"""Nobody outside makes the crawler talk to the inside: every connection goes to an address that was checked.

The synthetic web listens on 127.0.0.1, which these tests open and nothing else; next to it, on 127.0.0.2, sits what
must not be reached. By the rule the crawler runs under, that one is as private as it is anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from aiohttp import web as aiohttp_web

from crawling import HASTY, Account, a_store, crawl, only_this_machine, world_of
from recrawl.cli import run
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Outlets, Push
from recrawl.crawl.fetching.dns import Lookup
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.push import subscriber
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.server import SynthWeb
from servers import serving

SECRET = "correct-horse-battery-staple"
INSIDE = "127.0.0.2"
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid><title>one</title></item></channel></rss>"

ADDRESSES = {
    "http://127.0.0.2/": "127.0.0.2 is a loopback address",
    "http://localhost./": "",
    "http://0.0.0.0/": "0.0.0.0 is an unspecified address",
    "http://10.1.2.3/": "10.1.2.3 is a private address",
    "http://172.16.0.1/": "172.16.0.1 is a private address",
    "http://192.168.0.1/": "192.168.0.1 is a private address",
    "http://169.254.169.254/latest/meta-data/": "169.254.169.254 is a link-local address",
    "http://100.64.0.1/": "100.64.0.1 is a carrier-grade NAT address",
    "http://224.0.0.1/": "224.0.0.1 is a multicast address",
    "http://255.255.255.255/": "255.255.255.255 is a broadcast address",
    "http://[::]/": ":: is an unspecified address",
    "http://[::1]/": "::1 is a loopback address",
    "http://[fe80::1]/": "fe80::1 is a link-local address",
    "http://[fd00::1]/": "fd00::1 is a private address",
    "http://[ff02::1]/": "ff02::1 is a multicast address",
    "http://[::ffff:10.0.0.1]/": "IPv4-mapped form of a private address",
    "http://[64:ff9b::a00:1]/": "NAT64 form of a private address",
    "http://[2002:a00:1::]/": "6to4 form of a private address",
}


@asynccontextmanager
async def inside(port: int) -> AsyncIterator[list[bytes]]:
    """A server nobody may reach, on the given port; what it was told."""
    told: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.append(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(listen, INSIDE, port)
    try:
        yield told
    finally:
        server.close()


def port_of(web: SynthWeb, number: int = 0) -> int:
    return int(web.netlocs[number].rpartition(":")[2])


@asynccontextmanager
async def side_by_side() -> AsyncIterator[tuple[SynthWeb, list[bytes]]]:
    """A web, and on its port of another address a server nobody may reach; another pair where that port is taken."""
    for last in (False, False, False, True):
        async with AsyncExitStack() as stack:
            web = await stack.enter_async_context(SynthWeb(world_of(["rss"])))
            try:
                told = await stack.enter_async_context(inside(port_of(web)))
            except OSError:
                if last:
                    raise
                continue
            yield web, told
            return


async def visited(folder: Path, urls: list[str], web: SynthWeb, lookup: Lookup | None = None) -> Account:
    more = {} if lookup is None else {"lookup": lookup}
    transport = HttpTransport(HASTY.fetch, SystemClock(), refusal=only_this_machine, **more)
    with a_store(folder) as store:
        return await crawl(web, store, urls=urls, transport=transport, once=True)


def test_addresses_in_the_catalogue_are_checked(tmp_path: Path) -> None:
    urls = list(ADDRESSES)

    async def scene() -> tuple[Account, list[bytes]]:
        async with side_by_side() as (web, told):
            urls[0] = f"http://{INSIDE}:{port_of(web)}/"
            urls[1] = web.urls()[0].replace("127.0.0.1", "localhost")
            return await visited(tmp_path, urls, web), told

    account, told = asyncio.run(scene())
    assert told == []
    for number, words in enumerate(ADDRESSES.values()):
        said = account.said(number)
        assert all(line.startswith("refused: ") and words in line for line in said) if words else "first" in said, said


def test_redirects_of_documents_and_of_robots_txt_are_checked(tmp_path: Path) -> None:
    async def scene() -> tuple[list[set[str]], list[bytes]]:
        async with side_by_side() as (web, told):
            there = f"http://{INSIDE}:{port_of(web)}/secret"

            async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.Response:
                astray = request.path.startswith("/robots.txt") == (request.host in robots_astray)
                return aiohttp_web.Response(status=302, headers={"Location": there}) if astray else honest(request)

            def honest(request: aiohttp_web.BaseRequest) -> aiohttp_web.Response:
                return aiohttp_web.Response(status=404 if request.path == "/robots.txt" else 200, body=FEED)

            robots_astray: set[str] = set()
            async with serving(answer) as first, serving(answer) as second:
                robots_astray.add(second.removeprefix("http://"))
                account = await visited(tmp_path, [first + "/feed", second + "/feed"], web)
            return [account.said(0), account.said(1)], told

    (document, robots), told = asyncio.run(scene())
    assert told == []
    assert document == {"refused: 127.0.0.2 is a loopback address"}
    assert all("robots.txt" in line for line in robots), robots


def test_hubs_that_a_document_names_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a feed says where to subscribe to it: there, and wherever that sends us on."""
    monkeypatch.setattr(subscriber, "LOOK_S", 0.05)
    config = msgspec.structs.replace(HASTY, push=Push(callback="https://me.example/"))

    async def scene() -> tuple[set[str], list[bytes], list[str]]:
        async with side_by_side() as (web, told):
            there, posted = f"http://{INSIDE}:{port_of(web)}/secret", []

            async def answer(request: aiohttp_web.BaseRequest) -> aiohttp_web.Response:
                if request.method == "POST":
                    posted.append(request.path)
                    return aiohttp_web.Response(status=307, headers={"Location": there})
                hub = there if request.path == "/direct" else "/hub"
                return aiohttp_web.Response(body=FEED, headers={"Link": f"<{hub}>; rel=hub"})

            async with serving(answer) as base:
                transport = HttpTransport(HASTY.fetch, SystemClock(), refusal=only_this_machine)
                with a_store(tmp_path) as store:

                    def asked(_: SynthWeb) -> bool:
                        kept = store.subscriptions()
                        return len(kept) == 2 and all(each.note for each in kept)

                    urls = [f"{base}/direct", f"{base}/round"]
                    await crawl(web, store, config, urls=urls, transport=transport, enough=asked)
                    return {each.note for each in store.subscriptions()}, told, posted

    notes, told, posted = asyncio.run(scene())
    assert told == []
    assert posted == ["/hub"]
    assert notes == {"the hub was asked in vain: 127.0.0.2 is a loopback address"}


@pytest.mark.parametrize("changes", [[["127.0.0.1"], [INSIDE]], [[INSIDE], [INSIDE]]], ids=["rebinding", "private"])
def test_names_are_looked_up_once_and_that_is_where_the_connection_goes(
    changes: list[list[str]], tmp_path: Path
) -> None:
    """Public when it is looked up, private when it is looked up again: what was checked is what is connected to."""
    asked: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return changes[min(len(asked), len(changes)) - 1]

    async def scene() -> tuple[Account, list[bytes]]:
        async with side_by_side() as (web, told):
            url = web.urls()[0].replace("127.0.0.1", "rebinding.example")
            return await visited(tmp_path, [url], web, lookup), told

    account, told = asyncio.run(scene())
    assert told == []
    if changes[0] == [INSIDE]:
        assert account.said(0) == {"refused: rebinding.example is a loopback address"}
        assert account.log == []
    else:
        assert asked == ["rebinding.example"]
        assert account.log


def test_a_name_that_is_both_public_and_private_is_reached_where_it_is_public(tmp_path: Path) -> None:
    async def scene() -> tuple[Account, list[bytes]]:
        async with side_by_side() as (web, told):
            url = f"http://both.example:{port_of(web)}{web.world.sources[0].path}"
            return await visited(tmp_path, [url], web, lambda *_: [INSIDE, "127.0.0.1"]), told

    account, told = asyncio.run(scene())
    assert told == []
    assert account.log


def test_allow_private_opens_what_is_closed_otherwise(tmp_path: Path) -> None:
    async def scene(allow: bool) -> set[str]:
        async with SynthWeb(world_of(["rss"])) as web:
            fetching = Fetching(allow_private=allow)
            with a_store(tmp_path / str(allow)) as store:
                transport = HttpTransport(fetching, SystemClock())
                return (await crawl(web, store, once=True, transport=transport)).said(0)

    for allow in (False, True):
        (tmp_path / str(allow)).mkdir()
    assert asyncio.run(scene(False)) == {"refused: 127.0.0.1 is a loopback address"}
    assert "first" in asyncio.run(scene(True))


def test_headers_of_a_source_go_to_its_origin_only_and_show_up_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A feed with a token, that redirects elsewhere, then fails with whatever a server can say back."""
    seen: dict[str, list[str | None]] = {}
    events = tmp_path / "events.jsonl"
    config = Config(
        store=str(tmp_path / "recrawl.db"), budget=HASTY.budget, politeness=HASTY.politeness, fetch=HASTY.fetch,
        outlets=Outlets(events=str(events)),
    )  # fmt: skip

    async def scene() -> None:
        async def elsewhere(request: aiohttp_web.BaseRequest) -> aiohttp_web.Response:
            seen.setdefault("elsewhere", []).append(request.headers.get("Authorization"))
            return aiohttp_web.Response(status=404 if request.path == "/robots.txt" else 200, body=FEED)

        async with serving(elsewhere) as other:

            async def home(request: aiohttp_web.BaseRequest) -> aiohttp_web.Response:
                if request.path == "/robots.txt":
                    return aiohttp_web.Response(status=404)
                seen.setdefault(request.path, []).append(request.headers.get("Authorization"))
                location = {"/away": f"{other}/feed", "/userinfo": f"http://me:{SECRET}@{other.partition('//')[2]}/f"}
                if request.path in location:
                    return aiohttp_web.Response(status=302, headers={"Location": location[request.path]})
                # A server that says back what it was told, where it will be quoted.
                told = request.headers.get("Authorization", "")
                return aiohttp_web.Response(status=302, headers={"Location": f"{told}:nonsense"})

            async with serving(home) as base, SynthWeb(world_of(["rss"])) as web:
                store = SqliteStore(tmp_path / "recrawl.db")
                headers = {k: {"Authorization": f"Bearer {SECRET}"} for k in range(3)}
                urls = [base + "/away", base + "/userinfo", base + "/echo"]
                await crawl(web, store, config, once=True, headers=headers, urls=urls)
                store.close()

    asyncio.run(scene())
    assert set(seen["/away"]) == {f"Bearer {SECRET}"}
    assert seen["elsewhere"]
    assert set(seen["elsewhere"]) == {None}
    shown = [events.read_text()]
    with a_store(tmp_path) as store:
        sources = store.sources()
        shown += [str(store.crawls(limit=1000)), str(store.holds(0.0)), str(store.items(limit=1000))]
        shown += [f"{source.url} {source.note} {source.title}" for source in sources]
    monkeypatch.chdir(tmp_path)
    for arguments in (["sources"], ["status"], ["items"], *(["explain", source.url] for source in sources)):
        assert run(arguments) == 0
    shown += capsys.readouterr()
    assert not [text for text in shown if SECRET in text]


def test_addresses_with_credentials_do_not_get_into_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["add", f"https://me:{SECRET}@example.org/feed"]) != 0
    assert not [text for text in capsys.readouterr() if SECRET in text]


def test_nothing_is_asked_about_a_source_that_is_refused(tmp_path: Path) -> None:
    """The refusal comes before any lookup, robots.txt request or connection."""
    asked: list[str] = []

    def lookup(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async def scene() -> None:
        async with SynthWeb(world_of(["rss"])) as web:
            with a_store(tmp_path) as store:
                transport = HttpTransport(Fetching(), SystemClock(), lookup=lookup)
                account = await crawl(web, store, once=True, transport=transport, urls=["http://localhost/feed"])
                assert account.said(0) == {"refused: localhost is a loopback address"}
                assert account.log == []

    asyncio.run(scene())
    assert asked == []
