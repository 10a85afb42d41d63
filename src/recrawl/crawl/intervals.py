"""How the pipeline paces itself."""

from __future__ import annotations

from dataclasses import dataclass

from recrawl.config import QuietHours


@dataclass(frozen=True, slots=True)
class Intervals:
    """In seconds, but for the first.

    Parameters
        parallel: visits under way at once
        batch_s: how long finished visits are collected before they are committed together
        watch_s: time between looks at the catalogue for edits by others
        price_s: time between two lines of the price history
        record_s: time between two writes of the learner's shared record
        listen_s: time between looks for what readers clicked, and for what is said to have changed
        tidy_s: time between two sweeps of what is past its time
        quiet_hours: when nothing is fetched
    """

    parallel: int = 64
    batch_s: float = 0.02
    watch_s: float = 1.0
    price_s: float = 10.0
    record_s: float = 60.0
    listen_s: float = 1.0
    tidy_s: float = 86400.0
    quiet_hours: tuple[QuietHours, ...] = ()
