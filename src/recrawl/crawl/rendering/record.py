"""What is known of a page that a browser shows: since when and why, what it takes, and so what a fetch of it costs.

A fetch costs 1 where it is plain. One with a browser costs as many times more as it takes more time and processor time
than the plain fetch of the document in the very same visit: the price of the catalogue then decides whether it is worth
that. Smoothed over some visits.
"""

from __future__ import annotations

import math
import time
from typing import Literal

import msgspec

from recrawl.crawl.reading import shells
from recrawl.crawl.rendering.messages import Rendered

Why = Literal["shell", "asked"]
WORDS = "shown by a browser"
NEW = 0.25
"""Weight of the latest visit."""
LEAST_PLAIN_S = 0.1
"""A plain fetch counts as no shorter: on the own machine it would make any browser look dear."""
DEAREST = 100.0
TELLING = 1.2
"""The cost is written into the catalogue when it has changed by this factor."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of one page. Times and processor time in seconds of one visit, smoothed.

    Parameters
        since: when a browser first showed it, Unix seconds; 0 if it does not any more
        why: it is empty without scripts, or its owner wants it so
        cost: what the catalogue was told last; 0 if that is its owner's word
        requests, refused, received, memory: of the last visit
    """

    since: float = 0.0
    why: Why = "shell"
    seconds: float = 0.0
    cpu_s: float = 0.0
    plain_s: float = 0.0
    cost: float = 0.0
    requests: int = 0
    refused: int = 0
    refusals: tuple[str, ...] = ()
    received: int = 0
    memory: int = 0

    @property
    def measured_cost(self) -> float:
        """How many plain fetches one visit is worth."""
        return min(max((self.seconds + self.cpu_s) / max(self.plain_s, LEAST_PLAIN_S), 1.0), DEAREST)

    @property
    def note(self) -> str:
        """For the catalogue; empty if no browser shows it."""
        if not self.since:
            return ""
        why = f"{shells.WORDS}: " if self.why == "shell" else ""
        return f"{why}{WORDS} since {time.strftime('%Y-%m-%d', time.gmtime(self.since))}"

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        asked = f"{self.requests} request{'' if self.requests == 1 else 's'} of its own"
        if self.refused:
            first = f", among them: {self.refusals[0]}" if self.refusals else ""
            asked += f" ({self.refused} refused{first})"
        measured = (
            f"{self.seconds:.1f} s and {self.cpu_s:.1f} s of processor time, where its plain document takes"
            f" {self.plain_s:.2f} s; {asked}, {self.received / 1000:,.1f} kB, {self.memory / 1e6:,.0f} MB of memory"
        )
        note = self.note
        cost = f" So a fetch of it costs as much as {self.cost:.3g} plain ones." if self.cost else ""
        return f"{note[:1].upper()}{note[1:]}. A visit takes {measured}.{cost}"

    def followed_by(self, shown: Rendered, at: float, plain_s: float, why: Why) -> Record:
        """With another visit."""
        weight = NEW if self.since else 1.0
        return Record(
            since=self.since if self.since and self.why == why else at,
            why=why,
            seconds=_smoothed(self.seconds, shown.seconds, weight),
            cpu_s=_smoothed(self.cpu_s, shown.cpu_s, weight),
            plain_s=_smoothed(self.plain_s, plain_s, weight),
            cost=self.cost,
            requests=shown.requests,
            refused=shown.refused,
            refusals=shown.refusals,
            received=shown.received,
            memory=shown.memory,
        )

    def charged(self, cost: float) -> tuple[Record, float]:
        """The record and the cost that the catalogue is to have, where it has `cost` now: the owner's word stands."""
        if cost != 1.0 and not math.isclose(cost, self.cost):
            return msgspec.structs.replace(self, cost=0.0), cost
        measured = round(self.measured_cost, 1) if self.since else 1.0
        if self.since and max(measured, cost) < TELLING * min(measured, cost):
            measured = cost
        return msgspec.structs.replace(self, cost=measured), measured


NOT_SHOWN = Record()
_DECODER: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)


def packed(record: Record) -> bytes:
    """As it is stored."""
    return msgspec.msgpack.encode(record)


def unpacked(stored: bytes | None) -> Record:
    """What is stored; nothing is known of a page without."""
    return _DECODER.decode(stored) if stored else NOT_SHOWN


def _smoothed(before: float, now: float, weight: float) -> float:
    return before + weight * (now - before)
