"""From bytes to characters, and to trees that cannot bite."""

from __future__ import annotations

import pytest

from recrawl.config import HintSwitches
from recrawl.crawl.catalogue.opml import read_opml
from recrawl.crawl.reading.decoding import Damage, document_start, repaired, tree, utf8
from recrawl.crawl.reading.feeds import read_feed
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.sitemaps import read_sitemap

URL = "https://a.example/x"
READERS = {
    "rss": lambda body: read_feed(body, URL, 0.0, HintSwitches()),
    "urlset": lambda body: read_sitemap(body, URL, 0.0, HintSwitches()),
    "opml": read_opml,
}
INSIDE = {
    "rss": "<channel><item><guid>1</guid><title>&a;</title></item></channel>",
    "urlset": "<url><loc>https://a.example/&a;</loc></url>",
    "opml": "<body><outline xmlUrl='https://a.example/&a;'/></body>",
}


def test_plain_utf8_is_passed_on_as_it_is() -> None:
    body = "<a>é</a>".encode()
    assert utf8(body) is body


def test_without_a_label_it_is_windows_1252() -> None:
    assert utf8(b"a\xffb \x80").decode() == "aÿb €"


def test_without_a_label_what_is_mostly_utf8_is_utf8() -> None:
    body = "Größe, Straße, süß".encode()
    assert utf8(body[:-1]).decode() == "Größe, Straße, sü\ufffd"
    assert utf8(b"\xe9 " + body).decode() == "\ufffd Größe, Straße, süß"


def test_one_bad_byte_costs_one_character() -> None:
    russian = "<p>Привет, мир</p>".encode("cp1251").replace(b",", b"\x98")
    assert utf8(russian, "text/html; charset=windows-1251").decode() == "<p>Привет\x98 мир</p>"
    japanese = "<p>日本語</p>".encode("cp932").replace(b"</p>", b"\xff</p>")
    assert utf8(japanese, "text/html; charset=Shift_JIS").decode() == "<p>日本語\ufffd</p>"
    assert utf8("é\xff".encode("latin-1"), "text/html; charset=utf-8").decode() == "\ufffd\ufffd"


def test_the_header_is_asked_before_the_document() -> None:
    body = "<meta charset=greek>Привет".encode("koi8-r")
    assert utf8(body, "text/html; charset=koi8-r").decode().endswith("Привет")
    assert utf8(body, "text/html; charset=nonsense").decode().endswith("π\ufffdΙΧΕΤ")
    assert utf8(body.replace(b"greek", b"koi8"), "text/html").decode().endswith("Привет")


def test_escape_characters_alone_make_no_shifting_encoding() -> None:
    body = "\x1b[31mÇa".encode()
    assert utf8(body, "text/plain; charset=windows-1251") is body


def test_labelled_utf16_without_a_mark() -> None:
    assert utf8("Ça va".encode("utf-16-be"), "text/plain; charset=utf-16be").decode() == "Ça va"
    assert utf8("Ça va".encode("utf-16-le"), "text/plain; charset=unicode").decode() == "Ça va"
    assert utf8("Ça va".encode(), "text/plain; charset=utf-16") == "Ça va".encode()


@pytest.mark.parametrize(
    ("body", "start"),
    [
        (b"<rss/>", ("rss", 0)),
        (b"<rdf:RDF/>", ("rdf", 0)),
        (b"<?xml version='1.0'?><!--<html>--><feed>", ("feed", 0)),
        (b"<!DOCTYPE rss [<!ELEMENT x (y)>]><rss>", ("rss", 0)),
        (b"<!doctype HTML><rss>", ("rss", 0)),
        (b"<?xml version='1.0'?><!DOCTYPE html>\n<feed xmlns='x'>", ("feed", 0)),
        (b"<!doctype html><p>", ("html", 0)),
        (b"junk <rss>", ("rss", 5)),
        (b"junk", ("", 0)),
        (b"<!DOCTYPE rss [", ("", 0)),
        (b"<!DOCTYPE rss SYSTEM 'a>b'><rss>", ("rss", 0)),
        (b"<!--", ("", 0)),
        (b"", ("", 0)),
        (b"<other><rss>", ("rss", 7)),
    ],
)
def test_the_root_is_found_behind_the_prolog(body: bytes, start: tuple[str, int]) -> None:
    assert document_start(body) == start


def test_half_a_character_at_the_end_changes_nothing_before_it() -> None:
    for cut in (b"\xe4", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xc3"):
        assert utf8("é".encode() + cut, "text/xml; charset=iso-8859-1") == "é\ufffd".encode()
    assert utf8(b"caf\xe9", "text/xml; charset=iso-8859-1") == "café".encode()
    assert utf8(b"\xe9 caf\xe9", "text/xml; charset=iso-8859-1") == "é café".encode()


def test_repair_keeps_what_is_right() -> None:
    assert repaired(b"a &amp; b &lt; &#38; &#x26;") == b"a &#38; b &#60; &#38; &#x26;"
    assert repaired(b"R&D &eacute; &bogus; \x00\x0b &#0; &#xFFFF;").decode() == "R&#38;D &#233; &#38;bogus;   "


def test_repair_leaves_cdata_alone() -> None:
    section = b"<![CDATA[ R&D &eacute; &#0; ]]>"
    assert repaired(section + b"&eacute;" + section) == section + b"&#233;" + section
    assert repaired(b"<![CDATA[ R&D") == b"<![CDATA[ R&D"


def test_references_after_an_error_are_kept() -> None:
    root, broken = tree(b"<a><b></a><c>1 &lt; 2 &amp;&#38; 3<x y='&quot;'/></c>", "thing")
    assert broken
    assert root.xpath("string(//c)") == "1 < 2 && 3"
    assert root.xpath("string(//x/@y)") == '"'


def test_what_is_wrong_with_a_tree_is_told() -> None:
    assert tree(b"<a/>", "thing")[1] == Damage.NONE
    assert tree(b"<a><b>", "thing")[1] == tree(b"<a>R&D</a>", "thing")[1] == Damage.REPAIRED
    assert tree(b"<a><b></a>", "thing")[1] == Damage.MISNESTED
    with pytest.raises(UnreadableError, match="not a readable thing"):
        tree(b"words", "thing")


def test_depth_is_bounded() -> None:
    root, _ = tree(b"<a>" * 100_000, "thing")
    depth = 0
    while len(root):
        root, depth = root[0], depth + 1
    assert depth < 5000


def test_the_number_of_elements_is_bounded() -> None:
    with pytest.raises(UnreadableError, match="more than 1000000 elements"):
        tree(b"<a/>" * 1_000_001, "thing")


@pytest.mark.parametrize("root", READERS)
@pytest.mark.parametrize(
    "prolog",
    [
        "<!DOCTYPE {} [{}]>",
        "<!DOCTYPE {} SYSTEM 'a>b' [{}]>",
        '<!DOCTYPE {} SYSTEM "a<b" [{}]>',
        '<!DOCTYPE {} SYSTEM "a[b]>" [{}]>',
        "<!DOCTYPE {} PUBLIC '-//a>b//' 'c\">' [{}]>",
        "<!DOCTYPE\t{}\n[\n<!-- x -->{}]>",
        "<!DOCTYPE{} [{}]>",
        "<?xml version='1.0' > <!DOCTYPE {} [{}]><?x ?>",
    ],
)
def test_entities_are_refused_behind_whatever_stands_before_them(root: str, prolog: str) -> None:
    body = prolog.format(root, "<!ENTITY a 'aaaa'>") + f"<{root}>{INSIDE[root]}</{root}>"
    with pytest.raises(UnreadableError, match="declares entities"):
        READERS[root](body.encode())


@pytest.mark.parametrize("quotes", ['"', "'", "\"'", '"a"', "'\"", "<", "["])
def test_a_long_document_type_is_looked_at_once(quotes: str) -> None:
    assert document_start(b"<!DOCTYPE rss " + quotes.encode() * 500_000)[1] == 0
