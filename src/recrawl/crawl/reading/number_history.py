"""The history of the number that is watched on a page: when it became which, and what somebody was told last."""

from __future__ import annotations

import msgspec

from recrawl.crawl.reading.findings import Number

MOST_POINTS = 2000
"""That are kept of a page; then every other one of the older half goes."""
MOST_UNITS = 4
"""In which a number is remembered, beside the one it has: a page that is shown in another currency now and then."""


class History(msgspec.Struct, array_like=True):
    """As it is stored.

    Parameters
        name, unit: of the number
        points: when it became which value, the oldest first
        told: its value when a change of the page counted last; None before the first
        others: the same for units in which it was said before, the latest last
    """

    name: str = ""
    unit: str = ""
    points: list[tuple[float, float]] = []
    told: float | None = None
    others: dict[str, History] = {}

    @property
    def latest(self) -> float | None:
        """The value it has."""
        return self.points[-1][1] if self.points else None

    def in_unit_of(self, number: Number) -> History:
        """What is known of this number in its unit: amounts in two currencies cannot be compared."""
        if number.name != self.name:
            return History(number.name, number.unit)
        if number.unit == self.unit:
            return self
        known = self.others.get(number.unit) or History(number.name, number.unit)
        others = {**self.others, self.unit: History(self.name, self.unit, self.points, self.told)}
        others.pop(number.unit, None)
        return History(known.name, known.unit, known.points, known.told, dict([*others.items()][-MOST_UNITS:]))

    def followed_by(self, number: Number, at: float, told: bool) -> History:
        """With what a visit found; another number begins anew, and one in another unit goes on where it was."""
        same = self.in_unit_of(number)
        points = same.points
        if not points or points[-1][1] != number.value:
            points = [*_fitting(points), (at, number.value)]
        reference = same.told if same.told is not None and not told else number.value
        return History(same.name, same.unit, points, reference, same.others)


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
