"""What lists say of the pages that they name: times of change, and links in their order."""

from __future__ import annotations

from recrawl.config import HintSwitches
from recrawl.crawl.reading.feeds import read_feed
from recrawl.crawl.reading.json_feed import read_json_feed
from recrawl.crawl.reading.page_links import MOST_LINKS, MOST_LOOKED_AT
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_page
from recrawl.crawl.reading.sitemaps import read_sitemap
from recrawl.crawl.visits import NO_HINTS

NOW = 1_800_000_000.0
MARCH, APRIL = 1_772_323_200.0, 1_775_001_600.0
SITE = "https://a.example/"
SWITCHES = HintSwitches()


def sitemap(*lines: str, switches: HintSwitches = SWITCHES) -> dict[str, float | None]:
    body = f"<urlset>{''.join(f'<url>{line}</url>' for line in lines)}</urlset>"
    return {item.link: item.modified for item in read_sitemap(body.encode(), SITE, NOW, switches).items}


def test_a_sitemap_says_when_each_page_was_modified_stamps_included() -> None:
    lines = [f"<loc>{SITE}{number}</loc><lastmod>2026-03-01</lastmod>" for number in range(12)]
    found = sitemap(*lines, f"<loc>{SITE}b</loc>", f"<loc>{SITE}c</loc><lastmod>soon</lastmod>")
    assert found[f"{SITE}3"] == MARCH, "the stamp of a whole list is for the learner to judge"
    assert (found[f"{SITE}b"], found[f"{SITE}c"]) == (None, None)
    assert sitemap(lines[0], switches=NO_HINTS)[f"{SITE}0"] == MARCH, "whether or not it tells the items apart"


def test_nothing_is_modified_after_the_fetch() -> None:
    assert sitemap(f"<loc>{SITE}1</loc><lastmod>2040-01-01</lastmod>") == {f"{SITE}1": NOW}


def test_an_article_without_a_lastmod_changed_when_it_was_published() -> None:
    news = f"<loc>{SITE}1</loc><news><publication_date>2026-03-01</publication_date></news>"
    assert sitemap(news) == {f"{SITE}1": MARCH}
    assert sitemap(f"{news}<lastmod>2026-04-01</lastmod>") == {f"{SITE}1": APRIL}


def test_an_entry_of_a_feed_changed_when_it_was_updated() -> None:
    body = (
        '<feed xmlns="http://www.w3.org/2005/Atom">'
        f'<entry><id>1</id><link href="{SITE}1"/><published>2026-03-01T00:00:00Z</published>'
        "<updated>2026-04-01T00:00:00Z</updated></entry>"
        f'<entry><id>2</id><link href="{SITE}2"/><published>2026-03-01T00:00:00Z</published></entry></feed>'
    )
    items = read_feed(body.encode(), SITE, NOW, SWITCHES).items
    assert [(item.published, item.modified) for item in items] == [(MARCH, APRIL), (MARCH, MARCH)]


def test_an_entry_of_a_json_feed_changed_when_it_was_modified() -> None:
    body = (
        '{"version": "https://jsonfeed.org/version/1", "items": [{"id": "1", "date_published": "2026-03-01T00:00:00Z",'
        ' "date_modified": "2026-04-01T00:00:00Z"}]}'
    )
    (item,) = read_json_feed(body.encode(), SITE, NOW).items
    assert (item.published, item.modified) == (MARCH, APRIL)


def links(body: str, **counts: object) -> tuple[str, ...]:
    page = f"<html><body>{body}</body></html>"
    return read_page(page.encode(), SITE, NOW, WhatCounts(**counts)).links  # type: ignore[arg-type]


def test_a_page_leads_to_each_address_once_in_its_order() -> None:
    body = (
        "<a href='b#x'>b</a><a href='/a'>a</a><a href='b'>b</a><a href='#top'>top</a><a href='mailto:x@y'>m</a><a>n</a>"
    )
    assert links(body) == (f"{SITE}b", f"{SITE}a")
    assert links(f"<a href='{SITE}'>home</a>") == (), "not to itself"


def test_only_links_that_count_are_taken() -> None:
    body = "<div id=m><a href=1>1</a><p class=ad><a href=2>2</a></p></div><a href=3>3</a>"
    assert links(body, select="#m") == (f"{SITE}1", f"{SITE}2")
    assert links(body, ignore=(".ad",)) == (f"{SITE}1", f"{SITE}3")


def test_links_are_bounded() -> None:
    assert len(links("".join(f"<a href='/{number}'>x</a>" for number in range(MOST_LINKS + 100)))) == MOST_LINKS


def test_of_many_links_to_one_address_some_are_looked_at() -> None:
    """A page of half a million such links, all within what is ignored, took 16 s."""
    same = "<a href='/same'>x</a>" * MOST_LOOKED_AT
    assert links(f"<a href='/first'>x</a>{same}<a href='/last'>x</a>") == (f"{SITE}first", f"{SITE}same")
