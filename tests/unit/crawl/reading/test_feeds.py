"""What RSS, RDF, Atom and JSON feeds say, however badly."""

from __future__ import annotations

import json
import warnings
from base64 import b64encode
from datetime import UTC, datetime

import pytest

from recrawl.config import HintSwitches
from recrawl.crawl.reading.feeds import MOST_ENTRIES, read_feed
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.json_feed import is_json_feed, read_json_feed
from recrawl.crawl.work_limit import NeedsPatience, hurried

NOW = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
URL = "https://example.org/news/feed.xml"


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()


def read(text: str | bytes, switches: HintSwitches | None = None) -> Findings:
    body = text if isinstance(text, bytes) else text.encode()
    return read_feed(body, URL, NOW, switches or HintSwitches())


def said(found: Findings) -> tuple[object, ...]:
    """What the publisher says of its pace."""
    return found.stay_away_s, found.period_s, found.skip_hours, found.skip_days


def rss(*items: str, head: str = "") -> str:
    return f"<rss version='2.0'><channel><title>T</title>{head}{''.join(items)}</channel></rss>"


def atom(*entries: str, head: str = "") -> str:
    return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>{head}{''.join(entries)}</feed>"


def test_rss_2() -> None:
    found = read(
        rss(
            "<item><guid isPermaLink='false'>g1</guid><title>One</title><link>https://example.org/1</link>"
            "<description>&lt;p&gt;First &amp;amp; best&lt;/p&gt;</description>"
            "<pubDate>Mon, 02 Nov 2026 15:03:04 GMT</pubDate></item>"
        )
    )
    (item,) = found.items
    assert found.kind == "feed"
    assert found.title == "T"
    assert found.remark == ""
    assert (item.key, item.title, item.link) == ("g1", "One", "https://example.org/1")
    assert item.summary == "First & best"
    assert item.published == at(2026, 11, 2, 15, 3, 4)


def test_rss_1_is_rdf() -> None:
    found = read(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/' "
        "xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>T</title></channel>"
        "<item rdf:about='https://example.org/1'><title>One</title><link>https://example.org/1</link>"
        "<dc:date>2026-11-02T15:03:04Z</dc:date></item></rdf:RDF>"
    )
    (item,) = found.items
    assert (item.key, item.title, item.published) == ("https://example.org/1", "One", at(2026, 11, 2, 15, 3, 4))
    assert found.title == "T"


def test_rss_09_with_its_document_type_is_read_without_fetching_it() -> None:
    found = read(
        "<?xml version='1.0'?><!DOCTYPE rss PUBLIC '-//Netscape Communications//DTD RSS 0.91//EN' "
        "'http://my.netscape.com/publish/formats/rss-0.91.dtd'><rss version='0.91'><channel><title>T</title>"
        "<item><title>One</title><link>https://example.org/1</link></item></channel></rss>"
    )
    assert [item.key for item in found.items] == ["https://example.org/1"]


def test_atom_is_dated_by_publication_not_by_its_last_edit() -> None:
    found = read(
        atom(
            "<entry><id>a</id><title>One</title><updated>2026-11-10T00:00:00Z</updated>"
            "<published>2026-11-02T15:03:04Z</published></entry>"
        )
    )
    assert found.items[0].published == at(2026, 11, 2, 15, 3, 4)


def test_atom_without_publication_is_dated_by_its_update() -> None:
    found = read(atom("<entry><id>a</id><updated>2026-11-10T00:00:00Z</updated></entry>"))
    assert found.items[0].published == at(2026, 11, 10)


def test_an_edited_entry_keeps_its_key() -> None:
    before, after = (
        read(atom(f"<entry><id>a</id><title>{title}</title><updated>{day}T00:00:00Z</updated></entry>"))
        for title, day in (("One", "2026-11-09"), ("One, edited", "2026-11-10"))
    )
    assert before.items[0].key == after.items[0].key == "a"


def test_atom_links_lead_to_the_page_not_to_the_feed_or_an_enclosure() -> None:
    found = read(
        atom(
            "<entry><id>a</id><link rel='self' href='/self'/><link rel='enclosure' href='/sound.mp3'/>"
            "<link rel='alternate' type='application/json' href='/a.json'/><link type='text/html' href='/a'/></entry>"
        )
    )
    assert found.items[0].link == "https://example.org/a"


def test_atom_with_markup_in_it() -> None:
    found = read(
        atom(
            "<entry><id>a</id><title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>One <b>two</b></div>"
            "</title>"
            "<content type='html'>&lt;p&gt;Body&lt;/p&gt;</content></entry>"
        )
    )
    assert (found.items[0].title, found.items[0].summary) == ("One two", "Body")


def test_media_titles_are_not_the_titles() -> None:
    found = read(
        "<rss version='2.0' xmlns:media='http://search.yahoo.com/mrss/'><channel><title>T</title><item>"
        "<media:title>picture</media:title><media:content url='x'/><title>One</title></item></channel></rss>"
    )
    assert found.items[0].title == "One"


def test_relative_links_lead_somewhere_and_others_nowhere() -> None:
    found = read(
        rss(*(f"<item><guid>{k}</guid><link>{link}</link></item>"
              for k, link in enumerate(["../a", "/b", "javascript:alert(1)", "file:///etc/passwd", "HTTPS://X.example"])))
    )  # fmt: skip
    assert [item.link for item in found.items] == [
        "https://example.org/a", "https://example.org/b", "", "", "https://x.example/",
    ]  # fmt: skip


def test_base_of_the_document_counts() -> None:
    found = read(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='https://base.example/x/'>"
        "<entry><id>a</id><link href='y'/></entry></feed>"
    )
    assert found.items[0].link == "https://base.example/x/y"


def test_bases_below_the_root_count_each_relative_to_the_one_around_it() -> None:
    found = read(
        "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='/blog/'>"
        "<entry xml:base='2026/'><id>a</id><link href='one'/></entry>"
        "<entry xml:base='2026/'><id>b</id><link xml:base='11/' href='two'/></entry>"
        "<entry><id>c</id><content xml:base='https://elsewhere.example/'>x</content><link href='three'/></entry>"
        "<entry xml:base='javascript:x'><id>d</id><link href='four'/></entry></feed>"
    )
    assert [item.link for item in found.items] == [
        "https://example.org/blog/2026/one", "https://example.org/blog/2026/11/two", "https://example.org/blog/three",
        "https://example.org/blog/four",
    ]  # fmt: skip
    rss = "<rss><channel xml:base='https://base.example/'><item><link>a</link></item></channel></rss>"
    assert read(rss).items[0].link == "https://base.example/a"


@pytest.mark.parametrize("declared", [True, False])
def test_elements_of_other_namespaces_are_not_the_items_own(declared: bool) -> None:
    spaces = (
        "xmlns:g='http://base.google.com/ns/1.0' xmlns:media='http://search.yahoo.com/mrss/' "
        "xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' xmlns:dc='http://purl.org/dc/elements/1.1/' "
        "xmlns:atom='http://www.w3.org/2005/Atom' xmlns:content='http://purl.org/rss/1.0/modules/content/'"
    )
    found = read(
        f"<rss {spaces if declared else ''}><channel><media:title>no</media:title><title>T</title><item><g:id>7</g:id>"
        "<g:description>shop</g:description><dc:title>library</dc:title><itunes:title>sound</itunes:title>"
        "<media:description>picture</media:description><g:link>https://shop.example/</g:link><title>Own</title>"
        "<atom:link rel='self' href='/self'/><link>/own</link><description>words</description>"
        "<dc:date>2026-11-02</dc:date></item><item><guid>b</guid><dc:title>Library</dc:title><dc:description>card</dc:description>"
        "<media:content>x</media:content></item><item><guid>c</guid><content:encoded>all</content:encoded></item>"
        "</channel></rss>"
    )
    own, library, encoded = found.items
    assert found.title == "T"
    assert (own.key, own.title, own.link) == ("https://example.org/own", "Own", "https://example.org/own")
    assert (own.summary, own.published, own.formerly) == ("words", at(2026, 11, 2), "7")
    assert (library.title, library.summary, encoded.summary) == ("Library", "card", "all")


def test_elements_of_the_items_own_namespace_are_whatever_that_is() -> None:
    found = read(
        "<x:rss xmlns:x='https://odd.example/'><x:channel><x:title>T</x:title><x:item><x:guid>a</x:guid>"
        "<x:title>One</x:title></x:item></x:channel></x:rss>"
    )
    assert [(found.title, item.key, item.title) for item in found.items] == [("T", "a", "One")]


DOCTYPE = "<!DOCTYPE rss PUBLIC '-//Netscape Communications//DTD RSS 0.91//EN' 'https://my.example/rss-0.91.dtd'>"


@pytest.mark.parametrize("before", ["", DOCTYPE])
def test_named_characters_of_html_are_read_in_links_and_titles(before: str) -> None:
    found = read(
        before + rss("<item><title>Caf&eacute;&nbsp;&copy; &lt;</title><link>/caf&eacute;/?a=1&amp;b=2</link></item>")
    )
    assert found.items[0].title == "Café © <"
    assert found.items[0].link == "https://example.org/caf%C3%A9/?a=1&b=2"


def test_links_of_other_relations_are_not_the_items_page_however_they_are_written() -> None:
    enclosure, page = "<link rel='enclosure'>/sound.mp3</link>", "<link rel='alternate'>/page</link>"
    found = read(atom(f"<entry><id>a</id>{enclosure}{page}</entry><entry><id>b</id>{enclosure}</entry>"))
    assert [item.link for item in found.items] == ["https://example.org/page", ""]


def test_an_id_that_is_an_address_is_the_link_for_want_of_one() -> None:
    found = read(
        atom(*(f"<entry><id>{id}</id></entry>" for id in ("https://example.org/1", "urn:2", "HTTP://a.example")))
    )
    assert [item.link for item in found.items] == ["https://example.org/1", "", "http://a.example/"]
    found = read(atom("<entry><link href=''/><id>https://example.org/1</id></entry>"))
    assert found.items[0].link == "https://example.org/1"
    found = read_json_feed(json_feed({"id": "https://example.org/1"}, {"id": "2"}, {"id": 3}), URL, NOW)
    assert [item.link for item in found.items] == ["https://example.org/1", "", ""]


@pytest.mark.parametrize(
    "title",
    [
        "<title>H<sub>2</sub>O</title>",
        "<title>H&lt;sub&gt;2&lt;/SUB&gt;O</title>",
        "<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>H<sub><i>2</i></sub>O</div></title>",
    ],
)
def test_markup_within_a_line_leaves_no_space(title: str) -> None:
    assert read(atom(f"<entry>{title}</entry>")).items[0].title == "H2O"


def test_other_markup_leaves_a_space() -> None:
    found = read(atom("<entry><title><p>One</p><p>Two</p>three<br/>four</title></entry>"))
    assert found.items[0].title == "One Two three four"


def test_scripts_and_styles_are_no_text() -> None:
    markup = "<div xmlns='http://www.w3.org/1999/xhtml'>One<script>alert(1)</script> two<STYLE>b {}</STYLE></div>"
    found = read(atom(f"<entry><title type='xhtml'>{markup}</title><content type='xhtml'>{markup}</content></entry>"))
    assert (found.items[0].title, found.items[0].summary) == ("One two", "One two")


def test_a_body_in_xhtml_is_the_summary_for_want_of_one() -> None:
    assert read(rss("<item><body xmlns='http://www.w3.org/1999/xhtml'><p>x</p></body></item>")).items[0].summary == "x"


def test_giants_of_markup_are_not_read_to_the_end() -> None:
    giant = "<b/>" * 100_000
    assert read(atom(f"<entry><title>One{giant}two</title></entry>")).items[0].title == "One"


def test_base64_is_unpacked_where_it_says_so() -> None:
    packed = b64encode("Über <b>uns</b>".encode()).decode()
    feed = "<feed xmlns='http://purl.org/atom/ns#' version='0.3'><entry><title mode='base64'>{}</title></entry></feed>"
    assert read(feed.format(packed)).items[0].title == "Über uns"
    assert read(feed.format(packed[:8] + "\n " + packed[8:])).items[0].title == "Über uns"
    assert read(feed.format("test")).items[0].title == "test", "which is no text when unpacked"
    typed = atom(f"<entry><title type='application/octet-stream'>{packed}</title></entry>")
    assert read(typed).items[0].title == "Über uns"
    assert len(read(feed.format(b64encode(b"word " * 100_000).decode())).items[0].title) <= 300


def test_content_that_is_no_text_is_no_summary() -> None:
    found = read(atom("<entry><id>a</id><content type='image/png'>iVBORw0KGgo=</content></entry>"))
    assert found.items[0].summary == ""


def test_a_permanent_guid_is_a_link_where_there_is_none() -> None:
    assert read(rss("<item><guid>https://example.org/1</guid></item>")).items[0].link == "https://example.org/1"
    assert read(rss("<item><guid isPermaLink='false'>https://example.org/1</guid></item>")).items[0].link == ""


def test_a_link_is_preferred_to_a_permanent_guid() -> None:
    found = read(rss("<item><guid>https://example.org/?p=1</guid><link>https://example.org/one</link></item>"))
    assert (found.items[0].key, found.items[0].link) == ("https://example.org/?p=1", "https://example.org/one")


def test_identity_is_id_else_link_else_digest() -> None:
    found = read(
        rss(
            "<item><guid> g </guid><link>https://example.org/1</link></item>",
            "<item><link>https://example.org/2</link></item>",
            "<item><title>Only words</title></item>",
            "<item><title>Other words</title></item>",
            "<item/>",
        )
    )
    keys = [item.key for item in found.items]
    assert keys[:2] == ["g", "https://example.org/2"]
    assert all(key.startswith("digest:") for key in keys[2:])
    assert len(set(keys)) == 5


def test_each_key_comes_once_and_items_with_one_link_stay_apart() -> None:
    item = "<item><guid>{}</guid><title>{}</title><link>https://example.org/</link></item>"
    found = read(rss(item.format("a", 1), item.format("b", 2), item.format("a", 3)))
    assert [(item.key, item.title) for item in found.items] == [("a", "1"), ("b", "2")]


def test_a_giant_id_has_a_small_key() -> None:
    one, two = (read(rss(f"<item><guid>{'x' * 100_000}{end}</guid></item>")).items[0].key for end in "ab")
    assert len(one) < 100
    assert one != two


@pytest.mark.parametrize(
    ("date", "published"),
    [
        ("Wed, 02 Nov 2126 15:03:04 GMT", NOW),
        ("Tue, 02 Nov 1926 15:03:04 GMT", at(1926, 11, 2, 15, 3, 4)),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_dates_of_the_future_the_past_and_of_no_time(date: str, published: float | None) -> None:
    assert read(rss(f"<item><guid>a</guid><pubDate>{date}</pubDate></item>")).items[0].published == published


def test_titles_and_summaries_are_bounded_and_plain() -> None:
    found = read(rss(f"<item><title>&#27;x {'t' * 5000}</title><description>{'s ' * 5000}</description></item>".replace(
        "&#27;", "")))  # fmt: skip
    assert len(found.items[0].title) == 300
    assert len(found.items[0].summary) <= 500


def test_a_title_of_nearly_ten_megabytes_is_a_title_of_300_characters() -> None:
    found = read(rss(f"<item><guid>a</guid><title>{'long ' * 1_900_000}</title></item>"))
    assert len(found.items[0].title) <= 300


def test_a_feed_of_fifty_thousand_entries_is_read_whole() -> None:
    found = read(rss(*(f"<item><guid>{k}</guid></item>" for k in range(50_000))))
    assert len(found.items) == 50_000
    assert found.remark == ""


def test_more_than_the_most_are_cut_off_with_a_remark() -> None:
    found = read(rss(*(f"<item><guid>{k}</guid></item>" for k in range(MOST_ENTRIES + 1))))
    assert len(found.items) == MOST_ENTRIES
    assert found.remark == f"cut off after {MOST_ENTRIES} of {MOST_ENTRIES + 1} entries"


def test_hints_of_the_publisher() -> None:
    head = (
        "<ttl>90</ttl><skipHours><hour>0</hour><hour>24</hour><hour>7</hour><hour>x</hour></skipHours>"
        "<skipDays><day>Sunday</day><day>Someday</day></skipDays>"
        "<sy:updatePeriod xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'>daily</sy:updatePeriod>"
        "<sy:updateFrequency xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'>4</sy:updateFrequency>"
    )
    assert said(read(rss(head=head))) == (5400.0, 21600.0, (0, 7), (6,))
    off = HintSwitches(ttl=False, skip_hours=False, skip_days=False, update_period=False)
    assert said(read(rss(head=head), switches=off)) == (None, None, (), ())


@pytest.mark.parametrize(
    "declaration",
    [
        "<!DOCTYPE rss [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>",
        "<!DOCTYPE rss [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>",
        "<!DOCTYPE rss [<!ENTITY % p SYSTEM 'http://127.0.0.1/evil.dtd'> %p;]>",
        "<!-- ]> --><?pi x?>\n<!DOCTYPE rss PUBLIC 'a' 'b' [\n<!ENTITY x 'y'>]>",
    ],
)
def test_declared_entities_are_refused(declaration: str) -> None:
    with pytest.raises(UnreadableError, match="declares entities"):
        read("<?xml version='1.0'?>" + declaration + rss("<item><title>&x;&b;</title></item>"))


def test_an_article_about_entities_is_no_bomb() -> None:
    article = "<item><guid>a</guid><description><![CDATA[<!DOCTYPE x [<!ENTITY a 'b'>]>]]></description></item>"
    assert len(read(rss(article)).items) == 1


def test_external_things_are_not_included() -> None:
    found = read(
        "<rss xmlns:xi='http://www.w3.org/2001/XInclude'><channel><item><guid>a</guid>"
        "<title><xi:include href='file:///etc/passwd' parse='text'/></title></item></channel></rss>"
    )
    assert found.items[0].title == ""


def test_a_truncated_feed_gives_what_is_whole_in_it() -> None:
    whole = rss(*(f"<item><guid>{k}</guid><title>Title {k}</title></item>" for k in range(10)))
    found = read(whole[: whole.index("Title 6") + 3])
    assert [item.key for item in found.items] == ["0", "1", "2", "3", "4", "5"]
    assert "malformed" in found.remark


def test_the_slow_reader_gives_no_warning_about_dates() -> None:
    broken = rss(
        "<item><title>One</item>",
        "<item><guid>b</guid><title>Two</title></item>",
        "<item><guid>https://example.org/c</guid><pubDate></pubDate></item>",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last = read(broken).items[-1]
    assert (last.link, last.published) == ("https://example.org/c", None)


def test_undeclared_html_entities_and_bare_ampersands_are_repaired() -> None:
    found = read(rss("<item><guid>a</guid><title>Caf&eacute; &nbsp; R&D &unknown; &lt;</title></item>"))
    assert found.items[0].title == "Café R&D &unknown; <"


def test_control_characters_do_not_cost_the_feed() -> None:
    found = read(rss("<item><guid>a</guid><title>One\x0b\x1b[31m two &#x1b; &#8;</title></item>"))
    assert found.items[0].title == "One[31m two"


def test_undeclared_prefixes_do_not_cost_the_item() -> None:
    found = read(rss("<item><guid>a</guid><title>One</title><dc:date>2026-11-02T15:03:04Z</dc:date></item>"))
    assert found.items[0].published == at(2026, 11, 2, 15, 3, 4)


def test_slow_readers_wait_for_patience_and_find_more() -> None:
    unclosed = rss(
        "<item><title>One</item>",
        "<item><guid>b</guid><title>Two</title><link>https://example.org/2</link></item>",
        "<item><guid>c</guid><title>Three</title></item>",
    )
    with pytest.raises(NeedsPatience), hurried():
        read(unclosed)
    found = read(unclosed)
    assert found.items[-1].key == "c"
    assert "malformed" in found.remark


def test_a_tag_left_open_in_a_title_does_not_swallow_the_rest_of_the_item() -> None:
    found = read(rss("<item><title>One<br>two</title><guid>a</guid><link>https://example.org/1</link></item>"))
    assert [(item.key, item.title, item.link) for item in found.items] == [("a", "One two", "https://example.org/1")]
    with pytest.raises(NeedsPatience), hurried():
        read(rss("<item><title>One<br>two</title><guid>a</guid></item>"))


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01\x02", "just words", "<", "<?xml"])
def test_what_is_no_feed_at_all_says_so(text: str) -> None:
    with pytest.raises(UnreadableError, match="not a"):
        read(text)


def json_feed(*items: object, **more: object) -> bytes:
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": items, **more}).encode()


def test_json_feed() -> None:
    found = read_json_feed(
        json_feed(
            {"id": 7, "url": "/7", "title": "Seven", "content_html": "<p>Body</p>",
             "date_published": "2026-11-02T15:03:04Z", "date_modified": "2026-11-03T00:00:00Z"},
            {"url": "https://example.org/8", "content_text": "Eight", "date_published": "2126-01-01T00:00:00Z"},
            {"id": "x", "title": 5, "summary": None, "url": ["a"], "date_published": {}},
            "nonsense",
            {"id": "lone", "title": "\ud800"},
        ),
        URL,
        NOW,
    )  # fmt: skip
    seven, eight, odd, lone = found.items
    assert (found.title, seven.key, seven.link, seven.summary) == ("T", "7", "https://example.org/7", "Body")
    assert seven.published == at(2026, 11, 2, 15, 3, 4)
    assert (eight.key, eight.summary, eight.published) == ("https://example.org/8", "Eight", NOW)
    assert (odd.key, odd.title, odd.link, odd.published) == ("x", "5", "", None)
    assert lone.title == "?"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"items": 5}', b"[" * 100_000, b'{"a":' * 100_000, b"\xff"]
)
def test_json_that_is_no_feed(body: bytes) -> None:
    assert not is_json_feed(body)
    with pytest.raises(UnreadableError, match="JSON"):
        read_json_feed(body, URL, NOW)


@pytest.mark.parametrize(("guid", "link"), [("episode", ""), ("https://example.org/1", "https://example.org/1")])
def test_a_name_is_no_link_in_a_feed_of_tangled_elements_either(guid: str, link: str) -> None:
    body = f"<rss><channel><item><title>One</title><guid>{guid}</guid><b><i>x</b></i></item></channel></rss>"
    assert [(item.key, item.link) for item in read(body.encode()).items] == [(guid, link)]
