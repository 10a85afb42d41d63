"""The seam where the network plugs in: one request, one answer, no redirects, no politeness, no retries.

::

    TransportError           no usable answer; `reason` is a `Reason`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from recrawl.crawl.freight import Load
from recrawl.errors import RecrawlError

Reason = Literal["address", "dns", "connect", "tls", "timeout", "reset", "too large", "protocol", "scheme", "permit"]
UNSENT: tuple[Reason, ...] = ("address", "scheme", "permit")
"""Why nothing at all was sent."""


class TransportError(RecrawlError):
    """A request without a usable answer: why, in one word for counting and in a sentence for people."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Request:
    """One GET.

    Parameters
        url: http or https, absolute
        headers: beyond what every request carries (User-Agent, Accept, Accept-Encoding); never logged
        max_bytes: of the body, before and after decompression
        cut: a longer body is cut there instead of being refused
        load: where room for a large body is asked for; None for no bound but `max_bytes`
        lent_until: when the turn that another crawler lent for this ends, in seconds of the clock; None if it is sent
            by leave of our own (the transport's permit)
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    max_bytes: int = 10_000_000
    cut: bool = False
    load: Load | None = None
    lent_until: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One answer, its body decompressed.

    Parameters
        headers: names in lower case
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed_s: float = 0.0


class Transport(Protocol):
    """What fetches. Implementations: aiohttp (`crawl.http`), and whatever a test makes up."""

    async def fetch(self, request: Request) -> Response:
        """Send it; the answer whatever its status, or TransportError. Always ends within the configured timeout."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
