"""How the calendar's inner functions are compiled: to be called by other compiled functions only.

Leaving out the entry points for Python saves most of their compilation time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


_BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def inner(function: Function) -> Function:
    """Compile without an entry point for Python."""
    return cast(Function, njit(cache=True, **_BARE)(function))
