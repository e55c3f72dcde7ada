"""Calls of Python's and NumPy's functions in a kernel: casts, ``range``, ``math``. Runs in the runner."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.simulator.array_methods import translate_method
from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, types
from grader.simulator.loops import begin_enumerate, begin_zip
from grader.simulator.numba_types import convert, dtype_of, is_scalar, plain
from grader.simulator.operations import ARITHMETIC, COMPARISONS, INPLACE, MATH, UNARY
from grader.simulator.registry import DEVICE_CALLS

# They pick, or move bits.
NO_FLOPS = {abs, max, min, np.abs, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.negative, np.sign}


def translate_call(body: Body, target: Any, expr: Any, key: Any) -> None:
    """``target = key(*args)`` for anything that is no function of kernels.py."""
    function_type = body.type_of(expr.func)
    signature = body.typed.calltypes[expr]
    if isinstance(function_type, types.ExceptionClass):
        return  # the raise that follows ends the thread, whatever it raises
    if isinstance(function_type, types.NamedTupleClass):
        _named_tuple(body, target, expr, function_type.instance_class, signature)
        return
    if isinstance(function_type, types.NumberClass) or key in (int, float, bool, complex):
        _conversion(body, target, expr, signature)
        return
    if str(key) in {"<intrinsic mark_try_block>", "<intrinsic exception_check>", "<intrinsic end_try_block>"}:
        raise KernelError("A kernel cannot use try and except.", body.line)
    if key is str or "unicode" in str(signature.return_type):
        raise KernelError("A kernel cannot make text: print takes numbers and fixed words.", body.line)
    try:
        handler = DEVICE_CALLS.get(key)
    except TypeError:  # an unhashable key is none of ours
        handler = None
    if handler is not None:
        handler(body, target, expr, signature)
    elif translate_method(body, target, expr, signature):
        return
    elif key is range:
        _range(body, target, expr, signature)
    elif key is enumerate:
        begin_enumerate(body, target, expr, signature)
    elif key is zip:
        begin_zip(body, target, expr, signature)
    elif key is divmod:
        _divmod(body, target, expr, signature)
    elif key is len:
        _length(body, target, expr)
    elif key is slice:
        body.compute(
            body.register(target.name),
            lambda *parts: _slice(parts),
            tuple(_slice_part(body, arg) for arg in expr.args),
        )
    elif _in(key, ARITHMETIC) or _in(key, COMPARISONS) or _in(key, UNARY) or _in(key, INPLACE):
        operands = [(body.register(arg.name), body.type_of(arg)) for arg in expr.args]
        body.operator(body.register(target.name), key, operands, signature)
    elif _in(key, MATH):
        _math(body, target, expr, key, signature)
    else:
        raise body.unknown(f"the function {getattr(key, '__name__', key)}")


def _named_tuple(body: Body, target: Any, expr: Any, made: Any, signature: Any) -> None:
    """``target = Point(x, y=…)``."""
    given = dict(zip(made._fields, expr.args, strict=False)) | dict(expr.kws)
    items = [given[name] for name in made._fields if name in given]
    registers = tuple(
        body.cast_register(body.register(item.name), body.type_of(item), wanted)
        for item, wanted in zip(items, signature.return_type, strict=True)
    )
    body.compute(body.register(target.name), lambda *values: values, registers)


def _in(key: Any, table: dict[Any, Any]) -> bool:
    try:
        return key in table
    except TypeError:
        return False


def _conversion(body: Body, target: Any, expr: Any, signature: Any) -> None:
    if len(expr.args) != 1 or expr.kws:
        raise body.unknown("this conversion")
    (arg,) = expr.args
    source = body.cast_register(body.register(arg.name), body.type_of(arg), signature.return_type)
    body.compute(body.register(target.name), lambda value: value, (source,))


def _range(body: Body, target: Any, expr: Any, signature: Any) -> None:
    parts = [
        body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
        for arg, wanted in zip(expr.args, signature.args, strict=True)
    ]
    dtype = dtype_of(signature.return_type.dtype)
    zero, one = dtype.type(0), dtype.type(1)
    register = body.register(target.name)
    if len(parts) == 1:
        body.compute(register, lambda stop: (zero, stop, one), tuple(parts))
    elif len(parts) == 2:
        body.compute(register, lambda start, stop: (start, stop, one), tuple(parts))
    else:
        body.compute(register, lambda start, stop, step: (start, stop, step), tuple(parts))


def _divmod(body: Body, target: Any, expr: Any, signature: Any) -> None:
    result = signature.return_type[0]
    operands = tuple(body.cast_register(body.register(arg.name), body.type_of(arg), result) for arg in expr.args)
    body.compute(body.register(target.name), lambda a, b: (np.floor_divide(a, b), np.remainder(a, b)), operands)


def _length(body: Body, target: Any, expr: Any) -> None:
    (arg,) = expr.args
    arg_type = plain(body.type_of(arg))
    if isinstance(arg_type, types.Array):
        body.compute(
            body.register(target.name),
            lambda a: convert(a.shape[0], np.dtype(np.int64)),
            (body.register(arg.name),),
        )
    elif isinstance(arg_type, types.BaseTuple):
        body.constant(target.name, np.int64(len(arg_type)))
    else:
        raise body.unknown(f"len of {arg_type}")


def _slice_part(body: Body, arg: Any) -> int:
    if isinstance(plain(body.type_of(arg)), types.NoneType):
        register = body.unit.new_register()
        body.add(lambda m, r: r.__setitem__(register, None), (), (register,))
        return register
    return body.register(arg.name)


def _slice(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(parts) == 1:
        return ("slice", None, parts[0], None)
    return ("slice", *parts, *([None] * (3 - len(parts))))


def _math(body: Body, target: Any, expr: Any, key: Any, signature: Any) -> None:
    if not is_scalar(signature.return_type) or any(not is_scalar(t) for t in signature.args):
        raise body.unknown(f"the function {key.__name__} for these arguments")
    operation = MATH[key]
    result = dtype_of(signature.return_type)
    registers = tuple(
        body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
        for arg, wanted in zip(expr.args, signature.args, strict=False)
    )
    if key is round and len(expr.args) > 1:
        raise body.unknown("round with a number of digits")
    if key in (max, min, pow):
        registers = tuple(
            body.cast_register(r, t, signature.return_type) for r, t in zip(registers, signature.args, strict=True)
        )
    body.compute(body.register(target.name), lambda *values: convert(operation(*values), result), registers)
    if key not in NO_FLOPS:
        body.note_flops(signature.return_type)
