"""Records as rows and rows as records, the same in every database.

A NaN is stored as NULL; text that is not text (lone surrogates) is mended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from recrawl.config.source_options import USUAL, SourceOptions
from recrawl.store.records import Crawl, Progress, Source

Row = tuple[Any, ...]
T = TypeVar("T")

LARGEST = 2**63 - 1
"""The largest id there can be."""
PAGE = 5000
"""Rows read at a time."""
_NAN = float("nan")
_ENCODER = msgspec.msgpack.Encoder()


def names(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields of a record, which are the columns of its table."""
    return record.__struct_fields__


def columns(record: type[msgspec.Struct], table: str = "") -> str:
    """Them as SQL: quoted, for some are words of the language."""
    prefix = f"{table}." if table else ""
    return ", ".join(f'{prefix}"{name}"' for name in names(record))


def record_of(record: type[T], row: Row) -> T:
    """The record a row stands for, where its fields are its columns as they are."""
    return record(**dict(zip(names(cast("type[msgspec.Struct]", record)), row, strict=True)))


def progress_of(row: Row) -> Progress:
    """Written out, because a start reads one for every source."""
    held, value, value_sd, rate, rate_sd, due, captured = row[4], *row[12:18]
    return Progress(
        source=row[0],
        last=row[1],
        visits=row[2],
        failures=row[3],
        held_until=_NAN if held is None else held,
        held_by=row[5],
        etag=row[6],
        modified=row[7],
        digest=row[8],
        listing=row[9],
        moved_to=row[10],
        moved_seen=row[11],
        value=_NAN if value is None else value,
        value_sd=_NAN if value_sd is None else value_sd,
        rate=_NAN if rate is None else rate,
        rate_sd=_NAN if rate_sd is None else rate_sd,
        due=_NAN if due is None else due,
        captured=_NAN if captured is None else captured,
        belief=row[18],
        held_cause=row[19],
        held_under=row[20],
    )


_CRAWL_NUMBERS = {names(Crawl).index(name) for name in
                  ("elapsed_s", "captured", "index", "price", "value", "value_sd", "rate", "rate_sd")}  # fmt: skip
_CENSORED = names(Crawl).index("censored")


def crawl_of(row: Row) -> Crawl:
    """With its NaNs and its truth value."""
    values = [_NAN if value is None and place in _CRAWL_NUMBERS else value for place, value in enumerate(row)]
    values[_CENSORED] = bool(values[_CENSORED])
    return record_of(Crawl, tuple(values))


def source_of(row: Row) -> Source:
    """With its tags and headers."""
    return Source(
        id=row[0],
        url=row[1],
        kind=row[2],
        title=row[3],
        importance=_NAN if row[4] is None else row[4],
        half_life=row[5],
        max_age=row[6],
        cost=_NAN if row[7] is None else row[7],
        tags=tuple(json.loads(row[8])) if row[8] else (),
        headers=json.loads(row[9]) if row[9] else {},
        select=row[10],
        state=row[11],
        note=row[12],
        added=_NAN if row[13] is None else row[13],
        wanted=row[14] or 0.0,
        memo=row[15],
        found_on=row[16],
        options=options_of(row[17]) if row[17] else USUAL,
        revision=row[18],
    )


def source_row(source: Source, revision: int) -> Row:
    """All columns of a source but its id."""
    return (
        source.url,
        source.kind,
        source.title,
        source.importance,
        source.half_life,
        source.max_age,
        source.cost,
        json.dumps(source.tags) if source.tags else "",
        json.dumps(source.headers) if source.headers else "",
        source.select,
        source.state,
        source.note,
        source.added,
        source.wanted,
        source.memo,
        source.found_on,
        options_text(source.options),
        revision,
    )


@lru_cache(maxsize=1000)
def options_of(text: str) -> SourceOptions:
    """From its JSON; many sources say the same."""
    return msgspec.json.decode(text, type=SourceOptions)


def options_text(options: SourceOptions) -> str:
    """As JSON; empty if nothing was said."""
    return "" if options == USUAL else json.dumps(msgspec.to_builtins(mended(options)))


def mended(value: T) -> T:
    """The same with every lone surrogate replaced, in all text of a record, list or tuple, since UTF-8 has none.

    >>> mended(["plain", "a\\ud800b"])
    ['plain', 'a�b']
    """
    if isinstance(value, str):
        text = value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return cast("T", text)
    if isinstance(value, msgspec.Struct):
        if _is_sound(value):
            return value
        return cast("T", type(value)(**{name: mended(getattr(value, name)) for name in names(type(value))}))
    if isinstance(value, dict):
        return cast("T", {mended(key): mended(each) for key, each in value.items()})
    if isinstance(value, list | tuple):
        return cast("T", type(value)(mended(each) for each in value))
    return value


def _is_sound(record: msgspec.Struct) -> bool:
    """Whether all text of a record is text: tried, because that is ten times as fast as looking."""
    try:
        _ENCODER.encode(record)
    except (UnicodeEncodeError, OverflowError):  # whatever is no text either is looked at piece by piece
        return False
    return True


def fitting(ids: Iterable[int]) -> list[int]:
    """Those numbers that can be ids at all."""
    return [int(each) for each in ids if 0 < each <= LARGEST]


def pages(values: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """A few thousand at a time."""
    rest = iter(values)
    while page := list(islice(rest, size)):
        yield page
