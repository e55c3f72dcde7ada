"""Attributes of modules, arrays, complex numbers and ``threadIdx``. Runs in the runner.

In: ``value.attr`` in typed IR. Out: steps of a ``Body``, or what the attribute is while compiling.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numba import cuda

from grader.errors import NotSimulated
from grader.simulator.array_methods import Method
from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, types
from grader.simulator.index_loops import begin_flat
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import convert, dtype_of, is_scalar, is_static, plain
from grader.simulator.program import Registers
from grader.simulator.structs import get_field, get_field_of_array, is_record
from grader.simulator.vector_calls import get_component, is_vector

_COORDINATES = {"threadIdx": ("tx", "ty", "tz"), "blockIdx": ("bx", "by", "bz")}
_EXTENTS = {"blockDim": "block", "gridDim": "grid"}


def translate_attribute(body: Body, target: Any, expr: Any) -> None:
    """``target = value.attr``."""
    value_type = plain(body.type_of(expr.value))
    target_type = body.type_of(target)
    register = body.register(target.name)
    if isinstance(value_type, types.Module):
        _module_attribute(body, target, expr, value_type.pymod)
        return
    if str(value_type) == "Dim3":
        _dimension(body, register, body.static.get(expr.value.name), expr.attr)
        return
    if isinstance(target_type, types.BoundFunction):
        body.static[target.name] = Method(expr.value, expr.attr)
        return
    if is_static(target_type):  # a.dtype, a.dtype.type
        return
    source = body.register(expr.value.name)
    if isinstance(value_type, types.EnumClass):
        member = getattr(value_type.instance_class, expr.attr)
        body.constant(target.name, body.constant_value(member, value_type.dtype))
        return
    if isinstance(body.type_of(expr.value), types.EnumMember) and expr.attr == "value":
        if isinstance(target_type, types.UnicodeType):
            raise body.unknown("the text that is a member's value")
        body.compute(register, lambda value: value, (source,))
        return
    if isinstance(value_type, types.BaseNamedTuple) and expr.attr in value_type.fields:
        body.compute(register, operator.itemgetter(value_type.fields.index(expr.attr)), (source,))
        return
    if isinstance(value_type, types.Array):
        getter = {
            "shape": lambda a: tuple(_int64(n) for n in a.shape),
            "strides": lambda a: tuple(_int64(n) for n in a.strides),
            "size": lambda a: _int64(math.prod(a.shape)),
            "ndim": lambda a: np.int64(len(a.shape)),
            "itemsize": lambda a: np.int64(a.dtype.itemsize),
            "nbytes": lambda a: _int64(math.prod(a.shape) * a.dtype.itemsize),
            "T": lambda a: a.with_parts((a.address, *a.shape[::-1], *a.strides[::-1])),
        }.get(expr.attr)
        if getter is not None:
            body.compute(register, getter, (source,))
            return
        if expr.attr == "ctypes":
            body.compute(register, lambda a: a, (source,))
            return
        if expr.attr == "flat":
            begin_flat(body, target, expr)
            return
        if expr.attr in ("real", "imag") and isinstance(value_type.dtype, types.Complex):
            body.unit.program.interleaved = False
            body.compute(register, partial(_half, dtype_of(target_type.dtype), expr.attr == "imag"), (source,))
            return
        if expr.attr == "real":
            body.compute(register, lambda a: a, (source,))
            return
        if expr.attr == "flags":
            raise KernelError("Numba knows the attribute flags but cannot compile it for a GPU.", body.line)
        if is_record(value_type.dtype) and expr.attr in value_type.dtype.fields:
            get_field_of_array(body, target, expr.value, expr.attr)
            return
    if isinstance(value_type, types.ArrayCTypes) and expr.attr == "data":
        body.unit.program.interleaved = False
        body.add(lambda m, r: r.__setitem__(register, _address(m, r[source])), (source,), (register,))
        return
    if is_vector(value_type) and expr.attr in value_type.attr_names:
        get_component(body, target, expr.value, expr.attr)
        return
    if is_record(value_type):
        get_field(body, target, expr.value, expr.attr)
        return
    if is_scalar(value_type) and expr.attr in ("real", "imag"):
        dtype = dtype_of(target_type)
        part = np.real if expr.attr == "real" else np.imag
        body.compute(register, lambda value: convert(part(value), dtype), (source,))
        return
    if not body.overloaded_attribute(target, expr):
        raise body.unknown(f"the attribute {expr.attr} of {value_type}")


def _address(m: Machine, array: ArrayRef) -> Any:
    """Where an array starts, as a number: in global memory the address that the host knows."""
    if array.which is not None:
        raise NotSimulated("the simulator does not know the address of an array that differs by thread")
    base = m.memory.base if array.space == "global" else m.segment_base(array.space, 1)
    return convert(array.address + base, np.dtype(np.uint64))


def _half(dtype: np.dtype[Any], second: bool, array: ArrayRef) -> ArrayRef:
    """The real or imaginary parts of an array of complex numbers."""
    return replace(array, dtype=dtype, address=array.address + (dtype.itemsize if second else 0))


def _int64(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else np.int64(value)


def _module_attribute(body: Body, target: Any, expr: Any, module: Any) -> None:
    target_type = body.type_of(target)
    name = expr.attr
    if module is cuda and (name in _COORDINATES or name in _EXTENTS):
        body.static[target.name] = name
        return
    register = body.register(target.name)
    if module is cuda and name == "laneid":
        body.add(
            lambda m, r: r.__setitem__(register, convert(m.per_lane("lane"), np.dtype(np.int32))),
            (),
            (register,),
        )
        return
    if module is cuda and name == "warpsize":
        body.constant(target.name, np.int32(32))
        return
    value = getattr(module, name, None)
    body.static[target.name] = value
    if name == "syncthreads" and not body.is_used(target.name):
        body.unit.program.uncalled_barriers.append(body.place())
    if is_static(target_type) or value is None:
        return
    body.constant(target.name, body.constant_value(value, plain(target_type)))


def _dimension(body: Body, register: int, which: Any, axis: str) -> None:
    position = "xyz".index(axis)
    if which in _COORDINATES:
        name = _COORDINATES[which][position]

        def step(m: Machine, r: Registers) -> None:
            r[register] = m.per_lane(name)
    elif which in _EXTENTS:
        extent = _EXTENTS[which]

        def step(m: Machine, r: Registers) -> None:
            r[register] = np.int32(getattr(m.wave, extent)[position])
    else:
        raise body.unknown("this use of threadIdx, blockIdx, blockDim or gridDim")
    body.add(step, (), (register,))
