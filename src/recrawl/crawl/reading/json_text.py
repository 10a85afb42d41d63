"""JSON as lines: a line for every value, with the names that lead to it, so that a change of one is a change of a line.

The number of a place in a list is not said: what comes in front would change all that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from recrawl.crawl.reading.findings import Findings, Number, UnreadableError
from recrawl.crawl.reading.main_text import Text
from recrawl.crawl.reading.numbers import NAMES, in_json, number_in_text
from recrawl.crawl.reading.page_selection import JSON_PATH, WhatCounts, is_json_path
from recrawl.crawl.reading.pages import LARGEST, of_lines
from recrawl.crawl.reading.plain_text import visible

Place = tuple[str | int, ...]
DEEPEST, LONGEST = 32, 200
"""Names that lead to a value, and characters of all of them together."""
_STARTS = (b"{", b"[")


def read_json(
    body: bytes, now: float, counts: WhatCounts, keep_text: int, raw: bytes | None = None, marked: bool = False
) -> Findings | None:
    """What JSON says; None if this is none, UnreadableError if a part of it was asked for that is not there.

    Parameters as of `recrawl.crawl.reading.pages.read_page`.
    """
    looks_like_it = body[:200].lstrip()[:1] in _STARTS
    value = _decoded(body) if looks_like_it and len(body) <= LARGEST else None
    if not isinstance(value, dict | list):
        if is_json_path(counts.select):
            if looks_like_it and len(body) > LARGEST:
                longest = f"{LARGEST // 1_000_000} MB"
                raise UnreadableError(
                    f"this is longer than {longest}: too long for {counts.select[:200]!r} to be looked for"
                )
            raise UnreadableError(f"the selector {counts.select[:200]!r} is for JSON, but this is none")
        return None
    found = of_lines(_text(value, counts), body, now, counts, keep_text, raw, marked, _number(value, counts.number))
    if not marked:
        return found
    idle = tuple(path for path in (*counts.ignore, *counts.keep) if not picked(value, path))
    numbers = tuple(filter(None, (in_json(name, value) for name in NAMES)))
    return msgspec.structs.replace(found, numbers=numbers, idle=idle)


def _number(value: Any, which: str) -> Number | None:
    """The number that its owner wants watched, where it has a name or a path."""
    places = picked(value, which)
    said = (str(_at(value, place)) for place in places)
    return next(filter(None, (number_in_text(named(places[0]), text, "JSON") for text in said)), None) or in_json(
        which, value
    )


def _text(value: Any, counts: WhatCounts) -> Text:
    ignored = {place for path in counts.ignore for place in picked(value, path)}
    kept = {place for path in counts.keep for place in picked(value, path)}
    starts: list[Place] = [()]
    if counts.select:
        starts = picked(value, counts.select)
        if not starts:
            raise UnreadableError(f"the selector {counts.select[:200]!r} picks nothing in this document")
    text, inside = Text(), set(starts)
    for start in starts + [place for place in sorted(kept, key=str) if counts.select and not _is_in(place, inside)]:
        for place, line in _lines(_at(value, start), start):
            always = _is_in(place, kept)
            if always or not _is_in(place, ignored):
                if always:
                    text.kept.add(len(text.lines))
                text.lines.append(line)
    return text


def picked(value: Any, path: str) -> list[Place]:
    """Where the values stand that a JSONPath picks; nowhere if it is another selector."""
    from jsonpath import JSONPathEnvironment, JSONPathError

    if not is_json_path(path):
        return []
    try:
        found = JSONPathEnvironment(strict=True).finditer(path.removeprefix(JSON_PATH).strip(), value)
        return [tuple(match.parts) for match in found]
    except JSONPathError as error:
        raise UnreadableError(f"the selector {path[:200]!r} is not a JSONPath: {error}") from error


def _is_in(place: Place, others: Any) -> bool:
    """Whether a place, or one around it, is among others."""
    return bool(others) and any(place[:size] in others for size in range(len(place) + 1))


def _at(value: Any, place: Place) -> Any:
    for each in place:
        value = value[each]
    return value


def _lines(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """A line for every value, without recursion; of what lies very deep one for all of it."""
    waiting = [(place, named(place), value)]
    while waiting:
        place, name, value = waiting.pop()
        if value and isinstance(value, dict) and len(place) < DEEPEST:
            waiting += [((*place, key), _with(name, key), each) for key, each in reversed(value.items())]
        elif value and isinstance(value, list) and len(place) < DEEPEST:
            inside = _with(name, 0)
            waiting += [((*place, number), inside, value[number]) for number in range(len(value) - 1, -1, -1)]
        else:
            said = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            line = " ".join(visible(f"{name}: {said}" if name else said).split())
            if line:
                yield place, line


def named(place: Place) -> str:
    """The names that lead to a value.

    >>> named(("items", 3, "price"))
    'items[].price'
    """
    name = ""
    for each in place:
        name = _with(name, each)
    return name


def _with(name: str, inner: str | int) -> str:
    """Names that lead one further; of many the last."""
    whole = f"{name}[]" if isinstance(inner, int) else f"{name}.{inner[:LONGEST]}" if name else inner[:LONGEST]
    return whole if len(whole) <= LONGEST else f"…{whole[-LONGEST + 1 :]}"


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
