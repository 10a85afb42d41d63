"""Holds are lifted by hand: in a store that lies still, and under a crawler at work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from crawling import HASTY
from recrawl import wiring
from recrawl.cli import run
from recrawl.clock import SystemClock
from recrawl.config import Config, Politeness
from recrawl.crawl.hold_release import release
from recrawl.crawl.intervals import Intervals
from recrawl.crawl_state import CrawlState
from recrawl.store.records import Batch, Hold, Progress, Robots, Source
from recrawl.store.sqlite import SqliteStore
from servers import serving
from until import soon

PATIENCE_S = 30.0
Say = Callable[..., str]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)

    def say(*arguments: str, status: int = 0) -> str:
        assert run(list(arguments)) == status
        out, err = capsys.readouterr()
        return out or err

    return say


@pytest.fixture
def held(said: Say) -> float:
    """A failing source, one that asked for time, one held with its host, and one that nothing holds; when."""
    now = time.time()
    with SqliteStore("recrawl.db") as store:
        store.add([Source(url=f"https://{name}.example/") for name in ("failing", "patient", "limited", "free")])
        store.commit(
            Batch(
                progress=[
                    Progress(source=1, failures=9, held_until=now + 600, held_by="status 500", held_cause="status"),
                    Progress(source=2, held_until=now + 600, held_by="ttl", held_cause="publisher"),
                    Progress(source=3, failures=1, held_until=now + 600, held_by="status 429", held_cause="status"),
                ],
                holds=[
                    Hold(host="limited.example", until=now + 300, reason="status 429", cause="too many requests"),
                    Hold(host="other.example", until=now + 300, reason="asked to", cause="retry after"),
                ],
            )
        )
    return now


def progress(source: int) -> Progress:
    with SqliteStore("recrawl.db") as store:
        return next(iter(store.progress([source])))


def hosts() -> set[str]:
    with SqliteStore("recrawl.db") as store:
        return {hold.host for hold in store.holds(time.time())}


def test_all_does_not_stand_for_hosts_that_ask_for_a_delay_nor_for_sources_that_wait_for_them(said: Say) -> None:
    until = time.time() + 600
    with SqliteStore("recrawl.db") as store:
        store.add([Source(url="https://slow.example/")])
        store.commit(
            Batch(
                progress=[Progress(source=1, held_until=until, held_by="Crawl-delay 3600 s", held_cause="busy")],
                holds=[Hold(host="slow.example", until=until, reason="Crawl-delay 3600 s", cause="crawl delay")],
            )
        )
    assert said("release", "--all").startswith("left alone: 2 that asked for time")
    assert progress(1).held_until == until
    assert hosts() == {"slow.example"}


def test_a_source_and_its_host_are_released_and_it_says_what_they_were_held_for(said: Say, held: float) -> None:
    words = said("release", "limited.example")
    assert "released: 3 https://limited.example/ (status 429; " in words
    assert "released: host limited.example (status 429; " in words
    assert "at the next `recrawl run`" in words
    assert (progress(3).held_until, progress(3).held_cause, progress(3).failures) == (0.0, "", 0)
    assert hosts() == {"other.example"}
    assert progress(1).held_until == held + 600


def test_what_is_not_held_is_said_to_be_free(said: Say, held: float) -> None:
    assert said("release", "free.example") == "not held: 4 https://free.example/\n"


def test_all_are_released_but_those_who_asked_for_time(said: Say, held: float) -> None:
    found = json.loads(said("release", "--all", "--json"))
    assert [(each["id"], each["cause"]) for each in found["released"]] == [(1, "status"), (3, "status")]
    assert [each["host"] for each in found["hosts"]] == ["limited.example"]
    assert found["asked_for"] == 2
    assert "left alone: 2 that asked for time" in said("release", "--all")
    assert "released: 2" in said("release", "2"), "named, they are"
    assert progress(2).held_until == 0.0


def test_where_nothing_is_held_it_says_so(said: Say) -> None:
    said("add", "https://free.example/")
    assert said("release", "--all") == "nothing is held\n"


def test_it_wants_to_know_what_to_release(said: Say, held: float) -> None:
    assert "recrawl release TARGET" in said("release", status=2)
    assert "--all alone" in said("release", "1", "--all", status=2)


def test_robots_txt_is_read_anew_for_a_source_it_refused(said: Say, held: float) -> None:
    with SqliteStore("recrawl.db") as store:
        refused = Progress(source=4, held_until=held + 600, held_by="robots.txt", held_cause="robots")
        copy = Robots(origin="https://free.example", fetched=held, status=200, body="x", good="x", expires=held + 9e4)
        store.commit(Batch(progress=[refused], robots=[copy]))
    said("release", "4")
    with SqliteStore("recrawl.db") as store:
        robots = store.robots("https://free.example")
    assert robots is not None
    assert (robots.expires, robots.good) == (0.0, "x")


def test_a_crawler_at_work_takes_notice(tmp_path: Path) -> None:
    config = Config(fetch=HASTY.fetch, budget="300/s", politeness=Politeness(delay="10ms"))
    asked, again = asyncio.Event(), asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        if not asked.is_set():
            asked.set()
            return web.Response(status=429, headers={"Retry-After": "3600"})
        again.set()
        return web.Response(text="<rss><channel><title>News</title></channel></rss>")

    async def scene() -> None:
        async with serving(answer) as base:
            with SqliteStore(tmp_path / "recrawl.db") as store, SqliteStore(tmp_path / "recrawl.db") as other:
                store.add([Source(url=f"{base}/feed")])
                store.claim("a test", time.time())
                crawler = wiring.make_crawler(config, store, clock=SystemClock(), intervals=Intervals(watch_s=0.02))
                running = asyncio.create_task(crawler.run(time.time() + 2 * PATIENCE_S))
                await asyncio.wait_for(asked.wait(), PATIENCE_S)
                await soon(lambda: other.holds(time.time()) and all(each.held_until for each in other.progress()))
                holds = other.holds(time.time())
                assert CrawlState.read(other, config, time.time()).crawler is not None
                held = list(zip(other.sources(), other.progress(), strict=True))
                release(other, held, holds, time.time(), crawled=True)
                await asyncio.wait_for(again.wait(), PATIENCE_S)
                crawler.stop()
                await running
                assert other.holds(time.time()) == []
                assert [crawl.outcome for crawl in other.crawls()] == ["first", "failed"]

    asyncio.run(scene())


def test_sources_and_status_show_what_is_held_and_why(said: Say, held: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("sources", "status"):
        table = said(command).partition("held (recrawl release TARGET lifts it)")[2]
        assert "1 https://failing.example/" in table
        assert "status 500" in table
        assert "limited.example" in table
        assert "patient" not in table, "a publisher's own pace is no trouble"
        assert max(map(len, table.splitlines())) <= 80
    found = {each["id"]: each for each in json.loads(said("sources", "--json"))}
    assert (found[1]["held_cause"], found[1]["held_by"], found[1]["host_held_until"]) == ("status", "status 500", 0.0)
    assert (found[2]["held_cause"], found[4]["held_cause"]) == ("publisher", "")
    assert found[3]["held_host"] == "limited.example"
    assert (found[3]["host_held_until"], found[3]["host_held_cause"]) == (held + 300, "too many requests")
    status = json.loads(said("status", "--json"))
    assert {each["host"]: each["cause"] for each in status["holds"]} == {
        "limited.example": "too many requests",
        "other.example": "retry after",
    }
    assert [(each["id"], each["cause"]) for each in status["held_sources"]] == [(1, "status"), (3, "status")]
    assert all("under" not in each for each in [*status["holds"], *status["held_sources"]])


def test_what_is_released_while_a_crawler_is_starting_is_lifted_too(tmp_path: Path) -> None:
    """The source is asked for: a hold that stood would keep it from that until the time is over."""
    config = Config(fetch=HASTY.fetch, budget="300/s", politeness=Politeness(delay="10ms"))
    asked = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/feed":
            asked.set()
        return web.Response(status=404)

    async def scene() -> None:
        async with serving(answer) as base:
            with SqliteStore(tmp_path / "recrawl.db") as store:
                store.add([Source(url=f"{base}/feed")])
                store.commit(Batch(progress=[Progress(source=1, failures=5, held_until=time.time() + 3600)]))
                store.claim("a test", time.time())
                crawler = wiring.make_crawler(config, store, clock=SystemClock(), intervals=Intervals(watch_s=0.02))
                held = list(zip(store.sources(), store.progress(), strict=True))
                release(store, held, [], time.time(), crawled=True)
                running = asyncio.create_task(crawler.run(time.time() + 2 * PATIENCE_S))
                await asyncio.wait_for(asked.wait(), PATIENCE_S)
                crawler.stop()
                await running

    asyncio.run(scene())
