"""What searches teach: synthetic readers of known taste ask the real web page, and the crawler that listens finds it.

Feeds on topics; every topic is searched for as much as there is to read in it, and few items are opened. Readers ask
the application itself (`/items?q=…`, `/go/…`, full-text search, the caps on what one client teaches), the store keeps
what counts, and the crawler hears of it once an hour as it does live. Time is simulated; so are the feeds, whose items
appear alike for every crawler. Four crawlers per world: deaf, and listening to clicks, to searches, or to both.

Printed, with 95 % intervals over worlds: the rank correlation of what is believed of readers with what they like, and
how much more is captured in the second half than by the deaf crawler of the same world.

    python -m benchmarks.searches [--worlds 5] [--hours 240] [--searches 20] [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from scipy.stats import spearmanr

from recrawl import wiring
from recrawl.clock import ManualClock
from recrawl.config import Config, Politeness
from recrawl.crawl.click_reader import ClickReader
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.sim.metrics import interval95
from recrawl.store.records import Batch, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app

NOW, HOUR = 1.75e9, 3600.0
HALF_LIFE = 6 * HOUR
"""As the settings have it here."""
PER_HOUR, READERS, LISTED = 6, 400, 20
"""Fetches an hour, people, and items a feed lists at a time."""
CLICKS_PER_ITEM = 0.05
BEFORE = 200.0
"""Hours of items that are there at the start."""
LISTENING = {"deaf": (False, False), "clicks": (True, False), "searches": (False, True), "both": (True, True)}
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass(frozen=True)
class Feeds:
    """When items appear, what each feed is about, and what an item of it draws if found at once, 1 on average."""

    times: list[FloatArray]
    topic: IntArray
    drawn: FloatArray
    demand: FloatArray

    @classmethod
    def made(cls, seed: int, hours: float, size: int = 40, topics: int = 10) -> Feeds:
        """Interest is log-normal by topic and by feed; topics are searched for as much as they are read."""
        draw = np.random.default_rng(seed)
        topic = np.arange(size) % topics
        rates = np.exp(draw.normal(np.log(0.3), 0.7, size))
        drawn = np.exp(draw.normal(0.0, 0.9, topics))[topic] * np.exp(draw.normal(0.0, 0.4, size))
        drawn /= drawn.mean()
        times = [NOW + HOUR * np.sort(draw.uniform(-BEFORE, hours, draw.poisson(r * (hours + BEFORE)))) for r in rates]
        demand = np.bincount(topic, rates * drawn)
        return cls(times, topic, drawn, demand / demand.sum())


class Browser:
    """People at browsers, asking an ASGI application without a network."""

    def __init__(self, app: Any) -> None:
        self.app, self.loop = app, asyncio.new_event_loop()

    def get(self, path: str, reader: int) -> int:
        """Ask for a page; its status."""
        said = {"user-agent": BROWSER, "sec-fetch-site": "same-origin"}
        return self.ask("GET", path, reader, said)[0]

    def ask(self, method: str, path: str, reader: int, said: dict[str, str], body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of an answer."""
        return self.loop.run_until_complete(self._asked(method, path, reader, said, body))

    async def _asked(self, method: str, path: str, reader: int, said: dict[str, str], body: bytes) -> tuple[int, bytes]:
        place, _, query = path.partition("?")
        said = {"host": "localhost", "content-length": str(len(body)), **said}
        status, answer = 0, b""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, answer
            status = message.get("status", status)
            answer += message.get("body", b"")

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": place, "raw_path": place.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in said.items()],
            "client": (f"10.0.{reader // 250}.{reader % 250 + 1}", 50000), "server": ("localhost", 80), "state": {},
        }  # fmt: skip
        await self.app(scope, receive, send)
        return status, answer


@dataclass
class World:
    """One crawler among the feeds and readers of a seed, with a store and a web page of its own."""

    feeds: Feeds
    store: SqliteStore
    clicks: bool
    searches: bool
    captured: float = 0.0
    requests: int = 0
    to_open: list[tuple[float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = Config(half_life="6h", politeness=Politeness(delay="0s", min_interval="0s"))
        self.clock, self.draw, self.items = ManualClock(NOW), np.random.default_rng(7), 0
        self.store.add([Source(url=f"https://{k}.example/feed") for k in range(len(self.feeds.times))])
        slots = HostSlots(config.politeness, 0.0, random.Random(0))
        self.decider = wiring.make_decider(config, self.store, slots, NOW)
        self.browser = Browser(make_app(self.store, config, self.clock))
        self.last = np.full(len(self.feeds.times), -np.inf)
        self.reader = ClickReader()

    def crawl(self, now: float, counts: bool) -> None:
        """Fetch the one that is next, keep what is new, and let readers see it."""
        for number in self.decider.policy.choose(now, 1.0).tolist():
            times = self.feeds.times[number]
            listed = times[: int(np.searchsorted(times, now))][-LISTED:]
            new = listed[listed > self.last[number]]
            worth = self.feeds.drawn[number] * 2.0 ** ((new - now) / HALF_LIFE)
            self.captured += float(worth.sum()) if counts else 0.0
            self.last[number] = now
            self.decider.policy.observe(Visits(np.array([number]), now, published=[new]))
            self._keep(number, new, worth, now)

    def _keep(self, number: int, new: FloatArray, worth: FloatArray, now: float) -> None:
        word = f"topic{self.feeds.topic[number]}"
        items = [
            Item(source=number + 1, key=self.items + k, title=f"{word} news {self.items + k}",
                 link=f"https://{number}.example/{self.items + k}", published=float(at), first_seen=now)
            for k, at in enumerate(new.tolist())
        ]  # fmt: skip
        progress = Progress(source=number + 1, last=now, visits=1)
        crawl = Crawl(source=number + 1, at=now, outcome="new")
        self.decider.roster.put_progress(number, progress)
        self.store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items)]))
        for k, opened in enumerate(self.draw.poisson(CLICKS_PER_ITEM * worth).tolist()):
            waits = self.draw.exponential(HALF_LIFE / np.log(2.0), opened)
            self.to_open += [(now + wait, self.items + k + 1) for wait in waits.tolist()]
        self.items += len(items)

    def read(self, now: float, searches: int) -> None:
        """An hour of readers at the page, as far as the crawler's owner lets it listen."""
        self.clock.advance(now - self.clock.now())
        due = [item for at, item in self.to_open if at <= now]
        self.to_open = [each for each in self.to_open if each[0] > now]
        asked = [f"/go/{item}" for item in due] if self.clicks else []
        topics = self.draw.choice(len(self.feeds.demand), self.draw.poisson(searches), p=self.feeds.demand)
        asked += [f"/items?q={quote(f'topic{topic}')}&kind=item" for topic in topics] if self.searches else []
        for path, who in zip(asked, self.draw.integers(READERS, size=len(asked)).tolist(), strict=True):
            assert self.browser.get(path, who) in (200, 303), path
        self.requests += len(asked)
        self.listen(now)

    def listen(self, now: float) -> None:
        """The crawler takes in what readers did."""
        while True:
            heard = self.reader.listen(self.store, self.decider.policy.mark, now)  # type: ignore[attr-defined]
            self.store.commit(Batch(progress=self.decider.scheduled(self.decider.hear(heard, now))))
            if not heard.more:
                return

    def agreement(self) -> float:
        """Rank correlation of what is believed of readers with what they like; 0 where all are believed alike."""
        appeal = self.decider.policy.appeal(np.arange(len(self.feeds.times)))[0]  # type: ignore[attr-defined]
        return float(spearmanr(appeal, self.feeds.drawn).statistic) if np.ptp(appeal) > 0.0 else 0.0


def lived(seed: int, listening: str, hours: int, searches: int) -> tuple[float, float, int]:
    """Rank correlation, value captured in the second half, and requests made to the web page."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "recrawl.db") as store:
        world = World(Feeds.made(seed, hours), store, *LISTENING[listening])
        live(world, hours, searches)
        return world.agreement(), world.captured, world.requests


def live(world: World, hours: int, searches: int) -> None:
    """Crawl so many times an hour, and let readers read once."""
    for k in range(1, hours * PER_HOUR + 1):
        now = NOW + k * HOUR / PER_HOUR
        world.crawl(now, counts=k > hours * PER_HOUR / 2)
        if k % PER_HOUR == 0:
            world.read(now, searches)
    world.browser.loop.close()


def measured(worlds: int, hours: int, searches: int) -> dict[str, tuple[FloatArray, FloatArray, int]]:
    """By listening: rank correlations, and per cent captured above the deaf crawler of the same world."""
    seeds = range(1, worlds + 1)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = {
            name: [pool.submit(lived, seed, name, hours, searches) for seed in seeds] for name in reversed(LISTENING)
        }
        done = {name: [each.result() for each in of_name] for name, of_name in runs.items()}
    captured = {name: np.array([each[1] for each in of_name]) for name, of_name in done.items()}
    return {
        name: (
            np.array([each[0] for each in done[name]]),
            100.0 * (captured[name] / captured["deaf"] - 1.0),
            done[name][0][2],
        )
        for name in LISTENING
    }


def shown(values: FloatArray, digits: int) -> str:
    """A mean with its interval."""
    interval = interval95(values)
    around = "" if interval is None else f" ({interval[0]:.{digits}f} … {interval[1]:.{digits}f})"
    return f"{values.mean():.{digits}f}{around}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--hours", type=int, default=240)
    parser.add_argument("--searches", type=int, default=20, help="per hour")
    parser.add_argument("--quick", action="store_true", help="three worlds of three days: too short to gain")
    given = parser.parse_args()
    worlds, hours = (3, 72) if given.quick else (given.worlds, given.hours)
    found = measured(worlds, hours, given.searches)
    print(f"{worlds} worlds of 40 feeds, {hours} h, {given.searches} searches/h, a click on {1 / CLICKS_PER_ITEM:.0f}")
    print(f"{'listening to':14} {'rank correlation':24} {'% more captured':26} requests to the page")
    for name, (agreement, gain, requests) in found.items():
        print(f"{name:14} {shown(agreement, 2):24} {shown(gain, 1) if name != 'deaf' else '–':26} {requests:,}")
    clicks, both = (found[name][1] for name in ("clicks", "both"))
    print(f"both, over clicks alone: {shown(100 * ((100 + both) / (100 + clicks) - 1), 1)} % more captured")


if __name__ == "__main__":
    main()
