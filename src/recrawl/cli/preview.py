"""`recrawl preview`: what is seen of an address, which text counts, and what would be ignored."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import described, json_option, opened_store, settings, store_options

if TYPE_CHECKING:
    from rich.text import Text

    from recrawl.crawl.catalogue.preview import Preview
    from recrawl.crawl.reading.findings import Part
    from recrawl.store.records import Source
    from recrawl.store.roles import Catalogue

SHOWN, LEFT_OUT_SHOWN = 60, 2
"""Lines that are shown, and of those left out for one reason."""


@click.command(name="preview", short_help="Show what recrawl reads at an address, and what counts.")
@click.argument("target", metavar="URL")
@click.option("--kind", type=click.Choice(["auto", "feed", "sitemap", "page"]), help="What it is read as.")
@click.option("--select", metavar="SELECTOR", help="The part that is compared: CSS, xpath:…, json:…")
@click.option("--digest", type=click.Choice(["text", "raw"]), help="Compare a page's text, or every byte.")
@click.option("--ignore", multiple=True, metavar="SELECTOR", help="Parts that do not count; may be repeated.")
@click.option("--ignore-text", multiple=True, metavar="REGEX", help="Text that does not count; may be repeated.")
@click.option("--keep", multiple=True, metavar="SELECTOR", help="Parts that always count; may be repeated.")
@click.option("--keep-text", multiple=True, metavar="REGEX", help="Lines that always count; may be repeated.")
@click.option("--number", metavar="WHAT", help="Number that is watched: price, stock, version, a selector, text:REGEX.")
@click.option("--when", multiple=True, metavar="CONDITION", help="A change counts only if this is so; may be repeated.")
@click.option("--ignore-noise/--no-ignore-noise", default=None, help="Leave out clocks, ages, nonces and counters.")
@click.option("--restless/--no-restless", default=None, help="Leave out text that has changed at nearly every visit.")
@click.option("--render", type=click.Choice(["auto", "browser", "never"]), help="When a browser shows the page first.")
@click.option("--step", "steps", multiple=True, metavar="STEP", help="Done in the browser first; may be repeated.")
@click.option("--header", "headers", multiple=True, metavar="'K: V'", help="Sent to its own origin; may be repeated.")
@click.option("--allow-private", is_flag=True, default=None, help="Fetch from private networks and this machine too.")
@click.option("--all", "whole", is_flag=True, help="Show every line, those left out included.")
@json_option
@store_options
def command(target: str, allow_private: bool | None, whole: bool, as_json: bool, **given: Any) -> int:
    """Fetch an address once, as a crawl would, and show what recrawl reads there. Nothing is stored.

    For a page: the text that is compared, and in ⟦brackets⟧ what does not count, and why. For a feed or sitemap: its
    items with their dates. URL may also be a source of the catalogue, by its id or a part of its name: then its own
    options count unless you give others.
    """
    import asyncio

    from recrawl.crawl.catalogue.preview import look_at
    from recrawl.crawl.catalogue.source_fields import given_to

    config, fields = settings({"fetch.allow_private": allow_private}), described(given)
    if "://" in config.store or Path(config.store).exists():
        with opened_store(config) as store:
            seen = asyncio.run(look_at(config, given_to(_meant(store, target), fields), store))
    else:
        seen = asyncio.run(look_at(config, given_to(_new(target), fields)))
    if as_json:
        from recrawl.cli.tables import write_json

        write_json(seen)
    else:
        _show(seen, whole)
    return 1 if seen.error else 0


def _meant(store: Catalogue, target: str) -> Source:
    """A source of the catalogue if it is one; else the address."""
    from recrawl.cli.targets import TargetError, find_source
    from recrawl.crawl.urls import normalise

    if "://" in target:
        return store.source(normalise(target)) or _new(target)
    try:
        return find_source(store, target)
    except TargetError:
        if "." not in target:
            raise
        return _new(target)


def _new(target: str) -> Source:
    from recrawl.crawl.urls import normalise
    from recrawl.store.records import Source

    return Source(url=normalise(target))


def _show(seen: Preview, whole: bool) -> None:
    from rich.text import Text

    from recrawl.cli.console import console
    from recrawl.cli.tables import lines
    from recrawl.crawl.reading.plain_text import visible

    texts = [Text(each, style="bold" if k == 0 else "") for k, each in enumerate(_head(seen))]
    if seen.error:
        way_out = ": --allow-private fetches it" if seen.reason == "address" else ""
        texts.append(Text(visible(seen.error) + way_out, style="red"))
    elif seen.kind == "page":
        texts += [Text(""), *_page(seen, whole)]
    else:
        texts += [Text(""), *_items(seen, whole)]
    out = console()
    if whole or not out.is_terminal:
        lines(out, texts)
    else:
        for text in texts:
            out.print(text, overflow="fold")


def _head(seen: Preview) -> Iterator[str]:
    from recrawl.crawl.reading.plain_text import visible

    if seen.title:
        yield visible(seen.title)
    yield visible(seen.address if seen.address == seen.url else f"{seen.url} → {seen.address}")
    asked = f"{seen.requests} request{'s' if seen.requests != 1 else ''}"
    status = f"status {seen.status}" if seen.status else ""
    yield ", ".join(filter(None, (seen.kind, status, f"{seen.size:,} bytes", asked)))
    for number in seen.numbers:
        asked = "watched" if number == seen.number else f"--number {number.name} keeps its history"
        yield visible(f"number: {number.name} {number.said} ({number.where}; {asked})")
    if seen.rendered:
        yield visible(f"shown by a browser: {seen.rendered}")
    for condition, words in seen.when:
        yield visible(f"counts if: {condition} ({words})")
    if seen.compared:
        yield visible(f"compared: {seen.compared}")
    if seen.remark:
        yield visible(f"note: {seen.remark}")
    for each in seen.idle:
        yield visible(f"note: {each!r} picks nothing on this page today")
    for name, found in (("feed", seen.feeds), ("sitemap", seen.sitemaps)):
        for each in found:
            yield visible(f"{name}: {each}")


def _page(seen: Preview, whole: bool) -> Iterator[Text]:
    from rich.text import Text

    from recrawl.crawl.reading.preview_parts import left_out_for

    shown = 0
    for why, run in groupby(seen.lines, key=left_out_for):
        together = list(run)
        few = together if not why or whole else together[:LEFT_OUT_SHOWN]
        for line in few:
            shown += 1
            if shown > SHOWN and not whole:
                yield Text(f"… {len(seen.lines)} lines in all: --all shows every one", style="dim")
                return
            yield _line(line)
        if len(few) < len(together):
            yield Text(f"… {len(together) - len(few)} more lines left out: {why}", style="dim")
    if not seen.lines:
        yield Text(seen.text or "no text")


def _line(line: tuple[Part, ...]) -> Text:
    from rich.text import Text

    from recrawl.crawl.reading.plain_text import visible

    text = Text()
    for part in line:
        text.append(visible(f"⟦{part.text}⟧ ({part.why})" if part.why else part.text), "dim" if part.why else "")
    return text


def _items(seen: Preview, whole: bool) -> Iterator[Text]:
    from rich.text import Text

    from recrawl.crawl.reading.plain_text import visible

    for child in seen.children:
        yield Text(visible(f"lists {child}"))
    few = seen.items if whole else seen.items[:SHOWN]
    for item in few:
        date = "no date" if item.published is None else _date(item.published)
        yield Text.assemble((f"{date:<17}", "dim"), visible(item.title or item.link))
    more = seen.item_count - len(few)
    if more or not few:
        yield Text(f"… {more} more items" if more else "no items", style="dim")


def _date(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
