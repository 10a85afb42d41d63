"""The number that a page is watched for: its price, what is in stock, a version, or what its owner points at.

A shop says in words for machines what it offers (schema.org, in JSON-LD or microdata, or in `meta`); that is believed
before the text. `price` and `version` are looked for in the text, too; `stock` is 1 where it is only said that there is
some, and 0 where there is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from recrawl.config.conditions import version_of
from recrawl.crawl.reading.findings import Number
from recrawl.crawl.reading.page_selection import compiled
from recrawl.crawl.reading.plain_text import visible

NAMES = ("price", "stock", "version")
BY_TEXT = "text:"
LONGEST = 200
"""Characters of text in which a number is looked for."""
MOST = 1e15
"""From so much on, up or down, a number is none that is worth watching, and would not be kept to its last digit."""
MOST_DATA = 1_000_000
"""Bytes of data for search engines that are looked through."""
_CURRENCY = r"(?:[€$£¥₹₽₩₺₴]|(?:EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|INR|CNY)\b)"
_AMOUNT = r"[0-9](?:[0-9.,' ]{0,14}[0-9])?"
_MINUS = r"(?:(?<![^\s(:])[-−–])?"
_PRICE = re.compile(rf"{_MINUS}(?:{_CURRENCY} ?-?{_AMOUNT}|{_AMOUNT} ?{_CURRENCY})")
_BELOW_ZERO = re.compile(rf"^[^0-9]*?(?<![^\s(:€$£¥₹₽₩₺₴])[-−–] ?{_CURRENCY}? ?[0-9]")
"""A minus before the first number, at the beginning of a word: what stands between two numbers is a dash."""
_VERSION = re.compile(r"(?:\b(?:version|release|v)[ .:]*)([0-9]+(?:\.[0-9]+){0,3})\b", re.IGNORECASE)
_BARE_VERSION = re.compile(r"(?<![0-9.])([0-9]+\.[0-9]+\.[0-9]+)(?![0-9.])")
_THERE = ("instock", "instoreonly", "onlineonly", "limitedavailability", "presale", "preorder", "backorder")
_META_PRICE = ("product:price:amount", "og:price:amount")
_META_CURRENCY = ("product:price:currency", "og:price:currency")
_MISSING = ("the number ", " is not on this page")


def number_in_text(name: str, text: str, where: str, unit: str = "") -> Number | None:
    """The first number in a short text, with its currency if it has one."""
    from price_parser import Price

    found = Price.fromstring(text[:LONGEST], currency_hint=unit or None)
    if found.amount is None:
        return None
    amount = -found.amount if _BELOW_ZERO.search(text[:LONGEST]) else found.amount
    value = _watchable(amount)
    if value is None:
        return None
    said = f"{amount} {unit or found.currency or ''}".strip()
    return Number(name, value, said, unit or found.currency or "", where)


def in_digits(value: float) -> str:
    """A number to its last digit: whole ones as such, and none by powers of ten.

    >>> in_digits(1234567.89), in_digits(2500000.0), in_digits(0.00001), in_digits(math.inf)
    ('1234567.89', '2500000', '0.00001', 'inf')
    """
    if not math.isfinite(value):
        return repr(value)
    return str(int(value)) if value == int(value) else f"{Decimal(repr(value)):f}"


def _watchable(value: Decimal | float) -> float | None:
    """As it is kept; None for what is no number, or too far from 0. Strangers write digits without end."""
    return float(value) if -MOST < value < MOST else None


def in_lines(which: str, lines: Sequence[str]) -> Number | None:
    """A price or version in text, or what an owner's pattern finds there: its first group, or all of it."""
    if which.startswith(BY_TEXT):
        found = compiled(which.removeprefix(BY_TEXT)).search("\n".join(lines))
        return number_in_text("number", (found[1] or "") if found.groups() else found[0], "text") if found else None
    if which == "price":
        return next((each for line in lines if (each := _price_in(line)) is not None), None)
    if which == "version":
        for pattern in (_VERSION, _BARE_VERSION):
            for line in lines:
                if match := pattern.search(line):
                    return version(match[1], "text")
    return None


def _price_in(line: str) -> Number | None:
    found = _PRICE.search(line)
    return None if found is None else number_in_text("price", found[0], "text")


def version(said: str, where: str) -> Number | None:
    """A version as a number that grows with it."""
    value = version_of(said.strip().lstrip("vV"))
    return None if math.isnan(value) else Number("version", value, said.strip(), "", where)


def in_page(which: str, root: Any) -> Number | None:
    """What a page says for machines."""
    if which not in NAMES:
        return None
    offers = (_of_object(which, each, "schema.org") for each in _objects(root))
    return next(filter(None, offers), None) or _in_microdata(which, root) or _in_meta(which, root)


def in_json(which: str, value: Any) -> Number | None:
    """What a document in JSON calls so."""
    if which not in NAMES:
        return None
    return next(filter(None, (_of_object(which, each, "JSON") for each in _inside(value))), None)


def _objects(root: Any) -> Iterator[dict[str, Any]]:
    size = 0
    for element in root.iter("script"):
        text = element.text or ""
        size += len(text)
        if "ld+json" not in element.get("type", "") or size > MOST_DATA:
            continue
        try:
            yield from _inside(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue


def _inside(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in it, in the order in which they stand, without recursion."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += reversed([each for each in value.values() if isinstance(each, dict | list)])
        elif isinstance(value, list):
            waiting += reversed(value)


def _of_object(which: str, value: dict[str, Any], where: str) -> Number | None:
    said = {name.lower(): each for name, each in value.items() if isinstance(each, str | int | float)}
    if which == "price":
        amount = said.get("price", said.get("lowprice"))
        unit = visible(str(said.get("pricecurrency", said.get("currency", ""))))[:10]
        said_amount = in_digits(amount) if isinstance(amount, float) else str(amount)
        return None if amount is None else number_in_text("price", said_amount, where, unit)
    if which == "stock":
        level = value.get("inventoryLevel", said.get("stock", said.get("quantity")))
        level = level.get("value") if isinstance(level, dict) else level
        if isinstance(level, int | float) and (number := _watchable(level)) is not None:
            return Number("stock", number, in_digits(number), "", where)
        return _availability(str(said.get("availability", "")), where)
    return version(str(said.get("softwareversion", said.get("version", ""))), where)


def _availability(said: str, where: str) -> Number | None:
    word = said.rpartition("/")[2].lower()
    if not word:
        return None
    return Number("stock", float(word in _THERE), visible(said.rpartition("/")[2])[:40], "", where)


def _in_microdata(which: str, root: Any) -> Number | None:
    names = {"price": ("price", "lowPrice"), "stock": ("availability",), "version": ("softwareVersion",)}[which]
    for name in names:
        for element in root.iterfind(f".//*[@itemprop='{name}']"):
            said = element.get("content") or element.get("href") or "".join(element.itertext())
            if which == "price":
                unit = root.find(".//*[@itemprop='priceCurrency']")
                found = number_in_text(
                    "price", said, "schema.org", "" if unit is None else unit.get("content", "")[:10]
                )
            else:
                found = _availability(said, "schema.org") if which == "stock" else version(said, "schema.org")
            if found is not None:
                return found
    return None


def _in_meta(which: str, root: Any) -> Number | None:
    if which != "price":
        return None
    said = {each.get("property", ""): each.get("content", "") for each in root.iter("meta")}
    amount = next((said[name] for name in _META_PRICE if said.get(name)), "")
    unit = next((said[name] for name in _META_CURRENCY if said.get(name)), "")
    return number_in_text("price", amount, "meta", visible(unit)[:10]) if amount else None


def missing(which: str) -> str:
    """Words for that it was asked for, and is not there."""
    return f"{_MISSING[0]}{which[:200]!r}{_MISSING[1]}"


def says_missing(note: str) -> bool:
    """Whether these are such words, of whichever number."""
    return note.startswith(_MISSING[0]) and note.endswith(_MISSING[1])
