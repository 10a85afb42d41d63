"""Everything that reads what strangers wrote, on inputs nobody wrote: an answer or a complaint, soon and harmless.

Inputs are mutations of a kept corpus (`corpus/KIND/`, one small file per interesting shape; an input that once broke a
reader is added there) and inventions of hypothesis made of the tokens readers look for. A short round is part of every
test run; the long one goes on for RECRAWL_FUZZ_SECONDS (60) per reader with seeds of its own.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limited import Limited

CORPUS = Path(__file__).parent / "corpus"
MUTATIONS = 250
LARGEST = 20_000
KINDS = ("feed", "sitemap", "robots", "page", "opml", "config")
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


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    made = Limited(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_kept_corpus_is_read(kind: str, readers: Limited) -> None:
    """`Limited` fails on any exception but UnreadableError, on too much time and on too much memory."""
    for body in seeds(kind):
        for other in KINDS:
            readers.read(other, body)


@pytest.mark.parametrize("kind", KINDS)
def test_relatives_of_the_corpus_do_no_harm(kind: str, readers: Limited) -> None:
    """Judged by `Limited`, as above."""
    chance = random.Random(f"short {kind}")
    others = [body for each in KINDS for body in seeds(each)]
    for _ in range(MUTATIONS):
        readers.read(kind, mutated(chance.choice(seeds(kind)), others, chance))


documents = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=12), max_size=40).map(b"".join)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(body=documents)
def test_documents_made_of_what_readers_look_for_do_no_harm(kind: str, body: bytes, readers: Limited) -> None:
    """Judged by `Limited`, as above."""
    readers.read(kind, body)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_relatives_of_the_corpus_do_no_harm_for_long(kind: str, readers: Limited) -> None:
    """Judged by `Limited`, as above."""
    seed = os.environ.get("RECRAWL_FUZZ_SEED", str(time.time()))
    chance, tries = random.Random(f"{seed} {kind}"), 0
    end = time.monotonic() + float(os.environ.get("RECRAWL_FUZZ_SECONDS", "60"))
    pool = seeds(kind)
    others = [body for each in KINDS for body in seeds(each)]
    while time.monotonic() < end:
        body = mutated(chance.choice(pool), others, chance)
        readers.read(kind, body)
        tries += 1
        if chance.random() < 0.1:  # relatives of relatives, so that mutations add up
            pool[len(seeds(kind)) :] = [*pool[len(seeds(kind)) :][-200:], body]
    print(f"{kind}: {tries:,} inputs, seed {seed}")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2000, derandomize=False)
@given(body=documents)
def test_documents_made_of_what_readers_look_for_do_no_harm_for_long(kind: str, body: bytes, readers: Limited) -> None:
    """Judged by `Limited`, as above."""
    readers.read(kind, body)


@pytest.mark.parametrize(
    ("kind", "words"), [("for ever", "more than 1 s of processor time"), ("asleep", "no answer in 0.1 s")]
)
def test_a_reader_that_never_ends_is_a_finding_with_its_input(
    kind: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limited.KEPT", tmp_path / "kept")
    limited = Limited(tmp_path, slow_s=1)
    if kind == "asleep":
        monkeypatch.setattr(limited, "patience_s", 0.1)
    with pytest.raises(AssertionError, match=words) as found:
        limited.read(kind, b"the input")
    (file,) = (tmp_path / "kept").iterdir()
    assert str(file) in str(found.value)
    assert file.read_bytes() == b"the input"
    monkeypatch.undo()
    limited.read("feed", b"<rss/>")  # and the next one is read
    limited.close()


def test_a_reader_that_fails_is_a_finding_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: Limited
) -> None:
    monkeypatch.setattr("limited.KEPT", tmp_path)
    with pytest.raises(AssertionError, match="KeyError"):
        readers.read("no such reader", b"the input")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"the input"]
