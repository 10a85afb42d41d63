"""What callers may say to a calendar, checked before anything is done."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recrawl.arguments import shown
from recrawl.errors import ParameterError
from recrawl.records import FloatArray, IntArray, checked, durations, moments

_LATEST = float(np.finfo(np.float64).max)


def file_path(path: Any) -> Path:
    """Where a file is."""
    if not isinstance(path, str | Path):
        raise ParameterError("path", "the path of a file", shown(path))
    return Path(path)


def last_crawls(value: npt.ArrayLike, argument: str = "last") -> FloatArray:
    """Times of last crawls."""
    given = moments(argument, value)
    return checked(argument, given, "a time in seconds, or -inf for never", low=-math.inf, high=_LATEST)


def times_until(value: npt.ArrayLike) -> FloatArray:
    """Until when something holds."""
    given = moments("until", value)
    return checked("until", given, "a time in seconds; inf for always, -inf for never", low=-math.inf)


def max_ages(value: npt.ArrayLike) -> FloatArray:
    """Ages from which on sources are overdue."""
    return checked("max_age", durations("max_age", value), "> 0 or inf", open_low=True)


def group_numbers(argument: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Numbers of groups."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu" and array.size:
        raise ParameterError(argument, "whole numbers >= 0", repr(value))
    bad = (array < 0) | (array > np.iinfo(np.int32).max)
    if bad.any():
        element = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ParameterError(argument, "whole numbers >= 0", array[element], element or None)
    return array


def one_per_source(columns: dict[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Columns of one length."""
    try:
        flat = np.broadcast_arrays(*(np.atleast_1d(column) for column in columns.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ParameterError("shapes", "one number each or one per source", shapes) from error
    if flat[0].ndim != 1:
        raise ParameterError("shapes", "one-dimensional", f"{flat[0].shape}")
    return list(flat)


def one_per_id(argument: str, values: FloatArray, which: IntArray) -> FloatArray:
    """One number for each id."""
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(which)):
        raise ParameterError(argument, f"one number or one per id ({len(which)})", f"shape {values.shape}")
    return np.ascontiguousarray(np.broadcast_to(values, which.shape), dtype=np.float64)
