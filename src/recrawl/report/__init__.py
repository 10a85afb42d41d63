"""Pages and figures worth sending to a colleague; knows how things look, nothing of what they mean.

A :class:`Document` is sections of text, tables and figures. `write_html` makes one file of it that needs nothing else:
it opens offline, on a phone, by day and by night. Figures are also written on their own, as PNG and SVG.
"""

from __future__ import annotations

from recrawl.report.document import Document, Figures, Section, Text
from recrawl.report.figures import Figure, draw
from recrawl.report.html import render_html, write_html
from recrawl.report.tables import Badge, Column, Table

__all__ = [
    "Badge",
    "Column",
    "Document",
    "Figure",
    "Figures",
    "Section",
    "Table",
    "Text",
    "draw",
    "render_html",
    "write_html",
]
