"""`recrawl reader`: who may read with a program of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recrawl.cli.options import opened_store, settings, store_options
from recrawl.cli.suggestions import Suggesting

if TYPE_CHECKING:
    from recrawl.store.reader_records import Reader, Wanted
    from recrawl.store.roles import Readers, Store


@click.group(name="reader", cls=Suggesting, short_help="Let people read with programs of their own.")
def command() -> None:
    """Let people read with programs of their own (newsboat, NetNewsWire, Reeder, Read You and others).

    The programs speak the Google Reader API with `recrawl serve`. Give them its address with /api/greader.php behind
    it, the reader's name, and the password shown here.
    """


@command.command(name="add", short_help="Take in a reader; shows the password once.")
@click.argument("name")
@click.option("--all", "everything", is_flag=True, help="Subscribe to all sources; their tags become folders.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="Subscribe to sources with this tag; may be repeated.")
@store_options
def add(name: str, everything: bool, tags: tuple[str, ...]) -> None:
    """Take in a reader called NAME, and show the password, which is kept nowhere."""
    import time

    from recrawl.web.reader_api.credentials import new_reader

    reader, password = new_reader(name, time.time())
    with opened_store(settings(), create=True) as store:
        wanted = _sources(store, everything, tags)
        reader.id = store.add_reader(reader)
        store.subscribe(reader.id, wanted, time.time())
    sources = "1 source" if len(wanted) == 1 else f"{len(wanted):,} sources"
    none = "has no subscriptions yet (with --all: every source)"
    click.echo(f"{reader.name} reads {sources}" if wanted else f"{reader.name} {none}")
    _tell(password)
    click.echo("In the program: the address of `recrawl serve` with /api/greader.php behind it, for instance")
    click.echo(f"http://127.0.0.1:8080/api/greader.php, the user {reader.name}, and this password.")


def _sources(store: Store, everything: bool, tags: tuple[str, ...]) -> list[Wanted]:
    from recrawl.cli.targets import find_tag
    from recrawl.store.reader_records import Wanted

    chosen = {each.id: each for tag in tags for each in store.sources(tag=find_tag(store, tag))}
    if everything:
        chosen = {each.id: each for each in store.every_source()}
    return [Wanted(source=each, labels=each.tags) for each in chosen.values() if each.kind != "key"]


@command.command(name="list", short_help="List readers.")
@store_options
def show() -> None:
    """List readers, with what they subscribe to and have not read."""
    with opened_store(settings()) as store:
        readers = store.readers()
        for each in readers:
            unread = store.unread(each.id)
            count = sum(line.count for line in unread)
            click.echo(f"{each.name}: subscriptions {len(unread):,}, unread {count:,}")
    if not readers:
        click.echo("nobody reads yet: recrawl reader add NAME")


@command.command(name="password", short_help="Give a reader another password; shows it once.")
@click.argument("name")
@store_options
def password(name: str) -> None:
    """Give the reader NAME another password. The old one, and every program that used it, is locked out."""
    from recrawl.web.reader_api.credentials import new_password

    fresh, line, key = new_password()
    with opened_store(settings()) as store:
        store.change_password(_found(store, name).id, line, key)
    _tell(fresh)


@command.command(name="remove", short_help="Forget a reader.")
@click.argument("name")
@store_options
def remove(name: str) -> None:
    """Forget the reader NAME, what they have read and starred, and the sources that came with them alone."""
    with opened_store(settings()) as store:
        reader = _found(store, name)
        store.remove_reader(reader.id)
    click.echo(f"{reader.name} is forgotten")


def _found(store: Readers, name: str) -> Reader:
    reader = store.reader(name.strip().lower())
    if reader is None:
        names = [each.name for each in store.readers()]
        known = f"there are {', '.join(names[:10])}" if names else "there are none: recrawl reader add NAME"
        raise click.UsageError(f"there is no reader {name!r}; {known}")
    return reader


def _tell(password: str) -> None:
    click.echo(f"password: {password}")
    click.echo("It is not kept and cannot be shown again; `recrawl reader password` gives another.")
