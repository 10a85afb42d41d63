"""Why sources and hosts are held, in a word for programs, and what of the settings that rests on.

A hold keeps, beside its cause, a fingerprint of the settings that had a part in it and of what was asked for. A crawler
that begins (or a source that is edited) under other settings finds another fingerprint, and the hold is dropped:
whoever allows private addresses, or leaves robots.txt aside, does not wait for what was refused before. Fingerprints
are short: nothing can be read from them, and some settings are secrets.

What a host asked for (Retry-After) rests on no setting, and stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from recrawl.config import Config
from recrawl.config.settings import HintSwitches
from recrawl.store.records import Source
from recrawl.store.source_terms import EffectiveOptions

PUBLISHER, SERVER = "publisher", "server"
RETRY_AFTER, TOO_MANY, FAILING = "retry after", "too many requests", "failing"
STATUS, UNREADABLE, CRAWL_DELAY, BUSY = "status", "unreadable", "crawl delay", "busy"
HOST, INTERVAL = "host", "interval"
ROUTINE = (PUBLISHER, SERVER)
"""Nothing is wrong with what is held by these."""
_HINTS = tuple(f"hints.{name}" for name in HintSwitches.__struct_fields__)

RESTS_ON: Mapping[str, tuple[str, ...]] = {
    "address": ("fetch.allow_private", "fetch.proxy"),
    "robots": ("fetch.user_agent",),
    "dns": ("fetch.proxy",),
    "connect": ("fetch.proxy", "fetch.timeout", "fetch.idle_timeout"),
    "tls": ("fetch.proxy", "fetch.verify_tls"),
    "timeout": ("fetch.proxy", "fetch.timeout", "fetch.idle_timeout"),
    "reset": ("fetch.proxy",),
    "too large": ("fetch.max_size",),
    "redirects": ("fetch.max_redirects",),
    STATUS: ("fetch.proxy", "fetch.user_agent", "fetch.contact"),
    CRAWL_DELAY: ("politeness.robots",),
    PUBLISHER: _HINTS,
    SERVER: _HINTS,
}
"""By cause, the settings without which it might not have come to it."""


class Wait(NamedTuple):
    """Why a source may not be fetched now: in a word, in words, and until when, Unix seconds."""

    cause: str
    words: str
    until: float


@dataclass(frozen=True, slots=True)
class Causes:
    """What holds rest on under some settings; without any, all of them stand."""

    _stamps: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config) -> Causes:
        """Under these settings."""
        return cls({cause: _stamp([_setting(config, name) for name in names]) for cause, names in RESTS_ON.items()})

    def of_host(self, cause: str) -> str:
        """What a hold of a host rests on; empty for no setting."""
        return self._stamps.get(cause, "")

    def of_source(self, cause: str, source: Source, options: EffectiveOptions) -> str:
        """What a hold of a source rests on: the settings, its own options, and what is asked for."""
        if not self._stamps or not cause:
            return ""
        asked: list[object] = [] if cause in ROUTINE else [source.url, source.headers]
        if cause == UNREADABLE:
            asked += [source.kind, source.select]
        return _stamp([self._stamps.get(cause, ""), _option(cause, options), *asked])

    def host_stands(self, cause: str, under: str) -> bool:
        """Whether a hold of a host has what it rested on."""
        return not under or not self._stamps or under == self.of_host(cause)

    def source_stands(self, cause: str, under: str, source: Source, options: EffectiveOptions) -> bool:
        """Whether a hold of a source has what it rested on."""
        return not under or not self._stamps or under == self.of_source(cause, source, options)


def _option(cause: str, options: EffectiveOptions) -> bool | None:
    """The same of what may be said of single sources; whoever says when to fetch one heeds no publisher.

    A source that waits for its host may do so for a delay that robots.txt asks for.
    """
    if cause in ROUTINE:
        return options.hints and options.interval is None
    return options.robots if cause in ("robots", BUSY) else None


def _setting(config: Config, name: str) -> object:
    return reduce(getattr, name.split("."), config)


def _stamp(values: list[object]) -> str:
    return blake2b(msgspec.json.encode(values), digest_size=4).hexdigest()
