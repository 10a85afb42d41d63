"""What a header and a document say about their encoding."""

from __future__ import annotations

import pytest

from recrawl.crawl.labels import LOOKED_AT, of_document, of_header


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("text/html; charset=KOI8-R", "koi8-r"),
        ("text/html;charset = 'greek' ; x=y", "iso-8859-7"),
        ('text/html; charset="shift_jis"', "shift_jis"),
        ("text/html, text/html; charset=big5, x", "big5"),
        ("text/html; charset=", None),
        ("text/html; charset=nonsense", None),
        ("", None),
    ],
)
def test_headers(content_type: str, name: str | None) -> None:
    assert of_header(content_type) == name


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<!doctype html><html><head>\n<META\nCharset = ' koi8-r '/>", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b'<meta content="x; charset = koi8-r ; y" http-equiv="Content-Type">', "koi8-r"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=greek>'><meta charset=koi8-r>", "koi8-r"),
        (b"<!-- <meta charset=greek> --><meta charset=koi8-r>", "koi8-r"),
        (b"<!--><meta charset=koi8-r>", "koi8-r"),
        (b"<meta <meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=koi8-r charset=greek>", "koi8-r"),
        (b"<?php x='>'?><meta charset=koi8-r>", "koi8-r"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=greek>", "koi8-r"),
        (b"<?xml version='1.0'?><meta charset=greek>", "iso-8859-7"),
        (b" " * 5000 + b"<meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<?xml version='1.0' encoding='UTF-16BE'?>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
    ],
)
def test_documents(body: bytes, name: str) -> None:
    assert of_document(body) == name


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"words",
        b"<metacharset=koi8-r>",
        b"<meta charset=koi8-r",
        b"<meta charset='koi8-r>",
        b"<meta content='text/html; charset=koi8-r'>",
        b"<meta http-equiv=refresh content='text/html; charset=koi8-r'>",
        b'<meta http-equiv=content-type content="charset=\'koi8-r">',
        b"<!-- <meta charset=koi8-r>",
        b'<p title="><meta charset=koi8-r>',
        b" " * LOOKED_AT + b"<meta charset=koi8-r>",
    ],
)
def test_documents_that_do_not_say(body: bytes) -> None:
    assert of_document(body) is None
