"""Spiders that crawl the synthetic web in a process of their own: ``python scrapy_spiders.py SPIDER OPTIONS.json``.

`OPTIONS.json` has the arguments of the spider under "spider" and settings under "settings"; the stats go to the file
named by "stats".
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess

from recrawl.integrations.scrapy import recrawl_observation


class Listed(scrapy.Spider):
    """What all of them share: a list of URLs, which 2.11 wants to hear of in another way than 2.13."""

    def __init__(self, urls: str, **more: Any) -> None:
        super().__init__(**more)
        self.urls = Path(urls).read_text().split()

    async def start(self) -> AsyncIterator[Any]:
        for request in self.start_requests():
            yield request

    def start_requests(self) -> Iterator[scrapy.Request]:
        for url in self.urls:
            yield self.request(url)

    def request(self, url: str) -> scrapy.Request:
        raise NotImplementedError


class Revisiting(Listed):
    """Sources that list items."""

    name = "revisiting"

    def request(self, url: str) -> scrapy.Request:
        return scrapy.Request(url, callback=self.parse_feed, meta={"recrawl": True})

    def parse_feed(self, response: Any) -> None:
        ids, published = entries(response)
        recrawl_observation(response, ids=ids, published=published)


class Pages(Listed):
    """Sources that are told from last time by their digest."""

    name = "pages"

    def request(self, url: str) -> scrapy.Request:
        return scrapy.Request(url, meta={"recrawl": True})

    def parse(self, response: Any) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "size": len(response.body)}


class Looping(Listed):
    """What people do today: go round the list for ever, as fast as a delay allows."""

    name = "looping"

    def request(self, url: str) -> scrapy.Request:
        return scrapy.Request(url, dont_filter=True, meta={"download_slot": "all"})

    def parse(self, response: Any) -> Iterator[scrapy.Request]:
        yield response.request.replace(priority=response.request.priority - 1)


class Following(Listed):
    """Sources whose pages lead to pages fetched once."""

    name = "following"

    def request(self, url: str) -> scrapy.Request:
        return scrapy.Request(url, callback=self.parse_feed, meta={"recrawl": {"importance": 2.0}})

    def parse_feed(self, response: Any) -> Iterator[scrapy.Request]:
        ids, published = entries(response)
        recrawl_observation(response, ids=ids, published=published)
        for name in ids[:3]:
            yield response.follow(f"/page/{abs(hash(name)) % 50}", callback=self.parse_page)

    def parse_page(self, response: Any) -> Iterator[dict[str, Any]]:
        yield {"page": response.url}


def entries(response: Any) -> tuple[list[str], list[datetime]]:
    """Names and publication times of what an RSS, Atom or JSON feed lists."""
    if response.url.endswith("json"):
        items = json.loads(response.text)["items"]
        return [item["id"] for item in items], [datetime.fromisoformat(item["date_published"]) for item in items]
    document = response.selector
    document.remove_namespaces()
    found = document.xpath("//entry | //item")
    ids = [each.xpath("string(id | guid)").get() for each in found]
    times = [each.xpath("string(published | pubDate)").get() for each in found]
    return ids, [datetime.fromisoformat(t) if t[:4].isdigit() else parsedate_to_datetime(t) for t in times]


SPIDERS = {spider.name: spider for spider in (Revisiting, Pages, Looping, Following)}


def main() -> None:
    name, options = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    process = CrawlerProcess({"TELNETCONSOLE_ENABLED": False, "LOG_LEVEL": "INFO", **options["settings"]})
    crawler = process.create_crawler(SPIDERS[name])
    process.crawl(crawler, **options["spider"])
    process.start()
    if options.get("stats"):
        Path(options["stats"]).write_text(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    main()
