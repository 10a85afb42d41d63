"""`recrawl notify`: who is told of what is found, and whether they can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import config_option, json_option, settings
from recrawl.errors import ParameterError

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.crawl.outlets import NotificationOutlet

NOT_REACHED = 1
TITLE = "A test by recrawl"
TEXT = "This is a test of [notify.{name}]: what is found will be told here."
HOW = 'say who in recrawl.toml: [notify.me] with to = "ADDRESS" (docs/events.md, Notifications)'


@click.command(name="notify", short_help="List who is notified; --test sends each a message.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--test", is_flag=True, help="Send a test message now, and say whether it arrived.")
@json_option
@config_option
def command(names: tuple[str, ...], test: bool, as_json: bool) -> int:
    """List who is notified of what is found, by the tables [notify.NAME] of the settings.

    With --test, each (or each NAME) gets a message at once, whatever the hour. Exit status 1 if one did not arrive.
    """
    config = settings()
    if not config.notify:
        raise click.UsageError(f"nobody is notified: {HOW}")
    wanted = _wanted(config, names)
    rows = _tested(config, wanted) if test else _listed(config, wanted)
    if as_json:
        from recrawl.cli.tables import write_json

        write_json(rows)
    elif test:
        for row in rows:
            click.echo(f"{row['name']}: {'arrived' if row['arrived'] else 'not delivered: ' + row['error']}")
    else:
        _show(rows)
    return NOT_REACHED if test and not all(row["arrived"] for row in rows) else 0


def _wanted(config: Config, names: tuple[str, ...]) -> list[str]:
    from recrawl.arguments import meant

    for name in names:
        if name not in config.notify:
            expected = f"one of {', '.join(config.notify)}"
            raise ParameterError("NAME", expected, repr(name) + meant(name, list(config.notify)))
    return list(dict.fromkeys(names)) or list(config.notify)


def _tested(config: Config, names: list[str]) -> list[dict[str, Any]]:
    import asyncio

    from recrawl.wiring import make_notifications

    outlets = make_notifications(config, names)

    async def all_told() -> list[str]:
        return await asyncio.gather(*(_told(name, outlet) for name, outlet in zip(names, outlets, strict=True)))

    errors = asyncio.run(all_told())
    return [{"name": name, "arrived": not error, "error": error} for name, error in zip(names, errors, strict=True)]


async def _told(name: str, outlet: NotificationOutlet) -> str:
    """Why it was not told; empty if it was."""
    from recrawl.crawl.outlets import NotDeliveredError
    from recrawl.crawl.outlets.notices import Message

    try:
        await outlet.send(Message(TITLE, TEXT.format(name=name)))
    except NotDeliveredError as error:
        return str(error)
    return ""


def _listed(config: Config, names: list[str]) -> list[dict[str, Any]]:
    from recrawl.redaction import only_scheme

    rows: list[dict[str, Any]] = []
    for name in names:
        said = config.notify[name]
        to = f"${said.to_env}" if said.to_env else only_scheme(said.to)
        rows.append({"name": name, "to": to, "named_only": said.named_only, "digest": said.digest,
                     "quiet_hours": list(said.quiet_hours)})  # fmt: skip
    return rows


def _show(rows: list[dict[str, Any]]) -> None:
    widths = [max(len(row[key]) for row in rows) for key in ("name", "to")]
    for row in rows:
        what = "what names it" if row["named_only"] else "everything"
        when = f"in a digest, {row['digest']}" if row["digest"] else "at once"
        quiet = f", not {', '.join(row['quiet_hours'])}" if row["quiet_hours"] else ""
        click.echo(f"{row['name']:<{widths[0]}}  {row['to']:<{widths[1]}}  {what}, {when}{quiet}")
