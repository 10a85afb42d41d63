"""One spelling per address, and nothing but http and https."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl import urls
from recrawl.errors import ParameterError


@pytest.mark.parametrize(
    ("given_as", "canonical"),
    [
        ("https://example.org", "https://example.org/"),
        ("example.org/feed", "https://example.org/feed"),
        ("//example.org/feed", "https://example.org/feed"),
        ("  HTTPS://EXAMPLE.org/Feed  ", "https://example.org/Feed"),
        ("http://example.org:80/a", "http://example.org/a"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("example.org:8080/a", "https://example.org:8080/a"),
        ("localhost:8000/x", "https://localhost:8000/x"),
        ("http://localhost/x", "http://localhost/x"),
        ("http:example.org/a", "http://example.org/a"),
        ("feed://example.org/rss", "http://example.org/rss"),
        ("feed:https://example.org/rss", "https://example.org/rss"),
        ("feed:example.org/rss", "https://example.org/rss"),
        ("https://example.org/a/./b/../c", "https://example.org/a/c"),
        ("https://example.org/../../a", "https://example.org/a"),
        ("https://example.org/a/..", "https://example.org/"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://example.org/%7euser/%2f%e9", "https://example.org/~user/%2F%E9"),
        ("https://example.org/a b", "https://example.org/a%20b"),
        ("https://example.org/100%", "https://example.org/100%25"),
        ("https://example.org/?q=a b&utm_source=x", "https://example.org/?q=a%20b&utm_source=x"),
        ("https://example.org?x", "https://example.org/?x"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("https://BÜCHER.example", "https://xn--bcher-kva.example/"),
        ("https://example.org./a", "https://example.org/a"),
        ("http://[2001:DB8:0:0::1]:80/a", "http://[2001:db8::1]/a"),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000/a"),
        ("https:\\\\example.org\\a", "https://example.org/a"),
        ("https://under_score.example.org/", "https://under_score.example.org/"),
    ],
)
def test_an_address_has_one_spelling(given_as: str, canonical: str) -> None:
    assert urls.normalise(given_as) == canonical
    assert urls.normalise(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "   ", "feed", "ftp://example.org/", "javascript:alert(1)", "mailto:a@example.org", "file:///etc/passwd",
     "data:text/plain,x", "https://", "https:///a", "https://example.org:99999/", "https://example.org:0/",
     "https://exa mple.org/", "https://example..org/", "https://-a.example/", "http://2130706433/", "http://0x7f.1/",
     "http://127.1/", "http://[::1", "http://[zz]/", "https://example.org/\x00", "https://example.org/\nHost: x",
     "https://" + "a" * 64 + ".example/", "https://example.org/" + "a" * 5000, "https://" + "a." * 130 + "example/",
     "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[2001:db8::1%1]/", "//", "http://?x", "https://#a",
     "feed:", "http://%zz/", "https://\ud800.example/"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="url must be"):
        urls.normalise(text)


@pytest.mark.parametrize("text", ["https://me:secret@example.org/feed", "me:secret@example.org/feed", "http://me@a.de"])
def test_credentials_are_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        urls.normalise(text)
    assert "secret" not in str(refusal.value)


def test_the_refusal_of_credentials_says_what_to_do() -> None:
    with pytest.raises(ParameterError, match="--header 'Authorization"):
        urls.normalise("https://me:secret@example.org/feed")


@given(st.text(max_size=40) | st.text("ab./:?#%@[]\\-0é ", max_size=30).map("https://".__add__))
def test_normalising_twice_changes_nothing(text: str) -> None:
    try:
        once = urls.normalise(text)
    except ParameterError:
        return
    assert urls.normalise(once) == once
    assert once.startswith(("http://", "https://"))
    assert once.isascii()
    assert urls.host(once)


@pytest.mark.parametrize(
    ("href", "leads_to"),
    [
        ("b", "https://example.org/dir/b"),
        ("/b", "https://example.org/b"),
        ("/b/../c.html?x=1", "https://example.org/c.html?x=1"),
        ("../b", "https://example.org/b"),
        ("//other.example/b", "https://other.example/b"),
        ("?page=2", "https://example.org/dir/a?page=2"),
        ("", None),
        ("https://example.org/x#y", "https://example.org/x"),
        ("https://me:secret@example.org/x", "https://example.org/x"),
        ("HTTP://Example.ORG", "http://example.org/"),
        (" /a\n", "https://example.org/a"),
        ("javascript:alert(1)", None),
        ("mailto:me@example.org", None),
        ("file:///etc/passwd", None),
        ("ftp://example.org/", None),
        ("http://[bad", None),
        ("https://", None),
        ("http://", None),
        ("https:///", None),
        ("https://?x", None),
        ("https://#x", None),
        ("//", None),
        ("///", None),
        ("https:///other.example/b", "https://other.example/b"),
        ("///other.example/b", "https://other.example/b"),
        ("https:\\\\other.example\\b", "https://other.example/b"),
        ("https:b", "https://example.org/dir/b"),
        ("http:other.example/b", "http://other.example/b"),
        ("HTTPS:/b", "https://example.org/b"),
        ("http://[fe80::1%25eth0]/", None),
        ("http://[fe80::1%eth0]/", None),
        ("http://[fe80::1]/", "http://[fe80::1]/"),
        ("http://[::1%]/", None),
        ("http://2130706433/", None),
        ("https://example.org/" + "a" * 5000, None),
        ("/\ud800", "https://example.org/%3F"),
        ("https://exa\tmple.org/a\nb\r", "https://example.org/ab"),
        ("https://a\x00b.example/", None),
        ("https://\x00example.org/", None),
        ("https://example.org/a\x00b?c\x7f", "https://example.org/a%00b?c%7F"),
    ],
)
def test_links_lead_to_http_or_nowhere(href: str, leads_to: str | None) -> None:
    assert urls.join("https://example.org/dir/a", href) == leads_to


@pytest.mark.parametrize("label", ["a" * 38, "a" * 3000, "a-" * 1500, "a--" * 1000, "0" * 3000, "a." * 1500])
@pytest.mark.parametrize("end", ["%20", "-/", "-"])
def test_no_host_takes_long_to_look_at(label: str, end: str) -> None:
    assert urls.join("https://example.org/", f"https://{label}{end}") is None


@given(st.text("abz./:?#%@[]\\-09é \t=&", max_size=40) | st.text(max_size=40))
def test_a_joined_link_is_already_in_its_one_spelling(href: str) -> None:
    target = urls.join("https://example.org/dir/a", href)
    assert target is None or urls.normalise(target) == target


@pytest.mark.parametrize(
    ("href", "leads_to"),
    [
        ("b#c", "https://example.org/dir/b#c"),
        ("#!/a b?<x>", "https://example.org/dir/a#!/a%20b?%3Cx%3E"),
        ("b#", "https://example.org/dir/b"),
        ("b#a#b", "https://example.org/dir/b#a%23b"),
        ("b#\x00\n", "https://example.org/dir/b"),
        ("b#" + "é" * 1000, "https://example.org/dir/b"),
        ("javascript:alert(1)#", None),
        ("b", "https://example.org/dir/b"),
    ],
)
def test_links_to_show_keep_their_fragments(href: str, leads_to: str | None) -> None:
    assert urls.link("https://example.org/dir/a", href) == leads_to


_PARTS = ["a", "b.c", "-", "--", "1", "127.0.0.1", "256.1.1.1", "01.2.3.4", "1.2.3", ".", "..", ":80", ":443", ":8080"]
_PARTS += [":0", ":99999", "/", "/.x", "?", "?q=1", "xn--a", "_", "0x1", "A", "%41", "#f", "@", "é", "a" * 64]


@given(st.sampled_from(["http://", "https://"]), st.lists(st.sampled_from(_PARTS), max_size=6))
def test_an_address_taken_as_it_stands_is_what_the_long_way_makes_of_it(scheme: str, parts: list[str]) -> None:
    text = scheme + "".join(parts)
    try:
        short = urls.normalise(text)
    except ParameterError:
        return
    if short == text:
        assert urls.normalise(f" {text}") == text  # white space before it: looked at piece by piece


def test_origin_and_host() -> None:
    assert urls.origin("https://example.org:8443/a?b") == "https://example.org:8443"
    assert urls.host("https://example.org:8443/a?b") == "example.org"
    assert urls.host("http://[2001:db8::1]/") == "2001:db8::1"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8600", "https://example.org", "https://example.org:8443"])
@pytest.mark.parametrize(
    "rest", ["/a", "/", "//a", "/a/../b", "/.a", "/a?b=c", ".org/a", "0/a", "https://b.example/x", ""]
)
def test_a_link_to_its_own_host_is_spelled_as_from_anywhere_else(origin: str, rest: str):
    assert urls.join(origin + "/feed.xml", origin + rest) == urls.join("https://other.example/", origin + rest)
