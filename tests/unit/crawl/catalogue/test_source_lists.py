import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.catalogue.source_fields import checked_fields
from recrawl.crawl.catalogue.source_lists import (
    decoded,
    format_of,
    read_csv,
    read_list,
    read_text,
    write_csv,
    write_text,
)
from recrawl.errors import ParameterError
from recrawl.store.records import Source


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<opml/>", "opml"),
        (b"  \n<opml version='2.0'>", "opml"),
        (b"url,title\nhttps://a.example/,A", "csv"),
        (b"Title;Feed URL;XML URL\n", "text"),
        (b"Name;xmlUrl\nA;https://a.example/", "csv"),
        (b"https://a.example/url,x\n", "text"),
        (b"# feeds\nhttps://a.example/", "text"),
        (b"", "text"),
        ("url\ttitle\n".encode("utf-16"), "csv"),
        (b"\xef\xbb\xbf<opml>" + b" " * 4086 + "é</opml>".encode(), "opml"),
        (b"\xef\xbb\xbfurl,title\nhttps://a.example/," + b"a" * 4063 + "é".encode(), "csv"),
        (("<opml>".ljust(2046) + "\N{PARTY POPPER}").encode("utf-16"), "opml"),
    ],
)
def test_the_format_is_told_by_the_content(data, form):
    assert format_of(data) == form


def test_a_plain_list_has_titles_comments_and_line_numbers():
    text = "# my feeds\n\nhttps://a.example/  The A\nb.example/feed\tB  news\n  https://c.example/  \n"
    assert [(each.line, each.url, each.fields) for each in read_text(text)] == [
        (3, "https://a.example/", {"title": "The A"}),
        (4, "b.example/feed", {"title": "B  news"}),
        (5, "https://c.example/", {}),
    ]


def test_columns_are_found_by_their_headings():
    text = 'Title;URL;Tags;Half-Life;other\n"A; the first";https://a.example/;x, y;6h;?\n\n;b.example;;;\n'
    assert [(each.line, each.url, each.fields) for each in read_csv(text)] == [
        (2, "https://a.example/", {"title": "A; the first", "tags": ["x", "y"], "half_life": "6h"}),
        (4, "b.example", {}),
    ]


def test_a_row_without_an_address_is_kept_to_be_refused_with_its_line():
    (entry,) = read_csv("url,title\n,Lost\n")
    assert (entry.line, entry.url) == (2, "")


def test_a_broken_row_is_named():
    with pytest.raises(ParameterError, match="line 2 must be a row of CSV"):
        read_csv('url,title\nhttps://a.example/,"' + "x" * 200_000 + '"\n')


def test_bytes_of_old_programs_are_still_text():
    assert decoded("café".encode("cp1252")) == "café"


SOURCES = st.builds(
    Source,
    url=st.integers(0, 99).map("https://example.org/{}".format),
    title=st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20),
    kind=st.sampled_from(["auto", "feed", "page"]),
    importance=st.integers(1, 10**9).map(lambda n: n / 1000),
    half_life=st.none() | st.integers(1, 10**7).map(float),
    tags=st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=3).map(tuple),
    headers=st.dictionaries(st.text("AB", min_size=1, max_size=3), st.text("xyz", min_size=1, max_size=5), max_size=2),
)


@given(st.lists(SOURCES, max_size=5))
def test_what_is_written_as_csv_is_read_again(sources):
    entries = read_csv(write_csv(sources, with_headers=True))
    again = []
    for entry in entries:
        title, state = entry.fields.pop("title", ""), entry.fields.pop("state")
        again.append(Source(url=entry.url, title=title, state=state, **checked_fields(entry.fields)))
    assert again == sources


def test_headers_are_secrets_unless_asked_for():
    source = Source(url="https://a.example/", headers={"Authorization": "Bearer x"})
    assert "Bearer" not in write_csv([source], with_headers=False)
    assert "Bearer" not in write_text([source])


def test_a_heading_no_spreadsheet_would_write_is_refused_in_words():
    with pytest.raises(ParameterError, match="row of CSV"):
        read_csv("url," + "x" * 200_000 + "\nhttps://a.example/\n")


NOISE = bytes(each for each in random.Random(7).randbytes(40_000) if each)


@pytest.mark.parametrize(
    "data",
    [
        b"https://a.example/\0\n",
        b"url,title\nhttps://a.example/,\0\n",
        NOISE,
        NOISE.decode("utf-8", "replace").encode(),
    ],
)
def test_what_is_not_text_is_no_list(data):
    with pytest.raises(ParameterError, match=r"^x is neither OPML, CSV nor a list of addresses$"):
        read_list(data, name="x")


@pytest.mark.parametrize(
    "data",
    [
        "https://a.example/ 東京の図書館のニュース\n".encode("shift_jis") * 500,
        "https://a.example/ Новости библиотеки\n".encode("cp1251") * 500,
        "https://a.example/ Новости\r\n".encode("utf-16"),
        b"https://a.example/ a\x0bvertical tab\n",
        "<opml><body><outline xmlUrl='https://a.example/'/></body></opml>".encode("utf-16-le"),
    ],
)
def test_lists_in_any_writing_are_text(data):
    assert read_list(data).entries[0].url == "https://a.example/"
