"""The settings a store's ranking was made with, kept beside it for whoever looks on.

`explain`, `whatif` and the web page run in other processes than the crawler, and those of a `Scheduler` know nothing of
its options. What they show is computed with the settings of whoever crawls, or crawled last; where nobody ever did,
with their own.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Protocol

import msgspec

from recrawl.config import Config
from recrawl.config.loading import replaced
from recrawl.errors import RecrawlError

NOTE = "crawler/settings"
NAMES = (
    "policy", "objective", "half_life", "max_age", "cold_start", "politeness.scope", "politeness.min_interval",
    "tags",
)  # fmt: skip
"""What decides where a source stands in the ranking."""


class Notes(Protocol):
    """What is asked of a store."""

    def note(self, name: str) -> bytes | None:
        """What is kept under a name."""
        ...

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something under a name."""
        ...


def leave_settings(store: Notes, config: Config) -> None:
    """Say with which settings sources are ranked from now on."""
    said = msgspec.json.encode({name: reduce(getattr, name.split("."), config) for name in NAMES})
    if store.note(NOTE) != said:
        store.write_note(NOTE, said)


def in_force(store: Notes, config: Config) -> Config:
    """The settings with which the sources of a store are ranked; what another version wrote is left out."""
    said = store.note(NOTE)
    if said is None:
        return config
    try:
        told: dict[str, Any] = msgspec.json.decode(said, type=dict[str, Any])
        return replaced(config, {name: told[name] for name in NAMES if name in told})
    except (msgspec.MsgspecError, RecrawlError):
        return config
