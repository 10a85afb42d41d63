"""ETag and Last-Modified: what a server says of a version, kept to be sent back to it word for word."""

from __future__ import annotations

LONGEST = 1024


def usable(text: str | None) -> str:
    r"""A validator that can be sent back; empty for none and for what no request may hold.

    One with a control character in it would make every later request to its source an improper one.

    >>> usable('W/"ü"'), usable('"\x7f"'), usable(None)
    ('W/"ü"', '', '')
    """
    return text if text and text.isprintable() and len(text) <= LONGEST else ""
