"""Changing the catalogue: what was said about sources, checked by the same rules as on the command line.

Addresses pass the guard of the crawler before they are taken in, so that a page or a program cannot make it look into a
private network; the crawler checks once more, at the moment it connects.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recrawl.cluster import budget_requests
from recrawl.config import Config
from recrawl.config.checks import check_names
from recrawl.config.option_rules import OPTIONS
from recrawl.crawl.catalogue.opml import write_opml
from recrawl.crawl.catalogue.source_fields import UNSAID, checked_fields, given_to
from recrawl.crawl.catalogue.source_lists import ListedSource, read_list, state
from recrawl.crawl.fetching.address_guard import host_refusal
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean
from recrawl.crawl.urls import host, normalise
from recrawl.errors import ParameterError
from recrawl.store.records import Added, Source
from recrawl.web.context import Context
from recrawl.web.formatting import http_link

FIELDS = ("importance", "half_life", "max_age", "cost", "tags", "kind", "select", *OPTIONS)
MAY_BE_EMPTY = ("half_life", "max_age", "select", *OPTIONS)
MOST_IMPORTED = 200_000
MOST_TAGS = 20
LONGEST_ADDRESS = 10_000
"""No address that may be crawled is as long."""
LARGEST = 1e9


@dataclass
class Imported:
    """What became of a list: how many are new, how many were known, and what was wrong with the others."""

    added: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)


def allowed(url: str, config: Config) -> str:
    """The one spelling of an address that may be crawled; ParameterError otherwise."""
    address = normalise(url)
    reason = "" if config.fetch.allow_private else host_refusal(host(address))
    if reason:
        raise ParameterError("url", "an address on the public internet", f"one whose host is {reason}")
    return address


def add(context: Context, url: str, given: Mapping[str, Any]) -> Added:
    """Take in one source."""
    address = allowed(url, context.config)
    source = given_to(Source(url=address, added=context.now()), checked(given))
    _check_named(context, source)
    return _taken(context, [source])[0]


def change(context: Context, source: Source, given: Mapping[str, Any]) -> Source:
    """Give a source other terms; what is not given stays."""
    changed = given_to(source, checked(given))
    _check_named(context, changed, source.options.notify_to)
    context.store.edit([changed])
    context.cached.forget()
    return changed


def pause(context: Context, source: Source, *, paused: bool) -> None:
    """Stop or resume crawling it. One that was retired is given another try."""
    note = "" if source.state == "retired" and not paused else source.note
    context.store.edit([msgspec.structs.replace(source, state="paused" if paused else "active", note=note)])
    context.cached.forget()


def want(context: Context, source: Source) -> None:
    """Have it fetched as soon as the budget and its host allow."""
    context.store.edit([msgspec.structs.replace(source, wanted=context.now())])
    context.cached.forget()


def spend(context: Context, per_second: float) -> None:
    """Ask whoever crawls for another budget; ContractError if nobody can be asked."""
    budget_requests.ask(context.store, per_second, context.now())
    context.cached.forget()


def remove(context: Context, source: Source) -> None:
    """Forget it, and all that was found in it."""
    context.store.remove([source.id])
    context.cached.forget()


def take_list(context: Context, body: bytes) -> Imported:
    """Take in a list, OPML, CSV or plain text; what cannot be used is listed."""
    result, now = Imported(), context.now()
    fresh: dict[str, Source] = {}
    for entry in _entries(body):
        try:
            address = allowed(entry.url[:LONGEST_ADDRESS], context.config)
            source = given_to(Source(url=address, added=now), _listed(entry))
        except ParameterError as error:
            result.refused.append(f"line {entry.line}: {error}")
            continue
        if entry.left:
            result.refused.append(f"line {entry.line}: not carried over: {'; '.join(entry.left)}")
        fresh.setdefault(address, source)
    added = _taken(context, list(fresh.values()))
    result.added = sum(each.new for each in added)
    result.known = len(added) - result.added
    return result


def _listed(entry: ListedSource) -> dict[str, Any]:
    """Fields of a source as a list has them; headers come from the command line alone."""
    fields = checked({name: value for name, value in entry.fields.items() if value})
    if entry.fields.get("title"):
        fields["title"] = clean(entry.fields["title"], TITLE_CHARACTERS)
    if entry.fields.get("state"):
        fields["state"] = state("state", entry.fields["state"])
    return fields


def written_list(context: Context) -> bytes:
    """The whole catalogue as OPML, but for sources without an address."""
    return write_opml(source for source in context.store.sources() if http_link(source.url))


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a source; what is empty means the settings' default."""
    wanted = {name: given[name] for name in FIELDS if name in given}
    empty = {name: UNSAID[name] for name in MAY_BE_EMPTY if name in wanted and wanted[name] in ("", None, [])}
    rest = {name: value for name, value in wanted.items() if name not in empty}
    if isinstance(rest.get("tags"), str):
        rest["tags"] = [tag.strip() for tag in re.split(r"[,;\n]", rest["tags"]) if tag.strip()]
    found = checked_fields(rest)
    for name in ("importance", "cost", "half_life", "max_age", "interval"):
        if name in found and not 1.0 / LARGEST <= found[name] <= LARGEST:
            raise ParameterError(name, f"a number between {1 / LARGEST:g} and {LARGEST:g}", repr(given[name]))
    if len(found.get("tags", ())) > MOST_TAGS:
        raise ParameterError("tags", f"at most {MOST_TAGS} tags", len(found["tags"]))
    return {**found, **empty}


def _check_named(context: Context, source: Source, before: Collection[str] = ()) -> None:
    """ParameterError if it newly names somebody to notify of whom the settings say nothing: everybody would be told."""
    check_names("notify_to", tuple(who for who in source.options.notify_to if who not in before), context.config)


def _entries(body: bytes) -> list[ListedSource]:
    found = read_list(body, MOST_IMPORTED + 1)
    if found.cut:  # half a list would look like one from which the rest was removed
        raise ParameterError("the list", "a whole OPML list", "one that ends before its end; nothing of it was taken")
    if len(found.entries) > MOST_IMPORTED:
        raise ParameterError("the list", f"at most {MOST_IMPORTED} entries", "more")
    return found.entries


def _taken(context: Context, sources: Sequence[Source]) -> list[Added]:
    added = context.store.add(sources) if sources else []
    context.cached.forget()
    return added
