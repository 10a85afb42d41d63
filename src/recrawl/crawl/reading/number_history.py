"""The history of the number that is watched on a page: when it became which, and what somebody was told last."""

from __future__ import annotations

import msgspec

from recrawl.crawl.reading.findings import Number

MOST_POINTS = 2000
"""That are kept of a page; then every other one of the older half goes."""


class History(msgspec.Struct, array_like=True):
    """As it is stored.

    Parameters
        name, unit: of the number
        points: when it became which value, the oldest first
        told: its value when a change of the page counted last; None before the first
    """

    name: str = ""
    unit: str = ""
    points: list[tuple[float, float]] = []
    told: float | None = None

    @property
    def latest(self) -> float | None:
        """The value it has."""
        return self.points[-1][1] if self.points else None

    def followed_by(self, number: Number, at: float, told: bool) -> History:
        """With what a visit found; another number, or one in another unit, begins anew."""
        same = (number.name, number.unit) == (self.name, self.unit)
        points = self.points if same else []
        if not points or points[-1][1] != number.value:
            points = [*_fitting(points), (at, number.value)]
        reference = self.told if same and self.told is not None and not told else number.value
        return History(number.name, number.unit, points, reference)


_encoder, _decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(History)


def packed(history: History) -> bytes:
    """As it is stored."""
    return _encoder.encode(history)


def unpacked(stored: bytes | None) -> History:
    """As it was stored; an empty one if there is none, or of another version."""
    if not stored:
        return History()
    try:
        return _decoder.decode(stored)
    except msgspec.MsgspecError:
        return History()


def _fitting(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    half = len(points) // 2
    return points if len(points) < MOST_POINTS else [*points[:half:2], *points[half:]]
