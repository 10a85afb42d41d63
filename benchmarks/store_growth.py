"""The embedded store at three sizes: what a commit costs, searches, and what retention and vacuum do to a writer.

    python -m benchmarks.store_growth [--sizes 1e5,1e6,1e7] [--before OLD_TREE] [--folder /tmp] [--quick]
    python -m benchmarks.store_growth --store postgresql://…

Each store has so many items of 24 words (Zipf's law), as many crawls, and a source per ten items. It is filled by SQL,
in a few minutes for 10⁷ items, and deleted at the end. A commit is 1,000 observations of the sources that are due
first: 700 unchanged, 200 with one to four new items, 50 changed pages with their versions, 50 failures. With `--before`
the stores are made by the code of an older tree (`git worktree add /tmp/old COMMIT`), copied, and measured with one
after the other, so that the time to bring a store up to date is seen too. Every measurement is a process of its own.

With `--store` only the same commits are measured, on an empty store in PostgreSQL and beside it on one in a file, both
with 10⁴ sources.

Times are of the wall; `CPU` is the processor time of the committing thread, for a machine that is not idle.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.timing import grown

from recrawl.store.opening import open_store
from recrawl.store.records import (
    Batch,
    Crawl,
    Event,
    Item,
    Keep,
    Outcome,
    Progress,
    Source,
    Version,
    VisitUpdate,
    packed,
)
from recrawl.store.roles import Store
from recrawl.store.sqlite import SqliteStore

HERE = Path(__file__).resolve().parent.parent
WORDS = np.array([f"word{k}" for k in range(50_000)])
START, SPACING_S = 1.7e9, 0.25
PER_SOURCE, OBSERVATIONS = 10, 1000
TEXTS = 20_000
DROPPED = 100_000
"""Items that retention drops, at most a tenth of the store."""


# -- a store of any size


def texts(count: int, words: int, seed: int) -> list[str]:
    places = np.minimum(np.random.default_rng(seed).zipf(1.3, (count, words)) - 1, len(WORDS) - 1)
    return [" ".join(row) for row in WORDS[places]]


def build(path: Path, items: int) -> float:
    """By SQL, with the indexes made at the end, as a commit after the other would take hours."""
    begun, sources = time.perf_counter(), max(items // PER_SOURCE, OBSERVATIONS)
    with SqliteStore(path) as store:
        store.add([Source(url=f"https://site{k}.example/feed.xml", title=f"Site {k}") for k in range(OBSERVATIONS)])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1000000")
        fill(connection, sources, items)
        connection.execute("PRAGMA journal_mode = WAL")
    return time.perf_counter() - begun


def fill(connection: sqlite3.Connection, sources: int, items: int) -> None:
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL "
        "AND tbl_name IN ('items', 'crawls', 'progress')"
    ).fetchall()
    connection.execute("BEGIN")
    more_sources(connection, sources)
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    connection.execute("CREATE TEMP TABLE texts (id INTEGER PRIMARY KEY, title, summary)")
    pairs = zip(texts(TEXTS, 8, 1), texts(TEXTS, 16, 2), strict=True)
    connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", [(k, *pair) for k, pair in enumerate(pairs)])
    connection.create_function("due", 1, lambda k: START + 1e7 + k * 7919 % 1e6, deterministic=True)
    connection.execute(
        "UPDATE progress SET last = ?1 - source % 100000, visits = 5, value = abs(random()) / 1e19, value_sd = 0.1, "
        "rate = 1e-4, rate_sd = 1e-5, due = due(source), etag = '\"0123456789abcdef\"', "
        "modified = 'Thu, 19 Nov 2026 04:09:21 GMT', listing = randomblob(240), belief = randomblob(300)",
        (START + items * SPACING_S,),
    )
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
    connection.execute(
        "INSERT INTO crawls (source, at, outcome, status, requests, size, elapsed_s, new, censored, captured, "
        f'"index", price, error, value, value_sd, rate, rate_sd) {numbers} '
        "SELECT 1 + abs(random()) % ?2, ?3 + i * ?4, 'unchanged', 304, 1, 200, 0.1, 0, 0, 0.0, 1.0, 1.0, '', "
        "1.0, 1.0, 1.0, 1.0 FROM n",
        (items, sources, START, SPACING_S),
    )
    connection.execute(
        f"INSERT INTO items (source, key, title, link, summary, published, first_seen) {numbers} "
        "SELECT 1 + abs(random()) % ?2, i, title, 'https://site.example/item/' || i, summary, "
        f"?3 + i * ?4 - 600, ?3 + i * ?4 FROM n CROSS JOIN texts ON texts.id = abs(random()) % {TEXTS}",
        (items, sources, START, SPACING_S),
    )
    for _, statement in indexes:
        connection.execute(statement)
    connection.execute("INSERT INTO items_text (items_text, rank) VALUES ('hashsize', 20000000)")
    connection.execute("INSERT INTO items_text (items_text) VALUES ('rebuild')")
    # A rebuild leaves large segments beside each other, as commits never do, and the next would have to merge them.
    connection.execute("INSERT INTO items_text (items_text) VALUES ('optimize')")
    connection.execute("INSERT INTO items_text (items_text, rank) VALUES ('hashsize', 1048576)")
    connection.execute("COMMIT")


def more_sources(connection: sqlite3.Connection, count: int) -> None:
    """Like the first one, but for their URLs; nobody looks for their letters here."""
    (enter,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'sources_enter_search'").fetchone()
    connection.execute("DROP TRIGGER sources_enter_search")
    names = [row[1] for row in connection.execute("PRAGMA table_info(sources)")]
    given = {"id": "i", "url": "'https://site' || i || '.example/feed.xml'", "title": "'Site ' || i"}
    listed = ", ".join(f'"{name}"' for name in names)
    chosen = ", ".join(given.get(name, f'sources."{name}"') for name in names)
    connection.execute(
        f"WITH RECURSIVE n (i) AS (SELECT {OBSERVATIONS + 1} UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        f"INSERT OR IGNORE INTO sources ({listed}) SELECT {chosen} FROM n CROSS JOIN sources ON sources.id = 1",
        (count,),
    )
    connection.execute("INSERT OR IGNORE INTO progress (source) SELECT id FROM sources")
    connection.execute(enter)


def observations(draw: np.random.Generator, sources: list[int], at: float, some: list[str]) -> list[VisitUpdate]:
    """What a thousand visits led to."""
    return [observation(draw, k, source, at + k * 1e-3, some) for k, source in enumerate(sources)]


def observation(draw: np.random.Generator, k: int, source: int, at: float, some: list[str]) -> VisitUpdate:
    share = k % 20
    outcome: Outcome = "unchanged" if share < 14 else "new" if share < 18 else "changed" if share < 19 else "failed"
    found = int(draw.integers(1, 5)) if outcome == "new" else int(outcome == "changed")
    titles = draw.choice(some, 2 * found).tolist()
    items = [
        Item(
            source=source,
            key=int(draw.integers(2**40, 2**62)),
            title=titles[2 * n][:60],
            summary=titles[2 * n + 1],
            link=f"https://site{source}.example/{at}/{n}",
            published=at - 600.0,
            first_seen=at,
            kind="change" if outcome == "changed" else "item",
        )
        for n in range(found)
    ]
    progress = Progress(
        source=source,
        last=at,
        visits=6,
        failures=int(outcome == "failed"),
        etag='"0123456789abcdef"',
        modified="Thu, 19 Nov 2026 04:09:21 GMT",
        listing=packed(draw.integers(-(2**62), 2**62, 30).tolist()),
        value=float(draw.random()),
        value_sd=0.1,
        rate=1e-4,
        rate_sd=1e-5,
        due=START + 1e7 + float(draw.random()) * 2e6,
        belief=draw.bytes(300),
    )
    crawl = Crawl(source=source, at=at, outcome=outcome, status=304, new=found, index=1.0, price=1.0)
    version = None
    if outcome == "changed":
        version = Version(source=source, at=at, digest="d" * 32, text=" ".join(some[:25]), diff="+" + some[0])
    events = [Event(at=at, body=b'{"title": "' + each.title.encode() + b'"}') for each in items]
    return VisitUpdate(crawl=crawl, progress=progress, items=items, version=version, events=events)


def prepared(store: Store, batches: int, size: int = OBSERVATIONS) -> list[Batch]:
    """Commits of the sources that are due first, made beforehand."""
    draw, some = np.random.default_rng(7), texts(2000, 24, 3)
    count = store.count()
    due = [each.id for each in store.sources(order="due", limit=min(batches * size, count))]
    at, made = max((each.first_seen for each in store.items(limit=1)), default=START) + 1.0, []
    for k in range(batches):
        ids = [due[(k * size + n) % len(due)] for n in range(size)]
        made.append(Batch(updates=observations(draw, ids, at + k, some)))
    return made


# -- measurements, each in a process of its own


def measure_commits(path: Path, quick: bool) -> dict[str, Any]:
    begun = time.perf_counter()
    store = SqliteStore(path)
    opened = time.perf_counter() - begun
    made = prepared(store, 10 if quick else 30)
    wall, work, pages = [], [], []
    log = Path(f"{path}-wal")
    with store:
        for batch in made:
            before = log.stat().st_size if log.exists() else 0
            started, worked = time.perf_counter(), time.thread_time()
            store.commit(batch)
            work.append(time.thread_time() - worked)
            wall.append(time.perf_counter() - started)
            grown = log.stat().st_size - before
            pages += [grown // 4120] if grown > 0 else []
    return {"opened": opened, "wall": wall[3:], "cpu": work[3:], "pages": pages}


def measure_searches(path: Path, quick: bool) -> dict[str, list[float]]:
    kinds = {
        "common word": [f"word{k}" for k in range(8)],
        "rare word": [f"word{k}" for k in range(20_000, 20_040, 5)],
        "two common": [f"word{k} word{k + 3}" for k in range(8)],
        "common and rare": [f"word{k} word{20_000 + 11 * k}" for k in range(8)],
        "two of middling": [f"word{150 + k} word{300 + 7 * k}" for k in range(8)],
    }
    took: dict[str, list[float]] = {}
    with SqliteStore(path) as store:
        for kind, asked in kinds.items():
            for text in asked * (2 if quick else 6):
                begun = time.perf_counter()
                store.items(text=text, limit=50)
                took.setdefault(kind, []).append(time.perf_counter() - begun)
    return took


def measure_retention(path: Path, quick: bool, elsewhere: bool) -> dict[str, Any]:
    """Commits of 100 observations every twentieth of a second, without and with a vacuum beside them."""
    with SqliteStore(path) as store:
        many = prepared(store, 400, 100)
        oldest = store._fetch("SELECT min(first_seen), max(first_seen), count(*) FROM items")[0]
        dropped = min(DROPPED // (10 if quick else 1), oldest[2] // 10)
        latest = many[0].updates[0].crawl.at
        keep = Keep(items=latest - oldest[0] - dropped * SPACING_S, crawls=math.inf, prices=math.inf, versions=5)
        beside: list[float] = []
        size = path.stat().st_size
        alone = [_committed(store, batch) for batch in many[:50]]
        if elsewhere:
            done = _in_another_process(path, keep, latest)
        else:
            thread = threading.Thread(target=lambda: store.vacuum(keep, latest))
            thread.start()
            done = thread.is_alive
        begun, place = time.perf_counter(), 50
        running = (lambda: done.poll() is None) if elsewhere else done
        while running():
            beside.append(_committed(store, many[place % len(many)]))
            place += 1
        took = time.perf_counter() - begun
        kept = store._fetch("SELECT min(first_seen) FROM items")[0][0]
        assert kept >= latest - keep.items, "retention has not dropped what it should"
    return {
        "alone": alone,
        "beside": beside,
        "took": took,
        "dropped": dropped,
        "before": size,
        "after": path.stat().st_size,
    }


def _committed(store: SqliteStore, batch: Batch) -> float:
    begun = time.perf_counter()
    store.commit(batch)
    took = time.perf_counter() - begun
    time.sleep(max(0.05 - took, 0.0))
    return took


def _in_another_process(path: Path, keep: Keep, now: float) -> subprocess.Popen[bytes]:
    script = (
        "import sys; from recrawl.store.records import Keep; from recrawl.store.sqlite import SqliteStore\n"
        "from math import inf\n"
        f"with SqliteStore({str(path)!r}, timeout_s=60.0) as store: store.vacuum({keep!r}, {now!r})"
    )
    return subprocess.Popen([sys.executable, "-c", script])


def empty_stores(address: str) -> None:
    """The same commits on both kinds of store."""
    with tempfile.TemporaryDirectory() as folder:
        for place in (address, str(Path(folder, "recrawl.db"))):
            with open_store(place) as store:
                store.add([Source(url=f"https://site{k}.example/feed.xml") for k in range(10_000)])
                wall = []
                for batch in prepared(store, 30):
                    begun = time.perf_counter()
                    store.commit(batch)
                    wall.append(time.perf_counter() - begun)
                print(f"{type(store).__name__:>14}: commit of {OBSERVATIONS:,}  {ms(wall[3:])}", flush=True)


# -- all of it


def called(tree: Path, what: str, path: Path, *more: str) -> Any:
    """One measurement by the code of a tree."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{HERE}"}
    command = [sys.executable, "-m", "benchmarks.store_growth", "--measure", what, "--path", str(path), *more]
    ended = subprocess.run(command, env=environment, cwd=HERE, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{what} with {tree}: {ended.stderr[-2000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def ms(seconds: list[float]) -> str:
    p50, p95, most = np.quantile(seconds, [0.5, 0.95, 1.0]) * 1e3
    return f"p50 {p50:8.1f}  p95 {p95:8.1f}  max {most:8.1f} ms"


def removed(path: Path) -> None:
    for end in ("", "-wal", "-shm", ".lock"):
        Path(f"{path}{end}").unlink(missing_ok=True)


Figures = dict[str, list[float]]
"""What was measured of one tree, by name, a figure per size."""


def one_size(trees: dict[str, Path], size: int, folder: Path, quick: bool, found: dict[str, Figures]) -> None:
    base, more = folder / "base.db", ["--quick"] if quick else []
    first = next(iter(trees.values()))
    built = called(first, "build", base, "--items", str(size))
    print(f"\n{size:,} items, {max(size // PER_SOURCE, OBSERVATIONS):,} sources, {size:,} crawls: "
          f"{base.stat().st_size / 2**20:,.0f} MiB, made in {built:.0f} s", flush=True)  # fmt: skip
    for name, tree in trees.items():
        path = folder / f"{name}.db"
        shutil.copyfile(base, path) if len(trees) > 1 else base.rename(path)
        commits = called(tree, "commits", path, *more)
        mine = found.setdefault(name, {})

        def note(figure: str, value: float, mine: Figures = mine) -> None:
            mine.setdefault(figure, []).append(value)

        note("store, MB", path.stat().st_size / 1e6)
        note("a commit: CPU ms", 1e3 * float(np.median(commits["cpu"])))
        note("by the clock: p95 ms", 1e3 * float(np.quantile(commits["wall"], 0.95)))
        print(f"  {name:>6}: opened in {commits['opened']:.1f} s")
        print(
            f"  {name:>6}: commit of {OBSERVATIONS:,}     {ms(commits['wall'])}   CPU {ms(commits['cpu'])}", flush=True
        )
        for kind, took in called(tree, "searches", path, *more).items():
            print(f"  {name:>6}: search, {kind:<16} {ms(took)}", flush=True)
            note(f"{kind}: p95 ms", 1e3 * float(np.quantile(took, 0.95)))
        for where in ("here", "elsewhere"):
            told = called(tree, where, path, *more)
            print(f"  {name:>6}: commit of 100, alone      {ms(told['alone'])}")
            print(f"  {name:>6}: beside a vacuum {where:<10}{ms(told['beside'] or [math.nan])}   "
                  f"{told['dropped']:,} items dropped in {told['took']:.1f} s", flush=True)  # fmt: skip
            note(f"commit of 100 beside a vacuum {where}: longest ms", 1e3 * max(told["beside"] or [math.nan]))
        removed(path)
    removed(base)


LASTS = "About twelve minutes on an idle machine of two cores; 20 GB of disk for 10⁷ items."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=LASTS
    )
    parser.add_argument("--sizes", help="1e5,1e6,1e7 unless told")
    parser.add_argument("--before", type=Path, metavar="OLD_TREE")
    parser.add_argument("--folder", type=Path, help="with 20 GB of room for 10⁷ items")
    parser.add_argument("--store", metavar="URL", help="an empty store in PostgreSQL")
    parser.add_argument("--quick", action="store_true", help="10⁴, 10⁵ and 10⁶ items, fewer rounds")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--items", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        work = {
            "build": lambda: build(given.path, given.items),
            "commits": lambda: measure_commits(given.path, given.quick),
            "searches": lambda: measure_searches(given.path, given.quick),
            "here": lambda: measure_retention(given.path, given.quick, elsewhere=False),
            "elsewhere": lambda: measure_retention(given.path, given.quick, elsewhere=True),
        }
        print(json.dumps(work[given.measure]()))
        return
    if given.store:
        empty_stores(given.store)
        return
    usual = "1e4,1e5,1e6" if given.quick else "1e5,1e6,1e7"
    sizes = [int(float(each)) for each in (given.sizes or usual).split(",")]
    trees = ({"before": given.before.resolve()} if given.before else {}) | {"now": HERE}
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for size in sizes:
            one_size(trees, size, Path(folder), given.quick, found)
    for name, figures in found.items():
        print(f"\n{name}\n\n{grown('items', sizes, figures)}")


if __name__ == "__main__":
    main()
