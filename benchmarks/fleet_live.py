"""A fleet on Ray beside one process, over the same PostgreSQL and the same synthetic web, in one run.

*Value* (`value`): both crawl the same world at the same time under the same budget, and the value of what they caught
is counted by the web's own log, in the stretch of the world's time that begins so long after both have fetched every
source once (`tests/fleet_value.py`). A second single process shows how much two equal contenders differ.

*Growth* (`growth`): one process, and fleets of 1, 2 and 4 shards, with a budget that does not bind. Processor seconds
(user and system, /proc) are those of the crawling processes, of the coordinator, of PostgreSQL, of Ray's own processes
and of the web, over the same seconds. Then the same over the same catalogue with a budget of next to nothing: what is
left is the cost of deciding, holding leases and reporting.

Run: python -m benchmarks.fleet_live value|growth [--seeds 0 1 2] [--shards 1 2 4] [--seconds S] …
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from fleet import Fleet, Nodes
from fleet_value import ALONE, CONTROL, FLEET, Gain, Terms, alone, begun, compared
from postgres import Server, new_server
from recrawl.synthweb.process import running

SETTLE_S = 10.0
IDLE = 1.0
"""Requests per second that leave a fleet with nothing but its housekeeping."""
SETTINGS = """
store = "{url}"
budget = "{budget:g}/s"
half_life = "60s"
cold_start = 1.0
[fetch]
allow_private = true
user_agent = "recrawl-{{shard}}/0"
[politeness]
delay = "0s"
min_interval = "0s"
parallel_per_host = 2
"""
PARTS = ("shards", "coordinator", "PostgreSQL", "Ray", "web")


class Usage(NamedTuple):
    """Of one stretch: requests the web saw, seconds by the clock, processor seconds by part."""

    requests: int
    seconds: float
    cpu_s: dict[str, float]


# -- processor time


def processes() -> dict[int, int]:
    """Every process's parent."""
    parents = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    return parents


def family(pid: int) -> set[int]:
    """A process and all that descend from it."""
    parents, found = processes(), {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def cpu_s(pids: set[int]) -> float:
    """Processor seconds of processes that live, and of their children that have ended."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def parts(fleet: Fleet, alone: int | None) -> dict[str, set[int]]:
    """Who does what."""
    shards, coordinator = set(), set()
    if alone is None:
        status = fleet.status()
        shards, coordinator = {line.pid for line in status.shards}, {fleet.coordinator()}
    rays = family(fleet.nodes.pid) - shards - coordinator if alone is None else set()
    return {
        "shards": shards if alone is None else family(alone),
        "coordinator": coordinator,
        "PostgreSQL": family(fleet.database.pid),
        "Ray": rays,
        "web": {fleet.web.pid},
    }


def put_at(niceness: int, fleet: Fleet, alone: int | None) -> None:
    """Let all parts, with all their threads, go before whatever else the machine does (below 0), or not (0)."""
    for pid in set().union(*parts(fleet, alone).values()):
        with suppress(OSError):  # where sessions are scheduled as groups, niceness counts among groups
            Path(f"/proc/{pid}/autogroup").write_text(str(niceness))
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), niceness)


def measured(fleet: Fleet, seconds: float, alone: int | None, niceness: int) -> Usage:
    """What the next seconds cost, after some to settle."""
    put_at(niceness, fleet, alone)
    time.sleep(SETTLE_S)
    before, began = _costs(fleet, alone), time.time()
    time.sleep(seconds)
    after, ended = _costs(fleet, alone), time.time()
    put_at(0, fleet, alone)
    requests = sum(began <= each.start < ended for each in fleet.web.log(began))
    return Usage(requests, ended - began, {name: after[name] - before[name] for name in PARTS})


def _costs(fleet: Fleet, alone: int | None) -> dict[str, float]:
    return {name: cpu_s(pids) for name, pids in parts(fleet, alone).items()}


# -- growth


@contextmanager
def stage(folder: Path, sources: int, hosts: int) -> Iterator[Fleet]:
    """A world that costs the web little, and everything a fleet needs."""
    database = new_server()
    nodes = Nodes(2)
    url = database.url(schema="fleet")
    (folder / "recrawl.toml").write_text(SETTINGS.format(url=url, budget=IDLE))
    world = ("--sources", sources, "--hosts", hosts, "--by", "address", "--speed", 1, "--law", "steady", "--warm")
    try:
        with running(*world) as web:
            fleet = Fleet(database, nodes, web, folder, url, math.inf, math.inf, 0.0)
            (folder / "urls.txt").write_text("\n".join(web.urls()))
            done = fleet.command("import", str(folder / "urls.txt"))
            assert done.returncode == 0, done.stderr
            yield fleet
    finally:
        nodes.close()
        database.remove()


def everything_seen(fleet: Fleet, sources: int, since: float) -> None:
    """Every source was fetched since then: what is measured afterwards is the usual day."""
    last = time.monotonic() + 300.0
    while len({each.source for each in fleet.web.log(since) if each.shown is not None}) < sources:
        if time.monotonic() > last:
            sys.exit("not everything was fetched")
        time.sleep(1.0)


def grown(
    fleet: Fleet, shards: list[int], sources: int, seconds: float, niceness: int, *, wait: bool
) -> dict[str, Usage]:
    """One process, then fleets of so many shards, one after the other over the same store."""
    found = {}
    with alone(fleet) as child:
        if wait:
            everything_seen(fleet, sources, time.time())
        found["one process"] = measured(fleet, seconds, child.pid, niceness)
    told("one process", found["one process"])
    for count in shards:
        began = time.time()
        if begun(fleet, count).wait(240.0):
            sys.exit((fleet.folder / "output.txt").read_text()[-2000:])
        if wait:
            everything_seen(fleet, sources, began)
        name = f"{count} shard{'s' if count > 1 else ''}"
        found[name] = measured(fleet, seconds, None, niceness)
        told(name, found[name])
        fleet.down()
    return found


def told(name: str, usage: Usage) -> None:
    costs = ", ".join(f"{part} {usage.cpu_s[part]:.1f}" for part in PARTS)
    print(f"  {name}: {usage.requests:,} requests in {usage.seconds:.1f} s; CPU s: {costs}", flush=True)


def growth_table(found: dict[str, Usage]) -> str:
    """Side by side."""
    head = ["", "fetches/s", *(f"{part}, CPU s/s" for part in PARTS), "fetches per CPU s of the shards", "of all"]
    lines = [" | ".join(head), " | ".join("---:" if k else "---" for k in range(len(head)))]
    for name, usage in found.items():
        shares = [f"{usage.cpu_s[part] / usage.seconds:.3f}" for part in PARTS]
        costs = (usage.cpu_s["shards"], sum(usage.cpu_s.values()))
        per_cpu_s = [f"{usage.requests / max(cost, 1e-9):,.0f}" for cost in costs]
        lines.append(" | ".join([name, f"{usage.requests / usage.seconds:,.0f}", *shares, *per_cpu_s]))
    return "\n".join(f"| {line} |" for line in lines)


# -- value


def mean_ratio(ratios: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.nan
    return float(np.mean(ratios)), error


def value(database: Server, nodes: Nodes, folder: Path, terms: list[Terms], names: tuple[str, ...]) -> None:
    """Every seed in turn, and the mean of the ratios."""
    ratios: dict[str, list[float]] = {name: [] for name in names if name != ALONE}
    for each in terms:
        gains = compared(folder, database, nodes, each, names)
        for name, gain in gains.items():
            print(f"  seed {each.seed}, {name}: {_said(gain)}", flush=True)
        for name, found in ratios.items():
            found.append(gains[name].captured / gains[ALONE].captured)
            print(f"  seed {each.seed}, {name} : one process = {found[-1]:.4f}", flush=True)
    for name, found in ratios.items():
        mean, error = mean_ratio(found)
        print(f"{name} : one process = {mean:.4f} ± {error:.4f} ({len(found)} worlds)")


def _said(gain: Gain) -> str:
    rules = ", ".join(f"{name} {count}" for name, count in gain.broken.items()) or "none"
    return (
        f"captured {gain.captured:,.0f} of {gain.offered:,.0f}, spent {gain.spent:.1%} of the budget in {gain.crawls:,}"
        f" crawls, everything once after {gain.first_s:.0f} s, rules broken: {rules}"
    )


def _value(options: argparse.Namespace, folder: Path) -> None:
    terms = [
        Terms(seed=seed, budget=options.budget or 25.0, shards=max(options.shards), learn_s=options.learn,
              count_s=options.seconds or 180.0, sources=options.sources or 400, hosts=options.hosts or 100)
        for seed in options.seeds
    ]  # fmt: skip
    database = new_server()
    nodes = Nodes(2)
    try:
        value(database, nodes, folder, terms, (FLEET, ALONE, CONTROL) if options.control else (FLEET, ALONE))
    finally:
        nodes.close()
        database.remove()


def _growth(options: argparse.Namespace, folder: Path) -> None:
    sources, hosts, seconds = options.sources or 4000, options.hosts or 2000, options.seconds or 30.0
    with stage(folder, sources, hosts) as fleet:
        for budget in (options.budget or 5000.0, IDLE):
            (folder / "recrawl.toml").write_text(SETTINGS.format(url=fleet.url, budget=budget))
            print(f"{sources:,} feeds on {hosts:,} hosts, budget {budget:g}/s", flush=True)
            found = grown(fleet, options.shards, sources, seconds, options.niceness, wait=budget > IDLE)
            print(growth_table(found), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["value", "growth"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--shards", type=int, nargs="+", default=None, help="1 2 4; of value, the largest.")
    parser.add_argument("--seconds", type=float, help="Over which is counted.")
    parser.add_argument("--learn", type=float, default=60.0, help="Seconds between all fetched once and counting.")
    parser.add_argument("--sources", type=int)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--budget", type=float, help="Requests per second.")
    parser.add_argument("--niceness", type=int, default=0, help="Of all that is measured, meanwhile (growth).")
    parser.add_argument("--control", action="store_true", help="Also a second single process, beside the first.")
    options = parser.parse_args()
    options.shards = options.shards or [1, 2, 4]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that nothing is left running
    folder = Path(tempfile.mkdtemp(prefix="recrawl-fleet-"))
    try:
        (_value if options.what == "value" else _growth)(options, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
