"""Pages that mean harm to the browser that shows them, and through it to us: each is over in its time, and nothing else
takes notice."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from apps import CHROMIUM, WITH_BROWSER
from live import crawl, settings
from recrawl.config import Browsing, Fetching, SourceOptions
from recrawl.crawl.pipeline import Crawler
from recrawl.crawl.rendering import processes
from recrawl.crawl.rendering.messages import MOST_HTML, Fetched, Order, Rendered
from recrawl.crawl.rendering.renderer import BusyError, Renderer
from recrawl.store.opening import open_store
from recrawl.store.records import Crawl, Source
from recrawl.store.roles import Store
from servers import serving
from until import soon

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
SITE = "http://app.example/"
NUMBERS = count(1)
Show = Callable[..., Rendered]


def order(body: str, url: str = SITE, headers: dict[str, str] | None = None, steps: tuple[str, ...] = ()) -> Order:
    said = {"content-type": "text/html; charset=utf-8", **(headers or {})}
    return Order(document=Fetched(page=next(NUMBERS), url=url, headers=said, body=body.encode()), steps=steps)


async def nowhere(url: str) -> Fetched:
    return Fetched(page=next(NUMBERS), url=url, error="it is not to be fetched")


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def renderer(loop: asyncio.Runner) -> Iterator[Renderer]:
    async def made() -> Renderer:
        return Renderer(Browsing(sandbox=False, timeout="7s", requests=100, memory="1200MB"), Fetching(parallel=10))

    made_one = loop.run(made())
    yield made_one
    loop.run(made_one.close())


@pytest.fixture
def show(loop: asyncio.Runner, renderer: Renderer) -> Show:
    """Shows a page, and after it an ordinary one, which must not mind."""

    def shown(body: str, **more: Any) -> Rendered:
        found = loop.run(renderer.render(order(body, **more), nowhere))
        after = loop.run(
            renderer.render(order("<div id=r></div><script>r.innerText = 'all is ' + 'well'</script>"), nowhere)
        )
        assert b"all is well" in after.html, after.error
        assert found.seconds < 30.0
        return found

    return shown


@pytest.fixture
def inside() -> Iterator[tuple[int, list[bytes]]]:
    """A service on loopback that only insiders may see; its port, and what reached it by TCP or UDP."""
    reached: list[bytes] = []
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as listener,
        closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as datagrams,
    ):
        port = listener.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))

        def listen() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                reached.append(b"tcp")
                connection.close()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield port, reached
        datagrams.setblocking(False)
        with suppress(BlockingIOError):
            reached.append(datagrams.recv(2048))
        listener.shutdown(socket.SHUT_RDWR)


def test_timers_without_end_are_not_waited_for(show: Show) -> None:
    found = show("<p id=p>words</p><script>setInterval(() => { p.innerText += ' more' }, 1)</script>")
    assert b"words more" in found.html
    assert not found.error


def test_requests_without_end_are_stopped(show: Show) -> None:
    found = show("<p>words</p><script>(async () => { for (;;) { fetch('/x' + Math.random()); await 0 } })()</script>")
    assert found.reason in ("requests", "timeout", "memory")
    assert found.requests <= 101


def test_a_script_that_never_ends_is_given_up(show: Show) -> None:
    found = show("<p>words</p><script>for (;;) {}</script>")
    assert found.reason == "timeout"


def test_a_script_that_begins_an_endless_loop_later_is_given_up(show: Show) -> None:
    found = show("<p>words</p><script>setTimeout(() => { for (;;) {} }, 100)</script>")
    assert found.reason == "timeout"


def test_downloads_leave_nothing(show: Show, renderer: Renderer) -> None:
    found = show(
        "<p>words</p><script>const a = document.createElement('a'); a.download = 'x.exe';"
        "a.href = URL.createObjectURL(new Blob(['x'.repeat(1e6)]));"
        "setInterval(() => a.click(), 5)</script>"
    )
    assert b"words" in found.html
    assert renderer._process is not None
    kept = [path for path in Path(renderer._process.home).rglob("*.exe") if path.is_file()]
    assert kept == []


def test_dialogs_are_dismissed(show: Show) -> None:
    found = show(
        "<p id=p>words</p><script>p.innerText = [alert('a'), confirm('b'), prompt('c')].join('-');"
        "onbeforeunload = () => 'stay'; setInterval(() => alert('again'), 1)</script>"
    )
    assert not found.error or found.reason == "timeout"


def test_service_workers_are_not_kept(loop: asyncio.Runner) -> None:
    """On loopback, where a browser would let a page have one: it ends with its page, however it came to be."""
    stay = "onactivate = each => each.waitUntil(new Promise(() => 0)); setInterval(() => fetch('/beat'), 20)"
    register = "ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, '/w.js')"
    say = "navigator.serviceWorker.getRegistrations().then(all => { p.innerText = `${all.length} are there` })"
    beats: list[float] = []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        beats.append(time.monotonic())
        return web.Response(text=stay, content_type="text/javascript")

    async def shown() -> tuple[Rendered, Rendered, float]:
        renderer = Renderer(Browsing(sandbox=False, timeout="15s"), Fetching(allow_private=True))
        async with serving(answer) as url:
            try:
                first = await renderer.render(order(f"<script>{register}</script>", url, steps=("wait 1",)), nowhere)
                over = time.monotonic()
                later = order(f"<p id=p>words</p><script>{say}</script>", url, steps=("wait 1",))
                return first, await renderer.render(later, nowhere), over
            finally:
                await renderer.close()

    first, second, over = loop.run(shown())
    assert not first.error
    assert b"0 are there" in second.html
    assert all(at <= over for at in beats)


def test_frames_without_end_are_stopped(show: Show) -> None:
    nest = "const f = document.createElement('iframe'); f.src = '/frame' + Math.random(); document.body.append(f)"
    found = show(f"<p>words</p><script>setInterval(() => {{ {nest} }}, 1)</script>")
    assert found.reason in ("requests", "timeout", "memory")


def test_frames_made_of_nothing_without_end_are_stopped(show: Show) -> None:
    fork = (
        "const grow = (d) => { for (;;) "
        "{ const f = d.createElement('iframe'); d.body.append(f); grow(f.contentDocument) } }"
    )
    found = show(f"<p>words</p><script>{fork}; grow(document)</script>")
    assert found.reason or b"words" in found.html


def test_windows_are_not_opened(show: Show) -> None:
    found = show(
        "<p id=p>words</p><script>setInterval(() => open('/x'), 5); p.innerText = 'opened ' + open('/y')</script>"
    )
    assert b"opened null" in found.html or found.reason


def test_memory_is_bounded(show: Show) -> None:
    hog = "const kept = []; for (;;) { kept.push(new Uint8Array(5e7).fill(7)) }"
    found = show(f"<p>words</p><script>{hog}</script>")
    assert found.reason in ("memory", "crash")


def test_a_page_too_large_to_read_is_cut(show: Show) -> None:
    found = show("<p>words</p><script>document.body.append('x'.repeat(30e6))</script>")
    assert len(found.html) <= MOST_HTML


def test_scripts_cannot_answer_in_place_of_the_page(show: Show) -> None:
    found = show(
        "<p>words</p><script>Object.defineProperty(Element.prototype, 'outerHTML', {get: () => 'forged'});"
        "Element.prototype.getHTML = () => 'forged'; Document.prototype.querySelectorAll = () => { throw 1 }</script>"
    )
    assert b"<p>words</p>" in found.html


def test_pages_that_lead_on_and_on_are_left(show: Show) -> None:
    found = show("<script>location = '/' + Math.random()</script>")
    assert found.reason == "document"
    assert found.error.endswith(": it is not to be fetched")


def test_windows_opened_behind_its_back_are_closed(show: Show) -> None:
    again = (
        "setInterval(() => { const a = document.createElement('a'); a.href = '/x'; a.target = '_blank'; a.click() }, 5)"
    )
    found = show(f"<p id=p>words</p><script>{again}</script>")
    assert found.reason == "windows" or b"words" in found.html


def test_other_programs_are_not_called(show: Show) -> None:
    found = show("<p>words</p><script>location = 'mailto:x@y.example'; location = 'file:///etc/passwd'</script>")
    assert b"root:" not in found.html


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_nothing_inside_is_reached(show: Show, inside: tuple[int, list[bytes]], host: str) -> None:
    port, reached = inside
    there = f"{host}:{port}"
    found = show(
        f"<p>words</p><img src='http://{there}/img'><iframe src='http://{there}/frame'></iframe>"
        f"<script src='https://{there}/script'></script><link rel=preconnect href='http://{there}'>"
        f"<link rel=prefetch href='http://{there}/prefetch'><link rel=stylesheet href='http://{there}/style'>"
        f"<script>fetch('http://{there}/').catch(() => 0); new WebSocket('ws://{there}/'); new EventSource('http://{there}/');"
        f"navigator.sendBeacon('http://{there}/'); new Worker(URL.createObjectURL(new Blob([\"fetch('http://{there}/')\"])));"
        f"try {{ const c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{there}'}}]}}); c.createDataChannel('x');"
        "c.createOffer().then(o => c.setLocalDescription(o)) } catch (e) {}</script>"
    )
    assert reached == []
    assert b"words" in found.html
    assert found.refused > 0


def test_the_browser_itself_is_not_reached(show: Show) -> None:
    """Its proxies listen on loopback: a page that guesses their ports gets no further than the guard."""
    ports = range(30_000, 30_050)
    found = show(
        "<p>words</p><script>"
        + "".join(f"fetch('http://127.0.0.1:{each}/').catch(() => 0);" for each in ports)
        + "</script>"
    )
    assert found.refused == len(ports)


def folder_size(home: str) -> int:
    """Bytes of all files under a folder."""
    return sum(each.stat().st_size for each in Path(home).rglob("*") if each.is_file() and not each.is_symlink())


def test_lines_for_the_console_without_end_are_not_kept(show: Show) -> None:
    lines = "for (let n = 0; n < 1e4; n++) console.log('x'.repeat(1e4))"
    found = show(f"<p>words</p><script>setInterval(() => {{ {lines} }}, 1)</script>")
    assert found.reason in ("timeout", "memory") or b"words" in found.html


def test_workers_without_end_are_bounded(show: Show) -> None:
    spin = "URL.createObjectURL(new Blob(['for (;;) {}']))"
    found = show(f"<p>words</p><script>const u = {spin}; for (let n = 0; n < 500; n++) new Worker(u)</script>")
    assert found.reason in ("timeout", "memory") or b"words" in found.html


def test_what_a_page_stores_fills_no_disk(show: Show, renderer: Renderer) -> None:
    store = (
        "(async () => { const block = new Blob([new Uint8Array(2e7).fill(7)]), kept = [];"
        "const cache = await caches.open('x');"
        "const base = await new Promise(y => { const r = indexedDB.open('x');"
        "r.onupgradeneeded = () => r.result.createObjectStore('s'); r.onsuccess = () => y(r.result) });"
        "for (let n = 0; n < 1000; n++) { kept.push(new Blob([block, String(n)]));"
        "await cache.put('/' + n, new Response(block)).catch(() => 0);"
        "await new Promise(y => { const t = base.transaction('s', 'readwrite'); t.objectStore('s').put(block, n);"
        "t.oncomplete = t.onerror = t.onabort = y }); p.innerText = 'stored ' + n } })()"
    )
    found = show(f"<p id=p>words</p><script>{store}</script>", url="https://app.example/", steps=("wait 5",))
    assert found.reason == "memory" or b"stored" in found.html
    assert renderer._process is not None
    assert folder_size(renderer._process.home) < 50e6


def test_what_asks_the_person_in_front_is_not_waited_for(show: Show) -> None:
    asks = (
        "navigator.geolocation.getCurrentPosition(() => 0); Notification.requestPermission();"
        "navigator.mediaDevices.getUserMedia({audio: true, video: true}).catch(() => 0);"
        "document.documentElement.requestFullscreen().catch(() => 0); f.click(); print()"
    )
    found = show(f"<p>words</p><input type=file id=f><script>{asks}</script>", url="https://app.example/")
    assert b"words" in found.html


def test_a_document_that_would_rather_be_a_download_is_shown(show: Show, renderer: Renderer) -> None:
    found = show("<p>words</p>", headers={"content-disposition": "attachment; filename=x.exe"})
    assert b"words" in found.html
    assert renderer._process is not None
    assert [path for path in Path(renderer._process.home).rglob("*.exe") if path.is_file()] == []


def test_an_address_that_goes_on_and_on_is_not_followed(show: Show) -> None:
    on = "let n = 0; setInterval(() => { history.pushState(0, '', '/' + n); location.hash = n++ }, 1)"
    found = show(f"<p>words</p><script>{on}</script>")
    assert found.reason == "timeout" or b"words" in found.html
    assert found.url.startswith(SITE)


def test_a_page_that_holds_the_browser_delays_no_other(loop: asyncio.Runner, tmp_path: Path) -> None:
    """While it is held, plain pages are fetched, read and stored at their intervals."""
    held, plain = asyncio.Event(), 20
    config = settings(tmp_path / "recrawl.db", "200/s", {**WITH_BROWSER, "browser.timeout": "12s"})
    hostile = "<div id=root></div><script>fetch('/held').then(() => { for (;;) {} })</script>"

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/held":
            held.set()
        text = hostile if request.path == "/hostile" else f"<p>{'Plain words. ' * 60}</p>"
        return web.Response(text=f"<!doctype html>{text}", content_type="text/html")

    async def looked_on(_: Crawler, store: Store) -> None:
        await held.wait()
        since = time.time()
        visited = lambda: Counter(each.source for each in store.crawls(limit=1000) if each.at > since)  # noqa: E731
        await soon(lambda: sum(count >= 3 for count in visited().values()) == plain)
        assert not any(each.source == 1 for each in store.crawls(limit=1000))

    async def run() -> Crawl:
        async with serving(answer) as url:
            sources = [Source(url=f"{url}/hostile", kind="page")]
            often = SourceOptions(interval=0.5)
            sources += [Source(url=f"{url}/{number}", kind="page", options=often) for number in range(plain)]
            over = lambda _, store: any(each.source == 1 for each in store.crawls(limit=1000))  # noqa: E731
            await crawl(config, sources=sources, meanwhile=looked_on, enough=over)
        with open_store(config.store) as store:
            return store.crawls(source=1)[0]

    found = loop.run(run())
    assert found.outcome == "failed"
    assert found.error == "a browser cannot show it: its scripts did not come to an end in 12 s"


def test_what_comes_in_is_bounded(loop: asyncio.Runner) -> None:
    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while True:
                await answer.write(b"x" * 65_536)
        except ConnectionError:
            return answer

    async def shown() -> Rendered:
        renderer = Renderer(Browsing(sandbox=False, timeout="15s", size="2MB"), Fetching(allow_private=True))
        async with serving(endless) as url:
            try:
                body = f"<p>words</p><script>fetch('{url}/').then(a => a.text()).catch(() => 0)</script>"
                return await renderer.render(order(body, f"{url}/"), nowhere)
            finally:
                await renderer.close()

    found = loop.run(shown())
    assert found.received < 3_000_000
    assert b"words" in found.html


def test_a_browser_that_hangs_is_ended_with_all_its_processes(loop: asyncio.Runner, renderer: Renderer) -> None:
    import os
    import signal

    loop.run(renderer.render(order("<p>words</p>"), nowhere))
    worker = renderer.pid
    assert worker is not None
    tree = [worker, *processes.descendants(worker)]
    assert len(tree) > 3
    renderer._browsing = Browsing(sandbox=False, timeout="1s")
    os.kill(worker, signal.SIGSTOP)
    found = loop.run(renderer.render(order("<p>words</p>"), nowhere))
    assert found.reason == "timeout"
    assert processes.usage(tree).processes == 0
    renderer._browsing = Browsing(sandbox=False, timeout="7s")
    assert b"words" in loop.run(renderer.render(order("<p>words</p>"), nowhere)).html


def test_those_that_would_wait_long_come_back(loop: asyncio.Runner, renderer: Renderer) -> None:
    async def crowd() -> list[object]:
        pages = [renderer.render(order("<p>words</p>"), nowhere) for _ in range(12)]
        return list(await asyncio.gather(*pages, return_exceptions=True))

    found = loop.run(crowd())
    assert sum(isinstance(each, BusyError) for each in found) == 7
    assert sum(isinstance(each, Rendered) and b"words" in each.html for each in found) == 5


def test_nothing_is_left_behind(loop: asyncio.Runner, renderer: Renderer) -> None:
    loop.run(renderer.render(order("<p>words</p>"), nowhere))
    assert renderer.pid is not None
    assert renderer._process is not None
    home, tree = Path(renderer._process.home), [renderer.pid, *processes.descendants(renderer.pid)]
    loop.run(renderer.close())
    assert not home.exists()
    assert processes.usage(tree).processes == 0
