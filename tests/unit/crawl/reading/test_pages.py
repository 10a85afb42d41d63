"""Pages: what counts as their text, and what counts as a change."""

from __future__ import annotations

import time
from typing import Any

import pytest

from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import LARGEST, bounded, read_page, read_text, says_the_same

URL = "https://example.org/dir/page.html"
NOW = 1794738665.0
"""Sunday, 15 November 2026, 10:31:05 UTC."""
LATER = NOW + 86400.0 + 7375.0
"""Monday, 16 November 2026, 12:34:00 UTC."""


def read(body: str, select: str = "", keep_text: int = 200_000, now: float = NOW, **more: Any) -> Findings:
    counts = WhatCounts(select=select, **{"ignore_noise": not select, **more})
    return read_page(f"<!doctype html><html>{body}</html>".encode(), URL, now, counts, keep_text)


def differs(one: str, other: str, **more: Any) -> bool:
    """Whether a page that says one thing now and another a day later has changed."""
    return relation(read(one, **more).digest, read(other, now=LATER, **more).digest) == "differs"


def test_main_text_is_what_a_reader_came_for() -> None:
    found = read(
        "<head><title>Shop &amp; more</title><style>p{}</style><script>var x</script></head><body>"
        "<header>Logo</header><nav>Home</nav><aside>Ads</aside><noscript>Enable</noscript><template>no</template>"
        "<form><button>Send</button></form><div hidden>hidden</div><div style='display: none'>gone</div>"
        "<div aria-hidden='true'>icon</div><div role='navigation'>menu</div><!-- comment -->"
        "<h1>Title</h1><p>First <b>bold</b> words.</p><ul><li>one</li><li>two</li></ul>tail<footer>(c)</footer></body>"
    )
    assert found.kind == "page"
    assert found.title == "Shop & more"
    assert found.text.split("\n") == ["Title", "First bold words.", "one", "two", "tail"]


def test_headers_inside_an_article_belong_to_it() -> None:
    found = read("<body><article><header>By me</header>Text<footer>Note</footer></article><footer>out</footer></body>")
    assert found.text == "By me\nText\nNote"


def test_a_selector_picks_what_counts() -> None:
    body = "<body><div class='price'>5 <form>EUR</form></div><p>chatter</p><div class='price'>7</div></body>"
    found = read(body, ".price")
    assert found.text == "5 EUR\n7".replace("5 EUR", "5 EUR")
    assert read(body.replace("chatter", "noise"), ".price").digest == found.digest
    assert read(body.replace("7", "8"), ".price").digest != found.digest


def test_nested_picks_count_once() -> None:
    assert read("<body><div>a<div>b</div></div></body>", "div").text == "a\nb"


def test_a_selector_that_picks_nothing_is_named() -> None:
    with pytest.raises(UnreadableError, match=r"'#price' picks nothing"):
        read("<body>x</body>", "#price")


@pytest.mark.parametrize(
    "body",
    [
        "<span id=price></span>",
        "<p id=price> &nbsp; <b></b></p>",
        "<input id=price value=5>",
        "<img id=price alt=5>",
        "<p id=price><script>5</script><noscript>5</noscript></p>",
    ],
)
def test_a_selector_that_picks_no_text_is_named(body: str) -> None:
    with pytest.raises(UnreadableError, match=r"the selector '#price' picks elements without text on this page"):
        read(f"<body>x{body}</body>", "#price")
    assert read(f"<body>x{body}<b id=price>5</b></body>", "#price").text == "5"


def test_a_selector_may_pick_no_text_where_its_owner_ignores_it_or_every_byte_counts() -> None:
    assert read("<body><p>a <b>5</b></p></body>", "b", ignore=("b",)).text == ""
    assert read("<body><p>a <b>5</b></p></body>", "b", ignore_text=("5",)).text == ""
    assert read("<body><input id=price value=5></body>", "#price", digest="raw").digest


@pytest.mark.parametrize("select", ["[[", "div >", "::before", ":nope", "a:has("])
def test_a_selector_that_is_none_is_named(select: str) -> None:
    with pytest.raises(UnreadableError, match="is not a CSS selector"):
        read("<body>x</body>", select)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Page made at 10:31:05", "Page made at 12:34:00"),
        ("Page made at 16:01", "Page made at 18:04"),
        ("Served at 2026-11-15T10:31:04.512345+00:00, with care", "Served at 2026-11-16T12:33:59.1+00:00, with care"),
        ("2026-11-15T10:31:05Z", "2026-11-16T12:34:02Z"),
        ("Sun, 15 Nov 2026 10:31:05 GMT", "Mon, 16 Nov 2026 12:32:59 GMT"),
        ("Local time: 15.11.2026 11:30", "Local time: 16.11.2026 13:33"),
        ("05:31:05 AM EST", "07:34:00 AM EST"),
        ("Last updated: 15 November 2026", "Last updated: 16 November 2026"),
        ("Updated on November 15, 2026", "Updated on November 16th, 2026"),
        ("Quotes as of 2026-11-15 10:30 UTC", "Quotes as of 2026-11-16 12:33 UTC"),
        ("Sunday, 15 November 2026", "Monday, 16 November 2026"),
        ("Today is Sonntag, 15. November 2026", "Today is Montag, 16. November 2026"),
        ("15.11.2026", "16.11.2026"),
        ("11/15/2026", "11/16/2026"),
        ("posted 5 minutes ago", "posted 2 hours ago"),
        ("posted an hour ago", "posted 3h ago"),
        ("Last changed: 1 month ago", "Last changed: 2 months ago"),
        ("token 9f86d081884c7d659a2feaa0c55ad015", "token 60303ae22b998861bce3b28f33eec1be"),
        ("request id 123e4567-e89b-12d3-a456-426614174000", "request id 00000000-e89b-12d3-a456-4266141740ab"),
        ("nonce: dGhpcyBpcyBhIG5vbmNlMTIz", "nonce: QW5vdGhlciBub25jZSA0NTY3"),
        ("1,234 views", "1,240 views"),
        ("By Ann | 1.2k views | Sports", "By Ann | 1.3k views | Sports"),
        ("Visitors so far: 12", "Visitors so far: 13"),
        ("12 users online", "9 users online"),
    ],
)
def test_what_changes_by_itself_is_no_change(one: str, other: str) -> None:
    assert not differs(f"<body><p>{one}</p></body>", f"<body><p>{other}</p></body>")
    assert differs(f"<body><p>{one}</p></body>", f"<body><p>{other}</p></body>", ignore_noise=False)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Price: 5.99 EUR", "Price: 6.99 EUR"),
        ("Price: 1,234", "Price: 1,235"),
        ("In stock: 3", "In stock: 4"),
        ("Valid until 1 January 2027 only", "Valid until 1 March 2027 only"),
        ("Call 5551234567", "Call 5551234568"),
        ("version 1.2.3", "version 1.2.4"),
        ("for 5 minutes", "for 6 minutes"),
        ("internationalisation", "internationalization"),
        ("See https://example.org/some/long/path", "See https://example.org/some/long/road"),
        ("ISBN 9783161484100", "ISBN 9783161484101"),
        ("The hearing is on 5 March 2027.", "The hearing is on 12 March 2027."),
        ("departs 08:15", "departs 09:45"),
        ("The train leaves at 10:31 today", "The train leaves at 12:34 today"),
        ("10:31", "12:34"),
        ("Last updated 5 March 2027", "Last updated 12 March 2027"),
        ("Last updated 15 November 2026", "Last updated 12 November 2026"),
        ("Effective as of 15 November 2026", "Effective as of 16 November 2026"),
        ("Local time: 11:30", "Local time: 13:03"),
        ("Deadline 15 November 2026", "Deadline 16 November 2026"),
        ("SHA-256 9f86d081884c7d659a2feaa0c55ad015", "SHA-256 60303ae22b998861bce3b28f33eec1be"),
        ("1,234 likes", "1,240 likes"),
        ("It was built 300 years ago.", "It was built 400 years ago."),
        ("Chess is 1,500 years ago", "Chess is 2,500 years ago"),
        ("Bought less than 30 days ago you may return it", "Bought less than 14 days ago you may return it"),
        ("Orders placed more than 3 days ago stand", "Orders placed more than 5 days ago stand"),
        ("Annual pass: 12 visits", "Annual pass: 10 visits"),
        ("5 visitors were hurt", "6 visitors were hurt"),
        ("Rooms with 3 views of the sea", "Rooms with 4 views of the sea"),
        ("We have 5 online courses", "We have 6 online courses"),
    ],
)
def test_what_people_watch_pages_for_is_a_change(one: str, other: str) -> None:
    assert differs(f"<body><p>{one}</p></body>", f"<body><p>{other}</p></body>")


@pytest.mark.parametrize("form", ["<h2>{}</h2>", "<table><tr><td>{}</td></tr></table>", "<td>\n<b>{}</b>\n</td>"])
def test_a_date_alone_in_a_heading_or_table_is_content_even_of_today(form: str) -> None:
    one, other = (f"<body><table>{form.format(day)}</table></body>" for day in ("15 November 2026", "16 November 2026"))
    assert differs(one, other)


def test_a_stamp_that_was_fresh_once_is_no_clock() -> None:
    page = "<body><p>Last updated: 15 November 2026 10:30</p><p>Page made at {}</p></body>"
    assert not differs(page.format("10:31:05"), page.format("12:34:00"))
    assert differs(page.format("10:31:05"), page.format("12:34:00").replace("10:30", "10:29"))


def test_clocks_of_different_zones_are_two_times() -> None:
    assert differs("<body>Updated 11:31</body>", "<body>Updated 12:34</body>")


def test_of_very_many_dates_those_beyond_count() -> None:
    one = "<body>" + "<p>15 November 2026</p>" * 32 + "<p>{} November 2026</p></body>"
    assert differs(one.format(15), one.format(16))


def test_what_an_owner_ignores_does_not_count() -> None:
    body = "<h1>Title</h1><p>Price <b class='ad'>{0}</b> 5 EUR</p><div id='news'>{0}</div><p>Offer {0} ends</p>"
    more = {"ignore": (".ad", "#news"), "ignore_text": (r"^Offer \d+", "nothing")}
    assert read(body.format(1), **more).text.split("\n") == ["Title", "Price 5 EUR", "ends"]
    assert not differs(body.format(1), body.format(22), **more)
    assert differs(body.format(1), body.format(22))


def test_what_is_picked_and_ignored_is_ignored() -> None:
    assert read("<body><p>a</p><p class='x'>b</p></body>", "p", ignore=(".x",)).text == "a"


def test_a_pattern_that_is_none_is_named() -> None:
    with pytest.raises(UnreadableError, match=r"'\(' is not a regular expression"):
        read("<body>x</body>", ignore_text=("(",))
    with pytest.raises(UnreadableError, match="is not a CSS selector"):
        read("<body>x</body>", ignore=("[[",))


def test_texts_are_compared_as_of_their_visits() -> None:
    assert says_the_same("A\nTime now 10:31", NOW, "A\nTime now 12:34", LATER, ignore_noise=True)
    assert not says_the_same("A\nTime now 10:31", NOW, "A\nTime now 12:34", LATER, ignore_noise=False)
    assert not says_the_same("A\nat 10:31", NOW, "A\nat 12:34", LATER, ignore_noise=True)


def test_the_last_second_there_is_on_a_page_is_read():
    end = "<body><p>Some text.</p><p>Updated 9999-12-31 23:59:60</p></body>"
    assert read(end).text.endswith("Updated 9999-12-31 23:59:60")


def test_scripts_and_attributes_are_no_change() -> None:
    one = read("<body data-nonce='a1'><script nonce='x'>1</script><p class='a'>same</p></body>")
    other = read("<body data-nonce='b2'><script nonce='y'>2</script><p class='b'>same</p></body>")
    assert one.digest == other.digest


def test_the_raw_digest_sees_everything() -> None:
    one, other = (
        read_page(body, URL, NOW, WhatCounts(digest="raw"))
        for body in (b"<html><!-- a --></html>", b"<html><!-- b --></html>")
    )
    assert one.digest != other.digest


def test_feeds_are_advertised() -> None:
    found = read(
        "<head><base href='/base/'><link rel='alternate' type='application/rss+xml' href='feed.xml'>"
        "<link rel='ALTERNATE home' type='application/atom+xml; charset=utf-8' href='https://x.example/atom'>"
        "<link rel='alternate' type='text/html' href='/de'><link rel=alternate type=application/rss+xml href='file:///x'>"
        "<link rel='stylesheet' href='a.css'><link rel='alternate' type='application/feed+json' href='/f.json'></head>"
    )
    assert found.advertises == (
        "https://example.org/base/feed.xml", "https://x.example/atom", "https://example.org/f.json",
    )  # fmt: skip


def test_kept_text_is_bounded_but_the_digest_is_of_all() -> None:
    one, other = (read(f"<body>{'long text ' * 1000}{end}</body>", keep_text=100) for end in "ab")
    assert len(one.text.encode()) <= 100
    assert one.text.endswith("…")
    assert one.text == other.text
    assert one.digest != other.digest


def test_bounds_are_in_bytes_and_never_split_a_character() -> None:
    assert bounded("ü" * 10, 20) == "ü" * 10
    assert bounded("ü" * 11, 20) == "ü" * 8 + "…"
    assert bounded("abc", 0) == "…"


def test_text_without_control_characters() -> None:
    assert read("<body><p>a\x1b[31mb\u202ec</p></body>").text == "abc"


def test_an_empty_page_is_one() -> None:
    assert read_page(b"", URL, NOW).text == ""
    assert read_page(b" \n ", URL, NOW).digest == read_page(b" \n ", URL, NOW).digest
    assert read("<body></body>").text == ""


def test_plain_text() -> None:
    found = read_text(b"One  two\r\n\r\n\x1b[31mthree | 10 views\n", NOW)
    assert found.text == "One two\nthree | 10 views"
    assert found.digest == read_text(b"One two\nthree | 11 views", NOW).digest


@pytest.mark.parametrize(
    "body",
    ["<div>" * 100_000, "<b>x" * 50_000, "<p " + "a=b " * 100_000, "12:" * 100_000, "a" * 500_000, "1 " * 200_000,
             "<!--" * 100_000, "&amp;" * 100_000, "2026-11-" * 50_000, "deadbeef1" * 50_000,
             "today is 1 " * 40_000, "now 1:11:11 " * 40_000, "<p>15 November 2026" * 20_000, "1s ago " * 60_000,
             "1 views, " * 40_000, "1 views | " * 40_000, "posted 1s ago, " * 30_000, "by a b c d 1s ago by " * 20_000,
             "viewed 1 times " * 30_000, "token 1" * 50_000, "updated on the: " * 30_000]
)  # fmt: skip
def test_hostile_pages_take_no_longer_than_a_moment(body: str) -> None:
    started = time.process_time()
    read(body)
    assert time.process_time() - started < 5.0


def test_of_a_giant_only_the_beginning_is_looked_at() -> None:
    found = read_text(b"line\n" * (LARGEST // 4), NOW)
    assert found.remark == "only the first 4 MB were looked at"
