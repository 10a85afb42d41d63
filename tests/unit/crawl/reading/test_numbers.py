"""The number that a page is watched for: told to machines, in its text, or where its owner points."""

from __future__ import annotations

import json

import pytest

from recrawl.config.option_rules import OPTIONS
from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.findings import Findings, Number
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.readers import Document, read
from recrawl.errors import ParameterError

OFFER = {
    "@context": "https://schema.org",
    "@graph": [{"@type": "Product", "name": "x", "offers": [{
        "@type": "Offer", "price": "1299.00", "priceCurrency": "EUR", "availability": "https://schema.org/InStock",
    }]}],
}  # fmt: skip
LINKED = f"<script type='application/ld+json'>{json.dumps(OFFER)}</script>"
MICRO = """<div itemscope><meta itemprop=priceCurrency content=GBP><b itemprop=price content=12.5>12.50</b>
<link itemprop=availability href="https://schema.org/SoldOut"></div>"""


def said(body: str | bytes, kind: str = "text/html", marked: bool = False, **counts: object) -> Findings:
    raw = body if isinstance(body, bytes) else f"<html><body>{body}</body></html>".encode()
    what = WhatCounts(**counts)  # type: ignore[arg-type]
    return read(Document(url="u", body=raw, now=0.0, kind="page", content_type=kind, counts=what, marked=marked))


@pytest.mark.parametrize(
    ("body", "which", "number"),
    [
        (LINKED, "price", Number("price", 1299.0, "1299.00 EUR", "EUR", "schema.org")),
        (LINKED, "stock", Number("stock", 1.0, "InStock", "", "schema.org")),
        (MICRO, "price", Number("price", 12.5, "12.5 GBP", "GBP", "schema.org")),
        (MICRO, "stock", Number("stock", 0.0, "SoldOut", "", "schema.org")),
        ("<p>Only 1.299,00 € today, 5 left", "price", Number("price", 1299.0, "1299.00 €", "€", "text")),
        ("<p>In 2026: $12", "price", Number("price", 12.0, "12 $", "$", "text")),
        ("<p>Python 3<p>Release 4.10.2 is out", "version", Number("version", 4.010002, "4.10.2", "", "text")),
        ("<p>There are 12 seats, 3 free", r"text:(\d+) free", Number("number", 3.0, "3", "", "text")),
        ("<p>a<p class=n>about 1,234 people", ".n", Number("number", 1234.0, "1234", "", "selected")),
        ("<p>a<p class=n>5", "xpath:count(//p)", Number("number", 2.0, "2", "", "selected")),
        ("<p>a<b>1234567.89</b>", "xpath:number(//b)", Number("number", 1234567.89, "1234567.89", "", "selected")),
        ("<p>a<p class=n>-5,50 €", ".n", Number("number", -5.5, "-5.50 €", "€", "selected")),
        ("<p>a<p class=n>Balance: −€12", ".n", Number("number", -12.0, "-12 €", "€", "selected")),
        ("<p>Credit -20 €", "price", Number("price", -20.0, "-20 €", "€", "text")),
        ("<p>10-20 €", "price", Number("price", 20.0, "20 €", "€", "text")),
        ("<p>a<p class=n>7 - 9 pm", ".n", Number("number", 7.0, "7", "", "selected")),
        ("<p>a<p class=n>A4-20", ".n", Number("number", 4.0, "4", "", "selected")),
        ("<p>There are -3 degrees", r"text:\S+ degrees", Number("number", -3.0, "-3", "", "text")),
        (LINKED.replace("1299.00", "-9.5"), "price", Number("price", -9.5, "-9.5 EUR", "EUR", "schema.org")),
        ("<p>a<b>2500000</b>", "xpath:number(//b)", Number("number", 2500000.0, "2500000", "", "selected")),
    ],
)
def test_a_number_is_found(body: str, which: str, number: Number) -> None:
    found = said(body, number=which)
    assert found.number == number
    assert found.text.split("\n")[-1] == number.line
    assert found.kept


def test_numbers_of_json_are_found_by_name_and_by_path() -> None:
    body = json.dumps({"items": [{"price": 5, "currency": "EUR"}, {"price": 7}], "stock": 3}).encode()
    by_name = said(body, "application/json", number="price")
    assert by_name.number == Number("price", 5.0, "5 EUR", "EUR", "JSON")
    by_path = said(body, "application/json", number="json:$.items[1].price")
    assert by_path.number == Number("items[].price", 7.0, "7", "", "JSON")
    assert said(body, "application/json", number="stock").number == Number("stock", 3.0, "3", "", "JSON")


@pytest.mark.parametrize("level", ["9" * 400, "-" + "9" * 400, "NaN", "Infinity", "1e300", "9" * 5000])
@pytest.mark.parametrize("which", ["stock", "price", "version"])
def test_a_number_beyond_all_sense_is_none_and_breaks_nothing(level: str, which: str) -> None:
    told = f'{{"inventoryLevel": {level}, "price": {level}, "version": {level}}}'
    found = said(f"<p>A chair<script type='application/ld+json'>{told}</script>", number=which)
    assert (found.number, found.text) == (None, "A chair")
    assert said(told.replace("inventoryLevel", "stock").encode(), "application/json", number=which).number is None


def test_more_digits_in_text_than_are_kept_are_no_number() -> None:
    assert said(f"<p>A chair<p>{'9' * 150} EUR", number=r"text:(\S+) EUR").number is None


def test_all_digits_of_a_stock_are_kept() -> None:
    told = '{"inventoryLevel": 1234567}'
    found = said(f"<p>A chair<script type='application/ld+json'>{told}</script>", number="stock")
    assert found.text.endswith("stock: 1234567")


def test_a_number_that_only_machines_are_told_is_compared() -> None:
    other = LINKED.replace("1299", "1199")
    assert relation(said(f"Text{LINKED}").digest, said(f"Text{other}").digest) == "same"
    assert (
        relation(said(f"Text{LINKED}", number="price").digest, said(f"Text{other}", number="price").digest) == "differs"
    )


def test_one_that_is_not_there_is_said_and_the_page_is_read_all_the_same() -> None:
    found = said("<p>Nothing for sale", number="price")
    assert (found.number, found.text, found.remark) == (
        None,
        "Nothing for sale",
        "the number 'price' is not on this page",
    )


def test_what_could_be_watched_is_found_where_it_is_asked_for() -> None:
    body = f"<p>Version 2.1{LINKED}"
    assert [each.line for each in said(body, marked=True).numbers] == [
        "price: 1299.00 EUR",
        "stock: InStock",
        "version: 2.1",
    ]
    assert said(body).numbers == ()


@pytest.mark.parametrize("broken", ["{", "[" * 5000, '{"price": {"a": 1}}', '{"offers": {"price": null}}', "null"])
def test_broken_data_for_machines_is_none(broken: str) -> None:
    assert said(f"<p>Text<script type='application/ld+json'>{broken}</script>", number="price").number is None


def test_what_points_at_no_number_is_refused() -> None:
    assert OPTIONS["number"]("number", " price ") == "price"
    assert OPTIONS["number"]("number", r"text:(\d+)") == r"text:(\d+)"
    for wrong in ("text:(", "text:", "", " ", "p::text", "json:[", "xpath:foo()", "xpath://p["):
        with pytest.raises(ParameterError):
            OPTIONS["number"]("number", wrong)


def test_selectors_and_patterns_that_pick_nothing_are_named_where_it_is_asked_for() -> None:
    body = "<p class=a>Price 5<p class=b>Ends"
    asked = {"ignore": (".b", ".x"), "keep": (".a", "xpath://y"), "keep_text": ("Pri", "Q"), "ignore_text": ("E", "Z")}
    assert said(body, marked=True, **asked).idle == (".x", "xpath://y", "Q", "Z")
    assert said(body, **asked).idle == ()
    in_json = said(b'{"a": 1}', "application/json", marked=True, ignore=("json:$.b",), keep=("json:$.a",))
    assert in_json.idle == ("json:$.b",)
