"""Each hostile server alone beside a healthy one: how long is the healthy one kept waiting, and what does it cost?

For every fault of the synthetic web, `recrawl run` as a process with the timeouts and sizes people have by default
crawls some hosts that have it and one that is well. The healthy host stands in a process of its own, so that making
bombs does not slow it down, and has so many sources that it can be asked every tenth of a second. Measured from
outside: the longest time between two requests to the healthy host, by that host's own log; the most memory the crawler
and any process that reads for it had.

Run: python -m benchmarks.hostile [--seconds S] [--fault NAME …] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from recrawl.synthweb.faults import FAULTS, Rule
from recrawl.synthweb.process import Served, running

RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]
HOSTS = 4
"""With the fault: several at once are worse than one."""
PER_HOST = 4
HEALTHY_SOURCES = 60
SHORTEST_WAIT_S = 0.1
LONGEST_GAP_S = 2.0
SETTINGS = f"""
budget = "50/s"
[fetch]
allow_private = true
[politeness]
delay = "{1000 * SHORTEST_WAIT_S:g}ms"
min_interval = "500ms"
backoff = "1s"
max_backoff = "2s"
"""
KINDS = {"huge_sitemap": "sitemaps", "huge_index": "sitemaps", "restless": "pages", "shuffled_lines": "pages",
         "many_lines": "pages", "many_links": "pages", "deep_html": "pages", "open_brackets": "pages"}  # fmt: skip
ELSEWHERE = ("redirect_private", "redirect_metadata", "redirect_mapped", "redirect_loopback")
"""Faults that lead to addresses which are not ours to try; the tests have them, with such addresses refused."""


@dataclass
class Outcome:
    """Of one fault: how often it was met, the longest wait of the healthy host, memory at its highest."""

    fault: str
    met: int
    healthy: int
    longest_gap_s: float
    crawler_mb: float
    reader_mb: float
    exit_status: int

    @property
    def good(self) -> bool:
        """Whether it ended well and kept nobody waiting."""
        return self.exit_status == 0 and self.longest_gap_s < LONGEST_GAP_S and (self.met > 0 or not self.fault)


def highest_mb(pid: int) -> float:
    """The most memory a process has had resident so far; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024.0 for line in lines if line.startswith("VmHWM")), 0.0)


def children(pid: int) -> list[int]:
    """The processes a process has started."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def crawled(healthy: Served, hostile: Served, fault: str, seconds: float) -> Outcome:
    """One crawl of both."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    with tempfile.TemporaryDirectory(prefix="recrawl-hostile-") as place:
        folder = Path(place)
        (folder / "recrawl.toml").write_text(SETTINGS)
        (folder / "urls.txt").write_text("\n".join([*healthy.urls(), *hostile.urls()]))
        subprocess.run([*RECRAWL, "import", "urls.txt"], cwd=folder, env=kept, check=True, stdout=subprocess.DEVNULL)
        began, crawler, reader = time.time(), 0.0, 0.0
        with open(folder / "said", "wb") as said:
            child = subprocess.Popen(
                [*RECRAWL, "run", "--json", "--for", f"{seconds:g}s"], cwd=folder, env=kept, stdout=said, stderr=said
            )
            while child.poll() is None:
                crawler = max(crawler, highest_mb(child.pid))
                reader = max([reader, *map(highest_mb, children(child.pid))])
                time.sleep(0.02)
                if time.time() - began > 10 * seconds + 60:
                    child.kill()
        times = [access.start for access in healthy.log(since=began)]
        met = sum(access.fault == fault for access in hostile.log(since=began))
    # A run that stalls at its end keeps the healthy host waiting as well: the end counts as a request.
    last = [times[0] + seconds] if times and times[-1] < times[0] + seconds - LONGEST_GAP_S else []
    gap = max((later - earlier for earlier, later in pairwise([*times, *last])), default=seconds)
    return Outcome(fault, met, len(times), gap, crawler, reader, child.returncode)


def bench(names: Sequence[str], seconds: float) -> list[Outcome]:
    """Fault by fault, printed as they come."""
    print(f"{'fault':<24}{'met':>6}{'healthy':>9}{'longest gap':>13}{'crawler':>10}{'reader':>9}")
    outcomes = []
    world = ("--sources", HOSTS * PER_HOST, "--hosts", HOSTS)
    with running("--sources", HEALTHY_SOURCES, "--hosts", 1) as healthy, running(*world) as other:
        # What is compiled once on every machine takes time and memory of its own.
        crawled(healthy, other, "", 1.0)
        for name in ("", *names):
            with running(*world, "--mix", KINDS.get(name, "feeds")) as hostile:
                if name:
                    hostile.set_faults([Rule(name=name, host=host) for host in hostile.hosts])
                it = crawled(healthy, hostile, name, seconds)
            outcomes.append(it)
            print(
                f"{name or '(none)':<24}{it.met:>6}{it.healthy:>9}{it.longest_gap_s:>11.2f} s{it.crawler_mb:>7.0f} MB"
                f"{it.reader_mb:>6.0f} MB{'' if it.good else f'  (!) exit {it.exit_status}'}",
                flush=True,
            )
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=8.0, help="Of each crawl.")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="Only these.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    outcomes = bench(options.fault or [name for name in FAULTS if name not in ELSEWHERE], options.seconds)
    worst = max(outcomes, key=lambda each: each.longest_gap_s)
    largest = max(outcomes, key=lambda each: each.crawler_mb)
    print(f"\nlongest gap: {worst.longest_gap_s:.2f} s beside {worst.fault or 'nothing'} (aim: {LONGEST_GAP_S:g} s)")
    print(f"most memory: {largest.crawler_mb:.0f} MB beside {largest.fault or 'nothing'}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in outcomes], indent=1) + "\n")
    bad = [each.fault for each in outcomes if not each.good]
    sys.exit(f"not held: {', '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
