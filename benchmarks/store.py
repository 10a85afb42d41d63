"""The embedded store, side by side with the plain way (one transaction and one statement at a time), in one run.

    python -m benchmarks.store [--sources 1e5] [--items 1e6] [--updates 20000] [--store postgresql://…]

Updates carry three new items of about 12 + 40 words each, a belief of 400 bytes and a listing of 30 items. Search
and lists are timed on a store of a million items over a vocabulary with Zipf's law, so that the most frequent words
occur in most items.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Crawl, Event, Item, Progress, Source, VisitUpdate, packed
from recrawl.store.roles import Store

RNG = np.random.default_rng(1)
WORDS = np.array([f"word{k}" for k in range(50_000)])
START = 1.7e9


def words(count: int, texts: int) -> list[str]:
    """Texts of `count` words by Zipf's law."""
    places = np.minimum(RNG.zipf(1.3, (texts, count)) - 1, len(WORDS) - 1)
    return [" ".join(row) for row in WORDS[places]]


def updates(count: int, sources: int, first_key: int, titles: list[str], summaries: list[str]) -> list[VisitUpdate]:
    """Made beforehand, so that only the store is timed."""
    made = []
    for k, source in enumerate(RNG.integers(1, sources + 1, count).tolist()):
        now = START + (first_key + k) * 0.01
        items = [
            Item(
                source=source,
                key=first_key + 3 * k + n,
                title=titles[(3 * k + n) % len(titles)],
                summary=summaries[(3 * k + n) % len(summaries)],
                link=f"https://site{source}.example/item/{3 * k + n}",
                published=now - 100.0 * n,
                first_seen=now,
            )
            for n in range(3)
        ]
        progress = Progress(source=source, last=now, visits=3, value=0.1, rate=1e-4, due=now + 500, belief=bytes(400))
        progress.listing = packed(range(k, k + 30))
        events = [Event(at=now, body=b'{"type": "item", "title": "' + item.title.encode() + b'"}') for item in items]
        crawl = Crawl(source=source, at=now, outcome="new", new=3, elapsed_s=0.1, size=20_000)
        made.append(VisitUpdate(crawl=crawl, progress=progress, items=items, events=events))
    return made


def catalogue(store: Store, count: int) -> float:
    """A catalogue with tags; how long taking it in was."""
    made = [
        Source(
            url=f"https://site{k}.example/feed.xml", title=f"Site {k}", tags=("all", f"t{k % 1000}"), added=START + k
        )
        for k in range(count)
    ]
    started = time.perf_counter()
    store.add(made)
    return time.perf_counter() - started


def batches(made: list[VisitUpdate], size: int) -> Iterator[Batch]:
    for start in range(0, len(made), size):
        yield Batch(updates=made[start : start + size])


def commit_all(store: Store, made: list[VisitUpdate], size: int) -> float:
    """Updates per second; those per second of processor time are printed, for a machine that is not idle."""
    started, worked = time.perf_counter(), time.process_time()
    for batch in batches(made, size):
        store.commit(batch)
    took, work = time.perf_counter() - started, time.process_time() - worked
    print(f"    {len(made):,} updates, {size} at a time: {len(made) / work:,.0f} per CPU-second", flush=True)
    return len(made) / took


def plain(path: Path, made: list[VisitUpdate]) -> float:
    """The usual first version: same rows, default journal, a transaction per crawl, no search; per second."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE progress (source INTEGER PRIMARY KEY, last, due, value, rate, listing, belief)")
    connection.execute("CREATE TABLE crawls (id INTEGER PRIMARY KEY, source, at, outcome, size)")
    connection.execute(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, source, key, title, summary, link, UNIQUE (source, key))"
    )
    connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, at, body)")
    started = time.perf_counter()
    for each in made:
        p, c = each.progress, each.crawl
        row = (p.source, p.last, p.due, p.value, p.rate, p.listing, p.belief)
        connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO crawls VALUES (NULL, ?, ?, ?, ?)", (c.source, c.at, c.outcome, c.size))
        for i in each.items:
            row = (i.source, i.key, i.title, i.summary, i.link)
            connection.execute("INSERT OR IGNORE INTO items VALUES (NULL, ?, ?, ?, ?, ?)", row)
        for e in each.events:
            connection.execute("INSERT INTO events VALUES (NULL, ?, ?)", (e.at, e.body))
        connection.commit()
    rate = len(made) / (time.perf_counter() - started)
    connection.close()
    return rate


def quantiles(name: str, calls: list[Callable[[], object]]) -> None:
    seconds = []
    for call in calls:
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    p50, p95, most = np.quantile(seconds, [0.5, 0.95, 1.0]) * 1e3
    print(f"{name:<46}{p50:>10.2f}{p95:>10.2f}{most:>10.2f}", flush=True)


def starts(address: str) -> None:
    started = time.perf_counter()
    with open_store(address) as store:
        sources = store.sources()
        read = time.perf_counter() - started
        held = sum(1 for _ in store.progress())
        took = time.perf_counter() - started
        print(f"start: {len(sources):,} sources {read:.2f} s, with progress {took:.2f} s ({held:,})")


def lists(store: Store, sources: int) -> None:
    print(f"{'ms':<46}{'p50':>10}{'p95':>10}{'max':>10}")
    some = RNG.integers(1, sources + 1, 50).tolist()
    for order in ("id", "url", "title", "importance", "added", "last", "due", "-value", "-failures"):
        quantiles(f"sources, order {order}, 100", [lambda o=order: store.sources(order=o, limit=100)] * 20)
    quantiles("sources, order due, active, 100", [lambda: store.sources(order="due", state="active", limit=100)] * 20)
    quantiles("sources by tag (1 in 1000)", [lambda: store.sources(tag="t5", order="-value", limit=100)] * 20)
    quantiles("sources with text", [lambda: store.sources(text="site 999", limit=100)] * 5)
    quantiles("count, active", [lambda: store.count(state="active")] * 5)
    for order in ("found", "newest"):
        quantiles(f"items, {order}", [lambda o=order: store.items(order=o)] * 20)
    quantiles("items of a source", [lambda s=s: store.items(source=s) for s in some])
    quantiles("items by tag (1 in 1000)", [lambda: store.items(tag="t5")] * 5)
    quantiles("items by tag (all)", [lambda: store.items(tag="all")] * 5)
    quantiles("items by tag (1 in 1000), newest", [lambda: store.items(tag="t5", order="newest")] * 5)
    quantiles("unseen, 50 000 keys", [lambda: store.unseen([(1, range(50_000))])] * 5)


def searches(store: Store, sources: int) -> None:
    ranks = [0, 1, 2, 5, 10, 50, 100, 500, 1000, 5000, 20_000]
    pairs = [(0, 1), (3, 400), (100, 2000), (10_000, 20_000)]
    texts = [str(WORDS[r]) for r in ranks] + [f"{WORDS[a]} {WORDS[b]}" for a, b in pairs] + ["word123*"]
    for order in ("found", "relevance"):
        quantiles(f"search, {order}", [lambda t=t, o=order: store.items(text=t, order=o) for t in texts * 5])
    s = RNG.integers(1, sources + 1, 10).tolist()
    quantiles("search in a source", [lambda t=t, k=k: store.items(text=t, source=k) for t in texts for k in s])
    quantiles("search in a tag", [lambda t=t: store.items(text=t, tag="t5") for t in texts])
    until = START + 1e3
    quantiles("search, before long ago", [lambda t=t: store.items(text=t, until=until) for t in texts])
    late = START + 1e9
    quantiles("search, since the future", [lambda t=t: store.items(text=t, since=late) for t in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--sources", 10**5), ("--items", 10**6), ("--updates", 20_000)):
        parser.add_argument(name, type=lambda text: int(float(text)), default=default)
    parser.add_argument("--store", metavar="URL", help="an empty store in PostgreSQL, instead of a file")
    given = parser.parse_args()
    titles, summaries = words(12, 20_000), words(40, 20_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recrawl.db")
        address = given.store or str(path)
        store = open_store(address)
        print(f"add: {given.sources:,} sources in {catalogue(store, given.sources):.2f} s", flush=True)
        made = updates(given.updates, given.sources, 0, titles, summaries)
        ours = commit_all(store, made, 100)
        other = plain(Path(folder, "plain.db"), made[:2000])
        print("updates per second, 3 items each:")
        print(f"  batches of 100 {ours:,.0f}; plain {other:,.0f}; ratio {ours / other:.1f}")
        few = [VisitUpdate(crawl=s.crawl, progress=s.progress) for s in made]
        print(f"updates per second, nothing new: batches of 100 {commit_all(store, few, 100):,.0f}", flush=True)
        key, rate = 10**7, 0.0
        while store.items(limit=1)[0].id < given.items:
            made = updates(20_000, given.sources, key, titles, summaries)
            rate = commit_all(store, made, 100)
            key += 10**6
        print(f"updates per second, at {store.items(limit=1)[0].id:,} items: {rate:,.0f}")
        if path.exists():
            print(f"file: {path.stat().st_size / 2**20:,.0f} MiB", flush=True)
        store.close()
        starts(address)
        with open_store(address) as store:
            lists(store, given.sources)
            searches(store, given.sources)
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:,.0f} MiB, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
