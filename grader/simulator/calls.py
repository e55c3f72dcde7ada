"""Calls of Python's and NumPy's functions in a kernel: casts, ``range``, ``math``. Runs in the runner.

In: a call in typed IR. Out: steps of a ``Body``, or False for what is not known here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.simulator.array_methods import ravel, sum_elements, translate_method
from grader.simulator.body import Body
from grader.simulator.callees import lowers_ufunc
from grader.simulator.frontend import KernelError, types
from grader.simulator.index_loops import begin_enumerated_elements, begin_indices, begin_views
from grader.simulator.loops import begin_enumerate, begin_iterator, begin_zip, take_next
from grader.simulator.numba_types import convert, dtype_of, is_scalar, is_static, is_time, plain
from grader.simulator.operations import ARITHMETIC, COMPARISONS, INPLACE, MATH, MOST_OF_MIXED, NO_FLOPS, UNARY
from grader.simulator.operators import translate_operator
from grader.simulator.pointers import array_at_pointer
from grader.simulator.raising import guard_division
from grader.simulator.ranges import make_iterator
from grader.simulator.registry import DEVICE_CALLS, Handler, declared_as
from grader.simulator.rejections import NO_TEXT
from grader.simulator.scalar_calls import make_complex, round_number
from grader.simulator.ufunc_calls import takes_arrays, translate_ufunc


def translate_call(body: Body, target: Any, expr: Any, key: Any) -> bool:
    """``target = key(*args)`` for anything that is no function of kernels.py; False for what is not known here."""
    function_type = body.type_of(expr.func)
    signature = body.typed.calltypes[expr]
    if isinstance(function_type, types.ExceptionClass) or is_static(signature.return_type):
        return True  # the raise that follows ends the thread, whatever it raises; types have no values
    if isinstance(function_type, types.NamedTupleClass):
        _named_tuple(body, target, expr, function_type.instance_class, signature)
        return True
    if isinstance(function_type, types.NumberClass) or key in (int, float, bool, complex):
        _conversion(body, target, expr, signature)
        return True
    if str(key) in {"<intrinsic mark_try_block>", "<intrinsic exception_check>", "<intrinsic end_try_block>"}:
        raise KernelError("A kernel cannot use try and except.", body.line)
    if getattr(key, "__name__", "") == "intrinsic_cfarray":
        array_at_pointer(body, target, expr, signature)
        return True
    if key is str or "unicode" in str(signature.return_type):
        raise KernelError(NO_TEXT, body.line)
    if isinstance(key, np.ufunc) and key is not np.isnat and (not lowers_ufunc(key) or is_time(signature.args[0])):
        better = f"use math.{key.__name__}" if hasattr(math, key.__name__) else "use Python's operators and math"
        raise KernelError(f"Numba knows np.{key.__name__} but cannot compile it for a GPU: {better}.", body.line)
    if isinstance(key, np.ufunc) and takes_arrays(signature):
        translate_ufunc(body, target, key, [(body.register(arg.name), body.type_of(arg)) for arg in expr.args])
        return True
    if getattr(key, "__name__", "") == "resolve_getattr":
        raise KernelError("Numba cannot compile getattr for a GPU: write the attribute's name.", body.line)
    try:
        handler = DEVICE_CALLS.get(declared_as(key)) or _CALLS.get(key)
    except TypeError:  # an unhashable key is none of ours
        handler = None
    if handler is not None:
        handler(body, target, expr, signature)
        return True
    if translate_method(body, target, expr, signature):
        return True
    if any(_in(key, table) for table in (ARITHMETIC, COMPARISONS, UNARY, INPLACE)):
        operands = [(body.register(arg.name), body.type_of(arg)) for arg in expr.args]
        translate_operator(body, body.register(target.name), key, operands, signature)
        return True
    if _in(key, MATH) and is_scalar(signature.return_type) and all(is_scalar(t) for t in signature.args):
        _math(body, target, expr, key, signature)
        return True
    return False


def _named_tuple(body: Body, target: Any, expr: Any, made: Any, signature: Any) -> None:
    """``target = Point(x, y=…)``."""
    if expr.vararg is not None and not expr.args and not expr.kws:
        values = body.cast_register(body.register(expr.vararg.name), body.type_of(expr.vararg), signature.return_type)
        body.compute(body.register(target.name), lambda items: items, (values,))
        return
    given = dict(zip(made._fields, expr.args, strict=False)) | dict(expr.kws)
    items = [given[name] for name in made._fields if name in given]
    if len(items) != len(signature.return_type):
        raise body.unknown(f"this call of {made.__name__}")
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
    if len(expr.args) == 2 and not expr.kws and isinstance(signature.return_type, types.Complex):
        make_complex(body, target, expr, signature)
        return
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
    guard_division(body, divmod, operands[1], result)
    body.compute(body.register(target.name), lambda a, b: (np.floor_divide(a, b), np.remainder(a, b)), operands)


def _length(body: Body, target: Any, expr: Any, signature: Any) -> None:
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
    elif isinstance(arg_type, types.UnicodeType | types.Bytes):
        body.compute(
            body.register(target.name),
            lambda text: np.asarray(np.strings.str_len(text), np.int64)[()],
            (body.register(arg.name),),
        )
    elif isinstance(arg_type, types.RangeType):
        body.compute(body.register(target.name), _range_length, (body.register(arg.name),))
    elif isinstance(arg_type, types.NumpyFlatType):
        body.compute(body.register(target.name), lambda a: np.int64(math.prod(a.shape)), (body.register(arg.name),))
    else:
        raise body.unknown(f"len of {arg_type}")


def _range_length(parts: tuple[Any, Any, Any]) -> Any:
    return np.asarray(make_iterator(np.dtype(np.int64), *parts).remaining, np.int64)[()]


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


def _in_numbas_type(function: Any, result: np.dtype[Any]) -> Any:
    """NumPy's arithmetic refuses booleans, and has float16 for small integers; Numba takes them as the result's type.

    Numba's ufuncs have no loops for float16: its types go by the first that holds the arguments.
    """
    if result == np.bool_:
        return function
    cast = "biu" if result.kind in "fc" else "b"

    def operation(*values: Any) -> Any:
        return function(*(convert(v, result) if np.asarray(v).dtype.kind in cast else v for v in values))

    return operation


def _math(body: Body, target: Any, expr: Any, key: Any, signature: Any) -> None:
    if key is round and round_number(body, target, expr, signature):
        return
    operation = MATH[key]
    if isinstance(key, np.ufunc):
        operation = _in_numbas_type(operation, dtype_of(signature.return_type))
    result = dtype_of(signature.return_type)
    registers = tuple(
        body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
        for arg, wanted in zip(expr.args, signature.args, strict=False)
    )
    if key in (max, min) and not (len(signature.args) == 2 and all(isinstance(t, types.Float) for t in signature.args)):
        operation = MOST_OF_MIXED[key]
    if key in (max, min, pow):
        registers = tuple(
            body.cast_register(r, t, signature.return_type) for r, t in zip(registers, signature.args, strict=True)
        )
    body.compute(body.register(target.name), lambda *values: convert(operation(*values), result), registers)
    if key not in NO_FLOPS:
        body.note_flops(signature.return_type)


def _slice_call(body: Body, target: Any, expr: Any, signature: Any) -> None:
    parts = tuple(_slice_part(body, arg) for arg in expr.args)
    body.compute(body.register(target.name), lambda *values: _slice(values), parts)


def _refuse_copy(body: Body, target: Any, expr: Any, signature: Any) -> None:
    raise body.needs_memory("Numba cannot compile copies of arrays for a GPU: it would need memory for them.")


def _ravel(body: Body, target: Any, expr: Any, signature: Any) -> None:
    if not ravel(body, target, expr.args[0]):
        _refuse_copy(body, target, expr, signature)


def _tuple(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``tuple(items)`` of a tuple."""
    (arg,) = expr.args
    if not isinstance(plain(body.type_of(arg)), types.BaseTuple):
        raise body.unknown(f"tuple of {body.type_of(arg)}")
    body.compute(body.register(target.name), lambda items: items, (body.register(arg.name),))


_CALLS: dict[Any, Handler] = {
    range: _range,
    enumerate: begin_enumerate,
    zip: begin_zip,
    divmod: _divmod,
    len: _length,
    slice: _slice_call,
    np.ndindex: begin_indices,
    np.ndenumerate: begin_enumerated_elements,
    np.nditer: begin_views,
    iter: begin_iterator,
    next: take_next,
    tuple: _tuple,
    np.ravel: _ravel,
    np.copy: _refuse_copy,
    np.sum: lambda b, t, e, s: sum_elements(b, t, e.args[0], s),
}
