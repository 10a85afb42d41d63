"""Options that commands share: which settings, which store, and what is said about a source.

`--config` and `--store` may stand before or after the command; neither reaches its function: `settings` and
`opened_store` know them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.store.records import Source
    from recrawl.store.roles import Store

Function = TypeVar("Function", bound=Callable[..., Any])
_KEPT = "recrawl.options"
UNSETTABLE = (
    "importance", "half-life", "max-age", "cost", "select", "digest", "ignore", "ignore-text", "keep",
    "keep-text", "number", "when", "render", "steps", "ignore-noise", "restless", "robots", "hints", "interval",
    "active-hours", "notify", "notify-to", "follow", "content", "articles",
    "index-delay", "index-batch",
)  # fmt: skip


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value is not None:
        ctx.meta.setdefault(_KEPT, {})[parameter.name] = value


def config_option(command: Function) -> Function:
    """`--config FILE`."""
    return click.option("--config", type=click.Path(path_type=Path), metavar="FILE", envvar="RECRAWL_CONFIG",
                        expose_value=False, callback=_remember,
                        help="Settings; recrawl.toml here if there is one. [env: RECRAWL_CONFIG]")(command)  # fmt: skip


def store_options(command: Function) -> Function:
    """`--store PATH` and `--config FILE`, for commands that open the store."""
    store = click.option("--store", metavar="PATH", envvar="RECRAWL_STORE", expose_value=False, callback=_remember,
                         help="The store; by the settings, recrawl.db, if not given. [env: RECRAWL_STORE]")  # fmt: skip
    return store(config_option(command))


def settings(overrides: Mapping[str, object] | None = None) -> Config:
    """The settings in force for the command that runs now."""
    from recrawl.config import load

    given = _given()
    return load(given.get("config"), {"store": given.get("store"), **(overrides or {})})


def set_by(name: str) -> Path | None:
    """The file with the settings of the command that runs now, if it says this; None if it is the usual."""
    from recrawl.config.loading import says

    return says(_given().get("config"), name)


def _given() -> Mapping[str, Any]:
    context = click.get_current_context(silent=True)
    given: Mapping[str, Any] = context.meta.get(_KEPT, {}) if context is not None else {}
    return given


@contextmanager
def opened_store(config: Config, *, create: bool = False) -> Iterator[Store]:
    """The store of the settings; StoreError if there is none, unless it may be made."""
    from recrawl.errors import StoreError
    from recrawl.store.opening import open_store

    if not create and "://" not in config.store and not Path(config.store).exists():
        raise StoreError(f"no store at {config.store}: make one with `recrawl add URL`, or name it with --store")
    store = open_store(config.store)
    try:
        yield store
    finally:
        store.close()


def json_option(command: Function) -> Function:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="As JSON, with the fields of docs/commands.md.")(
        command
    )


def source_options(command: Function) -> Function:
    """What can be said about a source; gathered by `described`."""
    for option in reversed(
        (
            click.option("--importance", type=float, metavar="W", help="What one of its items is worth; 1 is usual."),
            click.option("--half-life", metavar="TIME", help="Time in which its items lose half their interest: 6h."),
            click.option("--max-age", metavar="TIME", help="Fetch it at least this often, whatever it is worth: 7d."),
            click.option("--cost", type=float, metavar="C", help="What a fetch of it costs; 1 is usual."),
            click.option("--tag", "tags", multiple=True, metavar="T", help="A word to find it by; may be repeated."),
            click.option("--kind", type=click.Choice(["auto", "feed", "sitemap", "page"]),
                         help="What it is; auto finds out on the first fetch."),
            click.option("--header", "headers", multiple=True, metavar="'K: V'",
                         help="Sent to its own origin only; may be repeated."),
            click.option("--select", metavar="SELECTOR", help="Part of a page that is compared: CSS, xpath:…, json:…"),
            click.option("--digest", type=click.Choice(["text", "raw"]), help="Compare a page's text, or every byte."),
            click.option("--ignore", multiple=True, metavar="SELECTOR",
                         help="Parts that do not count; also xpath:… and json:…; may be repeated."),
            click.option("--ignore-text", multiple=True, metavar="REGEX",
                         help="Text that does not count; may be repeated."),
            click.option("--keep", multiple=True, metavar="SELECTOR",
                         help="Parts that always count, wherever they stand; may be repeated."),
            click.option("--keep-text", multiple=True, metavar="REGEX",
                         help="Lines that always count; may be repeated."),
            click.option("--number", metavar="WHAT",
                         help="Number that is watched: price, stock, version, a selector, text:REGEX."),
            click.option("--when", multiple=True, metavar="CONDITION",
                         help="A change counts only if: 'number < 100', 'appears sold out', …; may be repeated."),
            click.option("--render", type=click.Choice(["auto", "browser", "never"]),
                         help="Show a page by a browser before it is read; auto: if it is empty without scripts."),
            click.option("--step", "steps", multiple=True, metavar="STEP",
                         help="Done in the browser first: 'click #more', 'wait_for .list', …; may be repeated."),
            click.option("--ignore-noise/--no-ignore-noise", default=None,
                         help="Leave out clocks, ages, nonces and counters of visits."),
            click.option("--restless/--no-restless", default=None,
                         help="Leave out text that has changed at nearly every visit."),
            click.option("--robots/--no-robots", default=None, help="Obey robots.txt."),
            click.option("--hints/--no-hints", default=None, help="Obey the publisher's hints about its pace."),
            click.option("--interval", metavar="TIME", help="Fetch it exactly this often: 2h."),
            click.option("--active-hours", multiple=True, metavar="HOURS",
                         help="Fetch it in these hours only: '08:00-18:00 Europe/Berlin'; may be repeated."),
            click.option("--notify/--no-notify", default=None, help="Send its items and changes to the outlets."),
            click.option("--notify-to", multiple=True, metavar="NAME",
                         help="Notify [notify.NAME] of the settings and nobody else; may be repeated."),
            click.option("--follow/--no-follow", default=None,
                         help="Watch the pages that it names, too: all of a site by its sitemap."),
            click.option("--content/--no-content", default=None,
                         help="Keep what its items say in full, to be read here."),
            click.option("--articles/--no-articles", default=None,
                         help="Fetch the page of each new item once, for what it says in full."),
            click.option("--index-delay", metavar="TIME",
                         help="Time until what is found in it is visible to readers: 30m."),
            click.option("--index-batch", metavar="TIME",
                         help="How often what is found in it becomes visible: 1d is at midnight UTC."),
            click.option("--unset", multiple=True, type=click.Choice(UNSETTABLE), metavar="NAME",
                         help="Remove an option: interval, robots, half-life, …; may be repeated."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def described(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Source` that `source_options` gave, checked; without those not given."""
    from recrawl.crawl.catalogue.source_fields import UNSAID, checked_fields

    said = {name: value for name, value in given.items() if name != "unset" and value not in (None, ())}
    taken_back = [name.replace("-", "_") for name in given.get("unset", ())]
    for name in taken_back:
        if name in said:
            raise click.UsageError(f"--{name.replace('_', '-')} is both given and unset")
    fields = checked_fields(said)
    if fields.get("notify_to"):
        from recrawl.config.checks import check_names

        check_names("notify_to", fields["notify_to"], settings())
    return {**fields, **{name: UNSAID[name] for name in taken_back}}


def name_of(source: Source, limit: int = 300) -> str:
    """Its title, or its URL where it has none, fit to be shown."""
    from recrawl.crawl.reading.plain_text import clean, visible

    return clean(source.title, limit) or visible(source.url)
