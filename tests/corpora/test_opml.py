"""Subscription lists of listparser's tests, each with what a reader must find in it."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from corpora.packages import has_npm, unpacked
from recrawl.crawl.catalogue.opml import Outlines, read_opml

pytestmark = pytest.mark.corpora
_EVAL = re.compile(r"Eval:\s*(.*)")
_OURS = {"url", "title", "tags"}


def wanted(text: str) -> dict[str, Any]:
    """What the comment says about feeds: `result.feeds[0].url == "…"` and `len(result.feeds) == 1`."""
    found: dict[str, Any] = {}
    for line in _EVAL.findall(text):
        said = re.fullmatch(r"len\(result(?:\.feeds|\['feeds'\])\)\s*==\s*([0-9]+)", line.strip())
        if said:
            found["count"] = int(said[1])
            continue
        said = re.fullmatch(
            r"result(?:\.feeds|\['feeds'\])\[([0-9]+)\](?:\.|\[['\"])(\w+)(?:['\"]\])?\s*==\s*(.*)", line.strip()
        )
        if said and said[2] in _OURS and said[3][:1] in "'\"[":
            found[f"{said[1]}/{said[2]}"] = ast.literal_eval(said[3])
            continue
        said = re.fullmatch(
            r"(['\"].*['\"]) in result(?:\.feeds|\['feeds'\])\[([0-9]+)\](?:\.|\[['\"])tags(?:['\"]\])?", line.strip()
        )
        if said:
            found[f"{said[2]}/tagged {ast.literal_eval(said[1])}"] = True
    return found


def found(lists: Outlines, name: str) -> Any:
    if name == "count":
        return len(lists)
    number, field = name.split("/", 1)
    entry = lists[int(number)]
    if field.startswith("tagged "):
        return field.removeprefix("tagged ") in entry.tags
    return list(entry.tags) if field == "tags" else getattr(entry, field)


def test_listparsers_lists_hold_the_feeds_that_it_finds(judged):
    root = unpacked("listparser") / "tests"
    with judged("listparser") as corpus:
        for path in sorted(root.rglob("*.xml")):
            body = path.read_bytes()
            expected = wanted(body.decode("utf-8", "replace"))
            if expected and b"<opml" in body:
                name = str(path.relative_to(root))
                corpus.check(name, expected, lambda b=body, e=expected: {n: found(read_opml(b), n) for n in e})


@pytest.mark.skipif(not has_npm(), reason="needs npm")
def test_a_list_of_a_hundred_has_a_hundred(judged):
    root = unpacked("opmlparser") / "test/opml"
    with judged("opmlparser") as corpus:
        for path in sorted(root.glob("*.opml")):
            body = path.read_bytes()
            named = len(re.findall(rb"<outline[^>]*\sxmlUrl\s*=\s*\"[^\"]+\"", body, re.IGNORECASE))
            corpus.check(path.name, named, lambda b=body: len(read_opml(b)))
