"""What pages are asked for, read leniently: an address typed by hand or kept from long ago still leads somewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast, get_args

from recrawl.errors import ParameterError
from recrawl.store.records import ItemKind, SourceState
from recrawl.units import parse_duration, parse_rate, whole_number
from recrawl.web.context import Context
from recrawl.web.views import catalogue, latest
from recrawl.web.views.prospects import bounds

MOST_TEXT = 200
MOST_PAGES = 10_000
LARGEST_ID = 2**63 - 1


def text(query: Mapping[str, str], name: str) -> str:
    """A short text; what is too long is cut."""
    return query.get(name, "").strip()[:MOST_TEXT]


def whole(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """A whole number from 1 on."""
    given = query.get(name, "")
    return default if (number := whole_number(given, most)) is None else max(number, 1)


def sources_choice(query: Mapping[str, str]) -> catalogue.Choice:
    """Which sources a page is to show."""
    order, state = query.get("order", ""), query.get("state", "")
    return catalogue.Choice(
        text=text(query, "q"),
        tag=text(query, "tag"),
        state=cast("SourceState", state) if state in ("active", "paused", "retired") else None,
        order=order if order.removeprefix("-") in catalogue.ORDERS else "due",
        page=whole(query, "page", 1, MOST_PAGES),
    )


def items_wanted(query: Mapping[str, str], now: float) -> latest.Wanted:
    """Which items a page is to show; a search is by relevance unless something else is said."""
    words, order = text(query, "q"), query.get("order", "")
    usual = "relevance" if words else "worth"
    within = _seconds(query.get("within", ""))
    source, kind = query.get("source", ""), query.get("kind", "")
    return latest.Wanted(
        text=words,
        kind=cast("ItemKind", kind) if kind in get_args(ItemKind) else None,
        tag=text(query, "tag"),
        source=whole(query, "source", 0, LARGEST_ID) if source else None,
        since=None if math.isnan(within) else now - within,
        order=cast("latest.ItemOrder", order if order in latest.ORDERS else usual),
        page=whole(query, "page", 1, latest.MOST_PAGES),
    )


def budget(query: Mapping[str, str], context: Context) -> float:
    """The budget asked about, per second; twice the present one if none is. ParameterError if it cannot be one."""
    given = text(query, "budget")
    if not given:
        return 2.0 * context.budget()
    asked = parse_rate("budget", given)
    least, largest = bounds(context)
    if not least / 1000.0 <= asked <= largest * 1000.0:
        raise ParameterError("budget", "within a factor of thirty thousand of the present one", repr(given))
    return asked


def _seconds(given: str) -> float:
    try:
        return parse_duration("within", given[:20]) if given else math.nan
    except ParameterError:
        return math.nan
