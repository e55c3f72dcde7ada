"""Python's operators in a kernel, by the types of their operands. Runs in the runner.

In: an operator, registers, Numba's signature. Out: steps of a ``Body``; ``operations`` has what they do to numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.memory import ArrayRef, alike
from grader.simulator.numba_types import convert, dtype_of, is_scalar, is_time, plain
from grader.simulator.operations import ARITHMETIC, COMPARISONS, INPLACE, TUPLE_OPERATIONS, UNARY
from grader.simulator.raising import guard_division, guard_power
from grader.simulator.rejections import whole_arrays

# Real operations of one complex operation.
_FLOPS_OF_COMPLEX = {operator.add: 2, operator.sub: 2, operator.mul: 6, operator.truediv: 11}


def translate_operator(body: Body, target: int, function: Any, operands: list[tuple[int, Any]], signature: Any) -> None:
    """``target = function(*operands)`` for an operator, cast as the signature says."""
    function = INPLACE.get(function, function)
    none = any(isinstance(t, types.NoneType) for _, t in operands)
    if function in (operator.is_, operator.is_not, operator.eq, operator.ne) and none:
        optional = [register for register, t in operands if isinstance(t, types.Optional)]
        if optional:
            there = function in (operator.is_not, operator.ne)
            body.compute(target, lambda pair: np.equal(pair[0], there), tuple(optional))
            return
        same = all(isinstance(t, types.NoneType | types.Omitted) for _, t in operands)
        body.hold(target, np.bool_(same == (function in (operator.is_, operator.eq))))
        return
    if function in (operator.is_, operator.is_not) and all(isinstance(t, types.EnumMember) for _, t in operands):
        if operands[0][1] != operands[1][1]:
            body.hold(target, np.bool_(function is operator.is_not))
            return
        function = operator.eq if function is operator.is_ else operator.ne
    kinds = [plain(t) for _, t in operands]
    if any(isinstance(t, types.BaseTuple) for t in kinds) and function in TUPLE_OPERATIONS:
        body.compute(target, TUPLE_OPERATIONS[function], tuple(register for register, _ in operands))
        return
    if function is operator.contains and isinstance(kinds[0], types.RangeType) and isinstance(kinds[1], types.Integer):
        body.compute(target, _is_in_range, tuple(register for register, _ in operands))
        return
    if function in (operator.is_, operator.is_not) and all(isinstance(t, types.Array) for t in kinds):
        wanted_same, one_type = function is operator.is_, kinds[0] == kinds[1]
        body.compute(
            target,
            lambda a, b: np.equal(_is_one_array(a, b) if one_type else np.False_, wanted_same),
            tuple(register for register, _ in operands),
        )
        return
    if function in COMPARISONS and all(isinstance(t, types.UnicodeType | types.Bytes) for t in kinds):
        body.compute(target, COMPARISONS[function], tuple(register for register, _ in operands))
        return
    if any(isinstance(t, types.Array) for t in kinds):
        name = getattr(function, "__name__", function)
        raise body.needs_memory(whole_arrays(name))
    if any(not is_scalar(t) for t in signature.args) or not is_scalar(signature.return_type):
        raise body.unknown(f"{getattr(function, '__name__', function)} of {', '.join(map(str, signature.args))}")
    wanted = list(signature.args)
    operation = COMPARISONS.get(function) or ARITHMETIC.get(function) or UNARY.get(function)
    if operation is None:
        raise body.unknown(f"the operator {getattr(function, '__name__', function)}")
    if any(is_time(t) for t in wanted):
        # NumPy's rules of units are Numba's; a result may be of another kind than the operands.
        result = dtype_of(signature.return_type)
        times = tuple(body.cast_register(r, t, w) for (r, t), w in zip(operands, wanted, strict=True))
        of_times = operation
        body.compute(target, lambda *values: convert(of_times(*values), result), times)
        return
    own_width = function in (operator.neg, operator.invert) and isinstance(plain(wanted[0]), types.Integer)
    if own_width:  # compiled code changes the sign of a narrow integer before it widens it
        operation = partial(_then_widened, operation, dtype_of(signature.return_type))
    elif function not in COMPARISONS and function is not operator.not_:
        wanted = [signature.return_type] * len(operands)
    registers = tuple(body.cast_register(r, t, w) for (r, t), w in zip(operands, wanted, strict=True))
    if len(registers) > 1:
        guard_division(body, function, registers[1], wanted[1])
    if function is operator.pow:
        guard_power(body, *operands)
    body.compute(target, operation, registers)
    if function in ARITHMETIC:
        body.note_flops(signature.return_type, _FLOPS_OF_COMPLEX.get(function, 1))


def _then_widened(operation: Callable[..., Any], dtype: np.dtype[Any], value: Any) -> Any:
    """An operation in the width of its operand, converted to ``dtype`` afterwards."""
    return convert(operation(value), dtype)


def _is_one_array(a: ArrayRef, b: ArrayRef) -> Any:
    """Whether two arrays of one type are the same memory in the same shape."""
    first, second = alike([a, b])
    return reduce(np.logical_and, (np.equal(x, y) for x, y in zip(first.parts(), second.parts(), strict=True)))


def _is_in_range(parts: tuple[Any, Any, Any], value: Any) -> Any:
    start, stop, step = parts
    inside = np.where(np.greater(step, 0), (value >= start) & (value < stop), (value <= start) & (value > stop))
    return (inside & (np.remainder(value - start, step) == 0))[()]
