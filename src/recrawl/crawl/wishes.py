"""Whether a crawl that an owner asked for at once has been made; whatever came of it, it is asked for no more.

An answer is noted in the source's progress, a failure only in the crawl log. The log is asked for the few sources alone
that were asked for and have not answered since.
"""

from __future__ import annotations

from collections.abc import Iterable

from recrawl.store.base import Progress, Source, Store


def is_asked(source: Source, progress: Progress) -> bool:
    """Whether its owner asked for a crawl since it last answered."""
    return source.wanted > (progress.last or 0.0)


def was_in_vain(store: Store, source: Source, progress: Progress, now: float, log_s: float) -> bool:
    """Whether the crawl that its owner asked for was made, and brought nothing.

    The log reaches `log_s` back. Of a wish from before that, the failures in a row tell: somebody has tried.
    """
    if not is_asked(source, progress):
        return False
    latest = store.crawls(source=source.id, limit=1)
    if latest and latest[0].at >= source.wanted:
        return True
    return progress.failures > 0 and source.wanted < now - log_s


def made_in_vain(store: Store, asked: Iterable[tuple[Source, Progress]], now: float, log_s: float) -> list[int]:
    """The ids of those of which that is so; see :func:`was_in_vain`."""
    return [source.id for source, progress in asked if was_in_vain(store, source, progress, now, log_s)]
