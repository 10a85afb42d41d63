"""Numbers that strangers write may have thousands of digits, which Python refuses to convert: they count as large."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import HintSwitches
from recrawl.crawl.fetching.retry_after import retry_after_s
from recrawl.crawl.fetching.robots import Rules
from recrawl.crawl.reading import dates, publisher_hints
from recrawl.crawl.reading.readers import Document, read
from recrawl.units import whole_number

NOW = 1_800_000_000.0
MANY = "001" + 6000 * "0"
NUMBERS = (MANY, "9" * 6000, "-" + MANY, "0." + MANY, MANY + ".5", "1e" + MANY, "٣" * 6000, "²" * 6000)
RSS = """<rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><title>t</title>
<ttl>{n}</ttl><sy:updateFrequency>{n}</sy:updateFrequency><sy:updatePeriod>daily</sy:updatePeriod>
<skipHours><hour>{n}</hour><hour>3</hour></skipHours><skipDays><day>{n}</day></skipDays>
<item><guid>1</guid><title>&#{n}; one</title><link>https://a.example:{n}/1</link><pubDate>{n}</pubDate></item>
<item><guid>2</guid><title>two</title><link>https://a.example/2</link>
<pubDate>Mon, {n} Jan 2006 15:04:05 +{n}</pubDate></item></channel></rss>"""
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://a.example/1</loc>
<lastmod>{n}-01-01T00:00:00.{n}+01:{n}</lastmod><priority>{n}</priority><changefreq>{n}</changefreq></url></urlset>"""
JSON = """{{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": [
{{"id": {n}, "url": "https://a.example/1", "title": "one", "date_published": {n}}},
{{"id": "2", "url": "https://a.example/2", "title": "two"}}]}}"""


def document(body: str, **more: str) -> Document:
    return Document(url="https://a.example/feed", body=body.encode(), now=NOW, **more)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_feed_full_of_digits_is_read(number: str) -> None:
    found = read(document(RSS.format(n=number), kind="feed"))
    assert [item.title for item in found.items][-1] == "two"
    assert found.skip_hours == (3,)
    torn = RSS.format(n=number).replace("<title>two", "<title>& two <br></title><title>two")
    assert [item.title for item in read(document(torn, kind="feed")).items]


def test_an_hour_of_many_digits_is_no_hour() -> None:
    assert publisher_hints.hours([MANY, "0" * 6000 + "7", "24", " 5 ", "25", "-1", "x", None]) == (0, 5, 7)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_sitemap_full_of_digits_is_read(number: str) -> None:
    found = read(document(SITEMAP.format(n=number), kind="sitemap"))
    assert found.kind == "sitemap"


@pytest.mark.parametrize("number", ["9" * 4000, "9" * 6000, "-" + "9" * 6000, "1e400", "1" * 300 + ".5"])
def test_a_json_feed_with_long_numbers_is_read(number: str) -> None:
    assert [item.title for item in read(document(JSON.format(n=number), kind="feed")).items] == ["one", "two"]


@pytest.mark.parametrize("number", NUMBERS)
def test_headers_and_robots_full_of_digits_are_read(number: str) -> None:
    control = {"cache-control": f"max-age={number}", "expires": number, "date": number, "age": number}
    stay = publisher_hints.of_headers(control, NOW, HintSwitches())
    assert stay is None or 0.0 < stay <= publisher_hints.LONGEST_STAY_S
    waited = retry_after_s(number, NOW)
    assert waited is None or waited > 0.0
    assert dates.parse(number) is None or abs(dates.parse(number) or 0.0) < 1e300
    robots = f"User-agent: *\nCrawl-delay: {number}\nRequest-rate: {number}/{number}\nDisallow: /a\n"
    assert not Rules(robots, ("recrawl",), expires=NOW).allow("https://a.example/a")


@given(st.text(alphabet="0123456789-+. e²٣", max_size=12), st.integers(0, 10**6))
def test_a_whole_number_is_the_number_or_the_most(text: str, most: int) -> None:
    number = whole_number(text, most)
    plain = bool(text) and all(letter in "0123456789" for letter in text)
    assert number == (min(int(text), most) if plain else None)
