"""Tables whose numbers line up, on a page and in a terminal.

A cell is text, a number, an interval (a pair of numbers), a :class:`Badge`, or None where there is nothing to show.
Numbers of one column line up at the decimal point even where they are printed to different precision, because a
published 253.1 must not be made to look like 253.100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "part", "bad", "fitted", "plain"]


@dataclass(frozen=True)
class Badge:
    """A short word with a tone: good, good in part, bad, fitted (to a published number), or plain.

    On a page each tone has a mark and an outline of its own, so that it can be told without its colour.
    """

    text: str
    tone: Tone = "plain"


Cell = str | float | int | tuple[float, float] | Badge | None


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
        name: its heading, units included
        digits: decimals of its numbers; None to print each as short as it is exact
        wide: whether it holds running text, which may wrap
        detail: whether its text stands below the row, over the full width, instead of in a column
    """

    name: str
    digits: int | None = None
    wide: bool = False
    detail: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under columns, with a caption that says what they show."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def texts(self, blank: str = " ", point: str = " ") -> list[list[str]]:
        """Every cell as text, padded on the right so that a right-aligned column lines up at the point.

        `blank` is as wide as a digit, `point` as wide as a decimal point.
        """
        by_column = [
            _aligned([row[place] for row in self.rows], column, blank, point)
            for place, column in enumerate(self.columns)
        ]
        return [list(row) for row in zip(*by_column, strict=True)]

    def numeric(self) -> list[bool]:
        """Which columns hold numbers and so align right."""
        return [
            any(_is_number(row[place]) for row in self.rows)
            and all(row[place] in (None, "") or _is_number(row[place]) for row in self.rows)
            for place in range(len(self.columns))
        ]


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float, tuple)) and not isinstance(cell, bool)


def number(value: float, digits: int | None) -> str:
    """A number to so many decimals, thousands set off; None for as short as it is exact, up to six figures.

    >>> number(1234567.891, 1), number(260.3, None), number(-0.5, 1), number(-0.0001, 2)
    ('1,234,567.9', '260.3', '−0.5', '0.00')
    """
    if digits is not None and round(value, digits) == 0:
        value = 0.0  # and not −0
    shape = f",.{digits}f" if digits is not None else "," if isinstance(value, int) else "g"
    return format(value, shape).replace("-", "−")


def _text(cell: Cell, digits: int | None) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, Badge):
        return cell.text
    if isinstance(cell, tuple):
        return f"{number(cell[0], digits)} … {number(cell[1], digits)}"
    return cell if isinstance(cell, str) else number(cell, digits)


def _aligned(cells: Sequence[Cell], column: Column, blank: str, point: str) -> list[str]:
    texts = [_text(cell, column.digits) for cell in cells]
    simple = [_is_number(cell) and not isinstance(cell, tuple) for cell in cells]
    fractions = [len(text.partition(".")[2]) for text, plain in zip(texts, simple, strict=True) if plain]
    widest = max(fractions, default=0)
    return [
        text + _padding(text, widest, blank, point) if plain else text
        for text, plain in zip(texts, simple, strict=True)
    ]


def _padding(text: str, widest: int, blank: str, point: str) -> str:
    digits = len(text.partition(".")[2])
    missing_point = point if widest and "." not in text else ""
    return missing_point + blank * (widest - digits)
