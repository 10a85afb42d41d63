"""What always counts on a page by its owner's word, and selectors that are not CSS."""

from __future__ import annotations

import pytest

from recrawl.config.option_rules import OPTIONS, selector
from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_page
from recrawl.errors import ParameterError

PAGE = "<body><nav><b class=price>{price} euros</b></nav><main><p>Some text<p>{views} views<p>See <a href=/z>this</a>"


def page(price: int = 5, views: int = 12, **counts: object) -> Findings:
    body = PAGE.format(price=price, views=views).encode()
    return read_page(body, "https://a.example/", 0.0, WhatCounts(**counts), marked=True)  # type: ignore[arg-type]


def changed(one: Findings, other: Findings) -> bool:
    return relation(one.digest, other.digest) == "differs"


def test_what_is_kept_counts_wherever_it_stands() -> None:
    assert not changed(page(5), page(6))
    kept = page(5, keep=(".price",))
    assert (kept.text.split("\n")[-1], kept.kept) == ("5 euros", (3,))
    assert changed(kept, page(6, keep=(".price",)))
    assert changed(page(5, keep=(".price",), ignore=("nav",)), page(6, keep=(".price",), ignore=("nav",)))


def test_a_line_that_is_kept_is_no_noise_and_not_ignored() -> None:
    assert not changed(page(views=12), page(views=13))
    assert changed(page(views=12, keep_text=("views",)), page(views=13, keep_text=("views",)))
    ignored = {"keep_text": ("views",), "ignore_text": (".*",)}
    assert page(**ignored).text == "12 views"
    assert changed(page(views=12, **ignored), page(views=13, **ignored))


def test_what_is_kept_is_shown_as_such() -> None:
    parts = page(keep=(".price",), keep_text=("views",)).parts
    assert [(part.text, part.why) for line in parts for part in line] == [
        ("5 euros", ""),
        ("Some text", ""),
        ("12 views", ""),
        ("See this", ""),
    ]


@pytest.mark.parametrize(
    ("select", "text"),
    [
        ("xpath://p[3]", "See this"),
        ("xpath://a/@href", "/z"),
        ("xpath:count(//p)", "3"),
        ("xpath:string(//b)", "5 euros"),
    ],
)
def test_an_xpath_picks_elements_attributes_and_values(select: str, text: str) -> None:
    assert page(select=select).text == text


def test_what_an_xpath_ignores_does_not_count() -> None:
    assert page(ignore=("xpath://p[1]",)).text == "12 views\nSee this"


@pytest.mark.parametrize("text", ["main", "xpath://div", "json:$.items[*].price", " xpath:count(//p) "])
def test_selectors_are_taken_as_they_are(text: str) -> None:
    assert selector("select", text) == text.strip()
    assert OPTIONS["keep"]("keep", [text]) == (text.strip(),)


@pytest.mark.parametrize(
    "text",
    [
        "xpath://p/@class",
        "xpath://a/attribute::href",
        "xpath://p/text()",
        "xpath:count(//p)",
        "xpath://p/text()[1]",
        "xpath://p/text()[contains(., 'a')]",
    ],
)
def test_what_picks_no_element_cannot_be_ignored_and_that_is_said(text: str) -> None:
    with pytest.raises(ParameterError, match=r"ignore\[0\] must be a selector of elements"):
        OPTIONS["ignore"]("ignore", [text])
    assert OPTIONS["keep"]("keep", [text]) == (text,)


@pytest.mark.parametrize(
    "text", ["xpath://p[@class]", "xpath://p[text()='a']", "xpath://p[@id='x']", "xpath://text()/..", "json:$.a"]
)
def test_elements_are_ignored_by_any_xpath(text: str) -> None:
    assert OPTIONS["ignore"]("ignore", [text]) == (text,)


@pytest.mark.parametrize(
    ("text", "words"),
    [("p::text", "a CSS selector"), ("xpath://[", "an XPath"), ("json:items[", "a JSONPath"), ("xpath:", "an XPath")],
)
def test_what_is_no_selector_is_refused_with_an_example(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        selector("select", text)


def test_without_rules_to_keep_a_rule_has_the_name_it_had() -> None:
    """Otherwise an upgrade would make every page begin anew."""
    assert WhatCounts().rule.partition("-")[2] == "682b02bb"
    assert WhatCounts(keep=("a",)).rule != WhatCounts().rule
