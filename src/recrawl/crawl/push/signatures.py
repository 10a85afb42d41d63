"""Whether a hub signed its message with the secret it was given: `X-Hub-Signature: method=hex` [WebSub, 7.1]."""

from __future__ import annotations

import hmac
import re

METHODS = ("sha1", "sha256", "sha384", "sha512")
_HEADER = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-f]{40,128})", re.IGNORECASE)


class Signature:
    """What a message has to match, which is read piece by piece and never kept.

    >>> signature = Signature("sha1=de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9", "key")
    >>> signature.update(b"The quick brown fox jumps over ")
    >>> signature.update(b"the lazy dog")
    >>> signature.is_right()
    True
    """

    def __init__(self, header: str, secret: str) -> None:
        told = _HEADER.fullmatch(header.strip())
        self._told = "" if told is None else told[2].lower()
        self._made = None if told is None else hmac.new(secret.encode(), digestmod=told[1].lower())

    def update(self, part: bytes) -> None:
        """The next piece."""
        if self._made is not None:
            self._made.update(part)

    def is_right(self) -> bool:
        """Whether the header names a method we know, and what comes out is what it says; in constant time."""
        return self._made is not None and hmac.compare_digest(self._made.hexdigest(), self._told)
