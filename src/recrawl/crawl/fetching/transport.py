"""The seam where the network plugs in: one request, one answer, no redirects, no politeness, no retries.

::

    TransportError           no usable answer; `reason` is a `Reason`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.crawl.fetching.answer_limits import MemoryShare

Reason = Literal["address", "dns", "connect", "tls", "timeout", "reset", "too large", "protocol", "scheme", "permit"]
UNSENT: tuple[Reason, ...] = ("address", "scheme", "permit")
"""Why nothing at all was sent."""
UNREACHABLE: tuple[Reason, ...] = ("connect", "dns")
"""Failures that are the host's rather than one document's."""
FALTERING: tuple[Reason, ...] = ("timeout", "reset", "tls")
"""Failures that are the host's if several documents meet with them."""
LONGEST_VALIDATOR = 1024


class TransportError(RecrawlError):
    """A request without a usable answer: why, in one word for counting and in a sentence for people."""

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class Request(msgspec.Struct, frozen=True):
    """One GET or, with a form, one POST.

    Parameters
        url: http or https, absolute
        headers: beyond what every request carries (User-Agent, Accept, Accept-Encoding); never logged
        max_bytes: of the body, before and after decompression
        cut: a longer body is cut there instead of being refused
        memory: where memory for a large body is asked for; None for no bound but `max_bytes`
        lent_until: when the turn that another crawler lent for this ends, in seconds of the clock; None if it is sent
            in a turn of our own (by the transport's permit)
        form: fields to POST, as in a query; None for a GET
    """

    url: str
    headers: Mapping[str, str] = {}
    max_bytes: int = 10_000_000
    cut: bool = False
    memory: MemoryShare | None = None
    lent_until: float | None = None
    form: bytes | None = None


class Response(msgspec.Struct, frozen=True):
    """One answer, its body decompressed.

    Parameters
        headers: names in lower case
        cookies: that it sets, as it says them; for a browser that shows it, nobody else keeps them
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed_s: float = 0.0
    cookies: tuple[str, ...] = ()


class Transport(Protocol):
    """What fetches: `HttpTransport`, `BudgetedTransport` around it, or whatever a test makes up."""

    async def fetch(self, request: Request) -> Response:
        """Send it; the answer whatever its status, or TransportError. Always ends within the configured timeout."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


def usable_validator(text: str | None) -> str:
    r"""An ETag or Last-Modified that can be sent back as it came; empty for none and for what no request may hold.

    One with a control character in it would make every later request to its source an improper one.

    >>> usable_validator('W/"ü"'), usable_validator('"\x7f"'), usable_validator(None)
    ('W/"ü"', '', '')
    """
    return text if text and text.isprintable() and len(text) <= LONGEST_VALIDATOR else ""
