"""What reading teaches: synthetic readers of known taste, whose programs speak nothing but the Google Reader API.

The worlds are those of `benchmarks.searches`: feeds on topics, interest by topic and by feed. A few people subscribe to
all feeds. Each syncs about every third hour: their program lists what is unread, they open an item as likely as they
like its feed, less the older it is, each with a request of its own, star one in ten of those, and mark all the rest as
read. Time is simulated; the application, its store and the crawler that learns are the real ones.

Printed, with 95 % intervals over worlds: the rank correlation of what is believed of readers with what they like, and
how much more is captured in the second half than by a crawler of the same world and budget that ignores them.

    python -m benchmarks.reading_taste [--worlds 5] [--hours 240] [--readers 5]
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import numpy as np
from benchmarks.searches import HALF_LIFE, Feeds, World, live, shown

from recrawl.store.sqlite import SqliteStore
from recrawl.web.reader_api.credentials import new_reader

API = "/reader/api/0/"
READING_LIST, READ, STARRED = (f"user/-/state/com.google/{name}" for name in ("reading-list", "read", "starred"))
OPENED, STARS, SYNCS = 0.1, 0.1, 1 / 3
"""Of items of average interest that are seen at once; of those opened; per hour."""


class Person:
    """Somebody with a program, known by their password."""

    def __init__(self, world: World, number: int) -> None:
        reader, password = new_reader(f"reader{number}", world.clock.now())
        world.store.add_reader(reader)
        self._world, self._number, self._auth, self.requests = world, number, "", 0
        who = [("Email", reader.name), ("Passwd", password), ("output", "json")]
        self._auth = msgspec.json.decode(self.ask("/accounts/ClientLogin", *who))["Auth"]
        for k in range(len(world.feeds.times)):
            self.ask("subscription/edit", ("ac", "subscribe"), ("s", f"feed/https://{k}.example/feed"))

    def ask(self, place: str, *given: tuple[str, str]) -> bytes:
        """A form's answer."""
        said = {"authorization": f"GoogleLogin auth={self._auth}", "content-type": "application/x-www-form-urlencoded"}
        path, body = (place if place.startswith("/") else API + place), urlencode(given).encode()
        status, answer = self._world.browser.ask("POST", path, self._number, said, body)
        assert status == 200, (path, status, answer[:200])
        self.requests += 1
        return answer

    def sync(self, now: float) -> None:
        """See what is unread, open some of it, and mark the rest as read."""
        draw = self._world.draw
        stream = [("s", READING_LIST), ("xt", READ), ("n", "1000")]
        for item in msgspec.json.decode(self.ask("stream/contents", *stream))["items"]:
            if draw.random() < OPENED * self._liking(item, now):
                self.ask("edit-tag", ("i", item["id"]), ("a", READ))
                if draw.random() < STARS:
                    self.ask("edit-tag", ("i", item["id"]), ("a", STARRED))
        self.ask("mark-all-as-read", ("s", READING_LIST), ("ts", str(int(now * 1e6))))

    def _liking(self, item: dict[str, Any], now: float) -> float:
        number = int(item["origin"]["streamId"].removeprefix("feed/")) - 1
        return float(self._world.feeds.drawn[number]) * 2.0 ** ((item["published"] - now) / HALF_LIFE)


class ReadWorld(World):
    """A world whose readers have programs of their own; or nobody, for a crawler that ignores them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.people: list[Person] = []

    def read(self, now: float, readers: int) -> None:
        """An hour: about one in three syncs."""
        self.clock.advance(now - self.clock.now())
        while len(self.people) < readers:
            self.people.append(Person(self, len(self.people)))
        for each in self.people:
            if self.draw.random() < SYNCS:
                each.sync(now)
        self.requests = sum(each.requests for each in self.people)
        self.listen(now)


def lived(seed: int, hours: int, readers: int) -> tuple[float, float, int]:
    """Rank correlation, value captured in the second half, and requests of programs, if there are any."""
    with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "recrawl.db") as store:
        world = ReadWorld(Feeds.made(seed, hours), store, clicks=True, searches=False)
        live(world, hours, readers)
        return world.agreement(), world.captured, world.requests


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--worlds", type=int, default=5)
    parser.add_argument("--hours", type=int, default=240)
    parser.add_argument("--readers", type=int, default=5)
    given = parser.parse_args()
    seeds = range(1, given.worlds + 1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        some, none = (
            list(pool.map(lived, seeds, [given.hours] * len(seeds), [readers] * len(seeds)))
            for readers in (given.readers, 0)
        )
    gain = 100.0 * (np.array([each[1] for each in some]) / np.array([each[1] for each in none]) - 1.0)
    print(f"{given.worlds} worlds of 40 feeds, {given.hours} h, {given.readers} readers")
    print(f"rank correlation of interest   {shown(np.array([each[0] for each in some]), 2)}")
    print(f"% more captured than ignoring  {shown(gain, 1)}")
    print(f"requests of programs per hour  {some[0][2] / given.hours:.0f}")


if __name__ == "__main__":
    main()
