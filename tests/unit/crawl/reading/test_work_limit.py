"""Slow work is counted, and documents made of it are read where nobody waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from recrawl.crawl import urls
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import Document, Readers, read
from recrawl.crawl.work_limit import NeedsPatience, hurried, slow_work
from recrawl.store.records import SourceKind

SMALL = 255_000
"""Bytes of a list just below what is large."""


def document(body: str | bytes, kind: SourceKind = "auto", content_type: str = "", select: str = "") -> Document:
    body = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
    return Document(
        url="https://example.org/x",
        body=body,
        now=1.79e9,
        kind=kind,
        content_type=content_type,
        counts=WhatCounts(select=select),
    )


def feed(items: str) -> str:
    return f"<rss><channel><title>T</title>{items}</channel></rss>"


def linked(hosts: Callable[[int], str], count: int) -> str:
    return feed("".join(f"<item><guid>{k}</guid><link>http://{hosts(k)}/</link></item>" for k in range(count)))


def test_work_is_counted_within_a_hurry_only() -> None:
    slow_work(10**9)
    with hurried(10):
        slow_work(4)
        with hurried(100):
            slow_work(90)
        slow_work(6)
        with pytest.raises(NeedsPatience):
            slow_work(1)
    slow_work(10**9)


SLOW = {
    "hosts of many labels": document(linked(lambda k: "é." * 60 + f"é{k}", 400)),
    "many hosts": document(linked(lambda k: f"bücher{k}.example", 1000)),
    "bytes of no meaning": document(
        b"<rss><channel><title>" + b"\xa9\xa9" * 100_000, content_type="text/xml; charset=euc-jp"
    ),
    "escape sequences": document(
        b"<rss><channel><title>" + b"\x1b$Bz" * 50_000, content_type="text/xml; charset=iso-2022-jp"
    ),
    "ampersands": document(feed("& " * 100_000)),
    "odd dates": document(
        feed("".join(f"<item><guid>{k}</guid><pubDate>{'1 ' * 40}{k}</pubDate></item>" for k in range(800)))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW)
def test_what_is_made_of_slow_bytes_asks_for_patience_and_is_read_with_it(name: str) -> None:
    with pytest.raises(NeedsPatience), hurried():
        read(SLOW[name])
    assert read(SLOW[name]).kind == "feed"


def test_what_most_feeds_are_made_of_needs_none() -> None:
    story = "".join(
        f"<item><guid>{k}</guid><title>今日は日本語の話題 {k}</title><link>http://日本語.example/ニュース/{k}</link>"
        f"<pubDate>Mon, {k % 28 + 1:02d} Nov 2026 15:03:03 GMT</pubDate>"
        "<description>&lt;p&gt;言葉 &amp;amp; 言葉</description></item>"
        for k in range(500)
    )
    with hurried():
        assert len(read(document(feed(story))).items) == 500
    japanese = document(feed(story).encode("cp932", "replace"), content_type="text/xml; charset=shift_jis")
    with hurried():
        assert len(read(japanese).items) == 500


def test_hosts_that_are_too_long_are_refused_before_anybody_puts_their_characters_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def split(*_: str) -> None:
        raise AssertionError("it was looked at")

    monkeypatch.setattr(urls, "urlsplit", split)
    monkeypatch.setattr(urls, "urljoin", split)
    monkeypatch.setattr(urls, "_base_origin", lambda base: "https://example.org")
    for address in ("http://" + "\u0301\u0323" * 1000, "//" + "\u0301\u0323" * 1000 + "/a", "http://é@" + "a" * 300):
        assert urls.join("https://example.org/", address) is None
        with pytest.raises(ValueError, match="valid host name"):
            urls.normalise(address)


@pytest.mark.parametrize(
    ("made", "small"),
    [
        (document(feed("<item/>" * 4000)), True),
        (document(feed("words " * 40_000)), True),
        (document(b"\xef\xbb\xbf<?xml version='1.0'?><!-- c --><urlset>" + b"words " * 40_000), True),
        (document("words " * 5000, content_type="text/plain"), True),
        (document("<html>" + "words " * 5000), True),
        (document("a\n" * 127_000), False),
        (document("a\n" * 127_000, content_type="text/plain"), False),
        (document("http://a.example/\n" * 10_000, kind="sitemap"), False),
        (document("<!doctype html>" + "words " * 8000), False),
        (document('{"title": "T", "items": [' + "1," * 50_000), False),
        (document(feed("words " * 40_000), kind="page"), False),
        (document(feed("words " * 60_000)), False),
        (document(feed("<item/>" * 6000)), False),
        (document("<p>words</p>", select="p ~ p"), False),
    ],
)
def test_what_is_read_at_once(made: Document, small: bool) -> None:
    assert Readers()._is_small(made) is small


UNITS = {
    "lines": "abcd\n", "times": "1:11 ", "ages": "5 minutes ago\n", "tokens": "aB1aB1aB1aB1aB1aB1\n", "said": "as of ",
    "tags": "<p>a", "forms": "<form><header>x", "bases": "<base href=x>", "attributes": "<p a=b c=d e=f>",
    "entities": "&eacute;", "escapes": "\x1b[31m", "hidden": "<p hidden>x", "hosts": "http://é/\n", "zeros": "\u200b\n",
    "items": "<item><title>&lt;b&gt;&amp;amp;</title></item>", "links": "<item><link>/é%41é%41../</link></item>",
    "hosts in links": "<item><link>http://é.é.é.é/</link></item>", "long": "<item><link>http://" + "\u0301\u0323" * 900,
    "dates": "<item><pubDate>1 1 1 1 1</pubDate></item>", "namespaces": "<item xmlns:a='b'/>", "objects": '{"id": 1}, ',
}  # fmt: skip


@pytest.mark.parametrize("head", ["", "<html><body>", "<rss><channel>", "<urlset>", '{"title": "T", "items": ['])
@pytest.mark.parametrize("name", UNITS)
def test_no_document_read_at_once_takes_long(name: str, head: str) -> None:
    """Measured: 35 ms at most on one quiet core. The bound leaves room for a busy machine."""
    readers, unit = Readers(), UNITS[name]
    count = (SMALL - len(head)) // len(unit.encode())
    while not readers._is_small(made := document(head + unit * count)):
        count //= 2
    started = time.process_time()
    with suppress(UnreadableError, NeedsPatience), hurried():
        read(made)
    assert time.process_time() - started < 1.0
