"""What is seen of an address, put together for a page: runs of lines that count, and of lines that do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from recrawl.crawl.catalogue.preview import Preview
from recrawl.crawl.reading.findings import Part
from recrawl.crawl.reading.preview_parts import left_out_for

MOST_LINES = 1000
"""That are shown."""

Line = tuple[Part, ...]


@dataclass(frozen=True)
class Run:
    """Lines one after the other; `why` all of them are left out, or nothing."""

    why: str
    lines: list[Line]


def runs(seen: Preview) -> list[Run]:
    """The lines of a page in runs."""
    return [Run(why, list(lines)) for why, lines in groupby(seen.lines[:MOST_LINES], key=left_out_for)]
