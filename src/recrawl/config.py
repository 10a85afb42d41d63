"""Settings: one `recrawl.toml`, read whole or refused with the line that is wrong.

Times, rates and sizes are text, as people write them (`recrawl.units`); the structs below hold what was written, and
their properties the numbers. Every setting has a default: an empty file, or none, is a valid one.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Scope = Literal["url", "host", "domain"]
ObjectiveName = Literal["ephemeral", "freshness", "discovery", "changes"]


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


class Politeness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[politeness]`: what is spared the hosts. `scope` is what one delay and one hold are shared by."""

    scope: Scope = "host"
    delay: str = "1s"
    parallel_per_host: int = 1
    min_interval: str = "30s"
    robots: bool = True
    quiet_hours: tuple[str, ...] = ()
    backoff: str = "1m"
    max_backoff: str = "1d"


class HintSwitches(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[hints]`: which of the publisher's own words count."""

    ttl: bool = True
    skip_hours: bool = True
    skip_days: bool = True
    update_period: bool = True
    cache_control: bool = True
    changefreq: bool = True
    lastmod: bool = True


class Pages(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[pages]`: what counts as a change of a page, and how much of it is kept."""

    digest: Literal["text", "raw"] = "text"
    keep_text: str = "200KB"


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[retention]`: how long what was found is kept; `size` bounds the store as a whole (empty: no bound)."""

    items: str = "180d"
    crawls: str = "30d"
    prices: str = "30d"
    versions: int = 20
    size: str = ""


class Outlets(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[outlets]`: where what is found goes. The webhook's secret is read from the environment variable named."""

    events: str = ""
    webhook: str = ""
    webhook_secret_env: str = "RECRAWL_WEBHOOK_SECRET"
    exec: str = ""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything in `recrawl.toml`.

    `half_life` and `max_age` are those of sources that were given none; `cold_start` is the share of the budget kept
    for sources never fetched while there are any.
    """

    store: str = "recrawl.db"
    budget: str = "60/min"
    burst: str = ""
    objective: ObjectiveName = "ephemeral"
    half_life: str = "12h"
    max_age: str = "30d"
    cold_start: float = 0.5
    fetch: Fetching = Fetching()
    politeness: Politeness = Politeness()
    hints: HintSwitches = HintSwitches()
    pages: Pages = Pages()
    retention: Retention = Retention()
    outlets: Outlets = Outlets()
