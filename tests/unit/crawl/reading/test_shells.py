"""Which pages are empty until a browser has run their scripts."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_page

WORDS = "Something that can be read by anybody who comes here. " * 8


def is_shell(body: str) -> bool:
    return read_page(body.encode(), "https://a.example/", 0.0).shell


@pytest.mark.parametrize(
    "body",
    [
        "<div id=root></div><script src=/app.js></script>",
        "<div id=app><p>Loading…</p></div><script type=module src=/app.js></script>",
        "<noscript>" + WORDS + "</noscript><script>start()</script>",
        "<body><app-root></app-root><script>1</script><style>" + WORDS + "</style>",
        "<head><title>" + WORDS + "</title><script>1</script></head><body></body>",
    ],
)
def test_those_that_say_next_to_nothing_and_have_scripts(body: str) -> None:
    assert is_shell(body)


@pytest.mark.parametrize(
    "body",
    [
        "<p>" + WORDS + "</p><script>1</script>",
        "<div></div>",
        "<p>Short.</p>",
        "<div></div><script type=application/ld+json>{}</script>",
        "<nav><ul>" + "<li>A place to go to</li>" * 20 + "</ul></nav><script>1</script>",
    ],
)
def test_not_those_that_say_something_or_have_none(body: str) -> None:
    assert not is_shell(body)


def test_what_a_browser_showed_is_none() -> None:
    body = b"<div id=root></div><script>1</script>"
    assert not read_page(body, "https://a.example/", 0.0, WhatCounts(rendered=True)).shell


def test_a_selector_that_picks_nothing_says_so_if_that_is_why() -> None:
    with pytest.raises(UnreadableError, match=r"picks nothing on this page, and it is empty without scripts"):
        read_page(b"<div></div><script>1</script>", "https://a.example/", 0.0, WhatCounts(select=".price"))


def test_what_a_browser_shows_is_compared_by_a_rule_of_its_own() -> None:
    assert WhatCounts(rendered=True).rule != WhatCounts().rule
    assert WhatCounts(rendered=True, number="price").rule != WhatCounts(number="price").rule
