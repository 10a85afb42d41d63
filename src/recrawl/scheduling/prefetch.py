"""Ask for memory before it is needed: what a processor must wait a hundred nanoseconds for, it can do beside its work.

A hint to the processor and nothing else: the program computes the same without it, and without it runs interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

TOOLS: Any = cgutils
# To be written to; into all levels of the cache; data, not instructions.
HOW = (1, 3, 1)


def prefetch(array: Any, row: Any) -> None:
    """The first element of a row will soon be read or written."""


def _generated(typing_context: Any, array: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = builder.mul(TOOLS.unpack_tuple(builder, made.strides)[0], arguments[1])
        place = TOOLS.pointer_add(builder, made.data, offset, return_type=TOOLS.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [TOOLS.voidptr_t, *[number] * 3])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [TOOLS.voidptr_t], kind)
        builder.call(hint, [place, *(ir.Constant(number, each) for each in HOW)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


_hint: Any = intrinsic(_generated)


@overload(prefetch)
def _compiled(array: Any, row: Any) -> Callable[[Any, Any], None]:
    def ask(array: Any, row: Any) -> None:
        _hint(array, row)

    return ask
