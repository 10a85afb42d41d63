"""A page that says something has a text, however it was built, and a change of it is a change."""

from __future__ import annotations

import json

import pytest

from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.pages import read_page

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


LINKS = "".join(f"<a href='/{k}'>Another story {k}</a> " for k in range(5))


@pytest.mark.parametrize(
    "name", ["class='site-footer'", "class='mainMenu x'", "id=related", "class='a share'", "id='left-sidebar'"]
)
def test_blocks_that_are_called_so_and_lead_elsewhere_are_left_out(name: str) -> None:
    assert read(f"<body><p>{STORY}</p><div {name}>{LINKS}</div></body>").text == STORY


@pytest.mark.parametrize(
    "block",
    [
        "<div class='menu'>Soup 4.50<br>Roast 12.00 <a href='/'>order</a></div>",
        "<div class='navy unrelated'>{links}</div>",
        "<div class='listing'>{links}</div>",
        "<main class='has-sidebar'>{links}</main>",
        "<div class='sidebar-right'>{links}<article>{links}</article></div>",
    ],
)
def test_a_name_alone_or_links_alone_leave_nothing_out(block: str) -> None:
    shown = read(f"<body><p>{STORY}</p>{block}</body>".format(links=LINKS)).text
    assert "Roast 12.00" in shown or "Another story 4" in shown


def test_a_page_that_is_a_list_of_links_is_read_whatever_it_is_called() -> None:
    assert "Another story 4" in read(f"<body><p>News</p><div class='menu'>{LINKS}</div></body>").text


@pytest.mark.parametrize(
    "body",
    [
        "<header><nav>{menu}<main>{story}</main></body>",
        "<nav>{menu}</nav><div hidden><div role='main'>{story}</div></div><p>{other}</p>",
        "<main aria-hidden='true'>{story}</main><p>{other}</p>",
        "<form>{menu}<article>{story}</article><article>{other}</article></form><p>{other}</p>",
        "<main><form>{story}</form></main><p>{other}</p>",
        "<p>{other}</p><div hidden id='S:1f'>{story}</div>",
        "<article><h1>{other}</h1><details><div style='display: none'>{story}</div></details></article>",
    ],
)
def test_what_holds_the_main_element_or_is_folded_up_in_it_counts(body: str) -> None:
    shown = read(f"<body>{body}</body>".format(menu=MENU, story=STORY, other="Other words. " * 60)).text
    assert "Sentence 20 of a story" in shown


def test_links_that_are_left_out_are_shown_with_the_reason() -> None:
    page = f"<body><p>{STORY}</p><div class='footer'>{LINKS}</div></body>".encode()
    parts = read_page(page, "https://example.org/", 1.79e9, marked=True).parts
    assert [[part.why for part in line] for line in parts] == [[""], ["links"]]


def test_what_stands_around_a_block_that_is_left_out_are_two_lines() -> None:
    found = read(f"<body>Before<div class='related'><a href='/x'>Elsewhere</a></div>behind it<p>{STORY}</p></body>")
    assert found.text.split("\n")[:2] == ["Before", "behind it"]
