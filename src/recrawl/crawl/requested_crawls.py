"""Whether a crawl that an owner asked for at once has been made; whatever came of it, it is asked for no more.

An answer is noted in the source's progress, a failure only in the crawl log. The log is asked for the few sources alone
that were asked for and have not answered since.
"""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.store.records import Progress, Source
from recrawl.store.roles import CrawlLog


def is_asked(wanted: float, *answered: float) -> bool:
    """Whether an owner asked for a crawl (0 for never) after all of these times; NaN for those that never came."""
    return wanted > 0.0 and not any(each >= wanted for each in answered)


def was_in_vain(store: CrawlLog, source: Source, progress: Progress, now: float, log_s: float) -> bool:
    """Whether the crawl that its owner asked for was made, and brought nothing.

    The log reaches `log_s` back. Where the request is older, failures in a row say that somebody has tried.
    """
    if not is_asked(source.wanted, progress.last or 0.0):
        return False
    latest = store.crawls(source=source.id, limit=1)
    if latest and latest[0].at >= source.wanted:
        return True
    return progress.failures > 0 and source.wanted < now - log_s


def made_in_vain(store: CrawlLog, asked: Iterable[tuple[Source, Progress]], now: float, log_s: float) -> list[int]:
    """The ids of those of which that is so; see :func:`was_in_vain`."""
    return [source.id for source, progress in asked if was_in_vain(store, source, progress, now, log_s)]
