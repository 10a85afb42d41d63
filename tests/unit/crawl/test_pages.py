"""Pages: what counts as their text, and what counts as a change."""

from __future__ import annotations

import time

import pytest

from recrawl.crawl.findings import Findings, UnreadableError
from recrawl.crawl.pages import LARGEST, bounded, read_page, read_text, steady

URL = "https://example.org/dir/page.html"


def read(body: str, select: str = "", keep_text: int = 200_000) -> Findings:
    return read_page(f"<!doctype html><html>{body}</html>".encode(), URL, select, keep_text)


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


@pytest.mark.parametrize("select", ["[[", "div >", "::before", ":nope", "a:has("])
def test_a_selector_that_is_none_is_named(select: str) -> None:
    with pytest.raises(UnreadableError, match="is not a CSS selector"):
        read("<body>x</body>", select)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Page made at 10:31:05", "Page made at 10:32:59"),
        ("2026-11-15T10:31:05Z", "2026-11-16T11:00:00Z"),
        ("Sun, 15 Nov 2026 10:31:05 GMT", "Mon, 16 Nov 2026 09:00:00 GMT"),
        ("Last updated: 15 November 2026", "Last updated: 16 November 2026"),
        ("Updated on November 15, 2026", "Updated on November 16th, 2026"),
        ("as of 2026-11-15", "as of 2026-11-16"),
        ("Sunday, 15 November 2026", "Monday, 16 November 2026"),
        ("15.11.2026", "16.11.2026"),
        ("posted 5 minutes ago", "posted 2 hours ago"),
        ("posted an hour ago", "posted 3h ago"),
        ("token 9f86d081884c7d659a2feaa0c55ad015", "token 60303ae22b998861bce3b28f33eec1be"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174000"),
        ("nonce dGhpcyBpcyBhIG5vbmNlMTIz", "nonce QW5vdGhlciBub25jZSA0NTY3"),
        ("1,234 views", "1,240 views"),
    ],
)
def test_what_changes_by_itself_is_no_change(one: str, other: str) -> None:
    assert read(f"<body><p>{one}</p></body>").digest == read(f"<body><p>{other}</p></body>").digest


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
    ],
)
def test_what_people_watch_pages_for_is_a_change(one: str, other: str) -> None:
    assert read(f"<body><p>{one}</p></body>").digest != read(f"<body><p>{other}</p></body>").digest


def test_scripts_and_attributes_are_no_change() -> None:
    one = read("<body data-nonce='a1'><script nonce='x'>1</script><p class='a'>same</p></body>")
    other = read("<body data-nonce='b2'><script nonce='y'>2</script><p class='b'>same</p></body>")
    assert one.digest == other.digest


def test_the_raw_digest_sees_everything() -> None:
    one, other = (
        read_page(body, URL, "", 1000, raw=body) for body in (b"<html><!-- a --></html>", b"<html><!-- b --></html>")
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
    assert read_page(b"", URL, "", 1000).text == ""
    assert read_page(b" \n ", URL, "", 1000).digest == read_page(b" \n ", URL, "", 1000).digest
    assert read("<body></body>").text == ""


def test_plain_text() -> None:
    found = read_text(b"One  two\r\n\r\n\x1b[31mthree at 10:15\n", 1000)
    assert found.text == "One two\nthree at 10:15"
    assert found.digest == read_text(b"One two\nthree at 11:30", 1000).digest


@pytest.mark.parametrize(
    "body",
    ["<div>" * 100_000, "<b>x" * 50_000, "<p " + "a=b " * 100_000, "12:" * 100_000, "a" * 500_000, "1 " * 200_000,
             "<!--" * 100_000, "&amp;" * 100_000, "2026-11-" * 50_000, "deadbeef1" * 50_000]
)  # fmt: skip
def test_hostile_pages_take_no_longer_than_a_moment(body: str) -> None:
    started = time.process_time()
    read(body)
    assert time.process_time() - started < 5.0


def test_placeholders() -> None:
    assert steady("at 10:15 by 9f86d081884c7d659a2feaa0c55ad015") == "at ⟨time⟩ by ⟨token⟩"


def test_of_a_giant_only_the_beginning_is_looked_at() -> None:
    found = read_text(b"line\n" * (LARGEST // 4), 1000)
    assert found.remark == "only the first 4 MB were looked at"
