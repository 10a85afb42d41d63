"""What is said of a list of another watcher: what stayed behind, page by page, and whom it notified."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recrawl.errors import OutputError

if TYPE_CHECKING:
    from recrawl.crawl.catalogue.source_lists import ListedSource, Listing

FOR_ALL, FOR_SOME = "all", "page"
"""How the tables `[notify.NAME]` of addresses are called: of all pages, and of some."""


def told_whom(found: Listing, file: Path | None) -> Listing:
    """The list, its pages naming those that are written down; without a file, addresses stay behind, and are named."""
    addresses = dict.fromkeys(url for each in found.entries for url in each.notify_urls)
    if file is None:
        return replace(found, entries=[_left_out(each) for each in found.entries])
    names = {url: f"{FOR_SOME}{number}" for number, url in enumerate(addresses, 1)}
    tables = [_table(f"{FOR_ALL}{number}", url, named=False) for number, url in enumerate(found.notify_urls, 1)]
    tables += [_table(name, url, named=True) for url, name in names.items()]
    if tables:
        _written(file, "\n".join(tables))
    everybody = [f"{FOR_ALL}{number}" for number in range(1, len(found.notify_urls) + 1)]
    return replace(found, entries=[_naming(each, names) for each in found.entries], notify_urls=tuple(everybody))


def report(found: Listing, refused: Collection[int]) -> None:
    """Say of each page what was left behind, and what is so for all.

    Parameters
        refused: the lines of which nothing was taken, and somebody else says why
    """
    entries = _once_each([each for each in found.entries if each.line not in refused])
    own = sum("interval" in each.fields for each in entries)
    if own:
        pages = "1 page keeps its own interval" if own == 1 else f"{own:,} pages keep their own intervals"
        click.echo(f"{pages} (`recrawl add --update --unset interval URL` leaves it to the budget)")
    if own < len(entries):
        click.echo("pages without an interval of their own are fetched when it is worth it, within the budget")
    behind = [each for each in entries if each.left]
    if behind:
        from recrawl.crawl.reading.plain_text import visible

        click.echo(f"not carried over, of {len(behind):,} of {len(entries):,} pages:")
        for each in behind:
            click.echo(f"  {visible(each.url)}: {'; '.join(each.left)}")
    if any("://" in url for url in found.notify_urls):
        count = len(found.notify_urls)
        click.echo(f"not carried over: {_addresses(count)} for all pages ({_HOW})")
    click.echo("not carried over: old states of the pages, and settings of the program")


def _once_each(entries: Sequence[ListedSource]) -> list[ListedSource]:
    """All of them, one for a page that was there before saying that nothing is left of it."""
    from recrawl.crawl.urls import normalise

    seen, again = set[str](), "this address a second time (a page is watched once; one --select can pick several parts)"
    once: list[ListedSource] = []
    for each in entries:
        url = normalise(each.url)
        once.append(replace(each, fields={}, left=(again,)) if url in seen else each)
        seen.add(url)
    return once


_HOW = "--notifications FILE writes them down"


def _addresses(count: int) -> str:
    return "1 notification address" if count == 1 else f"{count} notification addresses"


def _left_out(entry: ListedSource) -> ListedSource:
    if not entry.notify_urls:
        return entry
    return replace(entry, left=(*entry.left, f"{_addresses(len(entry.notify_urls))} ({_HOW})"))


def _naming(entry: ListedSource, names: dict[str, str]) -> ListedSource:
    if not entry.notify_urls:
        return entry
    told = list(dict.fromkeys(names[url] for url in entry.notify_urls))
    return replace(entry, fields={**entry.fields, "notify_to": told})


def _table(name: str, url: str, *, named: bool) -> str:
    import msgspec

    return f"[notify.{name}]\nto = {msgspec.json.encode(url).decode()}\n" + ("named_only = true\n" if named else "")


def _written(file: Path, text: str) -> None:
    """Only its owner may read it."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise OutputError(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(f"# Put these into recrawl.toml; they may hold secrets.\n{text}")
    click.echo(f"notification addresses are in {file}: put them into recrawl.toml (`recrawl notify --test` tries them)")
