"""A document as one HTML file without outside requests. Everything that is not markup of ours is escaped."""

from __future__ import annotations

from pathlib import Path

from recrawl.errors import require
from recrawl.report.document import Document
from recrawl.report.tables import Badge, Column, Table

FIGURE_SPACE, PUNCTUATION_SPACE = "\u2007", "\u2008"


def _kind(block: object) -> str:
    return type(block).__name__.lower()


def _table_rows(table: Table) -> list[tuple[list[dict[str, object]], list[str]]]:
    """Per row, its cells and the texts that stand below it."""
    texts, numeric = table.texts(FIGURE_SPACE, PUNCTUATION_SPACE), table.numeric()
    out = []
    for row, row_texts in zip(table.rows, texts, strict=True):
        cells: list[dict[str, object]] = []
        details: list[str] = []
        for cell, text, column, right in zip(row, row_texts, table.columns, numeric, strict=True):
            if column.detail:
                details += [text] if cell else []
                continue
            tone = cell.tone if isinstance(cell, Badge) else None
            shape = "verdict" if tone else "number" if right else "wide" if column.wide else "text"
            cells.append({"text": text, "tone": tone, "shape": shape})
        out.append((cells, details))
    return out


def _columns_of(table: Table) -> list[tuple[Column, bool]]:
    return [(c, right) for c, right in zip(table.columns, table.numeric(), strict=True) if not c.detail]


def render_html(document: Document) -> str:
    """The page as text."""
    jinja2 = require("jinja2", "writing an HTML report", "lab")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("recrawl.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(kind=_kind, table_rows=_table_rows, columns_of=_columns_of)
    return str(environment.get_template("report.html.j2").render(document=document))


def write_html(document: Document, path: Path) -> Path:
    """Write the page; returns its path."""
    path.write_text(render_html(document), encoding="utf-8")
    return path
