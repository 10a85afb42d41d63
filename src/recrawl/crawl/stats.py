"""What a running crawler can say about itself at any moment: counts since the start, the latest crawls, slow hosts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from recrawl.crawl.visits import Visit
from recrawl.store.records import Crawl, Source, VisitUpdate

SLOW_HOSTS = 1000
"""Hosts whose speed is remembered; the fastest are forgotten first."""
SMOOTHING = 0.2
GONE = "gone"
WORDS = 20
"""So many different words are remembered of one cause: some name the address."""


@dataclass(slots=True)
class Stats:
    """Counts since the start; `latest` holds the last crawls with their sources, newest last."""

    requests: int = 0
    crawls: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    refused: int = 0
    captured: float = 0.0
    trouble: str = ""
    """Why nothing is fetched at the moment, in words."""
    causes: Counter[str] = field(default_factory=Counter)
    """Why fetches failed or were refused, in a word each."""
    words: dict[str, Counter[str]] = field(default_factory=dict)
    """The same in words, by cause: the first `WORDS` of each, and how often."""
    told: Callable[[str, str], None] | None = None
    """Told of every new cause: in a word, and in words."""
    latest: deque[tuple[Source, Crawl]] = field(default_factory=lambda: deque(maxlen=12))
    seconds_by_host: dict[str, float] = field(default_factory=dict)
    errors: deque[tuple[Source, Crawl]] = field(default_factory=lambda: deque(maxlen=5))

    def add(self, visit: Visit, update: VisitUpdate) -> None:
        """Count one crawl."""
        crawl = update.crawl
        self.crawls += 1
        self.requests += crawl.requests
        self.captured += crawl.captured
        if crawl.outcome == "changed":
            self.changed += 1
        elif crawl.outcome == "unchanged":
            self.unchanged += 1
        elif crawl.outcome == "failed":
            self.failed += 1
        elif crawl.outcome == "refused":
            self.refused += 1
        else:
            self.new += crawl.new
        self.latest.append((visit.intent.source, crawl))
        if crawl.outcome in ("failed", "refused"):
            self.errors.append((visit.intent.source, crawl))
            self.note_cause(update.progress.held_cause or GONE, crawl.error)
        if crawl.elapsed_s > 0.0:
            self._clock_host(visit.intent.host, crawl.elapsed_s)

    def note_cause(self, cause: str, words: str) -> None:
        """Count why a fetch brought nothing."""
        self.causes[cause] += 1
        said = self.words.setdefault(cause, Counter())
        if self.told is not None and not said:
            self.told(cause, words)
        if words in said or len(said) < WORDS:
            said[words] += 1

    def slowest(self, count: int = 5) -> list[tuple[str, float]]:
        """The slowest hosts and their seconds per answer, slowest first."""
        return sorted(self.seconds_by_host.items(), key=lambda pair: -pair[1])[:count]

    def _clock_host(self, host: str, seconds: float) -> None:
        before = self.seconds_by_host.get(host)
        self.seconds_by_host[host] = seconds if before is None else before + SMOOTHING * (seconds - before)
        if len(self.seconds_by_host) > 2 * SLOW_HOSTS:
            self.seconds_by_host = dict(self.slowest(SLOW_HOSTS))
