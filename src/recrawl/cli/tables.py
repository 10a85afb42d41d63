"""How commands that look show things: tables that fit the terminal, times from now, JSON for programs.

Text from the web reaches the terminal as rich `Text`, cleaned: never as markup, never with control characters.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recrawl.units import show_duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LEAST = 16
"""Characters left to the elastic column, however narrow the terminal."""
TONES = {"ok": "green", "new": "cyan", "paused": "dim", "retired": "dim", "held": "dark_orange", "failing": "red"}
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def write_json(what: Any) -> None:
    """One JSON document on standard output; unknown and infinite numbers are null."""
    import msgspec

    sys.stdout.write(harmless(msgspec.json.format(msgspec.json.encode(what), indent=2).decode()) + "\n")


def harmless(json: str) -> str:
    """The same JSON with what a terminal might obey, and what turns text around, written as escapes.

    >>> print(harmless('"\x9b2J"'))
    "\\u009b2J"
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def ago(then: float | None, now: float) -> str:
    """How long ago, shortly; a dash for never."""
    return "–" if then is None or math.isnan(then) else short(max(now - then, 0.0))


def ahead(then: float, now: float) -> str:
    """How long until then, shortly."""
    if math.isnan(then):
        return "–"
    return "now" if then <= now else short(then - now)


def short(seconds: float) -> str:
    """A time in its largest unit, or two of them where that says much more.

    >>> short(5400), short(200_000), short(40.2), short(0.2)
    ('1h30m', '2d7h', '40s', '0s')
    """
    if not math.isfinite(seconds):
        return show_duration(seconds)
    return show_duration(math.floor(seconds)) if seconds >= 1.0 else "0s"


def brief(seconds: float) -> str:
    """A time in one unit, for narrow columns.

    >>> brief(5400), brief(200_000), brief(40.2)
    ('1h', '2d', '40s')
    """
    for name, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= size and math.isfinite(seconds):
            return f"{math.floor(seconds / size)}{name}"
    return short(seconds)


def brief_rate(per_second: float) -> str:
    """A rate with two digits, for narrow columns; a dash for none.

    >>> brief_rate(5.0 / 86400), brief_rate(0.02), brief_rate(3e-8), brief_rate(0.0)
    ('5/d', '1.2/min', '0.079/mo', '–')
    """
    for name, size in (("min", 60.0), ("h", 3600.0), ("d", 86400.0), ("mo", 2629800.0)):
        if per_second * size >= 0.95 or (name == "mo" and per_second > 0.0):
            return f"{per_second * size:.2g}/{name}" if per_second * size < 100 else f"{per_second * size:.0f}/{name}"
    return "–"


def lines(out: Console, texts: Sequence[Text]) -> None:
    """Print lines, each cut to the terminal; whole where there is none, because a pipe has no width."""
    for text in texts:
        if out.is_terminal:
            out.print(text, no_wrap=True, overflow="ellipsis")
        else:
            out.print(text, soft_wrap=True)


def number(value: float | None, digits: int = 3) -> str:
    """A number with a few digits; a dash for none.

    >>> number(1234.5), number(0.03149), number(float("nan")), number(12_345_678.0)
    ('1234', '0.0315', '–', '1.23e+07')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.{digits}g}"


def table(
    out: Console,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    elastic: int,
    right: Sequence[int] = (),
    wrap: bool = False,
) -> None:
    """Print columns side by side; the `elastic` one is cut to what the others leave, or with `wrap` folded into it."""
    from rich.table import Table
    from rich.text import Text

    widths = [max(len(head), *(len(row[k]) for row in rows)) if rows else len(head) for k, head in enumerate(heads)]
    others = sum(width for k, width in enumerate(widths) if k != elastic) + 2 * (len(heads) - 1)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for k, head in enumerate(heads):
        room = max(LEAST, out.width - others) if k == elastic else widths[k]
        folded = wrap and k == elastic
        grid.add_column(head, justify="right" if k in right else "left", no_wrap=not folded,
                        overflow="fold" if folded else "ellipsis",
                        max_width=room, min_width=min(room, widths[k]) if k == elastic else widths[k])  # fmt: skip
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    out.print(grid)


def pairs(out: Console, rows: Sequence[tuple[str, str | Text]]) -> None:
    """Print names with what they stand for, folded under each other."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(name, text if isinstance(text, Text) else Text(text))
    out.print(grid)
