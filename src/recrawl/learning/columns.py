"""Columns of one row per source, for catalogues that grow one source at a time.

Arrays are longer than the catalogue, and grow by a quarter when it outgrows them, so that adding a source costs a
constant time on average. A row can be taken out and put back as bytes of a fixed layout, which is how a database
keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from recrawl.records import IntArray

LEAST_ROOM, GROWTH = 64, 1.25


class Column(NamedTuple):
    """One column of one number per row, or of `width`.

    Parameters
        fill: what a new row holds
        kept: whether `pack` keeps it
        stored: the type it has there, if that is another
        alike: hardly any row differs from the others, as a rule: takes no room while all hold the fill, may only be
            written by `put`, and is nothing for compiled code
    """

    dtype: Any
    fill: Any = 0
    width: int = 0
    kept: bool = True
    stored: Any = None
    alike: bool = False


class Columns:
    """Holds the columns a subclass declares in `columns`, or an instance is made with, as attributes of those names."""

    columns: ClassVar[Mapping[str, Column]]

    def __init__(self, size: int, columns: Mapping[str, Column] | None = None) -> None:
        if columns is not None:
            self.columns = columns  # type: ignore[misc]
        self.size = 0
        self.room = 0
        for name, column in self.columns.items():
            setattr(self, name, _empty(column, 0, alike=column.alike))
        self.grow(size)

    def __len__(self) -> int:
        return self.size

    def grow(self, count: int) -> None:
        """Rows for new sources."""
        needed = self.size + count
        if needed > self.room:
            wanted = max(needed if self.size == 0 else int(GROWTH * self.room), needed, LEAST_ROOM)
            for name, column in self.columns.items():
                before = getattr(self, name)
                longer = _empty(column, wanted, alike=_is_alike(before))
                if longer.flags.writeable:
                    longer[: self.size] = before[: self.size]
                setattr(self, name, longer)
            self.room = wanted
        self.size = needed

    def clear(self, rows: IntArray) -> None:
        """Make rows new again, for other sources."""
        for name, column in self.columns.items():
            self.put(name, rows, column.fill)

    def put(self, name: str, rows: IntArray, values: npt.ArrayLike) -> None:
        """Write a column, which begins to take room when the first row is to differ."""
        present, fill = getattr(self, name), self.columns[name].fill
        if _is_alike(present):
            if np.array_equal(values, np.broadcast_to(fill, np.shape(values)), equal_nan=True):
                return
            setattr(self, name, present := np.array(present))
        present[rows] = values

    @property
    def layout(self) -> np.dtype[Any]:
        """How a packed row is laid out."""
        return np.dtype(
            [
                (name, column.stored or column.dtype, (column.width,) if column.width else ())
                for name, column in self.columns.items()
                if column.kept
            ]
        )

    def pack(self, ids: IntArray) -> npt.NDArray[Any]:
        """The rows of some sources as a structured array."""
        layout = self.layout
        packed = np.empty(len(ids), layout)
        for name in layout.names or ():
            packed[name] = getattr(self, name)[ids]
        return packed

    def unpack(self, ids: IntArray, packed: npt.NDArray[Any]) -> None:
        """Write rows packed before."""
        for name in packed.dtype.names or ():
            self.put(name, ids, packed[name])


def _is_alike(rows: npt.NDArray[Any]) -> bool:
    """Whether all rows hold the same, in one place."""
    return not rows.flags.writeable


def _empty(column: Column, size: int, *, alike: bool) -> npt.NDArray[Any]:
    if alike:
        return np.broadcast_to(np.array(column.fill, column.dtype), size)
    if column.fill == 0:  # takes no memory before it is written to
        return np.zeros((size, column.width) if column.width else size, column.dtype)
    return np.full((size, column.width) if column.width else size, column.fill, column.dtype)


class Parts:
    """Several columns of the same sources that grow and are kept together."""

    parts: tuple[Columns, ...]

    def __len__(self) -> int:
        return self.parts[0].size

    def grow(self, count: int) -> None:
        """Rows for new sources."""
        for part in self.parts:
            part.grow(count)

    def clear(self, rows: IntArray) -> None:
        """Make rows new again, for other sources."""
        for part in self.parts:
            part.clear(rows)

    @property
    def row_bytes(self) -> int:
        """How long a packed row is."""
        return sum(part.layout.itemsize for part in self.parts)

    def pack(self, rows: IntArray) -> list[bytes]:
        """The rows of some sources as bytes."""
        packed = [(part.pack(rows).tobytes(), part.layout.itemsize) for part in self.parts]
        return [b"".join([data[k * size : (k + 1) * size] for data, size in packed]) for k in range(len(rows))]

    def unpack(self, rows: IntArray, packed: Sequence[bytes]) -> None:
        """Write rows packed before."""
        start = 0
        for part in self.parts:
            end = start + part.layout.itemsize
            if end > start:
                part.unpack(rows, np.frombuffer(b"".join([row[start:end] for row in packed]), part.layout))
            start = end
