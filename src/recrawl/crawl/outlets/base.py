"""The contract between what hands events on (`delivery`) and where they go.

An outlet tries once and says what happened; waiting, trying again, skipping and remembering are `delivery`'s business.

::

    NotDeliveredError        not now: the same events are tried again, for ever
    ├── RefusedError         not these: fewer are tried, then each a few times, then it is skipped with a warning
    └── OutletClosedError    never again: nobody listens; this outlet ends, the crawl goes on
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recrawl.errors import RecrawlError
from recrawl.store.records import Event

BATCH = 100
"""The most events in one delivery."""


class NotDeliveredError(RecrawlError):
    """Events did not arrive; `retry_after_s` is how long the other side asks to wait, if it does."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class RefusedError(NotDeliveredError):
    """It is these events that are not wanted; a single one is tried `tries` times in all."""

    def __init__(self, message: str, tries: int, retry_after_s: float | None = None) -> None:
        self.tries = tries
        super().__init__(message, retry_after_s)


class OutletClosedError(NotDeliveredError):
    """Nobody will ever read from this outlet again."""


class Outlet(Protocol):
    """Where events go. Used by one task at a time."""

    @property
    def name(self) -> str:
        """Names its cursor in the store: the same for the same destination in every run, without passwords.

        An address in it may hold a token: it is shown as `redaction.only_host` leaves it.
        """
        ...

    @property
    def batch(self) -> int:
        """The most events it takes at once."""
        ...

    async def deliver(self, events: Sequence[Event]) -> None:
        """Hand on all of these, in order, once; return when they have arrived, else NotDeliveredError.

        Never blocks the event loop; may be cancelled at any point, after which the same events come again.
        """
        ...

    async def close(self) -> None:
        """Give back what is held."""
        ...
