"""Looks for something again and again, whatever becomes of the store meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from recrawl.clock import Clock
from recrawl.errors import StoreError, StoreTakenError


async def keep_looking(clock: Clock, every_s: float, look: Callable[[], Awaitable[object]], trouble: str) -> None:
    """Until it is cancelled.

    What the store cannot do now is said in the words of `trouble`, and tried the next time. A store that another
    program has taken ends it.
    """
    log = structlog.get_logger("recrawl")
    while True:
        await clock.sleep(every_s)
        try:
            await look()
        except StoreTakenError:
            raise
        except StoreError as error:
            log.warning(trouble, reason=str(error))
