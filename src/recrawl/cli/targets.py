"""Which sources are meant: one by id, URL, or any part of its URL or title that fits it alone; all with a tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import click

if TYPE_CHECKING:
    from recrawl.store.records import Source
    from recrawl.store.roles import Catalogue

SHOWN = 8
LOOKED_AT = 20_000
"""Sources whose names are compared with one that fits nothing; more would take seconds."""
LONGEST_ID = 19
"""Digits; no store counts so far."""


Function = TypeVar("Function", bound=Callable[..., Any])
MOST_TAGS = 10_000
"""Tags among which one that was misspelt is looked for."""


def target_options(command: Function) -> Function:
    """`TARGET...` and `--tag NAME`: what they mean, `find_targets` knows."""
    named = click.argument("targets", nargs=-1, metavar="[TARGET...]")
    tagged = click.option("--tag", "tags", multiple=True, metavar="NAME", help="All sources with this tag.")
    return named(tagged(command))


class TargetError(click.ClickException):
    """A name that fits no source, or several: which ones, a line each."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """The message as it is."""
        click.echo(f"recrawl: {self.message}", err=True)


def find_source(store: Catalogue, text: str) -> Source:
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


def find_sources(store: Catalogue, texts: Iterable[str]) -> list[Source]:
    """One source per text, none twice; all are found before anything is done."""
    return list({source.id: source for source in (find_source(store, text) for text in texts)}.values())


def find_targets(store: Catalogue, texts: Iterable[str], tags: Iterable[str]) -> list[Source]:
    """The sources named and those with these tags, none twice; UsageError if nothing was named."""
    texts, tags = list(texts), list(tags)
    if not (texts or tags):
        raise click.UsageError("which sources? Name them, or all with a tag by --tag")
    found = {source.id: source for source in find_sources(store, texts)}
    for tag in tags:
        found |= {source.id: source for source in store.sources(tag=find_tag(store, tag))}
    return list(found.values())


@overload
def find_tag(store: Catalogue, tag: str) -> str: ...
@overload
def find_tag(store: Catalogue, tag: str | None) -> str | None: ...
def find_tag(store: Catalogue, tag: str | None) -> str | None:
    """The tag as it is kept; TargetError if no source has it. None if none was named."""
    if tag is None:
        return None
    name = " ".join(tag.split())
    if not store.count(tag=name):
        from difflib import get_close_matches

        known = [each for each, _ in store.tags(MOST_TAGS)]
        near = get_close_matches(name.casefold(), [each.casefold() for each in known])
        alike = [each for each in known if each.casefold() in near]
        hint = f"; did you mean {' or '.join(map(repr, alike))}?" if alike else "; see `recrawl tag`"
        raise TargetError(f"no source has the tag {tag!r}{hint}")
    return name


def _exactly(store: Catalogue, text: str) -> Source | None:
    """By id or address. A number is an id and nothing else: as a part of an address it would mean another source."""
    from recrawl.crawl.urls import normalise
    from recrawl.errors import ParameterError

    number = text.removeprefix("#")
    if number.isascii() and number.isdigit():
        found = store.source(int(number)) if len(number) < LONGEST_ID else None
        if found is None:
            raise TargetError(f"no source has id {number}; see `recrawl sources`")
        return found
    try:
        return store.source(text) or store.source(normalise(text))
    except ParameterError:
        return None


def _similar(store: Catalogue, text: str) -> list[Source]:
    from difflib import get_close_matches

    names: dict[str, Source] = {}
    for source in store.sources(limit=LOOKED_AT):
        rest = source.url.partition("://")[2].removeprefix("www.")
        for name in (source.title, source.url, rest, rest.partition("/")[0]):
            names.setdefault(name.casefold(), source)
    near = get_close_matches(text.casefold(), [name for name in names if abs(len(name) - len(text)) < len(text)], n=3)
    return list({names[name].id: names[name] for name in near}.values())


def _lines(sources: Iterable[Source]) -> str:
    from recrawl.cli.options import name_of
    from recrawl.crawl.reading.plain_text import visible

    return "".join(
        f"\n  {source.id:>6}  {visible(source.url)}" + (f"  ({name_of(source, 60)})" if source.title else "")
        for source in sources
    )
