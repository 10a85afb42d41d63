"""How the calendar's inner functions are compiled: for other compiled functions, at no cost per call.

A function that makes arrays is compiled the plain way, `@njit(cache=True)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from recrawl.compiled_code import njit

Function = TypeVar("Function", bound=Callable[..., Any])


# Without entry points for Python and without reference counts, which would cost more than the work itself.
_BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def inner(function: Function) -> Function:
    """Compile a function that makes no arrays and is called by compiled functions only."""
    return njit(cache=True, **_BARE)(function)


def inlined(function: Function) -> Function:
    """The same, compiled into its callers: for what is done per source."""
    return njit(cache=True, forceinline=True, **_BARE)(function)
