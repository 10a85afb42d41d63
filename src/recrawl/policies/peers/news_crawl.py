"""Common Crawl's news-crawl: StormCrawler's adaptive rule with slower settings.

Intervals from 90 minutes to 90 days, growing by half and shrinking by a fifth of the way; feeds start at 12 hours.
"""

from __future__ import annotations

from recrawl.policies.peers.stormcrawler_adaptive import StormcrawlerAdaptive
from recrawl.policies.peers.timers import DAY, MINUTE


class NewsCrawl(StormcrawlerAdaptive):
    """The settings of Common Crawl's news crawler for feeds."""

    first_interval = 720 * MINUTE
    shortest, longest = 90 * MINUTE, 90 * DAY
    decrease, increase = 0.2, 0.5
