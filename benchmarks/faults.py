"""A crawl among hostile servers: does anybody else suffer, and is any rule broken?

The same synthetic web is crawled twice for the same time under the same budget: once well-behaved, once with every
fault there is, each on hosts of its own, on half of all hosts. Both crawls are judged by the web's own log: requests
beyond the budget, closer together than the delay, before a Retry-After was over, against robots.txt; and by the value
captured from the sources on the healthy half. Each half of the web has a process of its own, so that making bombs slows
no healthy host down, and so has each crawler; both crawls run at the same time, so that they share whatever else the
machine does. Addresses other than the web's are refused, since faults redirect to private ones.

Run: python -m benchmarks.faults [--fetches N] [--budget PER_SECOND] [--hosts N] [--per-host N] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from recrawl import wiring
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Politeness
from recrawl.crawl.fetching.address_guard import refusal
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.retry_after import MAX_RETRY_AFTER_S
from recrawl.store.records import Source
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb import ledger
from recrawl.synthweb.faults import FAULTS, Rule
from recrawl.synthweb.process import Served, running
from recrawl.synthweb.world import Robots

DELAY_S = 0.05
BURST_S = 1.0
"""Of the budget, in seconds: what may be saved up."""
LATE_S = 0.25
"""The web reads requests so much late when it is busy making bombs: so much of the budget may seem to come at once."""
SOON_S = 0.005
SIZES = {"many_entries": 3000, "deep_xml": 20_000}
LEAST_SHARE = 0.95
PLAIN, HOSTILE = "well-behaved", "hostile"


@dataclass
class Outcome:
    """Of one crawl: requests as the web counted them, rules it saw broken, value captured from healthy sources."""

    requests: int = 0
    seconds: float = 0.0
    violations: dict[str, int] = field(default_factory=dict)
    healthy_value: float = 0.0
    healthy_fetches: int = 0
    faults_met: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    internal_errors: int = 0
    highest_mb: float = 0.0


def settings(per_second: float) -> Config:
    return Config(
        budget=f"{per_second:g}/s",
        burst=f"{max(1.0, BURST_S * per_second):g}",
        half_life="6s",
        fetch=Fetching(allow_private=True, timeout="4s", idle_timeout="2s", max_size="2MB"),
        politeness=Politeness(delay=f"{1000 * DELAY_S:g}ms", min_interval="500ms", backoff="1s", max_backoff="60s"),
    )


def only_this_machine(address: str) -> str:
    return "" if address == "127.0.0.1" else refusal(address)


def faults_on(hosts: Sequence[str]) -> list[Rule]:
    """Every fault in turn, a host each."""
    names = [name for name in FAULTS if name != "gone"]
    return [
        Rule(
            name=names[k % len(names)],
            host=host,
            size=SIZES.get(names[k % len(names)], 4_000_000),
            seconds=2.0
            if names[k % len(names)][:3] in ("429", "503") and not names[k % len(names)].endswith("year")
            else None,
        )
        for k, host in enumerate(hosts)
    ]


def crawl(webs: Sequence[Served], config: Config, seconds: float, folder: Path) -> Outcome:
    """Crawl everything for a while; what came of it by the webs' account. The first of them is the healthy one."""
    began = time.time()
    outcomes, internal = asyncio.run(_crawl(webs, config, seconds, folder))
    highest_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0
    log = [access for web in webs for access in web.log(since=began)]
    broken = violations(log, config, {host: rules for web in webs for host, rules in web.robots().items()})
    for name, cases in broken.items():
        print("\n".join(f"{name}: {case}" for case in cases[:5]), end="\n" if cases else "")
    healthy = set(webs[0].hosts)
    score = ledger.score_log(webs[0].truths(), [access for access in log if access.host in healthy])
    return Outcome(
        requests=len(log),
        seconds=round(time.time() - began, 1),
        violations={name: len(cases) for name, cases in broken.items()},
        healthy_value=score.total.captured,
        healthy_fetches=score.fetches,
        faults_met=dict(Counter(access.fault for access in log if access.fault)),
        outcomes=outcomes,
        internal_errors=internal,
        highest_mb=highest_mb,
    )


def violations(log: Sequence[ledger.SeenRequest], config: Config, robots: Mapping[str, Robots]) -> dict[str, list[Any]]:
    """Every rule and the requests that broke it."""
    rate = config.budget_per_s
    return {
        "budget": ledger.budget_violations(log, rate, config.burst_requests, LATE_S * rate),
        "delay": ledger.delay_violations(log, DELAY_S, SOON_S),
        "hold": ledger.hold_violations(log, MAX_RETRY_AFTER_S, SOON_S),
        "robots": ledger.robots_violations(log, robots),
    }


async def _crawl(webs: Sequence[Served], config: Config, seconds: float, folder: Path) -> tuple[dict[str, int], int]:
    store, clock = SqliteStore(folder / "recrawl.db"), SystemClock()
    try:
        for web in webs:
            truths = await asyncio.to_thread(web.truths)
            store.add([Source(url=t.url, importance=t.interest, half_life=t.half_life_s) for t in truths])
        transport = HttpTransport(config.fetch, clock, refusal=only_this_machine)
        crawler = wiring.make_crawler(config, store, clock=clock, transport=transport)
        await crawler.run(clock.now() + seconds)
        crawls = store.crawls(limit=10_000_000)
        return dict(Counter(c.outcome for c in crawls)), sum("internal error" in c.error for c in crawls)
    finally:
        store.close()


def crawled(name: str, fetches: int, per_second: float, hosts: int, per_host: int) -> Outcome:
    """One crawl, of webs of its own."""
    half = hosts // 2
    world = ("--sources", half * per_host, "--hosts", half, "--forbidden", 0.05, "--rate", 0.1, "--mix", "mixed")
    with (
        running(*world) as healthy,
        running(*world, "--seed", 1) as other,
        tempfile.TemporaryDirectory(prefix="recrawl-faults-") as folder,
    ):
        if name == HOSTILE:
            other.set_faults(faults_on(other.hosts))
        return crawl((healthy, other), settings(per_second), fetches / per_second, Path(folder))


def compared(*terms: Any) -> dict[str, Outcome]:
    """Both crawls, at the same time: whatever else the machine does slows both alike."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        under_way = {name: processes.submit(crawled, name, *terms) for name in (PLAIN, HOSTILE)}
        outcomes = {name: each.result() for name, each in under_way.items()}
    for name, outcome in outcomes.items():
        print(f"{name}: {asdict(outcome)}", flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fetches", type=int, default=100_000, help="What the budget allows in one crawl.")
    parser.add_argument("--budget", type=float, default=400.0, help="Requests per second.")
    parser.add_argument("--hosts", type=int, default=2 * len(FAULTS) + 8)
    parser.add_argument("--per-host", type=int, default=4, help="Sources per host.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    outcomes = compared(options.fetches, options.budget, options.hosts, options.per_host)
    plain, hostile = outcomes[PLAIN], outcomes[HOSTILE]
    share = hostile.healthy_value / plain.healthy_value
    print(f"\n{hostile.requests:,} requests among faults, {sum(hostile.faults_met.values()):,} of them met one")
    print("rules broken: " + ", ".join(f"{name} {count}" for name, count in hostile.violations.items()))
    print(f"value from healthy sources: {100 * share:.1f} % of the well-behaved web's ({plain.healthy_value:.0f})")
    if options.json:
        options.json.write_text(json.dumps({name: asdict(each) for name, each in outcomes.items()}, indent=1) + "\n")
    broken = any(hostile.violations.values()) or hostile.internal_errors or share < LEAST_SHARE
    sys.exit("rules were broken, or healthy sources suffered" if broken else 0)


if __name__ == "__main__":
    main()
