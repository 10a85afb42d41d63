"""A page that says something has a text, however it was built, and a change of it is a change."""

from __future__ import annotations

import json

import pytest

from recrawl.crawl.findings import Findings
from recrawl.crawl.pages import read_page

STORY = " ".join(f"Sentence {k} of a story that somebody came to read." for k in range(40))
MENU = "".join(f"<li><a href='/{k}'>Section {k}</a></li>" for k in range(10))


def read(body: str) -> Findings:
    return read_page(f"<!doctype html><html>{body}</html>".encode(), "https://example.org/", 1.79e9)


SWALLOWED = [
    "<body><form id='aspnetForm'><nav>{menu}</nav><div>{story}</div><footer>(c)</footer></form></body>",
    "<body><a href='#main'>Skip to content</a><form>{story}</form></body>",
    "<body><header><h1>Name</h1><div>{story}</div></body>",
    "<body><header><nav>{menu}</nav><form><aside><p>{story}</p></body>",
    "<body><aside><p>Follow us<div>{story}</div></body>",
    "<body><nav>{menu}<p>{story}</p></body>",
    "<body><footer>{story}</body>",
    "<body><div role='banner'>Name<div>{story}</div></div></body>",
    "<body style='visibility: hidden'><p>{story}</p></body>",
    "<body hidden><p>{story}</p></body>",
    "<body aria-hidden='true'><p>{story}</p></body>",
    "<body><noscript><p>{story}</p></noscript></body>",
    "<body><p>Some words of the frame, which are not few.</p><noscript><p>{story}</p></noscript></body>",
    "<body><button>{story}</body>",
    "<body><form>{story}</form><form>{story}</form><form>{story}</form></body>",
]


@pytest.mark.parametrize("body", SWALLOWED)
def test_whatever_swallowed_the_text_a_change_of_it_is_noticed_and_it_is_said(body: str) -> None:
    one = read(body.format(menu=MENU, story=STORY))
    other = read(body.format(menu=MENU, story=STORY.replace("Sentence 20 of", "Sentence twenty of")))
    assert "Sentence 20 of a story" in one.text
    assert one.digest != other.digest
    assert one.remark


def test_around_a_swallowed_text_what_is_no_text_stays_away() -> None:
    found = read(
        f"<body><form><nav>{MENU}</nav><aside>Ads</aside><script>var x</script>"
        f"<select><option>Austria</option></select><p>{STORY}</p><footer>(c)</footer></form></body>"
    )
    assert found.text == STORY
    assert found.remark == "most of its text stands in a <form>, which is read as its main text"


def test_without_any_better_all_text_is_compared() -> None:
    found = read(f"<body><nav>{MENU}<p>{STORY}</p></nav></body>")
    assert found.text.startswith("Section 0\nSection 1")
    assert found.text.endswith(STORY)
    assert found.remark == "its main text cannot be told from the rest, so all of its text is compared"


@pytest.mark.parametrize(
    "around",
    [
        "<header><ul>{menu}</ul>{long}</header>",
        "<aside>{long}</aside>",
        "<nav>{menu}{long}</nav>",
        "<form>{long}</form>",
        "<div hidden>{long}</div>",
        "<noscript>Enable JavaScript</noscript>",
    ],
)
def test_a_main_text_of_some_length_is_enough_whatever_stands_around_it(around: str) -> None:
    body = f"<body>{around}<p>{STORY[:600]}</p></body>".format(menu=MENU, long=STORY)
    found = read(body)
    assert found.text == STORY[:600].strip()
    assert found.remark == ""


def test_a_short_page_with_a_menu_is_a_short_page() -> None:
    found = read(f"<body><nav>{MENU}</nav><p>All systems work.</p></body>")
    assert found.text == "All systems work."
    assert found.remark == ""


def test_a_page_made_by_scripts_says_what_it_tells_search_engines() -> None:
    data = {
        "@graph": [{"@type": "Article", "headline": "x", "articleBody": f"<p>{STORY}</p>\x1b[31m"}, {"text": "short"}]
    }
    body = "<head><script type='application/ld+json'>{}</script></head><body><div id='app'>Loading</div></body>"
    one, other = (
        read(body.format(json.dumps(data).replace("Sentence 20", said))) for said in ("Sentence 20", "Wording")
    )
    assert one.text == f"Loading\n{STORY}"
    assert one.digest != other.digest
    assert "search engines" in one.remark


@pytest.mark.parametrize("data", ["{", "[" * 100_000, '{"articleBody": 5}', '{"articleBody": "short"}', '"x"', ""])
def test_data_that_is_none_does_no_harm(data: str) -> None:
    found = read(f"<head><script type='application/ld+json'>{data}</script></head><body>Loading</body>")
    assert found.text == "Loading"
    assert found.remark == ""


def test_data_does_not_count_where_the_page_has_a_text() -> None:
    data = json.dumps({"articleBody": STORY})
    found = read(f"<head><script type='application/ld+json'>{data}</script></head><body><p>{STORY[:900]}</p></body>")
    assert found.text == STORY[:900].strip()


def test_a_page_without_any_text_says_so() -> None:
    assert read("<body><div id='app'></div><script>render()</script></body>").remark == (
        "there is no text on the page, so no change of it can be seen"
    )
