"""How much of an answer may be other than its body.

A body is bounded by its size; what comes around it is not: interim answers (1xx) before the real one, header lines,
the framing and extensions of chunks, trailers. None of it is worth anything and each costs time on the event loop to
read, so all of it together is bounded too. One read of the network brings at most 256 KB, which is some tens of
milliseconds in the worst case; the count is looked at after each.
"""

from __future__ import annotations

MAX_INTERIM = 32
"""Answers before the answer: 100 Continue, 102 Processing, 103 Early Hints."""
MAX_BESIDE_BYTES = 131_072
"""Beside the body, and a quarter of the body more: chunks of twenty bytes pass, chunks of one byte without end not."""


class Framing:
    """Counts of one answer."""

    __slots__ = ("interim", "received")

    def __init__(self) -> None:
        self.received = 0
        self.interim = 0

    def excess(self, body_bytes: int) -> str:
        """What there is too much of after `received` bytes, so many of them body; empty if all is well."""
        if self.interim > MAX_INTERIM:
            return f"more than {MAX_INTERIM} interim answers"
        if self.received - body_bytes > MAX_BESIDE_BYTES + body_bytes // 4:
            return "too much around the body"
        return ""
