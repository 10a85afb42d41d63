"""feedparser's own test feeds: each says in a comment what a reader must find in it."""

from __future__ import annotations

import ast
import json
import re
from calendar import timegm
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from corpora.feeds_of_others import document, of_feedparser
from corpora.packages import has_npm, unpacked
from recrawl.crawl import urls
from recrawl.crawl.reading.findings import Findings, FoundItem
from recrawl.crawl.reading.plain_text import SUMMARY_CHARACTERS, TITLE_CHARACTERS, clean
from recrawl.crawl.reading.readers import read

pytestmark = pytest.mark.corpora
_EXPECT = re.compile(rb"Expect:\s*(.*?)\s*-->", re.DOTALL)
_TEXTS = {"title": TITLE_CHARACTERS, "summary": SUMMARY_CHARACTERS}
_OURS = {"title": "title", "summary": "summary", "description": "summary", "link": "link", "id": "id", "guid": "id",
         "published_parsed": "date", "updated_parsed": "date", "created_parsed": "date", "issued_parsed": "date",
         "modified_parsed": "date", "date_parsed": "date"}  # fmt: skip


def wanted(body: bytes) -> dict[str, Any]:
    """What the comment says about fields that we read: path such as `entries/0/title` and value."""
    said = _EXPECT.search(body)
    if said is None:
        return {}
    try:
        tree = ast.parse(said[1].decode("utf-8").strip(), mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return {}
    found: dict[str, Any] = {}
    for part in tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
            path = _path(part.left)
            try:
                value = ast.literal_eval(part.comparators[0])
            except ValueError:
                continue
            if path and (name := _name(path)):
                found[name] = value
    return found


def _path(node: ast.expr) -> list[Any] | None:
    """`entries[0]['title']` as ["entries", 0, "title"]; `len(entries)` as ["entries", "count"]."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        inner = _path(node.args[0])
        return None if inner is None else [*inner, "count"]
    if isinstance(node, ast.Attribute):
        before, last = _path(node.value), node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        before, last = _path(node.value), node.slice.value
    else:
        return None
    return None if before is None else [*before, last]


def _name(path: list[Any]) -> str | None:
    if path == ["feed", "title"]:
        return "title"
    if path == ["entries", "count"]:
        return "count"
    if len(path) == 3 and path[0] == "entries" and path[2] in _OURS:
        return f"{path[1]}/{_OURS[path[2]]}"
    return None


def found(findings: Findings, name: str) -> Any:
    if name == "title":
        return findings.title
    if name == "count":
        return len(findings.items)
    number, field = name.split("/")
    item: FoundItem = findings.items[int(number)]
    return {"title": item.title, "summary": item.summary, "link": item.link, "id": item.key, "date": item.published}[
        field
    ]


def as_ours(name: str, value: Any, base: str) -> Any:
    """An expected value as it looks after our cleaning."""
    field = name.rpartition("/")[2]
    if field in _TEXTS and isinstance(value, str):
        return clean(value, _TEXTS[field])
    if field == "link" and isinstance(value, str):
        return urls.join(base, value) or ""
    if field == "date" and isinstance(value, tuple):
        return float(timegm(value))
    return value


def test_feedparsers_feeds_say_what_their_comments_say(judged):
    with judged("feedparser: fields") as corpus:
        for name, body in of_feedparser():
            expected = {field: as_ours(field, value, document(name, body).url) for field, value in wanted(body).items()}
            if expected:
                corpus.check(name, expected, lambda n=name, b=body, e=expected: _fields(n, b, e))


def _fields(name: str, body: bytes, expected: dict[str, Any]) -> dict[str, Any]:
    findings = read(document(name, body))
    return {field: found(findings, field) for field in expected}


def test_every_feed_of_feedparser_is_read_as_a_feed(judged):
    with judged("feedparser: read at all") as corpus:
        for name, body in of_feedparser():
            corpus.check(name, "feed", lambda n=name, b=body: read(document(n, b)).kind)


Rows = list[dict[str, Any]]


def of_podcastparser() -> Iterator[tuple[str, bytes, Rows]]:
    """A feed and, beside it, what is in it: an undated episode is dated 0, one without a guid has its enclosure's."""
    for path in sorted((unpacked("podcastparser") / "tests/data").glob("*.rss")):
        episodes = json.loads(path.with_suffix(".json").read_text())["episodes"]
        rows = [
            {"title": each["title"], "link": each["link"], "date": float(each["published"]) or None}
            for each in episodes
        ]
        yield path.name, path.read_bytes(), rows


def of_rss_parser() -> Iterator[tuple[str, bytes, Rows]]:
    root = unpacked("rss-parser") / "test"
    for path in sorted((root / "input").iterdir()):
        entries = json.loads((root / "output" / f"{path.stem}.json").read_text())["feed"]["entries"]
        yield path.name, path.read_bytes(), [_row_of_rss_parser(entry) for entry in entries]


def _row_of_rss_parser(entry: dict[str, Any]) -> dict[str, Any]:
    row = {"title": entry.get("title", ""), "link": entry.get("link", "")}
    if "isoDate" in entry:
        row["date"] = datetime.fromisoformat(entry["isoDate"]).timestamp()
    return row


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(of_podcastparser, id="podcastparser"),
        pytest.param(of_rss_parser, id="rss-parser", marks=pytest.mark.skipif(not has_npm(), reason="needs npm")),
    ],
)
def test_feeds_have_the_items_that_others_find(judged, request, source):
    with judged(f"{request.node.callspec.id}: items") as corpus:
        for name, body, rows in source():
            base = document(name, body).url
            expected = [{field: as_ours(field, value, base) for field, value in row.items()} for row in rows]
            corpus.check(name, expected, lambda n=name, b=body, r=rows: _rows(n, b, r))


def _rows(name: str, body: bytes, rows: Rows) -> Rows:
    """What we find of the fields that are asked for."""
    ours = [
        {"title": item.title, "link": item.link, "date": item.published} for item in read(document(name, body)).items
    ]
    asked = list(rows[0]) if rows else ["title"]
    return [{field: each[field] for field in asked} for each in ours]
