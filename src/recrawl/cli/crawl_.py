"""`recrawl crawl`: fetch sources now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import json_option, name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.store.records import Crawl, Hold, Source
    from recrawl.store.roles import Catalogue, CrawlLog, Store

LOOK_S = 0.3
"""Seconds between looks for what a running crawler made of it."""
FAILED = 1


@click.command(name="crawl", short_help="Fetch sources now.")
@target_options
@click.option("--no-wait", is_flag=True, help="Leave it to the running crawler, and do not wait for the result.")
@click.option("--timeout", metavar="TIME", default="2m", show_default=True, help="Wait no longer than this.")
@click.option("--allow-private", is_flag=True, default=None, help="Fetch from private networks and this machine too.")
@json_option
@store_options
def command(
    targets: tuple[str, ...],
    tags: tuple[str, ...],
    no_wait: bool,
    timeout: str,
    allow_private: bool | None,
    as_json: bool,
) -> int:
    """Fetch sources now, before all others, and show the result.

    Holds of the sources themselves (their interval, their hours, failures, the publisher's hints) do not count;
    robots.txt, the budget and the holds of their hosts do. If a crawler runs, it is asked to fetch them; otherwise this
    command does.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag NAME stands for all sources
    with a tag. Exit status 1 if any could not be fetched.
    """
    from recrawl.cli.targets import find_targets
    from recrawl.units import parse_duration

    patience_s = parse_duration("--timeout", timeout)
    config = settings({"fetch.allow_private": allow_private})
    with opened_store(config) as store:
        sources = find_targets(store, targets, tags)
        active = [source for source in sources if source.state == "active"]
        for source in sources:
            if source.state != "active":
                way_out = f"recrawl pause --resume {source.id}"
                click.echo(f"{source.state}: {source.id} {name_of(source)} ({way_out})", err=True)
        if not active:
            return FAILED
        asked = _wish(store, active)
        if not _crawler(store):
            _fetch(config, store, active, patience_s)
        elif no_wait:
            click.echo(f"asked for: {len(active)} {'source' if len(active) == 1 else 'sources'}")
            return 0
        else:
            _await(store, active, asked, patience_s)
        made = _made(store, active, asked)
        _show(store, active, made, as_json)
    good = all(source.id in made and made[source.id].outcome not in ("failed", "refused") for source in active)
    return 0 if good and len(active) == len(sources) else FAILED


def _wish(store: Catalogue, sources: list[Source]) -> float:
    """Ask for crawls at once; when that was, Unix seconds."""
    import msgspec

    now = time.time()
    store.edit([msgspec.structs.replace(source, wanted=now) for source in sources])
    return now


def _crawler(store: Store) -> bool:
    """Whether somebody crawls now."""
    from recrawl.cluster.status import is_up, read_status

    return store.claimed() is not None or is_up(read_status(store), time.time())


def _fetch(config: Config, store: Store, sources: list[Source], patience_s: float) -> None:
    """Do it here."""
    import asyncio

    from recrawl import logs, wiring
    from recrawl.cli.run_ import patience

    logs.configure()
    store.claim(wiring.owner(), time.time())
    try:
        with patience():
            crawler = wiring.make_crawler(config, store)
        wiring.install_event_loop()
        asyncio.run(crawler.run(time.time() + patience_s, only={source.id for source in sources}))
    finally:
        store.release()


def _await(store: Store, sources: list[Source], asked: float, patience_s: float) -> None:
    """Wait until the crawler that runs has done it."""
    end = time.monotonic() + patience_s
    while len(_made(store, sources, asked)) < len(sources) and time.monotonic() < end and _crawler(store):
        time.sleep(LOOK_S)


def _made(store: CrawlLog, sources: list[Source], asked: float) -> dict[int, Crawl]:
    """The first crawl of each source since it was asked for, where there is one."""
    since = {source.id: store.crawls(source=source.id, since=asked) for source in sources}
    return {id: crawls[-1] for id, crawls in since.items() if crawls}


def _show(store: Store, sources: list[Source], made: dict[int, Crawl], as_json: bool) -> None:
    if as_json:
        from recrawl.cli.tables import write_json

        lines = [{"id": source.id, "url": source.url, "crawl": made.get(source.id)} for source in sources]
        write_json(lines)
        return
    holds = {hold.host: hold for hold in store.holds(time.time())}
    for source in store.sources(ids=[source.id for source in sources]):
        click.echo(f"{_outcome(source, made.get(source.id), holds)}: {source.id} {name_of(source)}")


def _outcome(source: Source, crawl: Crawl | None, holds: Mapping[str, Hold]) -> str:
    """What came of it, in words."""
    from recrawl.crawl.fetching.politeness import authority_of, domain_of
    from recrawl.crawl.reading.plain_text import told

    if crawl is None:
        host = authority_of(source.url)
        hold = next((holds[key] for key in (host, domain_of(host), source.url) if key in holds), None)
        why = f", its host is held: {told(hold.reason, 200)}" if hold is not None else ""
        return f"not fetched yet{why}"
    if crawl.outcome in ("failed", "refused"):
        return f"{crawl.outcome}, {told(crawl.error, 300)}"
    if crawl.outcome in ("new", "first") and source.kind != "page":
        count = f"{crawl.new} item" if crawl.new == 1 else f"{crawl.new} items"
        return f"new, {count}" if crawl.outcome == "new" else f"first fetch, {count}"
    return {"first": "first fetch", "changed": "changed", "unchanged": "nothing new"}.get(crawl.outcome, crawl.outcome)
