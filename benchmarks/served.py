"""A store served by one process while another writes to it: what the benchmarks of pages and of readers share."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recrawl.crawl.reading import content
from recrawl.store.records import Batch, Content, Crawl, Item, Price, Progress, Source, Version, VisitUpdate, packed
from recrawl.store.sqlite import SqliteStore

RNG = np.random.default_rng(1)
WORDS = np.array([f"word{k}" for k in range(50_000)])
MONTH_S = 30 * 86400.0
TAGS = 40
PAGES = 10
"""One source in so many is a page."""
CHUNK = 5000


def texts(count: int, words: int) -> list[str]:
    """Texts over a vocabulary by Zipf's law."""
    places = np.minimum(RNG.zipf(1.3, (count, words)) - 1, len(WORDS) - 1)
    return [" ".join(row) for row in WORDS[places]]


class Said(NamedTuple):
    """What items say, in turn; where they say it in full, there are feeds alone and no pages."""

    titles: list[str]
    summaries: list[str]
    contents: list[Content]

    @classmethod
    def made(cls, count: int, full: bool = False) -> Said:
        """So many; in full it is two to four thousand characters of HTML."""
        wholes = texts(count // 20, 450) if full else []
        return cls(
            texts(count, 9), texts(count, 40), [Content(f"Ann {k}", _html(whole)) for k, whole in enumerate(wholes)]
        )


def _html(text: str) -> bytes:
    words = text.split()
    words = words[: int(RNG.integers(280, len(words)))]
    parts = [" ".join(words[k : k + 60]) for k in range(0, len(words), 60)]
    link, picture = '<a href="https://example.org/{0}">{0}</a>', '<img src="https://example.org/{0}.jpg" alt="{0}">'
    parts[0] = link.format(words[0]) + " " + parts[0] + picture.format(words[1])
    return content.packed("".join(f"<p>{part}</p>" for part in parts))


def update(source: int, at: float, keys: range, said: Said) -> VisitUpdate:
    """A crawl that found some items; of a page, a change."""
    titles, summaries, contents = said
    page = source % PAGES == 0 and not contents
    items = [
        Item(
            source=source,
            key=key,
            title=titles[key % len(titles)],
            link=f"https://site{source}.example/item/{key}",
            summary=summaries[key % len(summaries)],
            published=at - 60.0 * n,
            first_seen=at,
            kind="change" if page else "item",
        )
        for n, key in enumerate(keys[:1] if page else keys)
    ]
    diff = f"@@ -1,1 +1,1 @@\n-{titles[0]}\n+{items[0].summary}"
    version = Version(source=source, at=at, digest=str(at), text=diff, diff=diff) if page else None
    value = float(RNG.lognormal(0.0, 1.5))
    rate = float(np.log(2) / RNG.uniform(6 * 3600, 24 * 3600))
    believed = {"value": value, "value_sd": 0.3 * value, "rate": rate, "rate_sd": 0.1 * rate}
    crawl = Crawl(
        source=source,
        at=at,
        outcome="new" if items else "unchanged",
        status=200,
        new=len(items),
        elapsed_s=0.1,
        captured=0.5 * len(items),
        index=1.0,
        price=1.0,
        **believed,
    )
    due = at + float(RNG.exponential(40_000.0))
    progress = Progress(
        source=source, last=at, visits=3, due=due, belief=bytes(400), listing=packed(range(30)), **believed
    )
    full = {item.key: contents[item.key % len(contents)] for item in items} if contents else {}
    return VisitUpdate(crawl=crawl, progress=progress, items=items, version=version, contents=full)


def build(path: Path, sources: int, items: int, at_once: int | None = None, full: bool = False) -> None:
    """The store: every source crawled, the items spread over a month.

    Parameters
        at_once: found by one crawl; all of a source unless given
        full: feeds alone, whose items say all they say
    """
    now = time.time()
    said = Said.made(20_000, full)
    with SqliteStore(path) as store:
        store.add(
            [
                Source(
                    url=f"https://site{k}.example/feed.xml",
                    title=f"Site {WORDS[k % len(WORDS)]} {k}",
                    kind="feed" if full or (k + 1) % PAGES else "page",
                    importance=float(1 + k % 3),
                    tags=(f"tag{k % TAGS}",),
                    added=now - MONTH_S,
                )
                for k in range(sources)
            ]
        )
        per = at_once or max(1, items // sources)
        count = items // per
        order = RNG.permutation(count)
        for start in range(0, count, CHUNK):
            part = []
            for k in range(start, min(start + CHUNK, count)):
                at = now - MONTH_S * (1 - k / count)
                keys = range(k * per, k * per + per)
                part.append(update(int(order[k]) % sources + 1, at, keys, said))
            store.commit(Batch(updates=part))
        for k in range(8640):
            at = now - 86400 + 10 * k
            store.commit(Batch(price=Price(at=at, price=1.0, budget=200.0, requests=2000, captured=900.0)))


def keep_writing(path: str, per_second: float, sources: int, stop: object, full: bool) -> None:
    """Commit crawls at a steady pace, in small batches, as a crawler does."""
    said = Said.made(2000, full)
    draw, key, begun, done = random.Random(2), 10**12, time.monotonic(), 0
    with SqliteStore(path) as store:
        while not stop.is_set():  # type: ignore[attr-defined]
            due = int((time.monotonic() - begun) * per_second) - done
            if due > 0:
                now = time.time()
                part = []
                for _ in range(min(due, 50)):
                    part.append(update(draw.randint(1, sources), now, range(key, key + 3), said))
                    key += 3
                store.commit(Batch(updates=part))
                done += len(part)
            time.sleep(0.02)
    print(f"meanwhile {done / (time.monotonic() - begun):.0f} crawls/s were committed")


def cpu_ms(process: int) -> float:
    """Processor time of all threads of a process; NaN where the system does not tell."""
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6
    except OSError:
        return float("nan")


def worked_s(process: int) -> float:
    """Processor time of a process, of threads that have ended too; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(path: Path) -> Iterator[tuple[int, int]]:
    """`recrawl serve` over a store: its port and its process."""
    command = [str(Path(sys.executable).with_name("recrawl")), "serve", "--port", "0", "--store", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline().split("//")[1].split("/")[0].rpartition(":")[2]), server.pid
        finally:
            server.terminate()


@contextmanager
def written(path: Path, fetches: float, sources: int, full: bool = False) -> Iterator[None]:
    """So many crawls a second are committed meanwhile, by a process of its own."""
    stop = multiprocessing.Event()
    writer = multiprocessing.Process(target=keep_writing, args=(str(path), fetches, sources, stop, full))
    if fetches:
        writer.start()
    try:
        yield
    finally:
        stop.set()
        if fetches:
            writer.join(20)
