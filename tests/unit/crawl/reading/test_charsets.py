"""Labels mean what browsers take them for, and every byte comes out as something."""

from __future__ import annotations

import encodings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.charsets import LABELS, LOOKED_AT, decoded, encoding_of, of_document, of_header

SINGLE = [name for name in LABELS if name.startswith(("iso-8859", "windows", "koi8", "ibm", "mac", "x-mac", "x-user"))]


def test_the_standard_has_228_labels_and_each_means_one_encoding() -> None:
    labels = [label for group in LABELS.values() for label in group.split()]
    assert len(labels) == len(set(labels)) == 228
    for name, group in LABELS.items():
        assert {encoding_of(label) for label in group.split()} == {name}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (" UTF8\t", "utf-8"),
        ("ASCII", "windows-1252"),
        ("iso-8859-9", "windows-1254"),
        ("tis-620", "windows-874"),
        ("gb2312", "gb18030"),
        ("ks_c_5601-1987", "euc-kr"),
        ("windows-31j", "shift_jis"),
        ("unicode", "utf-16le"),
        ("iso-2022-kr", "replacement"),
        ("UTF-32", "utf_32"),
        ("cp437", "cp437"),
    ],
)
def test_labels(label: str, name: str) -> None:
    assert encoding_of(label) == name


@pytest.mark.parametrize(
    "label", ["", "nonsense", "utf-7", "idna", "rot13", "hex", "zlib", "unicode_escape", "undefined", "x" * 5000, "é"]
)
def test_labels_that_mean_nothing(label: str) -> None:
    assert encoding_of(label) is None


def test_labels_strangers_make_up_are_not_remembered() -> None:
    known = len(encodings._cache)  # type: ignore[attr-defined]
    assert [encoding_of(f"made-up-{k}") for k in range(50)] == [None] * 50
    assert len(encodings._cache) == known  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ibm866", "Привет"), ("iso-8859-2", "Příliš žluťoučký"), ("iso-8859-3", "ĉĝĥĵ"), ("iso-8859-4", "āēģīķ"),
        ("iso-8859-5", "Привет"), ("iso-8859-6", "مرحبا"), ("iso-8859-7", "Γειά σου"), ("iso-8859-8", "שלום"),
        ("iso-8859-10", "Þórður"), ("iso-8859-13", "ąčęėįšųūž"), ("iso-8859-14", "ŵŷ"), ("iso-8859-15", "œuvre à 5 €"),
        ("iso-8859-16", "țăîâș"), ("koi8-r", "Привет"), ("koi8-u", "Привіт"), ("windows-1250", "Příliš"),
        ("windows-1251", "Привет № 5"), ("windows-1252", "“naïve” – 5 €"), ("windows-1253", "Γειά"),
        ("windows-1254", "İstanbul ğüş"), ("windows-1255", "שלום"), ("windows-1256", "مرحبا پ"), ("windows-1257", "ąč"),
        ("windows-1258", "Đương"), ("gb18030", "你好，世界𠮷"), ("big5", "你好，世界"),
        ("euc-jp", "日本語ｶﾅ"), ("euc-kr", "안녕 뷁"), ("shift_jis", "日本語ｶﾅ"),
        ("utf-16le", "Ça 日本 😀"), ("utf-16be", "Ça 日本 😀"), ("utf-8", "Ça 😀"),
    ],
)  # fmt: skip
def test_text_comes_out_as_it_was_written(name: str, text: str) -> None:
    python = {"windows-1255": "cp1255", "big5": "big5hkscs", "euc-kr": "cp949", "ibm866": "cp866"}.get(name, name)
    assert decoded(text.encode(python), name) == text


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("windows-1252", b"\x80\x81\x8d\x9f\xff", "€\x81\x8dŸÿ"),
        ("windows-1253", b"\x81\xaa\xd2", "\x81\ufffd\ufffd"),
        ("windows-874", b"\xa1\xdb\x80", "ก\ufffd€"),
        ("koi8-u", b"\xae\xbe", "ўЎ"),
        ("windows-1255", b"\xca", "\u05ba"),
        ("macintosh", b"\xdb", "€"),
        ("x-mac-cyrillic", b"\xa2\xff", "Ґ€"),
        ("x-user-defined", b"a\x80\xff", "a\uf780\uf7ff"),
        ("shift_jis", b"\x87@\x81`\x80\xa0\xfd", "①～\x80\ufffd\ufffd"),
        ("euc-jp", b"\xad\xa1\xa1\xc1\xfc\xf1", "①～ⅰ"),
        ("gb18030", b"\x80\xa8\xbc\xa3\xa0", "€\u1e3f\u3000"),
        ("big5", b"\xa3\xe1\xa1E\xa2F", "€‧￠"),
        ("iso-2022-jp", b"\x1b$B$3$s\x1b(J\\~\x1b(I1\x1b(Bok", "こん¥‾ｱok"),
        ("iso-2022-jp", b"a\x1bZb\x0e\xe9", "a\ufffdZb\ufffd\ufffd"),
        ("iso-2022-jp", b"\x1b$B\x1b(Ba", "\ufffda"),
        ("replacement", b"anything", "\ufffd"),
        ("replacement", b"", ""),
    ],
)
def test_what_browsers_know_and_python_does_not(name: str, body: bytes, text: str) -> None:
    assert decoded(body, name) == text


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("shift_jis", b"\x93\xfa\xff\x96{", "日\ufffd本"),
        ("euc-jp", b"\xc6\xfc\xff\xcb\xdc", "日\ufffd本"),
        ("euc-jp", b"\x8f\xa1<b>", "\ufffd<b>"),
        ("euc-kr", b"\xc7<b>", "\ufffd<b>"),
        ("big5", b"\xa7\xff\xa7A", "\ufffd你"),
        ("gb18030", b"\xc4\xe3\x81\xff<b>\x81", "你\ufffd<b>\ufffd"),
        ("gb18030", b"\x810<b>", "\ufffd0<b>"),
        ("gb18030", b"\x8109", "\ufffd09"),
        ("gb18030", b"\x810", "\ufffd"),
        ("utf-16le", b"a\0b", "a\ufffd"),
        ("utf-8", b"a\xc3\xa9\xff\xe2\x82", "aé\ufffd\ufffd"),
    ],
)
def test_a_bad_byte_spoils_its_own_character_and_no_markup(name: str, body: bytes, text: str) -> None:
    assert decoded(body, name) == text


@pytest.mark.parametrize("name", SINGLE)
def test_every_single_byte_is_one_character(name: str) -> None:
    text = decoded(bytes(range(256)), name)
    assert len(text) == 256
    assert text[:128] == bytes(range(128)).decode("ascii")


@given(st.binary(max_size=60), st.sampled_from([*LABELS, "utf_32", "cp437", "johab"]))
def test_any_bytes_are_characters_and_ascii_after_a_space_is_kept(body: bytes, name: str) -> None:
    text = decoded(body, name)
    if name not in ("replacement", "utf-16le", "utf-16be", "utf_32", "iso-2022-jp", "johab"):
        assert decoded(body + b" <b>", name) == text + " <b>"


# -- what a header and a document say about their encoding


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
