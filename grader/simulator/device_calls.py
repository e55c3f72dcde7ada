"""The kernel side of ``numba.cuda``: what each call means on lanes. Runs in the runner.

In: calls in typed IR. Out: steps of a ``Body``. Atomic operations are in ``atomic_calls``, what threads of a warp or a
block do together in ``collective_calls``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, types
from grader.simulator.machine import Machine
from grader.simulator.memory import SEGMENT, ArrayRef, round_up
from grader.simulator.numba_types import convert, dtype_of
from grader.simulator.program import Registers
from grader.simulator.registry import named_arguments, on, register_call
from grader.simulator.rounding import fused_multiply_add

POINTER_BYTES = 8
_INT64 = np.dtype(np.int64)


# ---------------------------------------------------------------------------- where am I


@on("grid", "gridsize")
def _grid(body: Body, target: Any, expr: Any, signature: Any) -> None:
    register = body.register(target.name)
    returned = signature.return_type
    dimensions = len(returned) if isinstance(returned, types.BaseTuple) else 1
    size = "gridsize" in str(body.type_of(expr.func))

    def axis(m: Machine, number: int) -> Any:
        extent = m.wave.block[number]
        if size:
            return np.int64(extent * m.wave.grid[number])
        block, thread = m.per_lane(("bx", "by", "bz")[number]), m.per_lane(("tx", "ty", "tz")[number])
        return convert(block, _INT64) * np.int64(extent) + thread

    def step(m: Machine, r: Registers) -> None:
        r[register] = axis(m, 0) if dimensions == 1 else tuple(axis(m, number) for number in range(dimensions))

    body.add(step, (), (register,))


# ---------------------------------------------------------------------------- memory


@on("shared.array")
def _shared_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _array(body, target, expr, signature, "shared")


@on("local.array")
def _local_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _array(body, target, expr, signature, "local")


@on("const.array_like")
def _const_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    (array,) = expr.args
    body.compute(body.register(target.name), lambda value: value, (body.register(array.name),))


def _array(body: Body, target: Any, expr: Any, signature: Any, space: str) -> None:
    """One allocation per place in the source, however often it is inlined or executed."""
    arguments = named_arguments(expr, "shape", "dtype", "alignment")
    shape_type = body.type_of(arguments["shape"])
    alignment = _alignment(body, arguments)
    literal = shape_type if isinstance(shape_type, types.BaseTuple) else (shape_type,)
    shape = tuple(int(item.literal_value) for item in literal)
    if any(length < 0 for length in shape):
        raise KernelError(f"A shared or local array cannot have the shape {shape}.", body.line)
    dtype = dtype_of(signature.return_type.dtype)
    program = body.unit.program
    known = body.unit.shared_arrays if space == "shared" else body.unit.local_arrays
    name = _student_name(body, target)
    register = body.register(target.name)
    if space == "shared":
        program.shared_granule = min(program.shared_granule, dtype.itemsize if dtype.names is None else dtype.alignment)
    if space == "shared" and shape == (0,):

        def dynamic(m: Machine, r: Registers) -> None:
            count = m.dynamic_shared_bytes // dtype.itemsize
            array = ArrayRef.contiguous("shared", name, dtype, m.static_shared_bytes, (count,))
            r[register] = replace(array, root=m.static_shared_bytes, dynamic=True)

        body.add(dynamic, (), (register,))
        return
    if space == "local" and any(caller in body.unit.routines for caller in body.callers):
        raise body.unknown("a local array in a function that calls itself")
    key = (body.callers[-1], id(expr))
    if key not in known:
        nbytes = int(np.prod(shape)) * dtype.itemsize
        if space == "shared":
            known[key] = (program.shared_layout, nbytes)
            program.shared_layout += round_up(nbytes)
            program.shared_bytes = _aligned(program.shared_bytes, max(alignment, dtype.alignment)) + nbytes
        else:
            known[key] = (program.local_layout, nbytes)
            if dtype.names is not None or dtype.itemsize & (dtype.itemsize - 1):
                program.interleaved = False
            program.local_layout += round_up(nbytes)
            program.local_bytes = _aligned(program.local_bytes, max(alignment, dtype.alignment)) + nbytes
    array = replace(ArrayRef.contiguous(space, name, dtype, known[key][0], shape), root=known[key][0])
    body.add(lambda m, r: r.__setitem__(register, array), (), (register,))


def _aligned(offset: int, alignment: int) -> int:
    """The next offset that is a multiple of an alignment."""
    return -(-offset // alignment) * alignment


def _alignment(body: Body, arguments: dict[str, Any]) -> int:
    """The alignment that is asked for, in bytes; 0 for none. Raises KernelError as Numba refuses it."""
    if "alignment" not in arguments:
        return 0
    asked = getattr(body.type_of(arguments["alignment"]), "literal_value", None)
    if not isinstance(asked, int):
        return 0
    if asked <= 0 or asked & (asked - 1) or asked % POINTER_BYTES:
        message = f"Alignment must be a power of 2 and a multiple of {POINTER_BYTES}, and it is {asked}."
        raise KernelError(message, body.line, cause=ValueError(message))
    if asked > SEGMENT:
        raise body.unknown(f"an alignment of more than {SEGMENT}")
    return asked


def _student_name(body: Body, target: Any) -> str:
    """The variable's name as the student wrote it: also of ``a, b = array(…), array(…)`` and ``array(…)[n:]``."""
    name = str(getattr(target, "unversioned_name", target.name))
    if not name.startswith("$"):
        return name.split(".", 1)[0]
    for block in body.typed.ir.blocks.values():
        for statement in block.body:
            value: Any = statement.value if type(statement).__name__ == "Assign" else None
            if type(value).__name__ == "Expr" and value.op in ("getitem", "static_getitem"):
                value = value.value
            if type(value).__name__ == "Var" and value.name == target.name:
                return _student_name(body, statement.target)
    return "array"


# ---------------------------------------------------------------------------- arithmetic


def _scalar(path: str, operation: Callable[..., Any], flops: int = 0) -> None:
    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        dtype = dtype_of(signature.return_type)
        operands = tuple(
            body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
            for arg, wanted in zip(expr.args, signature.args, strict=True)
        )
        body.compute(body.register(target.name), lambda *values: convert(operation(*values), dtype), operands)
        if flops:
            body.note_flops(signature.return_type, each=flops)

    register_call(path, handler)


def _bits(value: Any) -> Any:
    return np.asarray(value).view(f"u{np.asarray(value).dtype.itemsize}")[()]


def _count_leading_zeros(value: Any) -> Any:
    bits = _bits(value)
    width = 8 * np.asarray(bits).dtype.itemsize
    spread = bits
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            spread = spread | (spread >> np.asarray(shift, bits.dtype))
    return width - np.bitwise_count(spread).astype(np.int64)


def _find_first_set(value: Any) -> Any:
    bits = _bits(value)
    lowest = bits & (~bits + np.asarray(1, bits.dtype))
    return np.where(bits == 0, 0, 8 * np.asarray(bits).dtype.itemsize - _count_leading_zeros(lowest))


def _reverse_bits(value: Any) -> Any:
    bits = np.ascontiguousarray(_bits(value))
    octets = bits.reshape(-1).view(np.uint8).reshape(-1, bits.dtype.itemsize)
    each = np.unpackbits(octets, axis=1, bitorder="little")
    flipped = np.packbits(each[:, ::-1], axis=1, bitorder="little")
    return np.ascontiguousarray(flipped).view(bits.dtype).reshape(bits.shape)[()]


_scalar("popc", lambda value: np.bitwise_count(_bits(value)))
_scalar("clz", _count_leading_zeros)
_scalar("ffs", _find_first_set)
_scalar("brev", _reverse_bits)
_scalar("cbrt", np.cbrt, flops=1)
_scalar("fma", fused_multiply_add, flops=2)
_scalar("selp", lambda condition, yes, no: np.asarray(np.where(condition, yes, no))[()])
