"""Which source is meant: by id, by URL, or by any part of its URL or title that fits one source only."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from recrawl.store.base import Source, Store

SHOWN = 8
LOOKED_AT = 20_000
"""Sources whose names are compared with one that fits nothing; more would take seconds."""


class TargetError(click.ClickException):
    """A name that fits no source, or several: which ones, a line each."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """The message as it is."""
        click.echo(f"recrawl: {self.message}", err=True)


def find_source(store: Store, text: str) -> Source:
    """The one source that `text` means."""
    found = _exactly(store, text.strip())
    if found is not None:
        return found
    fitting = store.sources(text=text.strip(), limit=SHOWN + 1) if text.strip() else []
    same = [each for each in fitting if each.title.casefold() == text.strip().casefold()]
    if len(fitting) == 1 or len(same) == 1:
        return (same or fitting)[0]
    if fitting:
        more = "\n  …" if len(fitting) > SHOWN else ""
        raise TargetError(f"{text!r} could be several sources; which one?{_lines(fitting[:SHOWN])}{more}")
    near = _similar(store, text.strip())
    hint = f"; similar are{_lines(near)}" if near else "; see `recrawl sources`"
    raise TargetError(f"no source is called {text!r}{hint}")


def find_sources(store: Store, texts: Iterable[str]) -> list[Source]:
    """One source per text, none twice; all are found before anything is done."""
    return list({source.id: source for source in (find_source(store, text) for text in texts)}.values())


def _exactly(store: Store, text: str) -> Source | None:
    from recrawl.crawl.urls import normalise
    from recrawl.errors import ParameterError

    number = text.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < 19:
        return store.source(int(number))
    try:
        return store.source(text) or store.source(normalise(text))
    except ParameterError:
        return None


def _similar(store: Store, text: str) -> list[Source]:
    names: dict[str, Source] = {}
    for source in store.sources(limit=LOOKED_AT):
        rest = source.url.partition("://")[2].removeprefix("www.")
        for name in (source.title, source.url, rest, rest.partition("/")[0]):
            names.setdefault(name.casefold(), source)
    near = get_close_matches(text.casefold(), [name for name in names if abs(len(name) - len(text)) < len(text)], n=3)
    return list({names[name].id: names[name] for name in near}.values())


def _lines(sources: Iterable[Source]) -> str:
    from recrawl.cli.options import name_of
    from recrawl.crawl.text import visible

    return "".join(
        f"\n  {source.id:>6}  {visible(source.url)}" + (f"  ({name_of(source, 60)})" if source.title else "")
        for source in sources
    )
