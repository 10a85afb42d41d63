"""The life of one crawl, by name: an `Intent` is decided, carried out into a `Visit`, and settled.

Plain records between the decider, which knows no network, and the pipeline, which knows no policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from recrawl.config import Defaults, Discovery, Effective, HintSwitches
from recrawl.crawl.causes import Causes
from recrawl.crawl.findings import Findings
from recrawl.crawl.what_counts import WhatCounts
from recrawl.store.base import Progress, Source

if TYPE_CHECKING:
    from recrawl.crawl.courier import Delivery

NO_HINTS = HintSwitches(**dict.fromkeys(HintSwitches.__struct_fields__, False))


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings that decisions rest on, in seconds.

    Parameters
        half_life_s, max_age_s: of sources that were given none
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

    half_life_s: float = 12 * 3600.0
    max_age_s: float = 30 * 86400.0
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


@dataclass(frozen=True, slots=True)
class Intent:
    """A crawl that has been decided and paid for; its source is in flight until it is settled or given back.

    Parameters
        number: the policy's number of the source
        host: what its politeness is shared by
        index, price: when it was chosen; NaN for a source never fetched
        options: what counts for the source
        alone: no other source shares its host
    """

    number: int
    source: Source
    progress: Progress
    host: str
    index: float
    price: float
    options: Effective
    alone: bool = False

    def hints(self, usual: HintSwitches) -> HintSwitches:
        """Which of the publisher's words count: none where the owner says so, or says when to fetch it."""
        return usual if self.options.hints and self.options.interval is None else NO_HINTS


@dataclass(slots=True)
class Visit:
    """An intent carried out.

    Parameters
        at: when the answer was there, Unix seconds
        findings: what the document held; None if there was none, or none to read (304)
        error: why the document could not be read, in words
        keys: of the items listed, in document order (`item_key`)
        unseen: those of them nobody has seen before
        renamed: the ids of its items have proved worthless: `keys` are made of links (`crawl.renaming`)
        counts: what of a page is compared
        diff: what changed on a page since the visit before
        kept_text: what the text kept of a page says where digests cannot be compared: it is the same, it changed; or
            nothing
        taken: the address it has moved to is another source's already
        size: of the document in bytes
        alone: no other large document is read until this one is stored
    """

    intent: Intent
    at: float
    delivery: Delivery
    findings: Findings | None = None
    error: str = ""
    keys: list[int] = field(default_factory=list)
    unseen: set[int] = field(default_factory=set)
    renamed: bool = False
    counts: WhatCounts = field(default_factory=WhatCounts)
    diff: str = ""
    kept_text: Literal["", "same", "changed"] = ""
    taken: bool = False
    size: int = 0
    alone: bool = False

    def let_go(self) -> None:
        """The document has been read: only its size is remembered."""
        response = self.delivery.response
        if response is not None and response.body:
            self.size = len(response.body)
            self.delivery = replace(self.delivery, response=replace(response, body=b""))
