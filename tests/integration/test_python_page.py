"""The fetcher of docs/python.md against a server on loopback: as it stands, and in a hurry."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from recrawl import Scheduler
from recrawl.clock import ManualClock
from recrawl.store.opening import open_store

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
HANGS_S = 300.0


def program() -> str:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found is not None
    return found[1]


class Site:
    """A page that changes at each request, one that never does and says so, one that is gone, one that fails."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.validators: list[str] = []
        self.news = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        self.news.set()
        if request.path in ("/gone", "/broken"):
            return web.Response(status=410 if request.path == "/gone" else 500)
        if request.path != "/same":
            return web.Response(text=f"{request.path} {self.asked[request.path]}")
        self.validators.append(request.headers.get("If-None-Match", ""))
        return web.Response(status=304 if self.validators[-1] else 200, headers={"ETag": '"1"'})

    async def seen(self, enough: Callable[[Counter[str]], bool]) -> None:
        while not enough(self.asked):
            self.news.clear()
            await self.news.wait()


async def fetched(folder: Path, text: str, enough: Callable[[Counter[str]], bool]) -> tuple[Site, str]:
    """Run the program until it has asked for enough, then interrupt it as Ctrl-C does; what it printed."""
    site, app = Site(), web.Application()
    app.router.add_get("/{name}", site.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    pages = [f"http://127.0.0.1:{runner.addresses[0][1]}/{name}" for name in ("fresh", "same", "gone", "broken")]
    (folder / "fetcher.py").write_text(text, encoding="utf-8")
    process = subprocess.Popen([sys.executable, "fetcher.py", *pages], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        await asyncio.wait_for(site.seen(enough), HANGS_S)
        process.send_signal(signal.SIGINT)
        out, _ = await asyncio.to_thread(process.communicate, timeout=HANGS_S)
    finally:
        process.kill()
        await runner.cleanup()
    assert process.returncode == 0
    return site, out


def test_as_it_stands_it_fetches_every_page(tmp_path: Path) -> None:
    site, _ = asyncio.run(fetched(tmp_path, program(), lambda asked: len(asked) == 4))
    assert site.asked["/gone"] == 1
    with open_store(tmp_path / "pages.db") as store:
        assert len(store.sources()) == 4
        assert "first" in {crawl.outcome for crawl in store.crawls()}


@pytest.mark.parametrize("address", ["http://a..b/", "row 17"])
def test_an_address_that_is_none_is_reported_as_a_failure(tmp_path: Path, address: str) -> None:
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(program(), str(PAGE), "exec"), names)

    async def once() -> None:
        clock = ManualClock()
        with Scheduler(tmp_path / "pages.db", clock=clock) as scheduler:
            scheduler.add(address)
            clock.advance(1.0)
            assert scheduler.due() == [address]
            async with aiohttp.ClientSession() as session:
                await names["fetch"](session, scheduler, address)

    asyncio.run(once())
    with open_store(tmp_path / "pages.db") as store:
        (crawl,) = store.crawls()
    assert crawl.outcome == "failed"
    assert crawl.error


def test_without_addresses_it_says_so_and_ends(tmp_path: Path) -> None:
    (tmp_path / "fetcher.py").write_text(program(), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "fetcher.py"], cwd=tmp_path, capture_output=True, text=True, timeout=HANGS_S, check=False
    )
    assert ended.returncode != 0
    assert "usage: python fetcher.py ADDRESS" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_it_learns_from_what_it_fetches(tmp_path: Path) -> None:
    quick = program().replace('"60/min"', '"50/s"').replace('scope="host", min_interval="1m"', 'min_interval="100ms"')
    assert quick != program()
    site, out = asyncio.run(fetched(tmp_path, quick, lambda asked: len(asked) == 4 and asked["/fresh"] >= 4))
    assert site.asked["/gone"] == 1
    assert set(site.validators[1:]) <= {'"1"'}
    assert "first http" in out
    assert "changed http" in out
    with open_store(tmp_path / "pages.db") as store:
        lines = {line.url.rpartition("/")[2]: line for line in store.sources()}
        progress = {each.source: each for each in store.progress()}
    assert lines["gone"].state == "retired"
    assert progress[lines["broken"].id].failures >= 1
    assert progress[lines["fresh"].id].visits >= 3
