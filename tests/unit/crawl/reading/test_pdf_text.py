"""PDF files by their text; what has none, or is broken, byte by byte."""

from __future__ import annotations

import asyncio

import pytest

from recrawl.crawl.reading import pdf_text
from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_bytes
from recrawl.crawl.reading.readers import Document, Readers, read


def pdf(lines: list[str], made: str = "D:20260101", title: str = "Fees") -> bytes:
    """A file of one page."""
    drawn = b"BT /F1 12 Tf 50 750 Td 14 TL " + b" ".join(f"({line}) Tj T*".encode() for line in lines) + b" ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        f"<< /CreationDate ({made}) /Title ({title}) >>".encode(),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    end = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size 6 /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF" % end


def said(body: bytes, **counts: object) -> Findings:
    kind = "application/pdf"
    return read(Document(url="u", body=body, now=0.0, content_type=kind, counts=WhatCounts(**counts)))  # type: ignore[arg-type]


def test_a_file_is_compared_by_its_text() -> None:
    one, again = said(pdf(["Entry 5 euros", "Children free"])), said(pdf(["Entry 5 euros", "Children free"], "D:2027"))
    assert (one.kind, one.title, one.text) == ("page", "Fees", "Entry 5 euros\nChildren free")
    assert relation(one.digest, again.digest) == "same"
    assert relation(one.digest, said(pdf(["Entry 6 euros", "Children free"])).digest) == "differs"


def test_rules_and_numbers_hold_for_it() -> None:
    found = said(pdf(["Printed for you", "Entry 5 EUR"]), ignore_text=("^Printed.*",), number="price")
    assert found.text == "Entry 5 EUR\nprice: 5 EUR"


@pytest.mark.parametrize("body", [pdf([]), b"%PDF-1.4\nbroken", pdf(["text"])[:200], b"%PDF-"])
def test_what_has_no_text_is_compared_byte_by_byte(body: bytes) -> None:
    assert said(body).text == f"binary, {len(body):,} bytes"
    assert relation(said(body).digest, said(body + b" ").digest) == "differs"


def test_a_file_of_too_many_streams_is_not_read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pdf(["text"])
    monkeypatch.setattr(pdf_text, "MOST_STREAMS", 0)
    assert said(body).text == f"binary, {len(body):,} bytes"
    assert relation(read_bytes(body).digest, said(body).digest) == "another rule"


def test_every_byte_counts_where_its_owner_says_so() -> None:
    one, other = (said(pdf(["text"], made), digest="raw") for made in ("D:1", "D:2"))
    assert relation(one.digest, other.digest) == "differs"


def test_it_is_read_in_a_process_of_its_own() -> None:
    async def scene() -> tuple[str, int]:
        readers = Readers()
        try:
            found = await readers.read(Document(url="u", body=pdf(["Fees"]), now=0.0))
            return found.text, len(readers.processes)
        finally:
            await readers.close()

    assert asyncio.run(scene()) == ("Fees", 1)
