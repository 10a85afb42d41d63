"""Revisits for Scrapy: one setting makes any spider come back to what is worth it, under a budget.

``SCHEDULER = "recrawl.integrations.scrapy.RecrawlScheduler"``; the guide is docs/scrapy.md.

A request marked in its `meta` becomes a source: the key is its URL, what is needed to make the request again is kept in
the store, and it comes back when its turn comes. Everything else is Scrapy's, and stays as it is: requests without a
mark, slots and delays, robots.txt, middlewares, pipelines.

- `marks`: what a mark says, requests as text that survives a restart, and those that wait to become sources
- `visits`: one request of a source under way, what its callback says about it, and what is paid for it
- `exchange`: what is asked and what is answered
- `watching`: the visits under way, and how they end: the spider middleware, and the errback
- `scheduler`: between Scrapy's engine and :class:`recrawl.scheduler.Scheduler`
- `spider_stats`: Scrapy's stats and log
- `options`: from Scrapy's settings to recrawl's
- `waking`: a timer on whatever loop Scrapy runs
"""

from __future__ import annotations

from recrawl.errors import require

require("scrapy", "the Scrapy scheduler", "scrapy")

from recrawl.integrations.scrapy.scheduler import RecrawlAddon, RecrawlScheduler  # noqa: E402
from recrawl.integrations.scrapy.spider_middleware import RecrawlSpiderMiddleware  # noqa: E402
from recrawl.integrations.scrapy.visits import recrawl_observation  # noqa: E402

__all__ = ["RecrawlAddon", "RecrawlScheduler", "RecrawlSpiderMiddleware", "recrawl_observation"]
