"""JSON read as lines, and the parts of it that count."""

from __future__ import annotations

import json
import time

import pytest

from recrawl.crawl.reading import json_text
from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.json_text import DEEPEST
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import Document, read

SHOP = {"took": 3, "items": [{"name": "a  b", "price": 13.5}, {"name": "c", "price": 2}], "more": {"x": None, "y": []}}


def said(value: object, kind: str = "application/json", **counts: object) -> Findings:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read(Document(url="u", body=body, now=0.0, kind="page", content_type=kind, counts=WhatCounts(**counts)))  # type: ignore[arg-type]


def test_every_value_is_a_line_with_the_names_that_lead_to_it() -> None:
    assert said(SHOP).text.split("\n") == [
        "took: 3",
        "items[].name: a b",
        "items[].price: 13.5",
        "items[].name: c",
        "items[].price: 2",
        "more.x: null",
        "more.y: []",
    ]


def test_white_space_is_no_change_and_a_value_is() -> None:
    spread = json.dumps(SHOP, indent=4).encode()
    assert relation(said(SHOP).digest, said(spread).digest) == "same"
    assert relation(said(SHOP).digest, said(SHOP | {"took": 4}).digest) == "differs"


def test_parts_are_picked_ignored_and_kept_by_their_paths() -> None:
    assert said(SHOP, select="json:$..price").text == "items[].price: 13.5\nitems[].price: 2"
    assert said(SHOP, ignore=("json:$.items", "json: $.took", ".ad")).text == "more.x: null\nmore.y: []"
    kept = said(SHOP, ignore=("json:$.items", "json:$.more"), keep=("json:$.items[1].price",))
    assert (kept.text, kept.kept) == ("took: 3\nitems[].price: 2", (1,))


def test_what_is_no_json_is_text_unless_a_path_asks_for_it() -> None:
    assert said(b'{"cut off": ').text == '{"cut off":'
    assert said(b"[1, 2] and so on", "text/plain").text == "[1, 2] and so on"
    with pytest.raises(UnreadableError, match="is for JSON, but this is none"):
        said(b"hello", "text/plain", select="json:$.a")
    with pytest.raises(UnreadableError, match="is for JSON, but this is an HTML page"):
        said(b"<html><body>hello", "text/html", select="json:$.a")
    with pytest.raises(UnreadableError, match="picks nothing"):
        said(SHOP, select="json:$.none")


def test_of_json_that_is_too_long_that_is_said() -> None:
    with pytest.raises(UnreadableError, match="longer than 4 MB"):
        said(b"[" + b"1," * 2_000_001 + b"1]", select="json:$[0]")


def test_many_places_that_are_kept_beside_what_is_picked_are_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    is_in = json_text._is_in
    monkeypatch.setattr(json_text, "_is_in", lambda place, others: looked.append(type(others)) or is_in(place, others))
    said({"a": [*range(50)], "b": [*range(50)]}, select="json:$.a[*]", keep=("json:$.b[*]",))
    assert set(looked) == {set}


def test_what_is_made_to_take_long_does_not() -> None:
    deep: object = [1] * 8000
    for _ in range(200):
        deep = {"name" * 10: deep}
    begun = time.process_time()
    lines = said(deep).text.split("\n")
    assert len(lines) == 1
    assert lines[0].count("name" * 10 + '":') == 200 - DEEPEST
    wide = {"k" * 20_000: dict.fromkeys(map(str, range(3000)), 1)}
    assert max(map(len, said(wide).text.split("\n"))) < 300
    assert time.process_time() - begun < 5.0
