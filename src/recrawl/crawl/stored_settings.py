"""The settings a store is crawled with, kept in it for other processes to read.

`explain`, `status`, `whatif` and the web page run in other processes than the crawler, and those of a `Scheduler` know
nothing of its options. What they show is computed with the settings of the crawler that runs, or ran last; if none ever
did, with their own.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import msgspec

from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.errors import RecrawlError
from recrawl.store.roles import Notes

NOTE = "crawler/settings"
BUDGET = "crawler/budget"
"""What was asked for while a run went on (`live_budget`)."""
NAMES = (
    "budget", "policy", "objective", "half_life", "max_age", "index_delay", "index_batch", "cold_start",
    "politeness.scope", "politeness.delay",
    "politeness.min_interval", "politeness.parallel_per_host", "politeness.quiet_hours", "discovery.per_site",
    "discovery.in_all", "pages.content", "tags",
)  # fmt: skip
"""Whatever decides when a source is fetched, or is shown as if it did."""


def leave_settings(store: Notes, config: Config) -> None:
    """Say with which settings sources are crawled from now on."""
    said = msgspec.json.encode({name: reduce(getattr, name.split("."), config) for name in NAMES})
    if store.note(NOTE) != said:
        store.write_note(NOTE, said)
    if store.note(BUDGET) is not None:
        store.write_note(BUDGET, None)  # asked for of another run


def in_force(store: Notes, config: Config) -> Config:
    """The settings with which a store is crawled; what another version wrote is left out."""
    try:
        return replaced(config, _told(store))
    except (msgspec.MsgspecError, RecrawlError):
        return config


def budget_told(store: Notes) -> bool:
    """Whether whoever crawled last said with what budget; earlier versions did not."""
    try:
        return "budget" in _told(store)
    except msgspec.MsgspecError:
        return False


def _told(store: Notes) -> dict[str, Any]:
    said = store.note(NOTE)
    told: dict[str, Any] = {} if said is None else msgspec.json.decode(said, type=dict[str, Any])
    return {name: told[name] for name in NAMES if name in told}
