"""`recrawl add`: sources by their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import described, opened_store, settings, source_options, store_options

if TYPE_CHECKING:
    from recrawl.cli.adding import Taken
    from recrawl.config import Config
    from recrawl.crawl.catalogue.site_discovery import Look
    from recrawl.store.roles import Store

PAGES = {
    "kind",
    "select",
    "digest",
    "ignore",
    "ignore_text",
    "keep",
    "keep_text",
    "number",
    "when",
    "render",
    "steps",
    "ignore_noise",
    "restless",
}
"""Whoever says one of these knows what it is."""


@click.command(name="add", short_help="Add sources: feeds, sitemaps, pages.")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@source_options
@click.option("--update", is_flag=True, help="Also change existing sources to the options given here.")
@click.option("--as-is", is_flag=True, help="Take the addresses as they are: do not look for feeds and sitemaps.")
@click.option("--allow-private", is_flag=True, default=None, help="Look at private networks and this machine too.")
@store_options
def command(urls: tuple[str, ...], update: bool, as_is: bool, allow_private: bool | None, **given: Any) -> int:
    """Add sources to the catalogue by their addresses. A missing https:// is understood.

    The address of a site is fetched once: the feed it advertises, or else its sitemap, is added in its place, and the
    command says which. With --as-is, --kind or --select nothing is fetched. A source that exists already is reported,
    and left as it is unless --update is given.
    """
    from recrawl.cli.adding import complain, take_in
    from recrawl.crawl.catalogue.source_lists import ListedSource

    fields, config = described(given), settings({"fetch.allow_private": allow_private})
    looks = not as_is and not PAGES.intersection(fields)
    with opened_store(config, create=True) as store:
        found = _looked_at(store, config, urls, fields, bool(allow_private)) if looks else {}
        entries = [ListedSource(place, _taken(url, found)) for place, url in enumerate(urls, 1)]
        taken = take_in(store, entries, fields, update)
        beside = {look.url: store.source(asked) for asked, look in found.items() if look.url != asked}
    from_where = {look.url: (asked, look) for asked, look in found.items()}
    for source in taken.added:
        not_looked_at = _not_looked_at(source.url, config) if looks else ""
        click.echo(f"added: {source.id} {source.url}{_words(source.url, from_where)}{not_looked_at}")
        page = beside.get(source.url)
        if page is not None:
            kind = found[page.url].kind
            click.echo(f"  {page.url} is there too: if the {kind} is enough, `recrawl remove {page.id}`")
    for source in taken.known:
        verb = "updated" if update else "already there"
        as_it_is = "\n  left as it is: --update gives it these options" if fields and not update else ""
        click.echo(f"{verb}: {source.id} {source.url}{_words(source.url, from_where)}{as_it_is}")
    _advise(taken, config, fields)
    if taken.twice:
        click.echo(f"given twice: {taken.twice}")
    return complain(taken)


def _advise(taken: Taken, config: Config, fields: Mapping[str, Any]) -> None:
    """Say which options are for pages, of a feed, and if conditions are about a number that nobody names."""
    from recrawl.crawl.met_conditions import NO_NUMBER, lacks_number
    from recrawl.store.source_terms import Defaults

    idle = sorted(f"--{name.replace('_', '-').replace('steps', 'step')}" for name in PAGES & fields.keys() - {"kind"})
    if idle and fields.get("kind") in ("feed", "sitemap"):
        click.echo(f"recrawl: {', '.join(idle)}: for pages only, and nothing to a {fields['kind']}", err=True)
        return
    if not fields.get("when"):
        return
    defaults = Defaults.of(config)
    if any(lacks_number((terms := source.terms(defaults)).number, terms.when) for source in taken.added):
        click.echo(f"recrawl: {NO_NUMBER}", err=True)


def _looked_at(
    store: Store, config: Config, urls: Sequence[str], fields: Mapping[str, Any], private: bool
) -> dict[str, Look]:
    """What the addresses of sites lead to, by the addresses.

    Those that are there already are not looked at, but for private ones where `private` says that they may be now.
    """
    from recrawl.crawl.catalogue.site_address import is_worth_a_look
    from recrawl.crawl.urls import normalise
    from recrawl.errors import ParameterError

    wanted = []
    for url in dict.fromkeys(urls):
        try:
            address = normalise(url)
        except ParameterError:
            continue
        if not is_worth_a_look(address, config.fetch.allow_private):
            continue
        if store.source(address) is None or (private and not is_worth_a_look(address, allow_private=False)):
            wanted.append(address)
    if not wanted:
        return {}
    from recrawl.crawl.catalogue.site_discovery import look

    return look(wanted, config, store.robots, fields.get("headers"), fields.get("robots"))


def _not_looked_at(url: str, config: Config) -> str:
    """Said behind an address that would have been looked at, were it not private."""
    from recrawl.crawl.catalogue.site_address import is_worth_a_look
    from recrawl.crawl.fetching.address_guard import host_refusal
    from recrawl.crawl.urls import host

    if config.fetch.allow_private or not is_worth_a_look(url, allow_private=True):
        return ""
    reason = host_refusal(host(url))
    return f"\n  not looked at: {host(url)} is {reason} (--allow-private looks)" if reason else ""


def _taken(url: str, found: Mapping[str, Look]) -> str:
    """The address to add for one that was given."""
    from recrawl.crawl.urls import normalise
    from recrawl.errors import ParameterError

    try:
        look = found.get(normalise(url))
    except ParameterError:
        return url  # refused where it is taken in
    return url if look is None else look.url


def _words(url: str, found: Mapping[str, tuple[str, Look]]) -> str:
    """What a look at an address showed, to be said behind it."""
    from recrawl.crawl.reading.plain_text import told, visible

    if url not in found:
        return ""
    asked, look = found[url]
    if look.trouble:
        return f" as it is: it could not be looked at ({told(look.trouble, 200)})"
    what = f" (the {look.kind} of {visible(asked)})" if look.url != asked else ""
    label = "also advertised" if what else "it advertises"
    return what + "".join(f"\n  {label}: {visible(other)}" for other in look.others)
