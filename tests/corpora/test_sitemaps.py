"""The sitemaps in Scrapy's tests: the same places, in the same order, as its own reader finds."""

from __future__ import annotations

import json

import pytest

from corpora import others_tests
from corpora.packages import unpacked
from recrawl.crawl import urls
from recrawl.crawl.reading.readers import Document, read

pytestmark = pytest.mark.corpora
FILES = ["tests/test_utils_sitemap.py", "tests/test_spider_sitemap.py"]


def test_sitemaps_lead_where_scrapy_goes(judged, tmp_path):
    written = tmp_path / "recorded.json"
    said = others_tests.run(unpacked("scrapy"), "recording", FILES, {"CORPORA_RECORDED": str(written)})
    assert written.exists(), said
    with judged("Scrapy's sitemaps") as corpus:
        for number, (text, kind, places) in enumerate(json.loads(written.read_text())["sitemaps"]):
            expected = list(dict.fromkeys(urls.join("http://www.example.com/", place) for place in places))
            corpus.check(f"{number} {kind}", expected, lambda t=text: _places(t.encode("latin-1")))


def _places(body: bytes) -> list[str]:
    found = read(Document(url="http://www.example.com/sitemap.xml", body=body, now=4e9, kind="sitemap"))
    return [item.link for item in found.items] + list(found.children)
