"""What a fetch costs: recrawl beside Scrapy, the same small feeds from one synthetic web in one run.

recrawl runs its full loop (decide, politeness, robots.txt, fetch, read, learn, store) as `recrawl run --once` on a
fresh store with a budget that does not bind; Scrapy fetches with robots.txt, reads with feedparser and stores items
and a crawl log in SQLite (`benchmarks.scrapy_feeds`). Each is a process of its own, the web a third. Processor
seconds are those of the crawling process and its children from start to end, imports included; filling recrawl's
catalogue happens once in its life and is shown apart. A run counts only if every feed was fetched and both stored the
same items.

Run: python -m benchmarks.crawl [--feeds N] [--rounds N] [--hosts N] [--only recrawl|scrapy]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from recrawl.synthweb.process import Served, running

RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]
ENTRIES = 20
XML_SHARE = 0.8
"""Of the synthetic feeds; the others are JSON Feeds, which feedparser does not read."""
SETTINGS = """
store = "recrawl.db"
budget = "1000000/s"
[fetch]
allow_private = true
parallel = 64
[politeness]
delay = "0s"
parallel_per_host = 2
"""


class Cost(NamedTuple):
    """Of one run: requests as the web counted them, items stored, seconds by the clock and of the processor."""

    requests: int
    items: int
    wall_s: float
    cpu_s: float

    @property
    def per_cpu_s(self) -> float:
        """Requests per processor second."""
        return self.requests / self.cpu_s


def timed(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run to the end; seconds by the clock, and processor seconds of it and all its children."""
    began = time.perf_counter()
    with open(folder / "output", "wb") as output:
        child = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=_environment())
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command[-3:])} failed:\n{(folder / 'output').read_text(errors='replace')[-2000:]}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def _environment() -> dict[str, str]:
    """Ours, with this repository importable and no settings of the user's."""
    root = str(Path(__file__).resolve().parents[1])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    return kept | {"PYTHONPATH": root}


def scrapy(web: Served, urls: list[str], folder: Path) -> Cost:
    """One run of Scrapy."""
    (folder / "urls.txt").write_text("\n".join(urls))
    began = time.time()
    wall_s, cpu_s = timed([sys.executable, "-m", "benchmarks.scrapy_feeds", "urls.txt", "scrapy.db"], folder)
    return Cost(requests(web, began, urls), items(folder / "scrapy.db"), wall_s, cpu_s)


def recrawl(web: Served, urls: list[str], folder: Path) -> Cost:
    """One run of recrawl."""
    (folder / "urls.txt").write_text("\n".join(urls))
    (folder / "recrawl.toml").write_text(SETTINGS)
    _, filling_s = timed([*RECRAWL, "import", "urls.txt"], folder)
    print(f"  catalogue of {len(urls):,} feeds filled, once: {filling_s:.1f} CPU s")
    began = time.time()
    wall_s, cpu_s = timed([*RECRAWL, "run", "--once", "--json"], folder)
    return Cost(requests(web, began, urls), items(folder / "recrawl.db"), wall_s, cpu_s)


def requests(web: Served, since: float, urls: list[str]) -> int:
    """How many the web saw, after making sure that each feed was fetched, once."""
    log = web.log(since)
    fetched = [f"http://{each.host}{each.path}" for each in log if each.status == 200 and each.source is not None]
    if sorted(fetched) != sorted(urls):
        sys.exit(f"{len(urls):,} feeds, but {len(fetched):,} fetches of {len(set(fetched)):,} of them")
    return len(log)


def items(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM items").fetchone()[0])


CONTENDERS = {"recrawl": recrawl, "scrapy": scrapy}


def measured(name: str, web: Served, urls: list[str]) -> Cost:
    """One run in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="recrawl-bench-"))
    try:
        cost = CONTENDERS[name](web, urls, folder)
    finally:
        shutil.rmtree(folder)
    print(
        f"  {name}: {cost.wall_s:.1f} s, {cost.cpu_s:.1f} CPU s, {cost.per_cpu_s:,.0f} requests per CPU s", flush=True
    )
    return cost


def table(costs: dict[str, Cost]) -> str:
    """The best run of each, side by side."""
    rows = [
        ("requests", [f"{cost.requests:,}" for cost in costs.values()]),
        ("items stored", [f"{cost.items:,}" for cost in costs.values()]),
        ("wall s", [f"{cost.wall_s:,.1f}" for cost in costs.values()]),
        ("CPU s", [f"{cost.cpu_s:,.1f}" for cost in costs.values()]),
        ("requests per wall s", [f"{cost.requests / cost.wall_s:,.0f}" for cost in costs.values()]),
        ("requests per CPU s", [f"{cost.per_cpu_s:,.0f}" for cost in costs.values()]),
    ]
    lines = [f"{'':<24}" + "".join(f"{name:>12}" for name in costs)]
    lines += [f"{title:<24}" + "".join(f"{figure:>12}" for figure in figures) for title, figures in rows]
    if len(costs) == 2:
        lines.append(f"{'ratio':<24}{costs['recrawl'].per_cpu_s / costs['scrapy'].per_cpu_s:>11.1f}×")
    return "\n".join(lines)


def contenders(only: str | None) -> list[str]:
    """Who runs; Scrapy where it is installed."""
    names = [only] if only else list(CONTENDERS)
    if "scrapy" in names and importlib.util.find_spec("scrapy") is None:
        print("Scrapy is not installed, so there is nothing to compare with: pip install 'recrawl[scrapy]'")
        names.remove("scrapy")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--feeds", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=list(CONTENDERS))
    options = parser.parse_args()
    names = contenders(options.only)
    made = int(options.feeds / XML_SHARE * 1.02) + 50
    world = ("--sources", made, "--hosts", options.hosts, "--speed", 1, "--law", "steady", "--rate", 0.01)
    best: dict[str, Cost] = {}
    with running(*world, "--rate-spread", 0, "--window", ENTRIES) as web:
        urls = [url for url in web.urls() if url.endswith(".xml")][: options.feeds]
        print(f"{len(urls):,} feeds of {ENTRIES} entries on {options.hosts} hosts")
        for _ in range(options.rounds):
            costs = {name: measured(name, web, urls) for name in names}
            if len({cost.items for cost in costs.values()}) > 1:
                sys.exit(f"different items were stored: { {name: cost.items for name, cost in costs.items()} }")
            for name, cost in costs.items():
                best[name] = min(cost, best.get(name, cost), key=lambda each: each.cpu_s)
    print(table(best))


if __name__ == "__main__":
    main()
