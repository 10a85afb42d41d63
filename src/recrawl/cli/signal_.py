"""`recrawl signal`: tell the crawler that a source has changed."""

from __future__ import annotations

import time

import click

from recrawl.cli.options import name_of, opened_store, settings, store_options

LONGEST_AGO_S = 366 * 86400.0


@click.command(name="signal", short_help="Tell the crawler that a source has changed.")
@click.argument("target")
@click.option(
    "--at", metavar="TIME", help="When it changed: 5m (ago), 2026-01-31T08:00Z or Unix seconds; now if not given."
)
@store_options
def command(target: str, at: str | None) -> None:
    """Tell the crawler that a source has changed, for hooks of your own.

    TARGET is an id, a URL, or a part of a URL or title that fits one source only. The word is kept in the store until a
    crawler hears it, within a second if one runs. It is evidence: how soon the source is fetched depends on how often
    such word was right before. `recrawl crawl TARGET` fetches at once.
    """
    from recrawl.cli.targets import find_source
    from recrawl.errors import ParameterError
    from recrawl.store.records import Signal

    now = time.time()
    changed = now if at is None else time_of(at, now)
    if not 0.0 <= now - changed <= LONGEST_AGO_S:
        raise ParameterError("--at", "a time of the last year, and none to come", repr(at))
    with opened_store(settings()) as store:
        source = find_source(store, target)
        store.record_signals([Signal(source=source.id, at=min(changed, now), came=now, by="told")])
        click.echo(f"told: {source.id} {name_of(source)}")
        if store.claimed() is None:
            click.echo("nobody crawls this store now; the next crawler will hear of it", err=True)


def time_of(text: str, now: float) -> float:
    """A time as people write it, in Unix seconds.

    >>> time_of("5m", now=1000.0), time_of("1970-01-01T00:00:10+00:00", now=1000.0), time_of("12.5", now=1000.0)
    (700.0, 10.0, 12.5)
    """
    from datetime import datetime

    from recrawl.arguments import moment
    from recrawl.errors import ParameterError
    from recrawl.units import parse_duration

    given = text.strip()
    try:
        return moment("--at", float(given))
    except ValueError:
        pass
    try:
        return moment("--at", datetime.fromisoformat(given))
    except ValueError:
        pass
    try:
        return now - parse_duration("--at", given)
    except ParameterError as error:
        raise ParameterError(
            "--at", "a time ago (5m), a date (2026-01-31T08:00Z) or Unix seconds", repr(text)
        ) from error
