"""From signals in the store to what the policy learns: somebody says that a source has changed.

A signal is evidence and nothing more: what is new, a visit finds. Whom to believe, and how much less to look without
being told, the policy learns (`recrawl.learning.signals`). Signals wait in the store until the schedule that follows
from them is committed, in the same transaction. Those of sources the crawler has not heard of yet wait on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from recrawl.crawl.hold_causes import ROUTINE
from recrawl.store.records import Progress, Signal

BATCH = 1000
"""Signals learned from at a time."""


@dataclass(slots=True)
class Told:
    """What some signals say together.

    Parameters
        heard: the signals that were of use: the others are of sources unknown here
        at: when each source changed, by the policy's number; of several signals the latest counts
        by_publisher: sources of which it is the publisher's own hub that says so
    """

    heard: list[Signal] = field(default_factory=list)
    at: dict[int, float] = field(default_factory=dict)
    by_publisher: set[int] = field(default_factory=set)


def gather(signals: Iterable[Signal], numbers: Mapping[int, int], now: float) -> Told:
    """Signals put together by source; times in the future, and those that are none, are taken for now."""
    told = Told()
    for signal in signals:
        number = numbers.get(signal.source)
        if number is None:
            continue
        told.heard.append(signal)
        at = min(signal.at, now) if math.isfinite(signal.at) else now
        told.at[number] = max(at, told.at.get(number, -math.inf))
        if signal.by == "websub":
            told.by_publisher.add(number)
    return told


def outlived(told: Told, progress: Sequence[Progress], now: float) -> list[int]:
    """Sources whose publishers asked to stay away, and now say by their hubs that there is something new."""
    return [
        number
        for number, each in zip(told.at, progress, strict=True)
        if number in told.by_publisher and each.held_cause in ROUTINE and each.is_held(now)
    ]
