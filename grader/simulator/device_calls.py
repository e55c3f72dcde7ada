"""The kernel side of ``numba.cuda``: what each call means on lanes. Runs in the runner.

``DEVICE_CALLS`` maps the object that a kernel calls (``cuda.grid``, ``cuda.atomic.add``) to its translation. An
entry exists only where this Numba has the object, so older and newer ones work alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numba import cuda

from grader.simulator import access
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef, round_up
from grader.simulator.numba_types import convert, dtype_of, plain
from grader.simulator.operations import FUSED_MULTIPLY_ADD
from grader.simulator.program import Barrier, Registers

Handler = Callable[["Body", Any, Any, Any], None]
DEVICE_CALLS: dict[Any, Handler] = {}
_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)


def _on(*paths: str) -> Callable[[Handler], Handler]:
    """Register a translation for attribute paths of ``numba.cuda``."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            _register(path, handler)
        return handler

    return register


def _register(path: str, handler: Handler) -> None:
    try:
        DEVICE_CALLS[reduce(getattr, path.split("."), cuda)] = handler
    except AttributeError:
        return


def _arguments(expr: Any, *names: str) -> dict[str, Any]:
    """The call's arguments by parameter name."""
    return dict(zip(names, expr.args, strict=False)) | dict(expr.kws)


# ---------------------------------------------------------------------------- where am I


@_on("grid", "gridsize")
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


@_on("shared.array")
def _shared_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _array(body, target, expr, signature, "shared")


@_on("local.array")
def _local_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _array(body, target, expr, signature, "local")


@_on("const.array_like")
def _const_array(body: Body, target: Any, expr: Any, signature: Any) -> None:
    (array,) = expr.args
    body.compute(body.register(target.name), lambda value: value, (body.register(array.name),))


def _array(body: Body, target: Any, expr: Any, signature: Any, space: str) -> None:
    """One allocation per place in the source, however often it is inlined or executed."""
    shape_var = _arguments(expr, "shape", "dtype", "alignment")["shape"]
    shape_type = body.type_of(shape_var)
    literal = shape_type if isinstance(shape_type, types.BaseTuple) else (shape_type,)
    shape = tuple(int(item.literal_value) for item in literal)
    dtype = dtype_of(signature.return_type.dtype)
    program = body.unit.program
    known = body.unit.shared_arrays if space == "shared" else body.unit.local_arrays
    name = _student_name(body, target)
    register = body.register(target.name)
    if space == "shared" and shape == (0,):
        program.uses_dynamic_shared = True

        def dynamic(m: Machine, r: Registers) -> None:
            count = m.dynamic_shared_bytes // dtype.itemsize
            r[register] = ArrayRef.contiguous("shared", name, dtype, m.static_shared_bytes, (count,))

        body.add(dynamic, (), (register,))
        return
    key = (body.callers[-1], id(expr))
    if key not in known:
        nbytes = round_up(int(np.prod(shape)) * dtype.itemsize)
        if space == "shared":
            known[key] = (program.shared_bytes, nbytes)
            program.shared_bytes += nbytes
        else:
            known[key] = (program.local_bytes, nbytes)
            program.local_bytes += nbytes
    array = ArrayRef.contiguous(space, name, dtype, known[key][0], shape)
    body.add(lambda m, r: r.__setitem__(register, array), (), (register,))


def _student_name(body: Body, target: Any) -> str:
    """The variable's name as the student wrote it."""
    return str(getattr(target, "unversioned_name", target.name)).split(".")[0].lstrip("$") or "array"


# ---------------------------------------------------------------------------- barriers


def _barrier(body: Body, target: Any, expr: Any, vote: str) -> None:
    predicate = -1
    if vote:
        (arg,) = expr.args
        predicate = body.cast_register(body.register(arg.name), body.type_of(arg), types.int32)
        body.block.note_reads((predicate,))
    _wait(
        body,
        Barrier(-1, body.place(), "block", -1, vote, predicate, body.register(target.name) if vote else -1),
    )


def _wait(body: Body, barrier: Barrier) -> None:
    waiting = body.block
    after = body.start_block()
    waiting.end = Barrier(
        after, barrier.place, barrier.scope, barrier.mask, barrier.vote, barrier.predicate, barrier.result
    )


for _name, _vote in (("", ""), ("_count", "count"), ("_and", "and"), ("_or", "or")):
    _register(
        "syncthreads" + _name,
        lambda body, target, expr, signature, vote=_vote: _barrier(body, target, expr, vote),  # type: ignore[misc]
    )


def _warp_barrier(body: Body, mask: Any | None) -> None:
    """Lanes of a warp that ``mask`` names wait for each other, as the ``_sync`` functions do."""
    register = -1
    if mask is not None:
        register = body.cast_register(body.register(mask.name), body.type_of(mask), types.int64)
        body.block.note_reads((register,))
    _wait(body, Barrier(-1, body.place(), "warp", register))


@_on("syncwarp")
def _syncwarp(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _warp_barrier(body, expr.args[0] if expr.args else None)


@_on("threadfence", "threadfence_block", "threadfence_system", "nanosleep")
def _no_effect_on_values(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """Lanes see each other's writes at once here."""


# ---------------------------------------------------------------------------- within a warp


def _positions(m: Machine) -> tuple[Any, Any, Any]:
    """For the active lanes: warp, lane, and a table (warp, lane) → position among the active lanes or -1."""
    warp = np.broadcast_to(m.per_lane("warp"), m.active)
    lane = np.broadcast_to(m.per_lane("lane"), m.active)
    table = np.full((m.wave.warps, 32), -1, np.int64)
    table[warp, lane] = np.arange(m.active)
    return warp, lane, table


def _shuffle(name: str) -> Handler:
    """Source lanes as the PTX ISA's section "shfl.sync" defines them; a lane without a source keeps its own value."""
    sources: dict[str, Callable[[Any, Any], Any]] = {
        "shfl_sync": lambda lane, amount: np.broadcast_to(amount, lane.shape) % 32,
        "shfl_up_sync": lambda lane, amount: lane - amount,
        "shfl_down_sync": lambda lane, amount: lane + amount,
        "shfl_xor_sync": lambda lane, amount: lane ^ amount,
    }

    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        arguments = _arguments(expr, "mask", "value", "by")
        by = next(arg for key, arg in arguments.items() if key not in ("mask", "value"))
        _warp_barrier(body, arguments["mask"])
        register = body.register(target.name)
        value = body.cast_register(
            body.register(arguments["value"].name), body.type_of(arguments["value"]), signature.return_type
        )
        offset = body.cast_register(body.register(by.name), body.type_of(by), types.int32)

        def step(m: Machine, r: Registers) -> None:
            warp, lane, table = _positions(m)
            amount = r[offset]
            source = sources[name](lane, amount)
            inside = (source >= 0) & (source < 32)
            position = np.where(inside, table[warp, np.where(inside, source, 0)], -1)
            own = np.arange(m.active)
            values = np.broadcast_to(r[value], m.active)
            r[register] = values[np.where(position >= 0, position, own)]

        body.add(step, (value, offset), (register,))

    return handler


for _name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"):
    _register(_name, _shuffle(_name))


def _vote_of_warp(name: str) -> Handler:
    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        arguments = _arguments(expr, "mask", "predicate")
        _warp_barrier(body, arguments["mask"])
        register = body.register(target.name)
        predicate = body.cast_register(
            body.register(arguments["predicate"].name), body.type_of(arguments["predicate"]), types.boolean
        )
        mask = body.cast_register(body.register(arguments["mask"].name), body.type_of(arguments["mask"]), types.int64)
        dtype = dtype_of(signature.return_type)

        def step(m: Machine, r: Registers) -> None:
            warp = np.broadcast_to(m.per_lane("warp"), m.active)
            bit = np.left_shift(np.int64(1), np.broadcast_to(m.per_lane("lane"), m.active))
            named = np.broadcast_to(r[mask], m.active) & 0xFFFFFFFF
            yes = np.zeros(m.wave.warps, np.int64)
            there = np.zeros(m.wave.warps, np.int64)
            np.bitwise_or.at(there, warp, bit)
            np.bitwise_or.at(yes, warp, np.where(r[predicate], bit, 0))
            ballot, everyone = yes[warp] & named, there[warp] & named
            result = {
                "all_sync": ballot == everyone,
                "any_sync": ballot != 0,
                "eq_sync": (ballot == everyone) | (ballot == 0),
                "ballot_sync": ballot,
            }[name]
            r[register] = convert(convert(result, np.dtype(np.uint32)), dtype) if dtype != np.bool_ else result != 0

        body.add(step, (predicate, mask), (register,))

    return handler


for _name in ("all_sync", "any_sync", "eq_sync", "ballot_sync"):
    _register(_name, _vote_of_warp(_name))


# ---------------------------------------------------------------------------- atomics


def _keep_larger(old: Any, value: Any) -> Any:
    """The stored value stays where either side is NaN, as Numba's compare-and-swap loop does it."""
    return np.where(value > old, value, old)


def _keep_smaller(old: Any, value: Any) -> Any:
    return np.where(value < old, value, old)


_ATOMICS: dict[str, tuple[Callable[..., Any], np.ufunc | None]] = {
    "add": (np.add, np.add),
    "sub": (np.subtract, np.subtract),
    "and_": (np.bitwise_and, np.bitwise_and),
    "or_": (np.bitwise_or, np.bitwise_or),
    "xor": (np.bitwise_xor, np.bitwise_xor),
    "exch": (lambda old, value: value, None),
    "max": (_keep_larger, None),
    "min": (_keep_smaller, None),
    "nanmax": (np.fmax, np.fmax),
    "nanmin": (np.fmin, np.fmin),
    "inc": (lambda old, value: np.where(old >= value, 0, old + 1).astype(old.dtype), None),
    "dec": (lambda old, value: np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype), None),
}


def _atomic(name: str) -> Handler:
    combine, direct = _ATOMICS[name]

    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        arguments = _arguments(expr, "ary", "idx", "val")
        _emit_atomic(body, target, signature, arguments["ary"], arguments["idx"], [arguments["val"]], combine, direct)

    return handler


def _emit_atomic(
    body: Body,
    target: Any,
    signature: Any,
    array: Any,
    index: Any | None,
    values: list[Any],
    combine: Any,
    direct: Any,
) -> None:
    array_type = plain(body.type_of(array))
    source, register, place = body.register(array.name), body.register(target.name), body.place()
    if index is None:
        zero = body.unit.new_register()
        body.add(lambda m, r: r.__setitem__(zero, np.int64(0)), (), (zero,))
        positions: tuple[int, ...] = (zero,)
    else:
        positions = tuple(r for r, _ in body.index_registers(index))
    operands = tuple(body.cast_register(body.register(v.name), body.type_of(v), array_type.dtype) for v in values)
    used = body.is_used(target.name)

    def step(m: Machine, r: Registers) -> None:
        r[register] = access.atomic(
            m,
            r[source],
            tuple([r[p] for p in positions]),
            place,
            combine,
            tuple([r[o] for o in operands]),
            direct,
            used,
        )

    body.add(step, (source, *positions, *operands), (register,) if used else ())


for _name in _ATOMICS:
    _register("atomic." + _name, _atomic(_name))


def _compare_and_swap(body: Body, target: Any, expr: Any, signature: Any, *, indexed: bool) -> None:
    names = ("ary", "idx", "old", "val") if indexed else ("ary", "old", "val")
    arguments = _arguments(expr, *names)
    _emit_atomic(
        body,
        target,
        signature,
        arguments["ary"],
        arguments.get("idx"),
        [arguments["old"], arguments["val"]],
        lambda stored, expected, value: np.where(stored == expected, value, stored),
        None,
    )


_register("atomic.cas", lambda b, t, e, s: _compare_and_swap(b, t, e, s, indexed=True))
_register("atomic.compare_and_swap", lambda b, t, e, s: _compare_and_swap(b, t, e, s, indexed=False))


# ---------------------------------------------------------------------------- arithmetic


def _scalar(path: str, operation: Callable[..., Any]) -> None:
    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        dtype = dtype_of(signature.return_type)
        operands = tuple(
            body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
            for arg, wanted in zip(expr.args, signature.args, strict=True)
        )
        body.compute(body.register(target.name), lambda *values: convert(operation(*values), dtype), operands)

    _register(path, handler)


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
_scalar("cbrt", np.cbrt)
_scalar("fma", FUSED_MULTIPLY_ADD)
_scalar("selp", lambda condition, yes, no: np.asarray(np.where(condition, yes, no))[()])


@_on("activemask")
def _activemask(body: Body, target: Any, expr: Any, signature: Any) -> None:
    register, dtype = body.register(target.name), dtype_of(signature.return_type)

    def step(m: Machine, r: Registers) -> None:
        warp = np.broadcast_to(m.per_lane("warp"), m.active)
        bit = np.left_shift(np.int64(1), np.broadcast_to(m.per_lane("lane"), m.active))
        there = np.zeros(m.wave.warps, np.int64)
        np.bitwise_or.at(there, warp, bit)
        r[register] = convert(convert(there[warp], np.dtype(np.uint32)), dtype)

    body.add(step, (), (register,))


@_on("lanemask_lt")
def _lanemask_lt(body: Body, target: Any, expr: Any, signature: Any) -> None:
    register, dtype = body.register(target.name), dtype_of(signature.return_type)

    def step(m: Machine, r: Registers) -> None:
        lane = m.per_lane("lane")
        r[register] = convert((np.left_shift(np.int64(1), lane) - 1), dtype)

    body.add(step, (), (register,))
