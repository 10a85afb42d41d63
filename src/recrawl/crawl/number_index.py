"""Finds numbers by what they stand for, in a few bytes each.

The keys are not kept here: whoever has numbers can say what each stands for. So an entry is a place in a table of
32-bit numbers, where a dict has a hash, two pointers and two objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from recrawl.records import IntArray

FEWEST = 64
EMPTY, LEFT = -1, -2
BITS_PER_PLACE = 4
"""Of the hashes met: of what is not here, one in six at most has the bit of something that is."""


class NumberIndex:
    """Open addressing, at most two thirds full.

    Parameters
        key: what a number stands for; it must not change while the number is here
        often_missed: most of what is looked for is not here; takes half a byte per place

    >>> names = ["a", "b"]
    >>> index = NumberIndex(names.__getitem__)
    >>> index.put(0), index.put(1)
    (None, None)
    >>> index.find("b"), index.find("c")
    (1, None)
    """

    def __init__(self, key: Callable[[int], Hashable], often_missed: bool = False) -> None:
        self._key = key
        self._met = bytearray(FEWEST * BITS_PER_PLACE // 8) if often_missed else None
        """A bit per hash of what is or was here."""
        self._places = array("i", [EMPTY]) * FEWEST
        self._used = self._size = 0
        """Places that are not empty, and numbers that are here."""

    def __len__(self) -> int:
        return self._size

    def find(self, key: Hashable) -> int | None:
        """The number that stands for this."""
        place = self._place(key)
        number = self._places[place]
        return number if number >= 0 else None

    def possible(self, keys: Sequence[Hashable]) -> IntArray:
        """Places among these of all that may be here, for many at once: where it is not named, it is not here."""
        if self._met is None:
            return np.arange(len(keys))
        met, byte, bit = self._bits(np.fromiter(map(hash, keys), np.int64, len(keys)))
        return np.flatnonzero(met[byte] & bit)

    def put(self, number: int) -> None:
        """It is here from now on, in the place of another that stands for the same."""
        self.reserve(1)
        key = self._key(number)
        if self._met is not None:
            bit = hash(key) & (8 * len(self._met) - 1)
            self._met[bit >> 3] |= 1 << (bit & 7)
        place = self._place(key)
        before = self._places[place]
        self._used += before == EMPTY
        self._size += before < 0
        self._places[place] = number

    def put_all(self, numbers: IntArray, hashes: IntArray) -> None:
        """Several at once, which stand for different things, none of them here; `hashes` are those of their keys."""
        self.reserve(len(numbers))
        if self._met is not None:
            met, byte, bit = self._bits(hashes)
            np.bitwise_or.at(met, byte, bit)
        table, mask, step = np.frombuffer(self._places, np.int32), len(self._places) - 1, 0
        left, places = numbers.astype(np.int32), hashes & mask
        while len(left):
            free = table[places] == EMPTY
            table[places[free]] = left[free]  # of several that want one place, the last has it
            homeless = table[places] != left
            step += 1
            left, places = left[homeless], (places[homeless] + step) & mask
        self._used += len(numbers)
        self._size += len(numbers)

    def remove(self, number: int) -> None:
        """It is here no more; nothing happens if it was not."""
        place = self._place(self._key(number))
        if self._places[place] == number:
            self._places[place] = LEFT
            self._size -= 1

    def _bits(self, hashes: IntArray) -> tuple[NDArray[np.uint8], IntArray, NDArray[np.uint8]]:
        """All bits, and where each of these hashes has its own: the byte, and the bit in it."""
        met = np.frombuffer(self._met or b"", np.uint8)
        place = hashes & (8 * len(met) - 1)
        return met, place >> 3, np.left_shift(1, place & 7).astype(np.uint8)

    def _place(self, key: Hashable) -> int:
        """Where it is, or could be."""
        places, mask = self._places, len(self._places) - 1
        place, step = hash(key) & mask, 0
        while (number := places[place]) != EMPTY:
            if number >= 0 and self._key(number) == key:
                return place
            step += 1
            place = (place + step) & mask
        return place

    def reserve(self, count: int) -> None:
        """So many more will come."""
        if 3 * (self._used + count) >= 2 * len(self._places):
            self._make_room(count)

    def _make_room(self, count: int = 1) -> None:
        """Without those that have left."""
        numbers = [number for number in self._places if number >= 0]
        size = len(self._places)
        while 3 * (self._size + count) >= 2 * size:
            size *= 2
        self._places = array("i", [EMPTY]) * size
        self._used = self._size = 0
        if self._met is not None:
            self._met = bytearray(size * BITS_PER_PLACE // 8)
        for number in numbers:
            self.put(number)
