"""Clocks that jump: no hold is brought forward, no budget overspent, nothing hangs."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Politeness
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.transport import Request, Response
from recrawl.store.records import Batch, Hold, Source
from recrawl.store.sqlite import SqliteStore
from until import soon

DAY = 86400.0
STALLED = 6
"""Requests that may go out with others because the machine was busy when they were due."""
FEED = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>A</title>
<item><title>%d</title><link>http://a.example/%d</link></item></channel></rss>"""


class Times:
    """The machine's two clocks, under control."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.steady = 1_700_000_000.0, 1000.0
        monkeypatch.setattr(time, "time", lambda: self.wall)
        monkeypatch.setattr(time, "monotonic", lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


class TestTheMachinesClock:
    def test_a_clock_set_back_is_not_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = Times(monkeypatch)
        clock = SystemClock()
        before = clock.now()
        times.wall -= DAY
        times.pass_by(5.0)
        assert clock.now() == pytest.approx(before + 5.0)

    def test_a_night_asleep_has_passed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = Times(monkeypatch)
        clock = SystemClock()
        before = clock.now()
        times.wall += DAY  # the monotonic clock stands still while the machine sleeps
        assert clock.now() == pytest.approx(before + DAY)

    def test_it_never_runs_backwards_whatever_happens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = Times(monkeypatch)
        clock = SystemClock()
        seen = []
        for jump in (0.0, 3600.0, -7200.0, 0.5, -0.5, DAY, -10 * DAY, 1.5):
            times.wall += jump
            times.pass_by(0.25)
            seen.append(clock.now())
        assert all(b >= a for a, b in itertools.pairwise(seen))


SPEED, HANGS_S = 20.0, 300.0


class FastTime:
    """Both clocks of a machine on which everything happens faster; its wall clock can be made to jump."""

    def __init__(self, wall: float = 1_700_000_000.0) -> None:
        self._began, self.jumped, self._wall = time.monotonic(), 0.0, wall

    def monotonic(self) -> float:
        return 1000.0 + (time.monotonic() - self._began) * SPEED

    def time(self) -> float:
        return self._wall + self.monotonic() - 1000.0 + self.jumped


class FastClock(SystemClock):
    """The very clock of the program, on such a machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wall: float = 1_700_000_000.0) -> None:
        self.machine = FastTime(wall)
        monkeypatch.setattr("recrawl.clock.time", self.machine)
        super().__init__()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, 0.0) / SPEED)  # a clock that runs fast


class Web:
    """Feeds with something new at every fetch; remembers who was asked when."""

    def __init__(self, clock: SystemClock, retry_after: str = "") -> None:
        self.clock, self.asked = clock, list[tuple[float, str]]()
        self._retry_after = retry_after

    async def fetch(self, request: Request) -> Response:
        self.asked.append((self.clock.now(), request.url))
        headers = {"content-type": "application/rss+xml"}
        if self._retry_after:
            return Response(request.url, 429, {"retry-after": self._retry_after}, b"")
        return Response(request.url, 200, headers, FEED % (len(self.asked), len(self.asked)))

    async def close(self) -> None:
        pass


CONFIG = Config(
    budget="4/s",
    burst="4",
    half_life="1m",
    fetch=Fetching(allow_private=True),
    politeness=Politeness(delay="1s", min_interval="5s", robots=False),
)


def crawled(
    store: SqliteStore, clock: FastClock, *, everybody: int = 12, jumps: Sequence[float] = (), retry_after: str = ""
) -> list[tuple[float, str]]:
    """Crawl until so many sources were asked, and so many again after each jump of the wall clock; who was when."""
    web = Web(clock, retry_after)

    async def asked() -> None:
        before = len(web.asked)
        await soon(lambda: len({url for _, url in web.asked[before:]}) >= everybody)

    async def run() -> None:
        crawler = wiring.make_crawler(CONFIG, store, clock=clock, transport=web)
        running = asyncio.create_task(crawler.run())
        async with asyncio.timeout(HANGS_S):
            await asked()
            for jump in jumps:
                clock.machine.jumped += jump
                await asked()
            crawler.stop()
            await running

    asyncio.run(run())
    return web.asked


def made(folder: Path) -> SqliteStore:
    store = SqliteStore(folder / "recrawl.db")
    store.add([Source(url=f"http://h{n}.example/feed", kind="feed") for n in range(12)])
    return store


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Everything that is compiled on first use has been: it would take longer than the tests do."""
    with pytest.MonkeyPatch.context() as patch:
        store, clock = made(tmp_path_factory.mktemp("warm")), FastClock(patch)
        for _ in range(3):
            crawled(store, clock)
        store.close()


@pytest.fixture
def store(warm: None, tmp_path: Path) -> Iterator[SqliteStore]:
    with made(tmp_path) as store:
        yield store


def per_source(asked: list[tuple[float, str]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for at, url in asked:
        times.setdefault(url, []).append(at)
    return times


def intervals_kept(asked: list[tuple[float, str]]) -> bool:
    return all(b - a > 5.0 - 1e-3 for times in per_source(asked).values() for a, b in itertools.pairwise(times))


class TestTheCrawler:
    def test_a_day_asleep_neither_floods_the_hosts_nor_stops_the_crawl(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = FastClock(monkeypatch)
        asked = crawled(store, clock, jumps=[DAY, 30 * DAY])
        start = asked[0][0]
        for jumped in (DAY, 31 * DAY):
            after = sorted(at for at, _ in asked if at > start + jumped)
            assert len(after) >= 12
            assert sum(at < after[0] + 0.5 for at in after) <= 4 + 0.5 * 4 + STALLED
        assert intervals_kept(asked)

    def test_a_wall_clock_set_back_brings_nothing_forward_and_hangs_nothing(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert intervals_kept(crawled(store, FastClock(monkeypatch), jumps=[-DAY, -30 * DAY, 3600.0, -3600.0]))

    def test_a_hold_is_kept_over_a_restart_with_the_clock_set_back(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = FastClock(monkeypatch)
        crawled(store, clock, retry_after="60")
        held = {hold.host: hold.until for hold in store.holds(0.0)}
        assert len(held) == 12
        asked = crawled(store, FastClock(monkeypatch, min(held.values()) - 40.0))
        assert all(at >= held[url.split("/")[2]] for at, url in asked)

    def test_a_clock_that_was_years_ahead_delays_nothing_for_years(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ahead = FastClock(monkeypatch, 1_700_000_000.0 + 3650 * DAY)
        crawled(store, ahead)
        store.commit(Batch(holds=[Hold(host="h0.example", until=ahead.now() + 600.0, reason="said so")]))
        clock = FastClock(monkeypatch)
        slots = HostSlots(CONFIG.politeness, clock.now(), Random(0))
        assert (
            max(wiring.make_decider(CONFIG, store, slots, clock.now()).holds.ends(clock.now())) < clock.now() + 8 * DAY
        )
        asked = crawled(store, clock, everybody=11)
        assert set(per_source(asked)) == {f"http://h{n}.example/feed" for n in range(1, 12)}

    def test_least_intervals_count_over_restarts(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = FastClock(monkeypatch)
        assert intervals_kept([each for _ in range(8) for each in crawled(store, clock, everybody=3)])
