"""The life of one crawl, by name: an `Intent` is decided and carried out into a `Visit`, which has a `VisitOutcome`.

Plain records between the decider, which knows no network, and the pipeline, which knows no policy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from recrawl.config import Discovery, HintSwitches
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.hold_causes import Causes
from recrawl.crawl.mentions import Mentions
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.rendering.messages import Rendered
from recrawl.crawl.rendering.record import Why
from recrawl.kernels.worth import mean_remaining, remaining
from recrawl.store.records import Crawl, Outcome, Progress, Source, VisitUpdate
from recrawl.store.source_terms import Defaults, EffectiveOptions

if TYPE_CHECKING:
    from recrawl.crawl.fetching.fetcher import FetchResult

NO_HINTS = HintSwitches(**dict.fromkeys(HintSwitches.__struct_fields__, False))


@dataclass(frozen=True, slots=True)
class CrawlRules:
    """The settings that decisions rest on, in seconds.

    Parameters
        min_interval_s: no source is fetched again sooner
        backoff_s, max_backoff_s: how long a source that failed waits: doubled with every failure in a row
        parallel_per_host: requests in flight at once to one host
        hints: which of the publishers' own words about their pace count
        ephemeral: whether what is found is worth less with age (the objective); otherwise every find is worth 1
        discovery: how many sources may be found
        defaults: what counts for sources that say nothing themselves
        causes: what of the settings holds rest on
        log_s: how far back the crawl log reaches
    """

    min_interval_s: float = 30.0
    backoff_s: float = 60.0
    max_backoff_s: float = 86400.0
    parallel_per_host: int = 1
    hints: HintSwitches = field(default_factory=HintSwitches)
    ephemeral: bool = True
    discovery: Discovery = field(default_factory=Discovery)
    defaults: Defaults = field(default_factory=Defaults)
    causes: Causes = field(default_factory=Causes)
    log_s: float = math.inf


class Intent(msgspec.Struct, frozen=True):
    """A crawl that has been decided and paid for; its source is in flight until it is committed or given back.

    Parameters
        number: the policy's number of the source
        host: what its politeness is shared by
        index, price: when it was chosen; NaN for a source never fetched
        options: what counts for the source
        alone: no other source shares its host
        in_full: it is to be read even if it is as it was: it may name sources that were added since
    """

    number: int
    source: Source
    progress: Progress
    host: str
    index: float
    price: float
    options: EffectiveOptions
    alone: bool = False
    in_full: bool = False

    @property
    def counts(self) -> WhatCounts:
        """What of a page is compared."""
        return WhatCounts.of(self.source.select, self.options)

    @property
    def counts_when_shown(self) -> WhatCounts:
        """The same where a browser shows the page."""
        return msgspec.structs.replace(self.counts, rendered=True)

    def hints(self, usual: HintSwitches) -> HintSwitches:
        """Which of the publisher's words count: none where the owner says so, or says when to fetch it."""
        return usual if self.options.hints and self.options.interval is None else NO_HINTS

    def crawl(self, at: float, outcome: Outcome, **more: Any) -> Crawl:
        """A line of the crawl log."""
        return Crawl(source=self.source.id, at=at, outcome=outcome, index=self.index, price=self.price, **more)

    def worth(self, times: Sequence[float], now: float, ephemeral: bool) -> float:
        """Interest captured by finding items that were published at these times: what is left when readers see it."""
        if not ephemeral:
            return self.options.importance * len(times)
        half_life_s = self.options.half_life_s
        left = sum(remaining(max(now - time, 0.0), half_life_s) for time in times)
        return self.options.importance * left * self.options.visible_share(now)

    def mean_worth(self, gap: float, now: float, ephemeral: bool) -> float:
        """Interest captured on average by finding something that came at an unknown moment of a gap that ends now."""
        if not ephemeral:
            return self.options.importance
        return self.options.importance * mean_remaining(gap, self.options.half_life_s) * self.options.visible_share(now)


class Visit(msgspec.Struct, frozen=True):
    """An intent carried out; what is found out of it makes a new one.

    Parameters
        at: when the answer was there, Unix seconds
        findings: what the document held; None if there was none, or none to read (304)
        error: why the document could not be read, in words
        keys: of the items listed, in document order (`item_key`)
        unseen: those of them nobody has seen before
        renamed: the ids of its items have proved worthless: `keys` are made of links (`reading.items`)
        diff: what changed on a page since the visit before
        kept_text: what the text kept of a page says where digests cannot be compared: it is the same, it changed; or
            where they differ: only restless text did; or nothing
        restless: what is known of the page's restless text now, as it is stored; None if nothing was learned
        met: the owner's condition that is met, as it was written; None where nothing differs or none was set
        shown: what a browser took to show it; None where none did
        shown_why: why one did
        plain_s: what its document took alone, fetched and read, in seconds
        rendering: what is known now of the page in a browser, as it is stored; None where nothing was learned
        screenshots: how its last two states looked, as it is stored; None where that is as it was
        cost: what a fetch of it costs by that; None where nothing was learned
        remark: what its owner should know of that
        numbers: the history of the page's number now, as it is stored; None where it is as it was
        taken: the address it has moved to is another source's already
        size: of the document in bytes
        mark: of a document that need not be read again while it stays the same; 0 for any other
        same: it is the one that was read last
        alone: no other large document is read until this one is stored
        item_rules: those of the owner's rules that its items were held against
    """

    intent: Intent
    at: float
    fetched: FetchResult
    findings: Findings | None = None
    error: str = ""
    keys: list[int] = []
    unseen: set[int] = set()
    renamed: bool = False
    diff: str = ""
    kept_text: Literal["", "same", "changed", "restless"] = ""
    restless: bytes | None = None
    met: str | None = None
    shown: Rendered | None = None
    shown_why: Why = "shell"
    plain_s: float = 0.0
    rendering: bytes | None = None
    screenshots: bytes | None = None
    cost: float | None = None
    remark: str = ""
    numbers: bytes | None = None
    taken: bool = False
    size: int = 0
    mark: int = 0
    same: bool = False
    alone: bool = False
    item_rules: tuple[ItemRule, ...] = ()

    def crawl(self, outcome: Outcome, **more: Any) -> Crawl:
        """Its line of the crawl log."""
        response = self.fetched.response
        status, elapsed_s = (0, 0.0) if response is None else (response.status, response.elapsed_s)
        requests = self.fetched.requests
        said = {"status": status, "requests": requests, "size": self.size, "elapsed_s": elapsed_s}
        return self.intent.crawl(self.at, outcome, **said, **more)


class VisitOutcome(VisitUpdate, kw_only=True):
    """What a visit leads to: what is stored, what the policy learns, and how long its source is left alone.

    Parameters
        kind: "items" (feeds, sitemaps), "page", "list" (nothing is said but what it names), or "failed"
        published: times of new dated items; the whole backlog on a first visit
        new: new items without a date, and those believed missed; on a first visit those of the backlog, which came at
            no known time
        changed: whether a page differed
        mentions: what it says of other sources; None for nothing, or what it said before
        hold_until: when its source may be fetched again at the earliest
        taken: if it has moved, then to an address that is another source's already
    """

    kind: Literal["items", "page", "list", "failed"]
    published: list[float] = msgspec.field(default_factory=list)
    new: int = 0
    changed: bool = False
    mentions: Mentions | None = None
    hold_until: float = 0.0
    taken: bool = False
