"""Texts, numbers and records on their way to the server and back.

The server keeps no NUL in a text, and UTF-8 has no lone surrogates. Surrogates are mended; a NUL travels as two
characters that no text has use for (U+FFFE twice), so that any text comes back as it was given. NaN is stored as NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, get_args

import msgspec
import psycopg
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader, PyFormat
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

from recrawl.store.rows import mended, names

_ESCAPE, _OTHER = "\ufffe", "\uffff"
_MARK = _ESCAPE.encode()
_TYPES: dict[object, str] = {int: "bigint", float: "double precision", bool: "boolean", bytes: "bytea"}


def encoded(text: str) -> bytes:
    """A text as the server keeps it."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = mended(text).encode()
    if b"\0" in raw or _MARK in raw:
        raw = raw.replace(_MARK, (_ESCAPE + _OTHER).encode()).replace(b"\0", _MARK + _MARK)
    return raw


def decoded(raw: Buffer) -> str:
    """The text the server kept.

    >>> all(decoded(encoded(text)) == text for text in ("plain", "a\\0b", "\\ufffe\\uffff\\0\\ufffe"))
    True
    """
    text = str(raw, "utf-8")
    return _unescaped(text) if _ESCAPE in text else text


def _unescaped(text: str) -> str:
    first, *pieces = text.split(_ESCAPE)
    whole, escaped = [first], False
    for piece in pieces:
        if escaped:  # the second half of a NUL
            whole.append("\0" + piece)
            escaped = False
        elif piece.startswith(_OTHER):
            whole.append(_ESCAPE + piece[1:])
        else:
            escaped = True
    return "".join(whole)


class _TextDumper(Dumper):
    format, oid = Format.BINARY, psycopg.adapters.types["text"].oid

    def dump(self, obj: str) -> bytes:
        return encoded(obj)


class _TextLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return decoded(data)


class _ListDumper(ListBinaryDumper):
    """Of one type, or of whole and other numbers. The driver's own looks at all values: half the speed.

    The method is not a public one of the driver; a test notices when it is no longer asked.
    """

    def _find_list_element(self, L: list[Any], format: PyFormat) -> Any:
        kinds = {type(value): value for value in L}
        kinds.pop(NoneType, None)
        return kinds.get(float, next(iter(kinds.values()), None))


ADAPTERS = AdaptersMap(psycopg.adapters)
"""How values travel, in binary."""
for _type, _dumper in ((int, Int8BinaryDumper), (str, _TextDumper), (list, _ListDumper)):
    ADAPTERS.register_dumper(_type, _dumper)
for _name in ("text", "varchar"):
    ADAPTERS.register_loader(_name, _TextLoader)


def digest(text: str) -> bytes:
    """Sixteen bytes that stand for a text of any length in an index."""
    return blake2b(mended(text).encode(), digest_size=16).digest()


@cache
def sql_type(record: type[msgspec.Struct], name: str) -> str:
    """The type of a record's column."""
    kind = next(field.type for field in msgspec.structs.fields(record) if field.name == name)
    if isinstance(kind, UnionType):
        kind = next(each for each in get_args(kind) if each is not type(None))
    return _TYPES.get(kind, "varchar")


class Table:
    """The columns of a record that are written to a table, sent as one array per column.

    Parameters
        record: its fields are columns
        without: columns the store fills itself
        more: columns the record does not have, with their types
    """

    def __init__(self, record: type[msgspec.Struct], *, without: str = "", more: dict[str, str] | None = None) -> None:
        own = {name: sql_type(record, name) for name in names(record) if name != without}
        self.types = own | (more or {})
        self._get: Callable[[Any], tuple[Any, ...]] = attrgetter(*own)

    @property
    def names(self) -> str:
        """The columns."""
        return ", ".join(f'"{name}"' for name in self.types)

    @property
    def given(self) -> str:
        """What arrives, as a row source: NaN has become NULL."""
        values = ", ".join(_without_nan(name, kind) for name, kind in self.types.items())
        arrays = ", ".join(f"${place}::{kind}[]" for place, kind in enumerate(self.types.values(), 1))
        return f"SELECT {values} FROM unnest({arrays}) AS given ({self.names})"

    def arrays(self, records: Iterable[Any], *more: Sequence[Any]) -> list[Sequence[Any]]:
        """The arguments of a statement with `given` in it."""
        return columns_of([self._get(record) for record in records], len(self.types) - len(more)) + list(more)


def columns_of(rows: Sequence[Sequence[Any]], width: int) -> list[Sequence[Any]]:
    """Rows turned on their side."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _without_nan(name: str, kind: str) -> str:
    return f"""nullif("{name}", 'NaN') AS "{name}\"""" if kind == "double precision" else f'"{name}"'
