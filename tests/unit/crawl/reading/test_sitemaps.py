"""Sitemaps speak for their own host, and their news are new URLs and new modifications."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recrawl.config import HintSwitches
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.sitemaps import MOST_URLS, read_sitemap, read_text_sitemap

NOW = datetime(2026, 11, 15, tzinfo=UTC).timestamp()
URL = "https://example.org/sitemap.xml"
SPACE = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"


def read(text: str, url: str = URL, **switches: bool) -> Findings:
    return read_sitemap(text.encode(), url, NOW, HintSwitches(**switches))


def urlset(*entries: str) -> str:
    return f"<urlset {SPACE}>{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()


def test_urls_with_and_without_lastmod() -> None:
    found = read(
        urlset(
            "<loc> https://example.org/a </loc>",
            "<loc>https://example.org/b</loc><lastmod>2026-11-02</lastmod>",
            "<loc>/c</loc><lastmod>2126-01-01T00:00:00Z</lastmod>",
            "<priority>1</priority>",
        )
    )
    assert found.kind == "sitemap"
    assert [item.link for item in found.items] == [f"https://example.org/{name}" for name in "abc"]
    assert [item.published for item in found.items] == [None, at(2026, 11, 2), NOW]
    assert [item.key for item in found.items] == [
        "https://example.org/a",
        "https://example.org/b 2026-11-02",
        "https://example.org/c 2126-01-01T00:00:00Z",
    ]


def test_a_modified_url_is_news() -> None:
    before, after = (read(urlset(f"<loc>https://example.org/a</loc><lastmod>{day}</lastmod>")).items[0].key
                     for day in ("2026-11-01", "2026-11-02"))  # fmt: skip
    assert before != after


def test_a_stamp_put_on_a_whole_list_is_no_news() -> None:
    before, after = (
        {item.key for item in read(urlset(*(f"<loc>https://example.org/{k}</loc><lastmod>{day}</lastmod>"
                                            for k in range(20)))).items}
        for day in ("2026-11-01", "2026-11-02")
    )  # fmt: skip
    assert before == after


def test_with_lastmod_switched_off_a_url_is_itself() -> None:
    found = read(urlset("<loc>https://example.org/a</loc><lastmod>2026-11-01</lastmod>"), lastmod=False)
    assert found.items[0].key == "https://example.org/a"
    assert found.items[0].published is None


def test_changefreq_gives_the_shortest_period() -> None:
    listed = urlset(*(f"<loc>/{k}</loc><changefreq>{word}</changefreq>"
                      for k, word in enumerate(["monthly", "Daily", "never", "nonsense"])))  # fmt: skip
    assert read(listed).period_s == 86400.0
    assert read(listed, changefreq=False).period_s is None


def test_news_sitemaps_are_dated_and_titled() -> None:
    found = read(
        f"<urlset {SPACE} xmlns:news='http://www.google.com/schemas/sitemap-news/0.9'><url><loc>https://example.org/a"
        "</loc><lastmod>2026-11-09</lastmod><news:news><news:publication><news:name>N</news:name></news:publication>"
        "<news:publication_date>2026-11-02T15:03:04Z</news:publication_date><news:title>Big &amp; new</news:title>"
        "</news:news></url></urlset>"
    )
    (item,) = found.items
    assert (item.key, item.title, item.published) == ("https://example.org/a", "Big & new", at(2026, 11, 2, 15, 3, 4))


def test_an_index_lists_sitemaps_of_its_own_host() -> None:
    found = read(
        f"<sitemapindex {SPACE}><sitemap><loc>https://example.org/1.xml</loc></sitemap><sitemap><loc>"
        "https://other.example/2.xml</loc></sitemap><sitemap><loc>/3.xml</loc></sitemap></sitemapindex>"
    )
    assert found.children == ("https://example.org/1.xml", "https://example.org/3.xml")
    assert found.items == ()
    assert "1 URLs of other hosts were dropped" in found.remark


def test_a_sitemap_speaks_for_its_own_host_only() -> None:
    found = read(urlset("<loc>https://example.org/a</loc>", "<loc>http://example.org/b</loc>",
                        "<loc>https://www.example.org/c</loc>", "<loc>https://example.org:8443/d</loc>",
                        "<loc>javascript:alert(1)</loc>"))  # fmt: skip
    assert [item.link for item in found.items] == ["https://example.org/a", "http://example.org/b"]
    assert found.remark == "2 URLs of other hosts were dropped"


def test_each_url_comes_once() -> None:
    assert len(read(urlset("<loc>/a</loc>", "<loc>/a</loc>")).items) == 1


def test_more_than_the_most_are_cut_off() -> None:
    found = read(urlset(*(f"<loc>/{k}</loc>" for k in range(MOST_URLS + 5))))
    assert len(found.items) == MOST_URLS
    assert "cut off" in found.remark


def test_a_truncated_sitemap_gives_what_it_has() -> None:
    whole = urlset(*(f"<loc>/{k}</loc>" for k in range(10)))
    assert len(read(whole[: len(whole) * 2 // 3]).items) >= 5


def test_declared_entities_are_refused() -> None:
    with pytest.raises(UnreadableError, match="declares entities"):
        read(f"<!DOCTYPE urlset [<!ENTITY x 'y'>]><urlset {SPACE}><url><loc>&x;</loc></url></urlset>")


@pytest.mark.parametrize("text", ["", "words", "<urlset", "\x00"])
def test_what_is_no_sitemap_says_so(text: str) -> None:
    with pytest.raises(UnreadableError, match="not a"):
        read(text)


def test_an_empty_sitemap_is_one() -> None:
    assert read(urlset()).items == ()


def test_text_sitemaps() -> None:
    found = read_text_sitemap(b"https://example.org/a\r\n\nhttps://example.org/b\nhttps://other.example/c\n", URL)
    assert [item.key for item in found.items] == ["https://example.org/a", "https://example.org/b"]
    with pytest.raises(UnreadableError, match="one URL per line"):
        read_text_sitemap(b"just words", URL)
