"""The other side of `benchmarks.crawl`: feeds fetched with Scrapy, read with feedparser, stored in SQLite.

Set up as a careful user would for speed: no delay, 64 requests at a time, uvloop, no cookies, no console, one item per
feed through the pipeline rather than one per entry, a transaction per hundred feeds in write-ahead mode.

Run: python -m benchmarks.scrapy_feeds URLS.txt OUT.db
"""

from __future__ import annotations

import calendar
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import feedparser
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

SCHEMA = """
CREATE TABLE sources (id INTEGER PRIMARY KEY, url TEXT UNIQUE, etag TEXT, modified TEXT, title TEXT);
CREATE TABLE crawls (id INTEGER PRIMARY KEY, source INTEGER, at REAL, status INTEGER, size INTEGER, new INTEGER);
CREATE TABLE items (source INTEGER, key TEXT, title TEXT, link TEXT, summary TEXT, published REAL, first_seen REAL,
    PRIMARY KEY (source, key)) WITHOUT ROWID;
"""
PER_TRANSACTION = 100
SETTINGS: dict[str, Any] = {
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "benchmark",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REFERER_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "ITEM_PIPELINES": {"benchmarks.scrapy_feeds.SqlitePipeline": 1},
}


class FeedsSpider(scrapy.Spider):
    """Fetches each feed of a list once."""

    name = "feeds"

    def __init__(self, urls: list[str], database: str) -> None:
        super().__init__()
        self.urls, self.database = urls, database

    async def start(self) -> AsyncIterator[Any]:
        """A request per feed; the list has no duplicates to filter."""
        for number, url in enumerate(self.urls, 1):
            yield scrapy.Request(url, cb_kwargs={"source": number}, dont_filter=True)

    def parse(self, response: Any, source: int) -> Iterator[dict[str, Any]]:
        """Everything a reader keeps of a feed and of the crawl."""
        feed = feedparser.parse(response.body)
        now = time.time()
        yield {
            "source": (
                source,
                response.url,
                _text(response.headers.get("ETag")),
                _text(response.headers.get("Last-Modified")),
                feed.feed.get("title", ""),
            ),
            "entries": [
                (
                    source,
                    entry.get("id") or entry.get("link") or entry.get("title", ""),
                    entry.get("title", ""),
                    entry.get("link", ""),
                    entry.get("summary", "")[:1000],
                    _moment(entry),
                    now,
                )
                for entry in feed.entries
            ],
            "crawl": (source, now, response.status, len(response.body)),
        }


class SqlitePipeline:
    """Stores feeds as they come, some at a time."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> SqlitePipeline:
        """Opens the spider's database."""
        return cls(crawler)

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._waiting = 0

    def open_spider(self) -> None:
        """An empty database in write-ahead mode."""
        self._database = sqlite3.connect(self._crawler.spider.database)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(SCHEMA)

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Write one feed."""
        write = self._database
        write.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?, ?)", item["source"])
        new = write.executemany("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", item["entries"]).rowcount
        write.execute(
            "INSERT INTO crawls (source, at, status, size, new) VALUES (?, ?, ?, ?, ?)", (*item["crawl"], new)
        )
        self._waiting += 1
        if self._waiting == PER_TRANSACTION:
            write.commit()
            self._waiting = 0
        return item

    def close_spider(self) -> None:
        """The last of them."""
        self._database.commit()
        self._database.close()


def _moment(entry: Any) -> float | None:
    parsed = entry.get("published_parsed") or entry.get("updated_parsed")
    return None if parsed is None else float(calendar.timegm(parsed))


def _text(header: bytes | None) -> str:
    return "" if header is None else header.decode("latin-1")


def main() -> None:
    listing, database = sys.argv[1:]
    process = AsyncCrawlerProcess(SETTINGS)
    process.crawl(FeedsSpider, urls=Path(listing).read_text().split(), database=database)
    process.start()


if __name__ == "__main__":
    main()
