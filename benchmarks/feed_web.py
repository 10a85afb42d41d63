"""The web that `benchmarks.crawl` fetches from: synthetic feeds that change when they are told to, over http or https.

It obeys lines of standard input, and answers each with a line of JSON: `count` says what was asked for since the last
time (requests by status, TLS handshakes, and how many of those took up an earlier session); `next` gives every feed one
new item; `forget` stops the web from knowing what "not modified" means, `remember` undoes that. It ends with its
standard input.

Run: python -m benchmarks.feed_web SOURCES HOSTS ENTRIES [FOLDER]      with a folder: https, and `ca.pem` written there
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from recrawl.clock import SystemClock
from recrawl.synthweb import documents
from recrawl.synthweb.prepared import Prepared
from recrawl.synthweb.server import SynthWeb
from recrawl.synthweb.world import SynthSource, World

BEHIND_S = 365 * 86_400.0
"""So far behind is its clock: what is published next has been published all along, by the crawler's."""
ITEMS_PER_HOUR = 0.01


class LateClock(SystemClock):
    """The time a year ago."""

    def now(self) -> float:
        """Unix seconds, a year late."""
        return super().now() - BEHIND_S


class FeedWeb(SynthWeb):
    """A synthetic web whose documents change on command, and at no other time."""

    edition = 0
    conditional = True

    def published(self, source: int, now: float) -> int:
        """As many as at the start, and one for every edition."""
        return super().published(source, self.timeline.start) + self.edition

    def view(self, source: SynthSource, now: float) -> documents.View:
        """The latest of them."""
        latest = self.world.arrivals(source.number).latest(self.published(source.number, now), source.window)
        entries = [documents.PublishedItem(number, self.timeline.moment(hour)) for number, hour in latest]
        return documents.View(source, self.bases[source.host], entries, "")

    def _ready(self, source: SynthSource, now: float) -> Prepared:
        ready = super()._ready(source, now)
        return ready if self.conditional else replace(ready, etag="", modified="")


def tls(folder: Path) -> ssl.SSLContext:
    """For the server; clients trust what is written into the folder."""
    import trustme

    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    return context


def obeyed(web: FeedWeb, context: ssl.SSLContext | None, line: str, before: dict[str, int]) -> dict[str, Any]:
    """Do as a line says."""
    if line == "next":
        web.edition += 1
    elif line in ("forget", "remember"):
        web.conditional = line == "remember"
    if line != "count":
        web.warm()
        return {}
    counts = Counter(entry.status for entry in web.log)
    feeds = Counter(entry.host + entry.path for entry in web.log if entry.source is not None)
    web.log.clear()
    stats = {} if context is None else context.session_stats()
    said = {"statuses": counts, "feeds": len(feeds), "fetches": sum(feeds.values())}
    for name, key in (("handshakes", "accept"), ("resumed", "hits")):
        said[name] = stats.get(key, 0) - before.get(key, 0)
    before.update(stats)
    return said


async def serve(sources: int, hosts: int, entries: int, folder: Path | None) -> None:
    """Until standard input ends."""
    world = World.make(sources=sources, hosts=hosts, law="steady", median_rate=ITEMS_PER_HOUR, rate_spread=0.0,
                       window=entries)  # fmt: skip
    context = None if folder is None else tls(folder)
    before: dict[str, int] = {}
    async with FeedWeb(world, speed=1.0, clock=LateClock(), ssl=context) as web:
        web.warm()
        print(json.dumps(web.urls()), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(obeyed(web, context, line.strip(), before)), flush=True)


@dataclass
class Told:
    """A feed web in a process of its own.

    Parameters
        urls: of all its feeds
        ca: the file with what to trust; None for http
    """

    urls: list[str]
    ca: Path | None
    to: IO[str]
    back: IO[str]

    def tell(self, line: str) -> dict[str, Any]:
        """What it answers to a line."""
        print(line, file=self.to, flush=True)
        answer: dict[str, Any] = json.loads(self.back.readline())
        return answer


@contextmanager
def told(sources: int, hosts: int, entries: int, folder: Path | None) -> Iterator[Told]:
    """A feed web, until the block ends."""
    command = [sys.executable, "-m", "benchmarks.feed_web", str(sources), str(hosts), str(entries)]
    child = subprocess.Popen(
        command + ([] if folder is None else [str(folder)]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        urls = json.loads(child.stdout.readline() or sys.exit("the web did not start"))
        yield Told(urls, None if folder is None else folder / "ca.pem", child.stdin, child.stdout)
    finally:
        child.stdin.close()
        child.wait()


def main() -> None:
    import uvloop

    sources, hosts, entries, *folder = sys.argv[1:]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(int(sources), int(hosts), int(entries), Path(folder[0]) if folder else None))


if __name__ == "__main__":
    main()
