"""What a request says, in its query and in a form sent along: the same names in either, and often several times.

Bodies are bounded before they are read, and parameters before they are taken apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from urllib.parse import parse_qsl

from starlette.requests import Request

from recrawl.web.safety.callers import read_within
from recrawl.web.safety.request_bodies import kind_of

MOST_BODY = 1024 * 1024
"""Bytes of a form: some ten thousand items."""
MOST_PARAMETERS = 20_000
LARGE = 16 * 1024
"""Bytes from which on a form is read beside the event loop."""
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


class AskedWrongError(Exception):
    """A request that cannot be answered.

    Parameters
        words: what is wrong with it
        status: of the answer
    """

    def __init__(self, words: str, status: int = 400) -> None:
        super().__init__(words)
        self.words, self.status = words, status


class Parameters:
    """All that a request says: first what is in its query, then what is in its body."""

    def __init__(self, given: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in given:
            self._values.setdefault(name, []).append(value)

    def all(self, name: str) -> list[str]:
        """Every value."""
        return self._values.get(name, [])

    def first(self, name: str, otherwise: str = "") -> str:
        """The first value."""
        return self._values.get(name, [otherwise])[0]

    def pairs(self) -> list[tuple[str, str]]:
        """All names and values."""
        return [(name, value) for name, values in self._values.items() for value in values]

    def number(self, name: str, otherwise: int, most: int) -> int:
        """A whole number from 1 to `most`; what is no number is refused, what is too large is `most`."""
        text = self.first(name)
        if not text:
            return otherwise
        if not (text.isascii() and text.isdecimal() and len(text) <= 20):
            raise AskedWrongError(f"{name} must be a whole number, not {text[:50]!r}")
        return max(1, min(int(text), most))

    def time(self, name: str) -> float | None:
        """A time in Unix seconds, given in seconds, or thousandths, millionths or billionths of them.

        A time that is cut off at so many digits means all of the last of them.
        """
        text = self.first(name)
        if text in ("", "0"):
            return None
        if not (text.isascii() and text.isdecimal() and len(text) <= 20):
            raise AskedWrongError(f"{name} must be a time in seconds, not {text[:50]!r}")
        value = int(text)
        return value / next((unit for least, unit in _UNITS if value >= least), 1.0)


async def read(request: Request, most: int = MOST_BODY) -> Parameters:
    """Of one request, with a form of at most so many bytes."""
    query = request.url.query
    if request.method in ("GET", "HEAD"):
        return Parameters(_pairs(query))
    body = await read_within(request, most)
    if body is None:
        raise AskedWrongError(f"a form of more than {most} bytes, or one that ends early, is not read", 413)
    kind = kind_of(request.headers)
    if body and kind not in ("application/x-www-form-urlencoded", "", "text/plain"):
        raise AskedWrongError("send a form (application/x-www-form-urlencoded)", 415)
    text = body.decode("utf-8", "replace")
    if len(body) > LARGE:
        return await asyncio.to_thread(lambda: Parameters([*_pairs(query), *_pairs(text)]))
    return Parameters([*_pairs(query), *_pairs(text)])


def _pairs(text: str) -> list[tuple[str, str]]:
    if text.count("&") >= MOST_PARAMETERS:
        raise AskedWrongError(f"more than {MOST_PARAMETERS:,} parameters are not read", 413)
    return parse_qsl(text.strip(), keep_blank_values=True, errors="replace")
