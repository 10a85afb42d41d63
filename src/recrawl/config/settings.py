"""What can be set: one struct per table of `recrawl.toml`.

Times, rates and sizes are text, as people write them (`recrawl.units`); the structs hold what was written, and their
properties the numbers, in seconds, bytes and requests per second. Every setting has a default.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from recrawl.config.live_policies import LEARNED
from recrawl.config.notification_settings import Notification
from recrawl.config.quiet_hours import QuietHours
from recrawl.config.source_options import Render, TagSettings
from recrawl.units import parse_duration, parse_rate, parse_size

Scope = Literal["url", "host", "domain"]
ObjectiveName = Literal["ephemeral", "freshness", "discovery", "changes"]
HALF_LIFE, MAX_AGE = "12h", "30d"
HALF_LIFE_S, MAX_AGE_S = parse_duration("half_life", HALF_LIFE), parse_duration("max_age", MAX_AGE)
"""What counts where nobody says anything else."""


def usual_burst(per_second: float) -> float:
    """How many requests may be saved up where nobody says: what one second brings, and at least 1."""
    return max(1.0, per_second)


class Fetching(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[fetch]`: how requests are made.

    `contact` (a URL or mail address) goes into the User-Agent, so that site owners can write to you.
    """

    user_agent: str = "recrawl"
    contact: str = ""
    timeout: str = "30s"
    idle_timeout: str = "10s"
    max_size: str = "10MB"
    max_redirects: int = 5
    parallel: int = 64
    proxy: str = ""
    verify_tls: bool = True
    allow_private: bool = False

    @property
    def timeout_s(self) -> float:
        """Of a whole request, in seconds."""
        return parse_duration("fetch.timeout", self.timeout)

    @property
    def idle_timeout_s(self) -> float:
        """Of one wait for the next bytes, in seconds."""
        return parse_duration("fetch.idle_timeout", self.idle_timeout)

    @property
    def max_size_bytes(self) -> int:
        """Of a document, before and after decompression."""
        return parse_size("fetch.max_size", self.max_size)


class Politeness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[politeness]`: how hosts are treated. All URLs of one `scope` share one delay and one hold."""

    scope: Scope = "host"
    delay: str = "1s"
    parallel_per_host: int = 1
    min_interval: str = "30s"
    robots: bool = True
    quiet_hours: tuple[str, ...] = ()
    backoff: str = "1m"
    max_backoff: str = "1d"

    @property
    def delay_s(self) -> float:
        """Least time between two requests to one scope, in seconds."""
        return parse_duration("politeness.delay", self.delay)

    @property
    def min_interval_s(self) -> float:
        """Least time between two fetches of one source, in seconds."""
        return parse_duration("politeness.min_interval", self.min_interval)

    @property
    def backoff_s(self) -> float:
        """Hold after a first failure, in seconds; it doubles with each further one."""
        return parse_duration("politeness.backoff", self.backoff)

    @property
    def max_backoff_s(self) -> float:
        """Longest hold after failures, in seconds."""
        return parse_duration("politeness.max_backoff", self.max_backoff)

    @property
    def quiet(self) -> tuple[QuietHours, ...]:
        """The quiet hours, read."""
        return tuple(QuietHours.parse("politeness.quiet_hours", text) for text in self.quiet_hours)


class HintSwitches(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[hints]`: which publishers' hints count."""

    ttl: bool = True
    skip_hours: bool = True
    skip_days: bool = True
    update_period: bool = True
    cache_control: bool = True
    changefreq: bool = True
    lastmod: bool = True


class Discovery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[discovery]`: how many sources may be found (sitemaps of an index, pages of a followed list) beside yours.

    The largest sites have some thousand sitemaps; a hundred thousand sources take about half a gigabyte of memory and
    at the default budget more than a day to be looked at once.
    """

    per_site: int = 10_000
    in_all: int = 100_000


class Pages(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[pages]`: what counts as a change of a page, and how much of it is kept."""

    digest: Literal["text", "raw"] = "text"
    render: Render = "auto"
    keep_text: str = "200KB"
    content: bool = False

    @property
    def keep_text_bytes(self) -> int:
        """Of a page's text."""
        return parse_size("pages.keep_text", self.keep_text)


class Browsing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[browser]`: how pages are shown that need scripts, and what one of them may take."""

    path: str = ""
    sandbox: bool = True
    timeout: str = "20s"
    memory: str = "1500MB"
    pages: int = 1
    requests: int = 300
    size: str = "20MB"
    screenshots: bool = True

    @property
    def timeout_s(self) -> float:
        """Of one page, in seconds."""
        return parse_duration("browser.timeout", self.timeout)

    @property
    def memory_bytes(self) -> int:
        """Of the browser with all its processes."""
        return parse_size("browser.memory", self.memory)

    @property
    def size_bytes(self) -> int:
        """Of what may come in for one page."""
        return parse_size("browser.size", self.size)


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[retention]`: how long what was found is kept; `size` bounds the store as a whole (empty: no bound)."""

    items: str = "180d"
    crawls: str = "30d"
    prices: str = "30d"
    versions: int = 20
    content: str = "500MB"
    size: str = ""

    @property
    def items_s(self) -> float:
        """How long items are kept, in seconds."""
        return parse_duration("retention.items", self.items)

    @property
    def crawls_s(self) -> float:
        """How long the crawl log is kept, in seconds."""
        return parse_duration("retention.crawls", self.crawls)

    @property
    def prices_s(self) -> float:
        """How long the price history is kept, in seconds."""
        return parse_duration("retention.prices", self.prices)

    @property
    def content_bytes(self) -> int:
        """Of what items say in full."""
        return parse_size("retention.content", self.content)

    @property
    def size_bytes(self) -> int:
        """Of the whole store; 0 for no bound."""
        return parse_size("retention.size", self.size) if self.size else 0


class Outlets(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[outlets]`: where items and changes are sent. The named environment variable has the secret of the webhook."""

    events: str = ""
    webhook: str = ""
    webhook_secret_env: str = "RECRAWL_WEBHOOK_SECRET"
    exec: str = ""


class Web(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[web]`: who is believed and how much is borne by `recrawl serve` and `recrawl run --serve`."""

    trusted_proxies: tuple[str, ...] = ()
    secure_cookies: bool = False
    connections: int = 400
    connections_per_address: int = 100
    search_teaches: bool = True


class Push(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[push]`: who may tell that something has changed. Hubs are asked to where a `callback` is given."""

    enabled: bool = True
    callback: str = ""
    lease: str = "10d"
    indexnow: bool = False

    @property
    def lease_s(self) -> float:
        """For how long hubs are asked to tell, in seconds."""
        return parse_duration("push.lease", self.lease)

    @property
    def subscribes(self) -> bool:
        """Whether hubs are asked at all."""
        return self.enabled and bool(self.callback)

    @property
    def takes_pings(self) -> bool:
        """Whether pings of IndexNow are taken."""
        return self.enabled and self.indexnow


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything in `recrawl.toml`.

    `half_life` and `max_age` are those of sources that were given none; `cold_start` is the share of the budget kept
    for sources never fetched while there are any, 0 for what suits the objective. `policy` may have options:
    `miniflux:filled`.
    """

    store: str = "recrawl.db"
    budget: str = "60/min"
    burst: str = ""
    policy: str = LEARNED
    objective: ObjectiveName = "ephemeral"
    half_life: str = HALF_LIFE
    max_age: str = MAX_AGE
    index_delay: str = "0s"
    index_batch: str = "0s"
    cold_start: float = 0.0
    fetch: Fetching = Fetching()
    politeness: Politeness = Politeness()
    hints: HintSwitches = HintSwitches()
    discovery: Discovery = Discovery()
    pages: Pages = Pages()
    browser: Browsing = Browsing()
    retention: Retention = Retention()
    outlets: Outlets = Outlets()
    web: Web = Web()
    push: Push = Push()
    notify: dict[str, Notification] = {}
    tags: dict[str, TagSettings] = {}

    @property
    def newcomers_share(self) -> float:
        """Of the budget, for sources never fetched: under freshness all, for a page never copied is stale; or half."""
        return self.cold_start or (1.0 if self.objective == "freshness" else 0.5)

    @property
    def budget_per_s(self) -> float:
        """Requests per second."""
        return parse_rate("budget", self.budget)

    @property
    def burst_requests(self) -> float:
        """How many requests may be saved up."""
        return self.burst_at(self.budget_per_s)

    def burst_at(self, per_second: float) -> float:
        """The same at another budget."""
        return float(self.burst) if self.burst else usual_burst(per_second)

    @property
    def half_life_s(self) -> float:
        """Of an item's interest, in seconds."""
        return parse_duration("half_life", self.half_life)

    @property
    def max_age_s(self) -> float:
        """A source is looked at again after so many seconds whatever it is worth."""
        return parse_duration("max_age", self.max_age)

    @property
    def index_delay_s(self) -> float:
        """How long what is found takes to become visible, in seconds."""
        return parse_duration("index_delay", self.index_delay)

    @property
    def index_batch_s(self) -> float:
        """How often what is found becomes visible, in seconds; 0 for at any time."""
        return parse_duration("index_batch", self.index_batch)
