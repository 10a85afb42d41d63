"""Everything that reads what strangers wrote, on inputs nobody wrote: an answer or a complaint, soon and harmless.

Inputs are mutations of a kept corpus (`corpus/KIND/`, one small file per interesting shape; an input that once broke a
reader is added there) and inventions of hypothesis made of the tokens readers look for. A short round is part of every
test run; the long one goes on for RECRAWL_FUZZ_SECONDS (60) per reader with seeds of its own.
"""

from __future__ import annotations

import math
import os
import random
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.config.loading import read as read_settings
from recrawl.crawl.findings import Findings, UnreadableError
from recrawl.crawl.opml import read_opml
from recrawl.crawl.reading import Document, read
from recrawl.crawl.robots import RobotsCache
from recrawl.crawl.text import SUMMARY_CHARACTERS, TITLE_CHARACTERS
from recrawl.errors import ConfigError
from recrawl.store.base import item_key

CORPUS = Path(__file__).parent / "corpus"
NOW = 1_700_000_000.0
SLOW_S = 5.0
"""No document of a few kilobytes takes so long, on any machine."""
MUTATIONS = 250
LARGEST = 20_000
URL = "https://example.org/dir/doc"
KINDS = ("feed", "sitemap", "robots", "page", "opml", "config")
TYPES = ("", "text/html", "application/xml", "application/rss+xml; charset=utf-16", "text/plain; charset=shift_jis")
TOKENS = (
    b"<",
    b">",
    b"</",
    b"/>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<!DOCTYPE rss [",
    b"<!ENTITY a 'b'>",
    b"]>",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"&#0;",
    b"&#x1F4A9;",
    b"&a;",
    b"&amp;",
    b"&nbsp;",
    b"<rss>",
    b"<channel>",
    b"<item>",
    b"</item>",
    b"<entry>",
    b"<feed xmlns='http://www.w3.org/2005/Atom'>",
    b"<title>",
    b"</title>",
    b"<guid>",
    b"<link href='",
    b"<pubDate>",
    b"99999-13-32T25:61:61Z",
    b"Thu, 01 Jan 1970 00:00:00 GMT",
    b"<urlset>",
    b"<url>",
    b"<loc>",
    b"https://example.org/",
    b"http://[::1",
    b"javascript:alert(1)",
    b"<sitemapindex>",
    b"<sitemap>",
    b"<html>",
    b"<body>",
    b"<main>",
    b"<p>",
    b"<script>",
    b"<svg>",
    b"<opml><body>",
    b"<outline xmlUrl='",
    b"User-agent: *\n",
    b"Disallow: /",
    b"*",
    b"$",
    b"Crawl-delay: nan\n",
    b'{"version":"https://jsonfeed.org/version/1","items":[',
    b'{"id":',
    b"}",
    b"]",
    b'"',
    b"\\ud800",
    b"[fetch]\n",
    b"timeout = ",
    b"budget = ",
    b"inf",
    b"-1",
    b"1e309",
    b"\x00",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "\u202e\u2028é中".encode(),
    b"\n",
    b" ",
    b"a" * 300,
)


def check_document(body: bytes, kind: str, content_type: str) -> None:
    document = Document(url=URL, body=body, now=NOW, kind=kind, content_type=content_type)  # type: ignore[arg-type]
    try:
        findings = read(document)
    except UnreadableError:
        return
    check_findings(findings)


def harmless(text: str) -> bool:
    """Whether nothing in it acts on who shows it; characters of private use and of no use yet do not."""
    return all(letter.isprintable() or unicodedata.category(letter) in ("Co", "Cn") for letter in text)


def check_findings(findings: Findings) -> None:
    assert harmless(findings.title)
    assert len(findings.title) <= TITLE_CHARACTERS
    assert len({item.key for item in findings.items}) == len(findings.items)
    for item in findings.items:
        item_key(item.key)
        assert harmless(item.title)
        assert harmless(item.summary)
        assert len(item.title) <= TITLE_CHARACTERS
        assert len(item.summary) <= SUMMARY_CHARACTERS
        assert item.link == "" or item.link.startswith(("http://", "https://"))
        assert item.published is None or (math.isfinite(item.published) and item.published <= NOW)
    for url in (*findings.children, *findings.advertises):
        assert url.startswith(("http://", "https://"))
        assert url.isprintable()


def read_as_feed(body: bytes, chance: random.Random, _: Path) -> None:
    check_document(body, chance.choice(("auto", "feed")), chance.choice(TYPES))


def read_as_sitemap(body: bytes, chance: random.Random, _: Path) -> None:
    check_document(body, chance.choice(("auto", "sitemap")), chance.choice(TYPES))


def read_as_page(body: bytes, chance: random.Random, _: Path) -> None:
    check_document(body, "page", chance.choice(TYPES))


def read_as_robots(body: bytes, _: random.Random, __: Path) -> None:
    cache = RobotsCache("recrawl", lambda origin: None)
    rules = cache.read(cache.judged("https://example.org", 200, body, None, NOW))
    for path in ("/", "/private/open", "/a" * 50, "/%7Ejoe/中?x=*$"):
        assert rules.allow(f"https://example.org{path}") in (True, False)
    assert 0.0 <= rules.crawl_delay_s <= 3600.0


def read_as_opml(body: bytes, _: random.Random, __: Path) -> None:
    try:
        found = read_opml(body)
    except UnreadableError:
        return
    for entry in found:
        assert harmless(entry.title)
        assert all(harmless(tag) for tag in entry.tags)


def read_as_config(body: bytes, _: random.Random, folder: Path) -> None:
    file = folder / "recrawl.toml"
    file.write_bytes(body)
    try:
        config = read_settings(file)
    except ConfigError as error:
        if "recrawl.toml" not in str(error) or not str(error).isprintable():
            raise AssertionError(f"not a message for people: {error}") from error
        return
    assert config.budget_per_s > 0.0
    assert config.fetch.timeout_s > 0.0
    assert config.fetch.max_size_bytes > 0


READERS: dict[str, Callable[[bytes, random.Random, Path], None]] = {
    "feed": read_as_feed,
    "sitemap": read_as_sitemap,
    "robots": read_as_robots,
    "page": read_as_page,
    "opml": read_as_opml,
    "config": read_as_config,
}


def seeds(kind: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((CORPUS / kind).iterdir())]


def mutated(body: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A relative of a document: a few cuts, repeats, swaps, flips and foreign parts."""
    data = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        place = chance.randint(0, len(data))
        end = min(len(data), place + chance.choice((1, 1, 4, 20, 200)))
        match chance.randrange(6):
            case 0:
                data[place:end] = b""
            case 1:
                data[place:place] = data[place:end] * chance.choice((1, 2, 50))
            case 2:
                data[place:place] = chance.choice(TOKENS)
            case 3 if data:
                data[place % len(data)] = chance.randrange(256)
            case 4:
                other = chance.choice(others)
                data[place:end] = other[chance.randint(0, len(other)) :][:400]
            case 5:
                del data[place:]
        del data[LARGEST:]
    return bytes(data)


def tried(kind: str, body: bytes, chance: random.Random, folder: Path) -> None:
    """Read it, and complain with the input itself if that takes long or fails."""
    began = time.process_time()
    try:
        READERS[kind](body, chance, folder)
    except Exception as error:
        raise AssertionError(f"{kind}: {type(error).__name__}: {error}\ninput: {body!r}") from error
    assert time.process_time() - began < SLOW_S, f"{kind} took long on {body!r}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_kept_corpus_is_read(kind: str, tmp_path: Path) -> None:
    for body in seeds(kind):
        for other in KINDS:
            tried(other, body, random.Random(0), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_relatives_of_the_corpus_do_no_harm(kind: str, tmp_path: Path) -> None:
    chance = random.Random(f"short {kind}")
    others = [body for each in KINDS for body in seeds(each)]
    for _ in range(MUTATIONS):
        tried(kind, mutated(chance.choice(seeds(kind)), others, chance), chance, tmp_path)


documents = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=12), max_size=40).map(b"".join)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(body=documents)
def test_documents_made_of_what_readers_look_for_do_no_harm(
    kind: str, body: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tried(kind, body, random.Random(body), _folder(tmp_path_factory))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_relatives_of_the_corpus_do_no_harm_for_long(kind: str, tmp_path: Path) -> None:
    seed = os.environ.get("RECRAWL_FUZZ_SEED", str(time.time()))
    chance, tries = random.Random(f"{seed} {kind}"), 0
    end = time.monotonic() + float(os.environ.get("RECRAWL_FUZZ_SECONDS", "60"))
    pool = seeds(kind)
    others = [body for each in KINDS for body in seeds(each)]
    while time.monotonic() < end:
        body = mutated(chance.choice(pool), others, chance)
        tried(kind, body, chance, tmp_path)
        tries += 1
        if chance.random() < 0.1:  # relatives of relatives, so that mutations add up
            pool[len(seeds(kind)) :] = [*pool[len(seeds(kind)) :][-200:], body]
    print(f"{kind}: {tries:,} inputs, seed {seed}")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2000, derandomize=False)
@given(body=documents)
def test_documents_made_of_what_readers_look_for_do_no_harm_for_long(
    kind: str, body: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tried(kind, body, random.Random(body), _folder(tmp_path_factory))


_FOLDERS: list[Path] = []


def _folder(factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a process."""
    if not _FOLDERS:
        _FOLDERS.append(factory.mktemp("fuzz"))
    return _FOLDERS[0]
