"""NumPy's functions over whole arrays, ``np.sin(x, r)``: a loop of each thread over all elements. Runs in the runner.

In: a call of a ufunc with arrays among its arguments. Out: blocks of a ``Body`` in which each element is read, computed
and written as by a loop in the kernel's text, so that it is looked at and counted the same way. What a kernel cannot do
is make the array for the result: Numba compiles the call only with its output arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.simulator import access
from grader.simulator.body import Body
from grader.simulator.callees import ufunc_loops
from grader.simulator.frontend import KernelError, types
from grader.simulator.index_loops import each_position, unravel
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import caster, convert, dtype_of, plain, ufunc_find_matching_loop
from grader.simulator.operations import MATH, NO_FLOPS
from grader.simulator.program import Registers

# Numba has these for arrays with ``/=`` and its like; without ``=`` they would need memory for the result.
IN_PLACE: dict[Any, np.ufunc] = {
    operator.truediv: np.true_divide,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}


def takes_arrays(signature: Any) -> bool:
    """Whether a call goes over whole arrays."""
    return any(isinstance(plain(t), types.Array) for t in signature.args)


def translate_ufunc(body: Body, target: Any, ufunc: np.ufunc, arguments: list[tuple[int, Any]]) -> None:
    """``target = ufunc(*arguments)``: registers and Numba types of inputs and outputs, arrays among them."""
    inputs, outputs = arguments[: ufunc.nin], arguments[ufunc.nin :]
    if len(outputs) != ufunc.nout:
        raise body.needs_memory(
            f"Numba cannot compile np.{ufunc.__name__} of whole arrays for a GPU without an array for the result: "
            "write a loop over elements, or give it that array as its last argument."
        )
    kinds = [plain(t) for _, t in arguments]
    if any(isinstance(t, types.Optional) for t in kinds):
        raise body.unknown(f"np.{ufunc.__name__} of whole arrays and what may be None")
    layouts = [t.layout for t in kinds[: ufunc.nin] if isinstance(t, types.Array)]
    backwards = layouts.count("F") > layouts.count("C")  # the order in which Numba goes over elements
    compute, made = _of_an_element(body, ufunc, [t.dtype if isinstance(t, types.Array) else t for t in kinds])
    first, place = outputs[0][0], body.place()
    # A place of its own for each argument, since costs are kept by the identity of places.
    sources = [(r, isinstance(t, types.Array), replace(place)) for (r, _), t in zip(inputs, kinds, strict=False)]
    targets = [(r, replace(place)) for r, _ in outputs]
    with each_position(body, first) as number:

        def step(m: Machine, r: Registers) -> None:
            shape = r[first].shape
            at = unravel(r[number], shape[::-1])[::-1] if backwards else unravel(r[number], shape)
            values = [
                access.load(m, r[source], _broadcast(at, r[source]), where) if is_array else r[source]
                for source, is_array, where in sources
            ]
            for (output, where), value in zip(targets, compute(values), strict=True):
                access.store(m, r[output], at, value, where)

        body.add(step, (*(register for register, _ in arguments), number), ())
        if ufunc not in NO_FLOPS:
            body.note_flops(made)
    several = ufunc.nout > 1
    body.compute(
        body.register(target.name),
        lambda *arrays: arrays if several else arrays[0],
        tuple(register for register, _ in outputs),
    )


def _broadcast(at: tuple[Any, ...], array: ArrayRef) -> tuple[Any, ...]:
    """Where an input is read for an element of the output: its last axes, and 0 along axes of length 1.

    Numba does not ask whether the shapes fit: a longer output makes it read outside of the input. An input of more
    axes is read along its first ones.
    """
    own = at[max(len(at) - len(array.shape), 0) :]
    missing = (np.int64(0),) * (len(array.shape) - len(own))
    return tuple(
        np.where(np.greater(length, 1), index, 0)[()]
        for index, length in zip((*own, *missing), array.shape, strict=True)
    )


def _of_an_element(
    body: Body, ufunc: np.ufunc, element_types: list[Any]
) -> tuple[Callable[[list[Any]], list[Any]], Any]:
    """What a ufunc does to the values of an element, and the type in which it does.

    That is the loop of NumPy's that Numba chooses for these types.
    """
    loop = ufunc_find_matching_loop(ufunc, tuple(element_types))
    if loop is None or loop.ufunc_sig not in ufunc_loops(ufunc):
        raise KernelError(f"Numba knows np.{ufunc.__name__} but cannot compile it for these types.", body.line)
    casts = [caster(t, wanted) for t, wanted in zip(element_types, loop.inputs, strict=False)]
    given = element_types[ufunc.nin :]
    casts_out = [caster(made, wanted) for made, wanted in zip(loop.outputs, given, strict=True)]
    dtypes = [dtype_of(t) for t in loop.outputs]
    operation = MATH.get(ufunc, ufunc)

    def compute(values: list[Any]) -> list[Any]:
        found = operation(*[cast(v) if cast else v for cast, v in zip(casts, values, strict=True)])
        results = found if len(dtypes) > 1 else (found,)
        converted = [convert(value, dtype) for value, dtype in zip(results, dtypes, strict=True)]
        return [cast(v) if cast else v for cast, v in zip(casts_out, converted, strict=True)]

    return compute, loop.outputs[0]
