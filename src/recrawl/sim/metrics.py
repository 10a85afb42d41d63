"""Figures over runs."""

from __future__ import annotations

import numpy as np

from recrawl.kernels.student_t import reach
from recrawl.records import FloatArray


def interval95(values: FloatArray) -> tuple[float, float] | None:
    """The 95 % interval of the mean of independent values; None for fewer than two.

    >>> interval95(np.array([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    if len(values) < 2:
        return None
    half = reach(len(values) - 1, 0.95) * float(values.std(ddof=1)) / float(np.sqrt(len(values)))
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
