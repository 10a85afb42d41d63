"""What sources are called, one text after the other in one block of memory.

A string of its own costs 49 bytes beside its letters, and a place in a list: with millions of sources names would take
more room than all that is known of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import overload


class Labels(Sequence[str]):
    """Texts by number.

    >>> labels = Labels(["https://a.example/", "b"])
    >>> labels.replace(0, "c")
    >>> list(labels), labels[1]
    (['c', 'b'], 'b')
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._text = bytearray()
        self._ends = array("q")
        self._others: dict[int, str] = {}
        """Those that were replaced."""
        self.extend(texts)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[k] for k in range(*place.indices(len(self)))]
        number = place if place >= 0 else len(self) + place
        if number in self._others:
            return self._others[number]
        begin = self._ends[number - 1] if number else 0
        return self._text[begin : self._ends[number]].decode("utf-8", "surrogatepass")

    def append(self, text: str) -> None:
        """One more."""
        self._text += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._text))

    def extend(self, texts: Iterable[str]) -> None:
        """Several more."""
        for text in texts:
            self.append(text)

    def replace(self, number: int, text: str) -> None:
        """One is called otherwise now."""
        if number >= len(self):
            raise IndexError(number)
        self._others[number] = text
