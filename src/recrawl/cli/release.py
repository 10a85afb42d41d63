"""`recrawl release`: lift holds by hand."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import json_option, name_of, opened_store, settings, store_options
from recrawl.cli.targets import target_options

if TYPE_CHECKING:
    from recrawl.store.records import Hold, Progress, Source
    from recrawl.store.roles import Store

AT_A_TIME = 5000


@click.command(name="release", short_help="Lift the holds of sources and of their hosts.")
@target_options
@click.option("--all", "everything", is_flag=True,
              help="Everything that failed or was refused. Holds that were asked for (Crawl-delay, ttl) must be "
                   "named.")  # fmt: skip
@json_option
@store_options
def command(targets: tuple[str, ...], tags: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Lift the holds of sources, and of their hosts, so that they may be fetched now.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only; --tag NAME stands for all sources
    with a tag. A running crawler follows within seconds. A hold caused by a setting ends by itself at the next start
    with another setting.
    """
    from recrawl.cli.targets import find_targets
    from recrawl.crawl.hold_release import ASKED_FOR, release
    from recrawl.crawl_state import CrawlState

    if everything == bool(targets or tags):
        raise click.UsageError("which sources? Name them (recrawl release TARGET...), a --tag, or give --all alone")
    now = time.time()
    with opened_store(settings()) as store:
        at = CrawlState.read(store, settings(), now, never_fetched=0)
        if everything:
            sources, progress = _all_held(store, now)
            known = len(sources) + len(at.holds)
            sources = [each for each in sources if not _was_asked_for(progress[each.id], at.hold_of(each))]
            holds = [hold for hold in at.holds.values() if hold.cause not in ASKED_FOR]
            asked = known - len(sources) - len(holds)
        else:
            sources, asked = find_targets(store, targets, tags), 0
            progress = {each.source: each for each in store.progress([each.id for each in sources])}
            keys = dict.fromkeys(at.key_of(each.url) for each in sources)
            holds = [at.holds[key] for key in keys if key in at.holds]
        held = [(each, progress[each.id]) for each in sources if progress[each.id].is_held(now)]
        if held or holds:
            release(store, held, holds, now, crawled=at.crawler is not None)
    idle = [each for each in sources if progress[each.id].held_until <= now and at.key_of(each.url) not in at.holds]
    if as_json:
        _write(held, holds, idle, asked)
    else:
        _show(held, holds, idle, asked, now, at.crawler)


def _all_held(store: Store, now: float) -> tuple[list[Source], dict[int, Progress]]:
    """Sources with a hold of their own."""
    progress = {each.source: each for each in store.progress() if each.is_held(now)}
    ids = list(progress)
    sources = [
        each for start in range(0, len(ids), AT_A_TIME) for each in store.sources(ids=ids[start : start + AT_A_TIME])
    ]
    return sources, progress


def _was_asked_for(progress: Progress, of_host: Hold | None) -> bool:
    """Whether somebody asked for the hold of a source; one that waits for its host has that one's cause."""
    from recrawl.crawl.hold_causes import BUSY
    from recrawl.crawl.hold_release import ASKED_FOR

    if progress.held_cause == BUSY:
        return of_host is not None and of_host.cause in ASKED_FOR
    return progress.held_cause in ASKED_FOR


def _write(held: list[tuple[Source, Progress]], holds: list[Hold], idle: list[Source], asked: int) -> None:
    from recrawl.cli.tables import write_json

    released: list[dict[str, Any]] = [
        {"id": each.id, "url": each.url, "until": of.held_until, "reason": of.held_by, "cause": of.held_cause}
        for each, of in held
    ]
    hosts = [{"host": hold.host, "until": hold.until, "reason": hold.reason, "cause": hold.cause} for hold in holds]
    write_json({"released": released, "hosts": hosts, "not_held": [each.id for each in idle], "asked_for": asked})


def _show(
    held: list[tuple[Source, Progress]],
    holds: list[Hold],
    idle: list[Source],
    asked: int,
    now: float,
    crawler: str | None,
) -> None:
    from recrawl.cli.tables import short
    from recrawl.crawl.reading.plain_text import told

    for source, progress in held:
        why = told(progress.held_by, 200) or "held"
        click.echo(f"released: {source.id} {name_of(source)} ({why}; {short(progress.held_until - now)} early)")
    for hold in holds:
        why = told(hold.reason, 200) or "held"
        click.echo(f"released: host {told(hold.host, 200)} ({why}; {short(hold.until - now)} early)")
    for source in idle:
        click.echo(f"not held: {source.id} {name_of(source)}")
    if asked:
        click.echo(
            f"left alone: {asked} that asked for time (Retry-After, Crawl-delay, ttl); name a source to release it"
        )
    if not held and not holds and not idle and not asked:
        click.echo("nothing is held")
    elif held or holds:
        notice = "the crawler takes notice within seconds" if crawler else "they are fetched at the next `recrawl run`"
        click.echo(notice)
