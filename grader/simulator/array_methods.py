"""Methods of arrays and numbers in kernels: ``reshape``, ``view``, ``transpose``, ``sum``. Runs in the runner.

In: a call of a method in typed IR. Out: steps of a ``Body``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, has_run_time, types
from grader.simulator.index_loops import count_of
from grader.simulator.lane_values import is_wide, take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import convert, dtype_of, is_scalar, plain
from grader.simulator.program import Registers
from grader.simulator.scalar_calls import translate_number_method

# These have types, but the CUDA target cannot compile them.
_COPIES = ("astype", "copy", "flatten", "nonzero", "ravel", "sort")


@dataclass(frozen=True)
class Method:
    """``value.name``, before it is called."""

    value: Any
    name: str


def translate_method(body: Body, target: Any, expr: Any, signature: Any) -> bool:
    """``target = value.method(*args)``; False where the callee is no method that we know."""
    method = body.static.get(expr.func.name)
    if not isinstance(method, Method):
        return False
    if is_scalar(body.type_of(method.value)):
        return translate_number_method(body, target, method.value, method.name, signature)
    if method.name in _COPIES and isinstance(plain(body.type_of(method.value)), types.Array):
        if method.name == "ravel" and ravel(body, target, method.value):
            return True
        raise body.needs_memory(
            f"Numba cannot compile {_as_written(body, method.name)}() of arrays for a GPU: write a loop over elements."
        )
    if method.name not in _METHODS:
        return False
    _METHODS[method.name](body, target, method.value, expr, signature)
    return True


def _as_written(body: Body, name: str) -> str:
    """A method's name; in Numba's own code, that of what the kernel called: a.max() is of a.ravel() there."""
    called = re.search(r"(\w+)\(", body.called_at.expression) if body.called_at else None
    return called[1] if called else name


def _reshape(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    source = body.register(value.name)
    (first, *_) = expr.args
    as_tuple = isinstance(plain(body.type_of(first)), types.BaseTuple)
    lengths = tuple(body.register(arg.name) for arg in expr.args)
    line = body.line

    def reshape(array: ArrayRef, *given: Any) -> ArrayRef:
        shape = [int(n) for n in (given[0] if as_tuple else given) if not is_wide(n)]
        if len(shape) != (len(given[0]) if as_tuple else len(given)) or any(map(is_wide, array.shape)):
            raise NotSimulated("the simulator does not know reshape to a shape that differs by thread")
        size = math.prod(int(n) for n in array.shape)
        if -1 in shape:
            known = -math.prod(shape)
            shape[shape.index(-1)] = size // known if known else 0
        if math.prod(shape) != size:
            raise KernelError(f"An array of {size} elements cannot be reshaped to {tuple(shape)}.", line)
        return _contiguous(array, array.dtype, tuple(shape))

    body.compute(body.register(target.name), reshape, (source, *lengths))


def ravel(body: Body, target: Any, value: Any) -> bool:
    """``target = value.ravel()`` without a copy: Numba can compile that with its run time only."""
    if not has_run_time() or plain(body.type_of(value)).layout != "C":
        return False
    body.compute(
        body.register(target.name),
        lambda array: _contiguous(array, array.dtype, (count_of(array.shape),)),
        (body.register(value.name),),
    )
    return True


def _contiguous(array: ArrayRef, dtype: np.dtype[Any], shape: tuple[Any, ...]) -> ArrayRef:
    """The same memory, C-contiguous, with another shape or dtype: Numba only allows that where it is contiguous."""
    strides = tuple(math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
    return replace(array, dtype=dtype, shape=shape, strides=strides)


def _view(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    dtype = dtype_of(signature.return_type.dtype)
    body.unit.program.interleaved = False

    def view(array: ArrayRef) -> ArrayRef:
        if dtype.itemsize == array.dtype.itemsize:
            return replace(array, dtype=dtype)
        last = array.shape[-1] * array.dtype.itemsize // dtype.itemsize
        return replace(
            array, dtype=dtype, shape=(*array.shape[:-1], last), strides=(*array.strides[:-1], dtype.itemsize)
        )

    body.compute(body.register(target.name), view, (body.register(value.name),))


def _transpose(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    if expr.args:
        raise KernelError(
            "Numba cannot compile transpose with an order of axes for a GPU: index as you need.", body.line
        )
    body.compute(
        body.register(target.name),
        lambda a: a.with_parts((a.address, *a.shape[::-1], *a.strides[::-1])),
        (body.register(value.name),),
    )


def sum_elements(body: Body, target: Any, value: Any, signature: Any) -> None:
    """``target`` = the sum over all elements of an array, in their order, as Numba's loop has it."""
    dtype, place = dtype_of(signature.return_type), body.place()
    source, register = body.register(value.name), body.register(target.name)

    def step(m: Machine, r: Registers) -> None:
        total = np.zeros(m.active, dtype)
        for lanes, index in views.positions(m, r[source].shape):
            with m.only(lanes):
                total[lanes] += convert(access.load(m, take(r[source], lanes), index, place), dtype)
        r[register] = total

    body.add(step, (source,), (register,))


def _sum(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    if expr.args or expr.kws:
        raise KernelError("Numba cannot compile a sum over an axis for a GPU: write a loop over elements.", body.line)
    sum_elements(body, target, value, signature)


def _item(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    """The number itself, of a number or of an array of one element."""
    register, source, place = body.register(target.name), body.register(value.name), body.place()
    if not isinstance(plain(body.type_of(value)), types.Array):
        body.compute(register, lambda number: number, (source,))
        return

    def step(m: Machine, r: Registers) -> None:
        array = r[source]
        r[register] = access.load(m, array, (np.int64(0),) * len(array.shape), place)

    body.add(step, (source,), (register,))


def _conjugate(body: Body, target: Any, value: Any, expr: Any, signature: Any) -> None:
    body.compute(body.register(target.name), np.conjugate, (body.register(value.name),))


_METHODS: dict[str, Callable[[Body, Any, Any, Any, Any], None]] = {
    "reshape": _reshape,
    "view": _view,
    "transpose": _transpose,
    "sum": _sum,
    "item": _item,
    "conjugate": _conjugate,
}
