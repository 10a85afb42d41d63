"""Hosts that another crawler is responsible for: their turns are borrowed there, and given back with what they said.

Several crawlers may share the web between them. Whoever is responsible for a host keeps its turns for everybody: a
visit that a redirect leads there asks for the turn first (`Borders.enter`), the other side lends it as to a visit of
its own (`Courier.lend`), and gets it back (`Borders.leave`, `Courier.returned`) with status, Retry-After and
Crawl-delay.

Either side may die, hang or wake up late. So every loan has a name, which makes a turn that is returned twice, late or
before it was given harmless; and two limits::

    asked ──── waiting ──── lent ──────── SEND_S ────────┤ no byte of a request is written after this
                                                         └──── fetch timeout + MARGIN_S ────┤ taken back

The borrower counts the first from the moment before it asked, the lender the second from the moment it lent: however
long messages take, the request has ended when the turn is taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SEND_S = 10.0
"""How long after a turn was lent a request may still be sent."""
MARGIN_S = 5.0
"""Beyond the limits on sending and fetching, before a turn is taken back: nobody's timers are exact."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The answer to whoever asks for a host's turn. Seconds only, since clocks need not agree.

    Parameters
        refused: why there is none, in words; empty if it is given
        wait_s: after a refusal, how long until asking again makes sense; 0 if that is not known
        seconds: from the moment it was asked for, how long a request may still be sent in it
    """

    refused: str = ""
    wait_s: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a turn; nothing of it where no request was sent.

    Parameters
        status, retry_after: of the answer
        failed: why there was none, if that is the host's fault: one word
        delay_s: that the host asks for in its robots.txt
    """

    status: int | None = None
    retry_after: str | None = None
    failed: str = ""
    delay_s: float = 0.0


class Borders(Protocol):
    """Who is responsible for what, as one crawler sees it. Nothing here raises."""

    def ours(self, url: str) -> bool:
        """Whether the turns of the URL's host are this crawler's own."""
        ...

    def lasts_s(self, url: str) -> float:
        """How long they will be for certain, in seconds from now; inf for ever, 0 or less if they are not."""
        ...

    async def enter(self, url: str, loan: str, delay_s: float) -> Turn:
        """Ask whoever is responsible for the host's turn, and wait for it.

        Parameters
            loan: a name nothing else has
            delay_s: that the host asks for in its robots.txt, as far as is known
        """
        ...

    def leave(self, url: str, loan: str, said: Said) -> None:
        """Give the turn back, without waiting; also one that was asked for and whose answer never came."""
        ...


class Loans:
    """Turns that others have asked for here or have in use. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._lent: dict[str, tuple[str, asyncio.TimerHandle]] = {}

    def expect(self, loan: str) -> None:
        """Somebody waits for a turn."""
        self._waiting.add(loan)

    def expected(self, loan: str) -> bool:
        """Whether it is still waited for; it is no more from now on."""
        known = loan in self._waiting
        self._waiting.discard(loan)
        return known

    def lend(self, loan: str, url: str, seconds: float, over: Callable[[], None]) -> None:
        """The turn is given; `over` is called if it has not come back in time, when it is not on loan any more."""

        def take_back() -> None:
            del self._lent[loan]
            over()

        self._lent[loan] = (url, asyncio.get_running_loop().call_later(seconds, take_back))

    def back(self, loan: str) -> bool:
        """It is given back, or not wanted any more; whether it was on loan until now."""
        self._waiting.discard(loan)
        found = self._lent.pop(loan, None)
        if found is not None:
            found[1].cancel()
        return found is not None

    def urls(self) -> list[str]:
        """What turns on loan were asked for."""
        return [url for url, _ in self._lent.values()]

    def close(self) -> None:
        """Wait for none of them any more."""
        for loan in list(self._lent):
            self.back(loan)
