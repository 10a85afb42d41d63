"""Compiled functions in the interpreter, for as long as they are not compiled.

Compiling all that the live program runs takes half a minute, once on a machine. The very same functions are plain
Python too, some hundred times slower, which a catalogue of thousands of sources hardly notices: so a program that must
begin at once runs them as they are written (`begin`) while somebody else fills the cache of compiled code, and goes
over to it function by function (`look_again`, `end`). There is one formula, one policy and one state all the time.

A function is interpreted with all it calls, so that compiled code never meets the types of the interpreter. Where
Python would raise (`math.exp` of a large number) and compiled code gives inf or NaN, so does this. Single precision is
rounded a little otherwise: results agree to about seven digits.

What it touches of numba: the class of a dispatcher, its `py_func` and its compiler. Nothing is touched before `begin`
and after `end`. Where these are others (numba promises none of them), `begin` leaves all as it was, and the compiler is
waited for.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from recrawl.kernels.elementary import vector_exp

try:
    from numba.core.registry import CPUDispatcher
except ImportError:  # of a numba to come: there is none of this class, so none is interpreted

    class CPUDispatcher:  # type: ignore[no-redef]
        """What no function is."""


ROOMS = ("recrawl.kernels.", "recrawl.learning.", "recrawl.scheduling.", "recrawl.policies.")
"""Whose functions the live program runs."""


class NotCompiledError(Exception):
    """A function is not in the cache of compiled code."""


class _Unwilling:
    """The compiler of a function that is not to wait for it."""

    def __init__(self, compiler: Any) -> None:
        self.compiler = compiler

    def compile(self, args: Any, return_type: Any) -> Any:
        if _here.asking:
            raise NotCompiledError
        return self.compiler.compile(args, return_type)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiler, name)


class _Patient(CPUDispatcher):
    """A compiled function that is interpreted if it would have to be compiled first."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        if _here.depth:
            return _plain(self)(*args, **named)
        if self not in _missing and not _quiet.alone:
            _here.asking = True
            try:
                return CPUDispatcher.__call__(self, *args, **named)
            except NotCompiledError:
                _missing.add(self)
            finally:
                _here.asking = False
        with _quiet:
            interpreting = type(self) is _Patient  # another thread may have ended it
            _quiet.busy += interpreting
        if not interpreting:
            return CPUDispatcher.__call__(self, *args, **named)
        _here.depth = 1
        try:
            with np.errstate(all="ignore"):
                return _unboxed(_plain(self)(*args, **named))
        finally:
            _here.depth = 0
            with _quiet:
                _quiet.busy -= 1
                _quiet.notify_all()


class _Here(threading.local):
    """Of one thread: whether it asks for compiled code alone, and whether it is inside an interpreted function."""

    asking = False
    depth = 0


class _Quiet(threading.Condition):
    """How many threads are inside an interpreted function."""

    busy = 0
    alone = False
    """Whether compiled code is not even looked for."""


_here, _quiet = _Here(), _Quiet()
_missing: set[Any] = set()
_twins: dict[Any, Callable[..., Any]] = {}
_scopes: dict[str, dict[str, Any]] = {}


def begin(*, alone: bool = False) -> None:
    """From now on no function of the live program waits for the compiler.

    With `alone` none waits for compiled code to be loaded either, which takes longer than to interpret a few calls.
    Where numba has changed so that this cannot be had, all of them wait, as if nothing had been said.
    """
    _quiet.alone = alone
    functions = _functions(CPUDispatcher)
    try:
        for function in functions:
            _make_patient(function)
    except (AttributeError, TypeError):
        _make_numbas(functions)


def missing() -> bool:
    """Whether any function was interpreted since `begin` or `look_again`."""
    return bool(_missing)


def look_again() -> None:
    """More may have been compiled meanwhile."""
    _missing.clear()


def end() -> None:
    """From now on all is compiled, whatever it takes; waits until no thread is inside an interpreted function."""
    with _quiet:
        _quiet.wait_for(lambda: not _quiet.busy)
        _make_numbas(_functions(_Patient))
        _missing.clear()
        _twins.clear()
        _scopes.clear()


def cache_folder() -> Path:
    """Where compiled code is kept, or some of it: the same for every process that uses the same."""
    function: Any = vector_exp
    return Path(function.stats.cache_path or "")


def _make_patient(function: Any) -> None:
    if not isinstance(function.py_func, FunctionType) or not callable(function._compiler.compile):
        raise TypeError
    function._compiler = _Unwilling(function._compiler)
    function.__class__ = _Patient


def _make_numbas(functions: list[Any]) -> None:
    """Numba's own again, as far as they are not."""
    for function in functions:
        compiler = getattr(function, "_compiler", None)
        if isinstance(compiler, _Unwilling):
            function._compiler = compiler.compiler
        if type(function) is _Patient:
            function.__class__ = CPUDispatcher  # type: ignore[assignment]


def _functions(kind: type) -> list[Any]:
    """All there are of a kind."""
    rooms = [module for name, module in list(sys.modules.items()) if name.startswith(ROOMS)]
    everything = [each for module in rooms for each in list(vars(module).values()) if type(each) is kind]
    return list({id(each): each for each in everything}.values())


def _plain(function: Any) -> Callable[..., Any]:
    """A function as it is written, but for the mathematics that raises."""
    twin = _twins.get(function)
    if twin is None:
        written = function.py_func
        scope = _scopes.get(written.__module__)
        if scope is None:
            scope = _scopes[written.__module__] = {**written.__globals__, "math": LENIENT}
        twin = FunctionType(written.__code__, scope, written.__name__, written.__defaults__, written.__closure__)
        _twins[function] = twin
    return twin


def _unboxed(result: Any) -> Any:
    """Numbers as compiled code hands them out."""
    if isinstance(result, np.generic):
        return result.item()
    if isinstance(result, tuple):
        parts = map(_unboxed, result)
        return type(result)._make(parts) if hasattr(result, "_make") else tuple(parts)
    return result


def _lenient(name: str) -> Callable[[float], float]:
    """A function of mathematics that gives inf or NaN where Python's own raises."""
    strict, other = getattr(math, name), getattr(np, name, lambda number: math.inf)

    def function(number: float) -> float:
        try:
            return strict(number)
        except (OverflowError, ValueError):
            return float(other(number))

    return function


def _whole(strict: Callable[[float], int]) -> Callable[[float], int]:
    """Rounding to a whole number; what does not fit is the least there is, as on most processors."""

    def function(number: float) -> int:
        return strict(number) if LEAST <= number < -LEAST else LEAST

    return function


LEAST = -(2**63)
CURVES = ("exp", "expm1", "lgamma", "log", "log1p", "log2", "sqrt")
LENIENT = SimpleNamespace(
    **vars(math) | {name: _lenient(name) for name in CURVES} | {"floor": _whole(math.floor), "ceil": _whole(math.ceil)}
)
