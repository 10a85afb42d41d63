"""Figures over runs."""

from __future__ import annotations

import numpy as np

from recrawl.records import FloatArray

# Two-sided 97.5 % points of Student's t for 1 to 30 degrees of freedom; the normal one beyond.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def interval95(values: FloatArray) -> tuple[float, float] | None:
    """The 95 % interval of the mean of independent values; None for fewer than two.

    >>> interval95(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    point = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96
    half = point * float(values.std(ddof=1)) / float(np.sqrt(len(values)))
    middle = float(values.mean())
    return middle - half, middle + half


def moving_average(values: FloatArray, window: int) -> FloatArray:
    """The mean of the last `window` values at each place (of as many as there are at first), along the last axis."""
    total = np.cumsum(values, axis=-1)
    total[..., window:] = total[..., window:] - total[..., :-window].copy()
    out: FloatArray = total / np.minimum(np.arange(1, values.shape[-1] + 1), window)
    return out


def running_average(values: FloatArray) -> FloatArray:
    """The mean of all values up to each place, along the last axis."""
    out: FloatArray = np.cumsum(values, axis=-1) / np.arange(1, values.shape[-1] + 1)
    return out
