"""What a fetch costs: recrawl beside Scrapy and beside aiohttp alone, the same small feeds from one web in one run.

recrawl runs its full loop (decide, politeness, robots.txt, fetch, read, learn, store) as `recrawl run --once`, with a
budget that does not bind, on a store that is fresh at first; Scrapy fetches with robots.txt, reads with feedparser and
stores items and a crawl log in SQLite (`benchmarks.scrapy_feeds`); aiohttp fetches and does nothing else. Each is a
process of its own, the web another. What is fetched (`benchmarks.feed_web`):

- *first*: every feed for the first time, its 20 items all new (Scrapy's share)
- *not modified*: everything again: a 304 to each
- *unchanged*: again, from a web that sends the whole document all the same; who has just started reads it once more
- *changed*: again, each with one new item

Processor seconds are those of the crawling process and its children from start to end, imports included; filling
recrawl's catalogue happens once in its life and is shown apart. A run counts only if every feed was fetched once, and
if all stored the same items. Every size is measured alike: "grows with" is the exponent over the sizes, and "each" what
a further request costs, the start left out; ratios are ours to theirs. With `--before`, an older source tree runs
beside this one; what it has to compile is compiled in a small run that does not count, as for this one.

Run: python -m benchmarks.crawl [--feeds N …] [--hosts N] [--schemes http https] [--only NAME …]
     [--before COMMIT-OR-FOLDER] [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.feed_web import Told, told
from benchmarks.timing import exponent, grown

ROOT = Path(__file__).resolve().parents[1]
RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]
COMPILE = (
    "import time; from recrawl.policies.compile_ahead import warm_up; "
    "from recrawl.policies.learned_whittle import LearnedWhittle; warm_up(LearnedWhittle(), time.time())"
)
"""What a longer run would have had compiled in the background."""
ENTRIES = 20
XML_SHARE = 0.8
"""Of the synthetic feeds; the others are JSON Feeds, which feedparser does not read."""
WARM_UP = 200
"""Feeds of the run that does not count."""
SIZES, QUICK_SIZES = (5_000, 10_000, 20_000), (1_000, 2_000, 4_000)
SETTINGS = """
store = "recrawl.db"
budget = "1000000/s"
[fetch]
allow_private = true
parallel = 64
[politeness]
delay = "0s"
min_interval = "0s"
parallel_per_host = 2
"""
STAGES = {
    "first": ("first", "every feed for the first time", ()),
    "not modified": ("again", "304", ()),
    "unchanged": ("again", "200, the same", ("forget",)),
    "changed": ("again", "200, one new item", ("remember", "next")),
}
"""What each is, and what the web is told before it."""


@dataclass(frozen=True)
class Cost:
    """Of one stage of one contender."""

    scheme: str
    contender: str
    stage: str
    feeds: int
    requests: int
    cpu_s: float
    wall_s: float
    handshakes: int
    resumed: int

    @property
    def per_cpu_s(self) -> float:
        """Requests per processor second."""
        return self.requests / self.cpu_s


class Contender:
    """Somebody who fetches, in a folder of its own."""

    stages: tuple[str, ...] = tuple(STAGES)

    def __init__(self, web: Told, urls: list[str], folder: Path) -> None:
        self.web, self.folder = web, folder
        folder.mkdir()
        (folder / "urls.txt").write_text("\n".join(urls))

    def timed(self, command: Sequence[str]) -> tuple[float, float]:
        """Run to the end; seconds by the clock, and processor seconds of it and all its children."""
        began = time.perf_counter()
        with open(self.folder / "output", "wb") as output:
            child = subprocess.Popen(
                command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, env=self.environment()
            )
            try:
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:
                child.kill()
                raise
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said = (self.folder / "output").read_text(errors="replace")[-2000:]
            sys.exit(f"{' '.join(command[-3:])} failed:\n{said}")
        return time.perf_counter() - began, usage.ru_utime + usage.ru_stime

    def source(self) -> Path:
        """The folder whose `recrawl` it imports."""
        return ROOT / "src"

    def environment(self) -> dict[str, str]:
        """Ours, with this repository importable and no settings of the user's."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
        trusted = {} if self.web.ca is None else {"SSL_CERT_FILE": str(self.web.ca)}
        return kept | trusted | {"PYTHONPATH": os.pathsep.join((str(self.source()), str(ROOT)))}

    def prepare(self) -> None:
        """Before the first stage."""

    def run(self) -> tuple[float, float]:
        """One stage."""
        raise NotImplementedError

    def items(self) -> int | None:
        """How many it stored."""
        return None


class Recrawl(Contender):
    """This tree."""

    def compile(self) -> None:
        """Have everything compiled that has not been yet."""
        self.timed([sys.executable, "-c", COMPILE])

    def prepare(self) -> None:
        """Fill the catalogue."""
        (self.folder / "recrawl.toml").write_text(SETTINGS)
        _, filling_s = self.timed([*RECRAWL, "import", "urls.txt"])
        print(f"  catalogue filled, once: {filling_s:.1f} CPU s")

    def run(self) -> tuple[float, float]:
        """Fetch every source once."""
        return self.timed([*RECRAWL, "run", "--once", "--json"])

    def items(self) -> int | None:
        """As in its store."""
        return counted(self.folder / "recrawl.db")


class Before(Recrawl):
    """An older tree."""

    tree = ROOT

    def source(self) -> Path:
        """The older tree's."""
        return self.tree / "src"


class Aiohttp(Contender):
    """Nothing but requests."""

    def run(self) -> tuple[float, float]:
        """Fetch every feed once."""
        return self.timed([sys.executable, "-m", "benchmarks.aiohttp_fetch", "urls.txt", "validators.json"])


class Scrapy(Contender):
    """Its share is the first visit."""

    stages = ("first",)

    def run(self) -> tuple[float, float]:
        """Fetch and store every feed once."""
        return self.timed([sys.executable, "-m", "benchmarks.scrapy_feeds", "urls.txt", "scrapy.db"])

    def items(self) -> int | None:
        """As in its database."""
        return counted(self.folder / "scrapy.db")


CONTENDERS: dict[str, type[Contender]] = {"recrawl": Recrawl, "before": Before, "aiohttp": Aiohttp, "scrapy": Scrapy}


def counted(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute("SELECT count(*) FROM items").fetchone()[0])


def measured(scheme: str, names: Sequence[str], feeds: int, hosts: int, *, compiled: bool = True) -> list[Cost]:
    """All stages of all, stage by stage, so that they take turns."""
    folder = Path(tempfile.mkdtemp(prefix="recrawl-bench-"))
    costs = []
    try:
        made = int(feeds / XML_SHARE * 1.02) + 50
        with told(made, hosts, ENTRIES, folder if scheme == "https" else None) as web:
            urls = [url for url in web.urls if url.endswith(".xml")][:feeds]
            running = {name: CONTENDERS[name](web, urls, folder / name) for name in names}
            for each in running.values():
                if not compiled and isinstance(each, Recrawl):
                    each.compile()
                each.prepare()
            for stage, (_, _, commands) in STAGES.items():
                for line in commands:
                    web.tell(line)
                there = {name: each for name, each in running.items() if stage in each.stages}
                costs += [one(scheme, name, stage, each, len(urls)) for name, each in there.items()]
                stored = {name: found for name, each in there.items() if (found := each.items()) is not None}
                if len(set(stored.values())) > 1:
                    sys.exit(f"different items were stored: {stored}")
    finally:
        shutil.rmtree(folder)
    return costs


def one(scheme: str, name: str, stage: str, each: Contender, feeds: int) -> Cost:
    """One stage of one of them."""
    each.web.tell("count")
    wall_s, cpu_s = each.run()
    said = each.web.tell("count")
    if said["feeds"] != feeds or said["fetches"] != feeds:
        sys.exit(f"{name}, {stage}: {feeds:,} feeds, but {said['fetches']:,} fetches of {said['feeds']:,} of them")
    requests = sum(said["statuses"].values())
    cost = Cost(scheme, name, stage, feeds, requests, cpu_s, wall_s, said["handshakes"], said["resumed"])
    reused = f", {cost.handshakes} handshakes, {cost.resumed} of them resumed" if scheme == "https" else ""
    print(f"  {scheme} {feeds:>6,} {stage:<13}{name:<8}{cost.cpu_s:7.2f} CPU s, {cost.per_cpu_s:7,.0f} requests per "
          f"CPU s, {wall_s:.1f} s by the clock{reused}", flush=True)  # fmt: skip
    return cost


def table(costs: list[Cost]) -> str:
    """The largest size side by side, and how it grows."""
    lines = []
    names = list(dict.fromkeys(cost.contender for cost in costs))
    for scheme in dict.fromkeys(cost.scheme for cost in costs):
        lines.append(f"\n{scheme}: requests per CPU second at {max(c.feeds for c in costs):,} feeds "
                     "(a further request alone, µs; CPU grows with feeds to the power)")  # fmt: skip
        others = [name for name in names if name != "recrawl"] if "recrawl" in names else []
        head = [f"{name:>26}" for name in names] + [f"{'recrawl / ' + name:>20}" for name in others]
        lines.append(f"{'':<14}" + "".join(head))
        for stage in STAGES:
            found = {name: [c for c in costs if (c.scheme, c.stage, c.contender) == (scheme, stage, name)]
                     for name in names}  # fmt: skip
            row = [f"{shown(each):>26}" for each in found.values()]
            row += [f"{ratio(found['recrawl'], found[name]):>20}" for name in others]
            lines.append((f"{stage:<14}" + "".join(row)).rstrip())
    return "\n".join(lines)


def ratio(ours: list[Cost], theirs: list[Cost]) -> str:
    """Our requests per processor second to theirs, at the largest size."""
    return f"{largest(ours).per_cpu_s / largest(theirs).per_cpu_s:.2f}" if ours and theirs else ""


def largest(costs: list[Cost]) -> Cost:
    """That of the most feeds."""
    return max(costs, key=lambda cost: cost.feeds)


def shown(costs: list[Cost]) -> str:
    """Of one stage of one of them at all sizes."""
    if not costs:
        return ""
    figure = f"{largest(costs).per_cpu_s:,.0f}"
    if len({cost.feeds for cost in costs}) < 2:
        return figure
    requests, cpu_s = np.array([c.requests for c in costs], float), np.array([c.cpu_s for c in costs])
    each, _ = np.polyfit(requests, cpu_s, 1)
    return f"{figure} ({1e6 * each:,.0f} µs; {exponent(requests, cpu_s):.2f})"


def growth(costs: list[Cost]) -> str:
    """A Markdown table for each of ours that ran: processor seconds of every stage by the number of feeds."""
    tables = []
    for scheme, name in dict.fromkeys((cost.scheme, cost.contender) for cost in costs if cost.contender != "aiohttp"):
        mine = [cost for cost in costs if (cost.scheme, cost.contender) == (scheme, name)]
        sizes = sorted({cost.feeds for cost in mine})
        seconds = {(cost.stage, cost.feeds): cost.cpu_s for cost in mine}
        stages = dict.fromkeys(cost.stage for cost in mine)
        figures = {f"{stage}: CPU s": [seconds[stage, feeds] for feeds in sizes] for stage in stages}
        tables.append(f"\n{name}, {scheme}\n\n{grown('feeds', sizes, figures)}")
    return "\n".join(tables)


def earlier(tree: str) -> Path:
    """The root of an older source tree: a folder, or a commit, whose files are taken out of the repository."""
    if Path(tree, "src", "recrawl").is_dir():
        return Path(tree).resolve()
    folder = Path(tempfile.gettempdir(), f"recrawl-{tree}")
    if not folder.is_dir():
        packed = subprocess.run(["git", "-C", str(ROOT), "archive", tree, "src"], check=True, capture_output=True)
        folder.mkdir()
        subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


def contenders(only: Sequence[str], before: str | None) -> list[str]:
    """Who runs: Scrapy where it is installed, an older tree if it is named."""
    names = list(only) or [name for name in CONTENDERS if name != "before" or before]
    if "scrapy" in names and importlib.util.find_spec("scrapy") is None:
        print("Scrapy is not installed, so there is nothing to compare with: pip install 'recrawl[scrapy]'")
        names.remove("scrapy")
    return names


LASTS = "About four minutes on an idle machine of two cores with --only recrawl --schemes http."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=LASTS)
    parser.add_argument("--feeds", type=int, nargs="+")
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--schemes", nargs="+", choices=["http", "https"], default=["http", "https"])
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=[])
    parser.add_argument("--before", help="a commit, or the folder of an older tree")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.before:
        Before.tree = earlier(options.before)
    names = contenders(options.only, options.before)
    print("warming up: this run does not count")
    for scheme in options.schemes:
        ours = [name for name in names if issubclass(CONTENDERS[name], Recrawl)]
        measured(scheme, ours, WARM_UP, options.hosts, compiled=False)
    print("measuring")
    costs: list[Cost] = []
    for feeds in options.feeds or (QUICK_SIZES if options.quick else SIZES):
        for scheme in options.schemes:
            costs += measured(scheme, names, feeds, options.hosts)
    print(table(costs))
    print(growth(costs))
    if options.json:
        options.json.write_text(json.dumps([asdict(cost) | {"per_cpu_s": cost.per_cpu_s} for cost in costs], indent=1))


if __name__ == "__main__":
    main()
