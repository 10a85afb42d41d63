"""From bytes to characters, and to trees that cannot bite."""

from __future__ import annotations

import pytest

from recrawl.crawl.decoding import document_start, repaired, tree, utf8
from recrawl.crawl.findings import UnreadableError


def test_plain_utf8_is_passed_on_as_it_is() -> None:
    body = "<a>é</a>".encode()
    assert utf8(body) is body


def test_bytes_of_no_encoding_are_replaced() -> None:
    assert utf8(b"a\xffb").decode() == "a\ufffdb"


@pytest.mark.parametrize(
    ("body", "start"),
    [
        (b"<rss/>", ("rss", 0)),
        (b"<rdf:RDF/>", ("rdf", 0)),
        (b"<?xml version='1.0'?><!--<html>--><feed>", ("feed", 0)),
        (b"<!DOCTYPE rss [<!ELEMENT x (y)>]><rss>", ("rss", 0)),
        (b"<!doctype HTML><rss>", ("html", 0)),
        (b"junk <rss>", ("rss", 5)),
        (b"junk", ("", 0)),
        (b"<!DOCTYPE rss [", ("", 0)),
        (b"<!--", ("", 0)),
        (b"", ("", 0)),
        (b"<other><rss>", ("rss", 7)),
    ],
)
def test_the_root_is_found_behind_the_prolog(body: bytes, start: tuple[str, int]) -> None:
    assert document_start(body) == start


def test_repair_keeps_what_is_right() -> None:
    assert repaired(b"a &amp; b &lt; &#38; &#x26;") == b"a &amp; b &lt; &#38; &#x26;"
    assert repaired(b"R&D &eacute; &bogus; \x00\x0b &#0; &#xFFFF;").decode() == "R&amp;D é &amp;bogus;   "


def test_well_formed_trees_are_not_marked_as_repaired() -> None:
    assert tree(b"<a/>", "thing")[1] is False
    assert tree(b"<a><b></a>", "thing")[1] is True
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
