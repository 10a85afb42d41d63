"""Checking and broadcasting for the compiled kernels: one pass, no temporaries.

A compiled kernel returns the position of the first element it cannot accept, or -1. The wrapper then takes the slow
road once, to say which argument was wrong and why. This keeps checking out of the cost of large arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.records import FloatArray, checked


def as_float(argument: str, value: npt.ArrayLike) -> FloatArray:
    """The argument as a float64 array, or a named error if it is not numbers."""
    try:
        array: FloatArray = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(argument, "a number or an array of numbers", repr(value)) from error
    return array


def aligned(arrays: dict[str, FloatArray]) -> tuple[list[FloatArray], tuple[int, ...]]:
    """Named arrays broadcast to one shape and flattened; scalars and equal shapes cost nothing."""
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ParameterError("shapes", "broadcastable against each other", shapes) from error
    flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays.values()]
    for array in flat:
        array.setflags(write=False)  # a writable array is another type to the compiler: one compilation is enough
    return flat, shape


def checked_sources(
    value: npt.ArrayLike,
    rate: npt.ArrayLike,
    cost: npt.ArrayLike,
    min_interval: npt.ArrayLike,
    max_age: npt.ArrayLike,
    age: npt.ArrayLike = 0.0,
) -> list[FloatArray]:
    """What a source is worth, costs and allows, one element each, in this order."""
    flat, _ = aligned(
        {
            "value": checked("value", value, "finite and >= 0"),
            "rate": checked("rate", rate, "finite and >= 0"),
            "cost": checked("cost", cost, "finite and > 0", open_low=True),
            "min_interval": checked("min_interval", min_interval, "finite and >= 0"),
            "max_age": checked("max_age", max_age, "> 0 or inf", open_low=True),
            "age": checked("age", age, ">= 0 or inf"),
        }
    )
    return flat


def shaped(out: FloatArray, shape: tuple[int, ...]) -> FloatArray | float:
    """The kernel's flat result in the caller's shape; a float where every argument was a scalar."""
    return float(out[0]) if shape == () else out.reshape(shape)


def complain(
    bad: int,
    shape: tuple[int, ...],
    flat: dict[str, FloatArray],
    rules: dict[str, tuple[Callable[[float], bool], str]],
) -> ParameterError:
    """The error for the element a kernel refused: the first argument whose rule that element breaks."""
    element = tuple(int(i) for i in np.unravel_index(bad, shape)) if shape else None
    for name, (allowed, expected) in rules.items():
        if not allowed(float(flat[name][bad])):
            return ParameterError(name, expected, float(flat[name][bad]), element)
    raise AssertionError("a kernel refused an element that every rule allows")


# Below this many elements handing work to threads costs more than it saves.
WORTH_SHARING = 1 << 17


@cache
def _cores() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="recrawl-kernel")


def over_cores(kernel: Callable[..., int], arrays: Sequence[FloatArray], out: FloatArray) -> int:
    """Run an elementwise kernel that releases the interpreter lock, large arrays in one slice per core."""
    size = len(out)
    if size < WORTH_SHARING:
        return kernel(*arrays, out)
    edges = np.linspace(0, size, (os.cpu_count() or 1) + 1).astype(int).tolist()
    slices = [slice(low, high) for low, high in pairwise(edges)]
    work = [_cores().submit(kernel, *(array[part] for array in arrays), out[part]) for part in slices]
    found = [job.result() for job in work]
    return next((bad + part.start for bad, part in zip(found, slices, strict=True) if bad >= 0), -1)
