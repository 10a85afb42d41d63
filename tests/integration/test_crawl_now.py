"""`recrawl crawl` and `recrawl budget`: with a crawler that runs, and without."""

import asyncio
import contextlib
import io
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from live import HANGS_S, settings
from recrawl import wiring
from recrawl.cli import run
from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Progress, Source
from recrawl.store.roles import Store
from servers import serving
from until import soon

SETTINGS = '[fetch]\nallow_private = true\n[politeness]\ndelay = "20ms"\nmin_interval = "0s"\n'


async def answer(request: web.BaseRequest) -> web.Response:
    """A page at /good, nothing elsewhere."""
    good = request.path.startswith("/good")
    return web.Response(
        text="<html><body><p>Words.</p></body></html>", content_type="text/html", status=200 if good else 404
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)
    Path("recrawl.toml").write_text(SETTINGS)


async def said(*arguments: str, status: int = 0) -> str:
    """What a command says, or what it complains of where it says nothing."""
    out, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(complaints):
        assert await asyncio.to_thread(run, list(arguments)) == status, (out.getvalue(), complaints.getvalue())
    return out.getvalue() or complaints.getvalue()


async def beside_a_crawler(store: Store, act: Callable[[wiring.Crawler], Awaitable[None]]) -> None:
    """Do something while a crawler runs."""
    store.claim(wiring.owner(), time.time())
    crawler = wiring.make_crawler(settings(Path("recrawl.db"), "100/s"), store)
    running = asyncio.create_task(crawler.run())
    try:
        async with asyncio.timeout(HANGS_S):
            await act(crawler)
    finally:
        crawler.stop()
        await running


def filled(home: str, *paths: str) -> Store:
    """Sources that are held for an hour."""
    store = open_store("recrawl.db")
    store.add([Source(url=home + path, kind="page") for path in paths])
    later = time.time() + 3600.0
    held = [Progress(source=id, last=1e9, visits=1, held_until=later, held_by="x") for id in range(1, len(paths) + 1)]
    store.commit(Batch(progress=held))
    return store


def test_without_a_crawler_it_fetches_them_itself_and_nothing_else() -> None:
    async def go() -> None:
        async with serving(answer) as home:  # type: ignore[arg-type]
            filled(home, "/good/1", "/good/2", "/bad").close()
            assert await said("crawl", "good/1") == f"first fetch: 1 {home}/good/1\n"
            assert await said("crawl", "1", "3", status=1) == (
                f"nothing new: 1 {home}/good/1\nfailed, HTTP status 404: 3 {home}/bad\n"
            )
            store = open_store("recrawl.db")
            assert [len(store.crawls(source=id)) for id in (1, 2, 3)] == [2, 0, 1]
            assert store.claimed() is None
            store.close()

    asyncio.run(go())


def test_with_a_crawler_it_hands_over_the_wish_and_waits() -> None:
    async def go() -> None:
        async with serving(answer) as home:  # type: ignore[arg-type]
            store = filled(home, "/good/1", "/bad")

            async def act(_: wiring.Crawler) -> None:
                assert await said("crawl", "--tag", "none", status=2)
                told = json.loads(await said("crawl", "1", "2", "--json", status=1))
                assert [line["crawl"]["outcome"] for line in told] == ["first", "failed"]
                assert await said("crawl", "1", "--no-wait") == "asked for: 1 source\n"
                await soon(lambda: len(store.crawls(source=1)) >= 2)

            await beside_a_crawler(store, act)
            store.close()

    asyncio.run(go())


def test_a_paused_source_is_not_fetched_and_it_says_so() -> None:
    async def go() -> None:
        filled("http://127.0.0.1:1", "/good").close()
        await said("pause", "1")
        assert "paused: 1 http://127.0.0.1:1/good (recrawl pause --resume 1)" in await said("crawl", "1", status=1)

    asyncio.run(go())


@pytest.mark.parametrize("budget", ["60/min", "90/min"])
def test_the_budget_is_said_with_the_file_that_sets_it(budget: str) -> None:
    async def go() -> None:
        filled("http://127.0.0.1:1", "/good").close()
        Path("recrawl.toml").write_text(f'budget = "{budget}"\n{SETTINGS}')
        assert (await said("budget")).splitlines()[0] == f"{budget} (recrawl.toml)"
        Path("recrawl.toml").rename("other.toml")
        assert (await said("budget", "--config", "other.toml")).splitlines()[0] == f"{budget} (other.toml)"
        assert (await said("budget")).splitlines()[0] == "60/min (the default)"

    asyncio.run(go())


def test_another_budget_is_taken_within_a_moment_and_shown() -> None:
    async def go() -> None:
        store = filled("http://127.0.0.1:1", "/good")

        async def act(crawler: wiring.Crawler) -> None:
            assert await said("budget") == "100/s, as the crawler was started with\n"
            told = await said("budget", "120/min")
            assert told.splitlines()[0] == "120/min from now on, instead of 100/s"
            assert "the next begins with 60/min (the default)" in told
            await soon(lambda: crawler.request_budget.per_second == 2.0)
            assert crawler.request_budget.allotment.burst == 2.0
            assert "120/min, asked for" in await said("budget")
            assert json.loads(await said("status", "--json"))["budget_per_s"] == 2.0

        await beside_a_crawler(store, act)
        store.release()
        assert (await said("budget")).splitlines() == ["60/min (the default)", "no crawler runs"]
        store.close()

    asyncio.run(go())


def test_where_nobody_crawls_it_says_what_to_do() -> None:
    async def go() -> None:
        filled("http://127.0.0.1:1", "/good").close()
        told = await said("budget", "120/min", status=2)
        assert "no crawler runs: start one with `recrawl run --budget 120/min`" in told
        assert "RATE must be a rate such as 60/min" in await said("budget", "much", status=2)

    asyncio.run(go())
