"""What recrawl's scheduler costs a Scrapy spider that marks nothing: side by side with Scrapy's own, in one run.

The same one-shot requests to one synthetic web with either scheduler, in short crawls that take turns in one process,
so that whatever else the machine does meets both alike. Compared are processor seconds from the opening of each spider
to its closing. A crawl counts only if every request was answered.

Run: python -m benchmarks.scrapy_overhead [--requests N] [--turns N]
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from recrawl.synthweb.process import running

SCHEDULERS = {
    "scrapy": "scrapy.core.scheduler.Scheduler",
    "recrawl": "recrawl.integrations.scrapy.RecrawlScheduler",
}
REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
MOST = 0.05
"""The share it may cost."""


def settings(name: str, store: Path) -> dict[str, Any]:
    """A spider in a hurry."""
    return {
        "SCHEDULER": SCHEDULERS[name],
        "RECRAWL_STORE": str(store),
        "TWISTED_REACTOR": REACTOR,
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_ENABLED": False,
    }


async def crawl(name: str, urls: list[str], folder: Path) -> float:
    """Fetch each once; processor seconds from opening to closing."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerRunner

    answers = 0

    class OneShot(scrapy.Spider):
        name = "one-shot"

        async def start(self) -> AsyncIterator[Any]:
            for url in urls:
                yield scrapy.Request(url)

        def parse(self, response: Any) -> None:
            nonlocal answers
            answers += 1

    moments: list[float] = []

    def note() -> None:
        moments.append(time.process_time())

    runner = AsyncCrawlerRunner(settings(name, folder / f"{time.monotonic_ns()}.db"))
    crawler = runner.create_crawler(OneShot)
    crawler.signals.connect(note, signal=signals.spider_opened)
    crawler.signals.connect(note, signal=signals.spider_closed)
    await runner.crawl(crawler)
    if answers != len(urls):
        sys.exit(f"{name}: {len(urls):,} requests, but {answers:,} answers")
    opened, closed = moments
    return closed - opened


async def take_turns(urls: list[str], turns: int) -> dict[str, list[float]]:
    """So many crawls of each; who goes first changes. One of each before does not count: things get loaded."""
    taken: dict[str, list[float]] = {name: [] for name in SCHEDULERS}
    each = len(urls) // turns
    with tempfile.TemporaryDirectory(prefix="recrawl-bench-") as folder:
        for name in SCHEDULERS:
            await crawl(name, urls[:100], Path(folder))
        for turn in range(turns):
            some = urls[turn * each : (turn + 1) * each]
            for name in list(SCHEDULERS)[:: 1 if turn % 2 == 0 else -1]:
                taken[name].append(await crawl(name, some, Path(folder)))
            print(
                f"  turn {turn + 1}: " + ", ".join(f"{name} {taken[name][-1]:.2f} CPU s" for name in taken), flush=True
            )
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    if importlib.util.find_spec("scrapy") is None:
        print("Scrapy is not installed, so there is nothing to measure: pip install 'recrawl[scrapy]'")
        return
    from scrapy.utils.defer import deferred_f_from_coro_f
    from scrapy.utils.reactor import install_reactor

    install_reactor(REACTOR)
    from twisted.internet.task import react

    with running("--sources", 200, "--hosts", 10, "--speed", 1, "--window", 5, "--warm") as web:
        sources = web.urls()
        urls = [f"{sources[number % len(sources)]}?{number}" for number in range(options.requests)]

        async def measure(reactor: Any) -> None:
            report(await take_turns(urls, options.turns), options.requests)

        react(deferred_f_from_coro_f(measure))


def report(taken: dict[str, list[float]], requests: int) -> None:
    """Side by side."""
    for name, seconds in taken.items():
        print(f"{name:<10}{sum(seconds):>8.2f} CPU s {1000.0 * sum(seconds) / requests:>8.3f} ms per request")
    ratios = [ours / theirs for ours, theirs in zip(taken["recrawl"], taken["scrapy"], strict=True)]
    over = sum(taken["recrawl"]) / sum(taken["scrapy"]) - 1.0
    print(f"recrawl costs {over:+.1%}, {statistics.median(ratios) - 1.0:+.1%} in the median turn (wanted: {MOST:.0%})")


if __name__ == "__main__":
    main()
