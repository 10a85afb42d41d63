"""What a report is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recrawl.report.figures import Figure
from recrawl.report.tables import Badge, Table


@dataclass(frozen=True)
class Text:
    """A paragraph; plain text, whatever is in it."""

    body: str


@dataclass(frozen=True)
class Figures:
    """Figures side by side where there is room."""

    figures: Sequence[Figure]


Block = Text | Table | Figure | Figures


@dataclass(frozen=True)
class Section:
    """A titled part of a report, or a part of such a part (`level` 3)."""

    title: str
    blocks: Sequence[Block]
    level: int = 2

    def figures(self) -> Iterator[Figure]:
        """The figures in it."""
        for block in self.blocks:
            if isinstance(block, Figure):
                yield block
            elif isinstance(block, Figures):
                yield from block.figures


@dataclass(frozen=True)
class Document:
    """A report.

    Parameters
        title: what it is about
        lead: one or two sentences with the outcome, read first
        sections: in order
        badges: verdicts counted, shown under the title
        remember: what to take home, one sentence each, and whose it is (empty where it is the document's own)
        footer: how it was made
    """

    title: str
    lead: str
    sections: Sequence[Section]
    badges: Sequence[Badge] = field(default=())
    footer: str = ""
    remember: Sequence[tuple[str, str]] = field(default=())

    def figures(self) -> Iterator[Figure]:
        """Every figure, in order."""
        for section in self.sections:
            yield from section.figures()
