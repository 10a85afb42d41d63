"""The text of PDF files: they say when they were made and hold their parts in any order, so bytes tell nothing.

What cannot be read as text in bounded time (scans, encrypted or very long files) is None here, and compared byte by
byte, as what is neither text nor markup.
"""

from __future__ import annotations

import io
import time
from contextlib import suppress

import msgspec

from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.main_text import Text
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import of_lines
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean, visible

START = b"%PDF-"
MOST_PAGES, MOST_STREAMS, PATIENCE_S = 200, 5000, 6.0
"""Pages and streams of a file that is read as text, and processor seconds that may take. The counts are the same at
every visit, the seconds are not: so they are for what is made to take long."""


def is_pdf(body: bytes) -> bool:
    """Whether a document begins as PDF files do."""
    return body.startswith(START)


def read_pdf(body: bytes, now: float, counts: WhatCounts, keep_text: int, marked: bool = False) -> Findings | None:
    """What a PDF file says; None if it cannot be read as text.

    Parameters as of `recrawl.crawl.reading.pages.read_page`. Only for a process of its own: any error and any use of
    memory may come of it.
    """
    try:
        title, lines = _said(body)
    except Exception:
        return None
    if not lines:
        return None
    found = of_lines(Text(lines), body, now, counts, keep_text, body, marked)
    return msgspec.structs.replace(found, title=title)


def _said(body: bytes) -> tuple[str, list[str]]:
    """Its title and its lines; none where there are too many pages or streams, or reading them takes too long."""
    from pypdf import PdfReader

    if body.count(b"endstream") > MOST_STREAMS:
        return "", []
    begun, lines = time.process_time(), list[str]()
    file = PdfReader(io.BytesIO(body))
    if len(file.pages) > MOST_PAGES:
        return "", []
    for page in file.pages:
        said = (" ".join(visible(line).split()) for line in page.extract_text().split("\n"))
        lines += filter(None, said)
        if time.process_time() - begun > PATIENCE_S:
            return "", []
    title = ""
    with suppress(Exception):
        title = clean(str(file.metadata.title or "") if file.metadata else "", TITLE_CHARACTERS)
    return title, lines
