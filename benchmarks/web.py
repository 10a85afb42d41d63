"""Server time of every page over a large store, while a crawl writes to it.

    python -m benchmarks.web [--sizes 1e3 1e4 1e5] [--items 10] [--fetches 200] [--requests 40] [--store FILE]

For each size a store is made (kept if named), then three processes share it:
`recrawl serve`, a writer that commits the given number of crawls per second with three new items each, and this one,
which asks page after page, each time with other words, sources and budgets, and prints the median and the 95th
percentile of the answers' times, and beside them the processor time the server took on average, which does not depend
on what else the machine does (Linux). At the end, how they grow with the number of sources.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np
from benchmarks.served import TAGS, build, cpu_ms, served, written
from benchmarks.timing import exponent, spoken


def paths(sources: int, draw: random.Random) -> dict[str, str]:
    """Every page, with something else to show each time."""
    word, rare = f"word{draw.randint(0, 30)}", f"word{draw.randint(200, 5000)}"
    page, tag, id = draw.randint(1, sources // 50), f"tag{draw.randint(0, TAGS - 1)}", draw.randint(1, sources)
    return {
        "overview": "/",
        "sources": "/sources",
        "sources, far by due": f"/sources?page={page}",
        "sources, far by value": f"/sources?order=-value&page={page}",
        "sources, by title": f"/sources?order=title&page={draw.randint(1, 50)}",
        "sources, text": f"/sources?q=site{id}",
        "sources, tag": f"/sources?tag={tag}&order=-value",
        "a source": f"/sources/{id}",
        "latest, worth": "/items",
        "latest, published": f"/items?order=newest&page={draw.randint(1, 20)}",
        "latest, tag": f"/items?tag={tag}&order=found",
        "latest, changes": f"/items?kind=change&order=found&page={draw.randint(1, 20)}",
        "changes, tag": f"/items?kind=change&tag={tag}&order=found",
        "search, newest first": f"/items?q={word}&order=found",
        "search, relevance": f"/items?q={word}",
        "search, two words": f"/items?q={quote(word + ' ' + rare)}&order=found",
        "search, rare": f"/items?q={rare}",
        "what if": f"/whatif?budget={draw.uniform(20, 2000):.1f}/s",
        "atom": f"/feed.atom?q={rare}",
        "atom, latest": "/feed.atom",
        "API changes": f"/api/v1/changes?page={draw.randint(1, 20)}",
        "API items": f"/api/v1/items?source={id}",
        "API status": "/api/v1/status",
        "metrics": "/metrics",
    }


def measure(port: int, process: int, sources: int, requests: int) -> dict[str, list[tuple[float, float]]]:
    """Time and processor time, in milliseconds, of each kind of page, asked in turn on one connection."""
    draw = random.Random(3)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    times: dict[str, list[tuple[float, float]]] = {}
    for k in range(requests + 1):
        for name, path in paths(sources, draw).items():
            begun, worked = time.perf_counter(), cpu_ms(process)
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, (path, answer.status)
            if k:
                took = 1000 * (time.perf_counter() - begun)
                times.setdefault(name, []).append((took, cpu_ms(process) - worked))
    return times


LASTS = "About five minutes on an idle machine of two cores."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=LASTS
    )
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e3, 1e4, 1e5], help="numbers of sources")
    parser.add_argument("--items", type=float, default=10.0, help="items per source")
    parser.add_argument("--fetches", type=float, default=200.0, help="committed per second meanwhile")
    parser.add_argument("--requests", type=int, default=40, help="of each page")
    parser.add_argument("--store", type=Path, help="where the store of one size is kept, or lies already")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.store and len(given.sizes) > 1:
        parser.error("--store is for one size: give --sizes N too")
    sizes, found = [round(size) for size in given.sizes], dict[str, dict[str, tuple[float, ...]]]()
    for sources in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = given.store or Path(folder) / "web.db"
            if not path.exists():
                begun = time.perf_counter()
                build(path, sources, round(sources * given.items))
                took = time.perf_counter() - begun
                print(f"made a store of {sources:,} sources and {sources * given.items:,.0f} items in {took:.0f} s")
            times = shared(path, sources, given.fetches, given.requests)
        print(f"{'page':<24}{'median':>10}{'p95':>10}{'cpu':>10}   ms")
        for name, pairs in times.items():
            took, worked = np.array(pairs).T
            row = (float(np.median(took)), float(np.percentile(took, 95)), float(worked.mean()))
            found.setdefault(name, {})[str(sources)] = row
            print(f"{name:<24}" + "".join(f"{number:>10.1f}" for number in row), flush=True)
    print(grown_pages(sizes, found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


def grown_pages(sizes: list[int], found: dict[str, dict[str, tuple[float, ...]]], what: str = "page") -> str:
    """A Markdown table: a row per page or call, with p95 and processor time at every size, and their powers."""
    heads = [f"p95 at {size:,}" for size in sizes] + ["power", "CPU at the largest", "power"]
    lines = [f"\n| {what}, ms | {' | '.join(heads)} |", "| --- |" + " ---: |" * len(heads)]
    for name, rows in found.items():
        p95, cpu = ([rows[str(size)][place] for size in sizes] for place in (1, 2))
        figures = [*map(spoken, p95), f"{exponent(sizes, p95):.2f}", spoken(cpu[-1]), f"{exponent(sizes, cpu):.2f}"]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join(lines)


def shared(path: Path, sources: int, fetches: float, requests: int) -> dict[str, list[tuple[float, float]]]:
    """The three processes."""
    with served(path) as (port, process), written(path, fetches, sources):
        return measure(port, process, sources, requests)


if __name__ == "__main__":
    main()
