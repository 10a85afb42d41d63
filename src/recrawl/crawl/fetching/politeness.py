"""Politeness: when each host may be visited again. Pure: whoever asks says what time it is.

Every host (or URL, or registrable domain: the scope) has a slot: so many requests at a time, a delay from the end of
one to the start of the next (from start to start where several may run at a time), and a hold for as long as it asked
to be left alone or seems to be down.

- Retry-After of a 429 or 503, or what amounts to one (`retry_after`), is kept to, up to a week, and that of a 403 too.
- After a 429 without one (or with nonsense) the hold doubles from `backoff` to `max_backoff` with every refusal in a
  row, lengthened by up to half at random: hosts shall not return in step.
- A host that cannot be reached is held likewise from the second failure on: one lost packet is nobody's fault.
- An URL that fails (5xx, no answer in time, a broken one) says nothing of its host: it alone backs off (`outcome_of`).
  Once `SEVERAL` different ones have failed, and for each further one, the host is held likewise. One that has failed
  before does not count again, or those that fail would keep all others from being asked.
- An answer of any other kind ends both counts.
- After a restart every host counts as just visited: it is free one delay after the start. So does a host that comes
  from somebody else, at that moment; if it turns out to ask for a longer delay, that counts from then too. A delay of
  `LONG_DELAY_S` or more is stored as a hold, which says better when it is over than a start does: whoever is started
  every hour would never fetch anything from a host that asks for an hour.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any
from urllib.parse import urlsplit

from recrawl import units
from recrawl.config import Politeness
from recrawl.crawl import hold_causes
from recrawl.crawl.fetching import address_guard
from recrawl.crawl.fetching.retry_after import MAX_RETRY_AFTER_S, hold_asked_for
from recrawl.crawl.hold_causes import Causes
from recrawl.store.records import Hold

MAX_CRAWL_DELAY_S = 3600.0
"""The longest delay a host may ask for between two requests."""
SEVERAL = 3
"""So many different URLs that fail, with no good answer between, are their host's failure."""
LONG_DELAY_S = 60.0
"""From here on a delay a host asks for is told as a hold, for whoever looks on and for the next start."""
_FEWEST = 1024
"""Slots are swept when there are this many, and twice as many as the last sweep left."""


@dataclass(slots=True)
class _Slot:
    """One host. Times in Unix seconds.

    Parameters
        last: when the last request ended (or started, where several may run at a time); -inf where it does not matter
        delay_s: from there to the next one
        flying: requests under way
        until, reason, cause: a hold, why in words and in one (`hold_causes`)
        failures: of the host, in a row
        failing: the URLs that failed since the last good answer
        handed_over: when somebody else had it until, if nothing has been sent to it since; -inf otherwise
        assumed: nothing is known of `last`; it is when the program started
    """

    last: float
    delay_s: float
    flying: int = 0
    until: float = 0.0
    reason: str = ""
    cause: str = ""
    failures: int = 0
    failing: set[str] = field(default_factory=set)
    handed_over: float = -math.inf
    assumed: bool = True

    @property
    def free(self) -> float:
        return max(self.last + self.delay_s, self.until)


class HostSlots:
    """Of all hosts; those idle, unheld and without failures are forgotten.

    Parameters
        politeness: the settings
        now: when the program started
        causes: what holds rest on, under the settings
    """

    def __init__(self, politeness: Politeness, now: float, random: Random, causes: Causes | None = None) -> None:
        self.scope = politeness.scope
        """What shares a slot."""
        self.delay_s = politeness.delay_s
        """Between two requests to a host that does not ask for more."""
        self._backoff_s = politeness.backoff_s
        self._max_backoff_s = politeness.max_backoff_s
        self._parallel = politeness.parallel_per_host
        self._started = now
        self._random = random
        self._causes = causes or Causes()
        self._slots: dict[str, _Slot] = {}
        self._sweep_at = _FEWEST
        self._held: set[str] = set()

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._slots)

    def key_of(self, url: str) -> str:
        """What shares the delay and the holds of an URL: itself, its host with the port, or its registrable domain."""
        if self.scope == "url":
            return url
        netloc = authority_of(url)
        return netloc if self.scope == "host" else domain_of(netloc)

    # -- turns

    def free_at(self, key: str) -> float:
        """When the next request may start; inf while as many as may be are under way."""
        slot = self._slots.get(key)
        if slot is None:
            return self._started + self.delay_s
        return slot.free if slot.flying < self._parallel else math.inf

    def heard_of(self) -> list[str]:
        """Those that anything is remembered of; to all others the same applies."""
        return list(self._slots)

    def in_use(self) -> list[str]:
        """Those with a request under way."""
        return [key for key, slot in self._slots.items() if slot.flying]

    def asks(self, key: str, delay_s: float, now: float) -> None:
        """The host asks for this delay itself (crawl-delay); it counts from its last visit, or from the start."""
        if delay_s > self.delay_s and (key in self._slots or self._started + delay_s > now):
            slot = self._slot(key, now)
            slot.delay_s = delay_s
            if slot.assumed and delay_s >= LONG_DELAY_S:
                slot.last, slot.assumed = -math.inf, False
            self._tell_long_delay(key, slot)

    def visited(self, key: str, now: float) -> None:
        """Somebody else may have asked it, up to this moment."""
        slot = self._slot(key, now)
        slot.last = slot.handed_over = max(slot.last, now)
        slot.assumed = False

    def take(self, key: str, now: float) -> None:
        """A request starts."""
        slot = self._slot(key, now)
        slot.flying += 1
        slot.last, slot.handed_over, slot.assumed = now, -math.inf, False

    def done(self, key: str, now: float, delay_s: float | None = None) -> None:
        """It has ended; the next may start a delay later, or after `delay_s` if the host asks for more."""
        slot = self._slot(key, now)
        slot.flying = max(slot.flying - 1, 0)
        slot.delay_s = max(slot.delay_s, delay_s or 0.0)
        if self._parallel == 1:
            slot.last = now
        self._tell_long_delay(key, slot)

    # -- what hosts say

    def answered(self, key: str, status: int, retry_after: str | None, now: float, url: str = "") -> None:
        """Heed the status of an answer to an URL; a 403 too, if it asks for time."""
        if (asked := hold_asked_for(status, retry_after, now)) is not None:
            self._failed(key, now)
            self.hold(key, now + asked[0], asked[1], hold_causes.RETRY_AFTER)
        elif status == 429:
            slot = self._failed(key, now)
            words = f"status {status}, {slot.failures} in a row"
            self.hold(key, now + self._backoff(slot.failures), words, hold_causes.TOO_MANY)
        elif status >= 500:
            self.faltered(key, f"status {status}", now, url)
        else:
            self._recovered(key)

    def faltered(self, key: str, reason: str, now: float, url: str = "") -> None:
        """The host is there, but an URL brought nothing usable."""
        failing = self._slot(key, now).failing
        if url in failing:
            return
        failing.add(url)
        if len(failing) >= SEVERAL:
            slot = self._failed(key, now)
            words = f"{reason}, {len(failing)} different URLs in a row"
            self.hold(key, now + self._backoff(slot.failures), words, hold_causes.FAILING)

    def failed(self, key: str, reason: str, now: float) -> None:
        """Nobody was there."""
        slot = self._failed(key, now)
        if slot.failures >= 2:
            self.hold(key, now + self._backoff(slot.failures - 1), f"{reason}, {slot.failures} in a row", reason)

    def hold(self, key: str, until: float, reason: str, cause: str = "") -> None:
        """Leave it alone until then, or for as long as it is held already."""
        slot = self._slot(key, self._started)
        if until > slot.until:
            slot.until, slot.reason, slot.cause = until, reason, cause
        self._held.add(key)

    def lift(self, key: str) -> bool:
        """Its hold is over, and its failures are forgotten; whether there was any of it."""
        slot = self._slots.get(key)
        if slot is None or not (slot.until or slot.failures or slot.failing):
            return False
        if slot.cause == hold_causes.CRAWL_DELAY:
            slot.last, slot.assumed = -math.inf, False
        slot.until, slot.reason, slot.cause, slot.failures = 0.0, "", "", 0
        slot.failing.clear()
        self._held.add(key)
        return True

    def held(self, key: str, now: float) -> tuple[float, str]:
        """Until when it is held and why; (0, "") if it is not."""
        slot = self._slots.get(key)
        return (slot.until, slot.reason) if slot is not None and slot.until > now else (0.0, "")

    def waits_for(self, key: str, now: float) -> str:
        """What keeps the next request to it waiting, in words."""
        slot, (until, reason) = self._slots.get(key), self.held(key, now)
        if until:
            return reason
        if slot is not None and slot.flying >= self._parallel:
            return "another request to its host is under way"
        return self._delay_in_words(slot)

    def _tell_long_delay(self, key: str, slot: _Slot) -> None:
        if slot.delay_s >= LONG_DELAY_S and slot.delay_s > self.delay_s:
            self.hold(key, slot.last + slot.delay_s, self._delay_in_words(slot), hold_causes.CRAWL_DELAY)

    def _delay_in_words(self, slot: _Slot | None) -> str:
        """By the name it has in robots.txt, or in the settings."""
        if slot is not None and slot.delay_s > self.delay_s:
            return f"Crawl-delay {slot.delay_s:g} s"
        return f"politeness.delay {units.show_duration(self.delay_s)}"

    def drain_holds(self) -> list[Hold]:
        """Those that changed since the last call, to be stored."""
        changed, self._held = self._held, set()
        slots = [(key, self._slots[key]) for key in changed if key in self._slots]
        return [
            Hold(
                host=key,
                until=slot.until,
                reason=slot.reason,
                failures=slot.failures,
                cause=slot.cause,
                under=self._causes.of_host(slot.cause),
            )
            for key, slot in slots
        ]

    def restore(self, holds: Iterable[Hold], now: float | None = None) -> None:
        """Keep to stored holds that are longer than those known here, unless the settings they rest on have changed.

        One that a clock that was ahead wrote lasts no longer than any may, from now or from the start on.
        """
        now = self._started if now is None else now
        latest = now + max(MAX_RETRY_AFTER_S, self._max_backoff_s, self._backoff_s)
        for hold in holds:
            slot = self._slot(hold.host, now)
            if not self._causes.host_stands(hold.cause, hold.under):
                self._held.add(hold.host)  # so that the store forgets it too
            elif hold.until > slot.until:
                slot.until, slot.reason, slot.cause = min(hold.until, latest), hold.reason, hold.cause
                slot.failures = hold.failures

    # -- bookkeeping

    def _slot(self, key: str, now: float) -> _Slot:
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= self._sweep_at:
                self._sweep(now)
            slot = self._slots[key] = _Slot(self._started, self.delay_s)
        return slot

    def _sweep(self, now: float) -> None:
        """Forget those that would be treated the same if they had never been heard of."""
        patience = self._max_backoff_s
        self._slots = {
            key: slot
            for key, slot in self._slots.items()
            if slot.flying
            or slot.free + (patience if slot.failures or slot.failing else 0.0) > now
            or slot.handed_over + MAX_CRAWL_DELAY_S > now
            or key in self._held
        }
        self._sweep_at = max(_FEWEST, 2 * len(self._slots))

    def _failed(self, key: str, now: float) -> _Slot:
        slot = self._slot(key, now)
        slot.failures += 1
        return slot

    def _recovered(self, key: str) -> None:
        slot = self._slots.get(key)
        if slot is None:
            return
        slot.failing.clear()
        if slot.failures:
            slot.failures = 0
            self._held.add(key)

    def _backoff(self, failures: int) -> float:
        doubled = self._backoff_s * 2.0 ** min(failures - 1, 40)
        return min(doubled * (1.0 + 0.5 * self._random.random()), max(self._max_backoff_s, self._backoff_s))


def authority_of(url: str) -> str:
    """Host and port in lower case, the port left out where it is the scheme's own; never the userinfo."""
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2].lower()
    own = ":443" if scheme.lower() == "https" else ":80"
    return authority.removesuffix(own).rstrip(".")


def site_of(url: str) -> str:
    """What the owner of an URL registered.

    >>> site_of("https://www.example.co.uk/sitemap.xml")
    'example.co.uk'
    """
    return domain_of(authority_of(url))


@lru_cache(maxsize=65_536)
def domain_of(authority: str) -> str:
    """What its owner registered; addresses, local names and what is no name at all as they are.

    >>> domain_of("www.example.co.uk:8080"), domain_of("[nowhere")
    ('example.co.uk', '[nowhere')
    """
    try:
        host = urlsplit(f"//{authority}").hostname or authority
    except ValueError:
        return authority
    if address_guard.is_localhost(host) or address_guard.literal(host) is not None:
        return authority
    return str(_suffixes().privatesuffix(host) or host)


@lru_cache(maxsize=1)
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
