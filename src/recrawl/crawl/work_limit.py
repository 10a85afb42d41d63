"""How much slow work a document may ask for where others wait: what takes more is read where time does not matter.

What a byte costs depends on what it is: a letter of a text nanoseconds; a letter of a host name that is not ASCII, or a
byte that has no meaning in its encoding, a thousand times more. Most documents have none of these, so small ones are
read at once. One that turns out to be made of them is put down (:class:`NeedsPatience`), and read where time does not
matter. The work is counted, not timed: the same document takes the same way on any machine.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

SLOW_CHARACTERS = 4000
"""That may be read at a stretch; each takes a few microseconds."""


class NeedsPatience(Exception):  # noqa: N818 - not an error: the reader asks to be called where time does not matter
    """The document can only be read slowly, and this is not the place."""


class _Left(threading.local):
    characters: float | None = None


_left = _Left()


@contextmanager
def hurried(characters: float = SLOW_CHARACTERS) -> Iterator[None]:
    """Within it, NeedsPatience is raised once more slow work than this is asked for."""
    before, _left.characters = _left.characters, characters
    try:
        yield
    finally:
        _left.characters = before


def slow_work(characters: float) -> None:
    """Say that slow work on so many characters follows; infinitely many are never read in a hurry."""
    if _left.characters is not None:
        _left.characters -= characters
        if _left.characters < 0:
            raise NeedsPatience
