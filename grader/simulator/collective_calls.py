"""What threads of a block or a warp do together: barriers, shuffles, votes, masks. Runs in the runner.

In: calls of typed IR. Out: barriers and steps of a body.

numba-cuda has a function for each; Numba's built-in target has ``shfl_sync_intrinsic`` and ``vote_sync_intrinsic``
with a mode, and wraps them in Python. Semantics are the PTX ISA's ("shfl.sync", "vote.sync", "bar.sync"). What a lane
gets of one that is not active, or not named in the mask, is undefined there: garbage here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.records import Place, Severity
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.memory import GARBAGE
from grader.simulator.numba_types import convert, dtype_of
from grader.simulator.program import Barrier, Registers
from grader.simulator.registry import DEVICE_CALLS, named_arguments, on, register_call

_UINT32 = np.dtype(np.uint32)
_INT32 = np.dtype(np.int32)


# ---------------------------------------------------------------------------- barriers


def _block_barrier(vote: str, body: Body, target: Any, expr: Any, signature: Any) -> None:
    predicate = -1
    if vote:
        (arg,) = expr.args
        predicate = body.cast_register(body.register(arg.name), body.type_of(arg), types.int32)
        body.block.note_reads((predicate,))
    result = body.register(target.name) if vote else -1
    _wait(body, Barrier(-1, body.place(), vote=vote, predicate=predicate, result=result))


def _wait(body: Body, barrier: Barrier) -> None:
    waiting = body.block
    after = body.start_block()
    waiting.end = replace(barrier, target=after)


for _name, _vote in (("", ""), ("_count", "count"), ("_and", "and"), ("_or", "or")):
    register_call("syncthreads" + _name, partial(_block_barrier, _vote))


@on("cg.this_grid")
def _this_grid(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """The grid as a group has no value of its own; that a kernel asks for it decides how it is launched."""
    body.unit.program.cooperative = True
    DEVICE_CALLS[type(signature.return_type), "sync"] = _grid_barrier


def _grid_barrier(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``grid.sync()``: CUDA C++ Programming Guide, "Grid Synchronization". It returns 0, as it cannot fail here."""
    _wait(body, Barrier(-1, body.place(), "grid"))
    body.constant(target.name, np.int32(0))


def _warp_barrier(body: Body, mask: Any | None, *, orders_memory: bool = False) -> None:
    """Lanes of a warp that ``mask`` names wait for each other, as the ``_sync`` functions do."""
    register = -1
    if mask is not None:
        register = body.cast_register(body.register(mask.name), body.type_of(mask), types.int64)
        body.block.note_reads((register,))
    _wait(body, Barrier(-1, body.place(), "warp", register, orders_memory))


@on("syncwarp")
def _syncwarp(body: Body, target: Any, expr: Any, signature: Any) -> None:
    _warp_barrier(body, expr.args[0] if expr.args else None, orders_memory=True)


@on("threadfence", "threadfence_system")
def _fence(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """Lanes see each other's writes at once here, but only a fence makes that certain on a GPU."""
    body.add(lambda m, r: m.watch.fence(for_device=True), (), ())


@on("threadfence_block")
def _fence_of_block(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """Orders what threads of one block see of each other."""
    body.add(lambda m, r: m.watch.fence(for_device=False), (), ())


@on("nanosleep")
def _no_effect(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """Changes no value, and orders nothing."""


# ---------------------------------------------------------------------------- shuffles

_SOURCES: dict[str, Callable[[Any, Any], Any]] = {
    "idx": lambda lane, amount: np.broadcast_to(amount, lane.shape) % WARP_SIZE,
    "up": lambda lane, amount: lane - amount,
    "down": lambda lane, amount: lane + amount,
    "xor": lambda lane, amount: lane ^ amount,
}


def _emit_shuffle(body: Body, mode: str, variables: tuple[Any, Any, Any], result: Any, *, pair: bool) -> None:
    """``result`` (a variable) gets the value of each lane's source; with ``pair`` also whether there was one."""
    mask, value, amount = variables
    _warp_barrier(body, mask)
    result_type = body.type_of(result)
    register = body.register(result.name)
    source = body.cast_register(body.register(value.name), body.type_of(value), result_type[0] if pair else result_type)
    offset = body.cast_register(body.register(amount.name), body.type_of(amount), types.int32)
    named_by = body.cast_register(body.register(mask.name), body.type_of(mask), types.int64)
    place = body.place()

    def step(m: Machine, r: Registers) -> None:
        warp, lane, table = positions(m)
        wanted = _SOURCES[mode](lane, r[offset])
        inside = (wanted >= 0) & (wanted < WARP_SIZE)
        position = np.where(inside, table[warp, np.where(inside, wanted, 0)], -1)
        named = (r[named_by] >> np.where(inside, wanted, 0)) & 1 != 0
        there = (position >= 0) & (named | (wanted == lane))
        values = np.broadcast_to(r[source], m.active)[np.where(there, position, np.arange(m.active))]
        undefined = inside & ~there
        if undefined.any():
            values = np.where(undefined, np.frombuffer(bytes([GARBAGE]) * values.itemsize, values.dtype), values)
            _report_undefined(m, place, mode, np.flatnonzero(undefined), (warp, lane, wanted))
        r[register] = (values, there) if pair else values

    body.add(step, (source, offset, named_by), (register,))


def _report_undefined(
    m: Machine, place: Place, mode: str, lanes: npt.NDArray[np.intp], where: tuple[Any, Any, Any]
) -> None:
    """These of the active lanes get the value of one that takes no part; ``where``: warp, lane, the lane asked for.

    Those of the last lanes of a tree do, and throw it away: that is no more than advice, unless a whole warp does.
    """
    warp, lane, wanted = where
    a_whole_warp = (np.bincount(warp[lanes], minlength=m.wave.warps) == np.bincount(warp, minlength=m.wave.warps))[warp]
    first = lanes[0]
    m.findings.add(
        "undefined-shuffle",
        Severity.ADVICE if mode in ("up", "down") and not a_whole_warp[lanes].any() else Severity.WARNING,
        place,
        f"Lane {lane[first]} asks for the value of lane {wanted[first]}, which takes no part: it has returned, it does "
        "not exist, or the mask does not name it. What comes back is undefined.",
        "That does no harm where the value is thrown away, as by the last lanes of a tree. Else let the whole warp "
        "execute the shuffle, in blocks of a multiple of 32 threads, and name it all: 0xFFFFFFFF.",
        threads=m.example(lanes),
        count=lanes.size,
    )


def positions(m: Machine) -> tuple[Any, Any, Any]:
    """For the active lanes: warp, lane, and a table (warp, lane) → position among the active lanes or -1."""
    warp = np.broadcast_to(m.per_lane("warp"), m.active)
    lane = np.broadcast_to(m.per_lane("lane"), m.active)
    table = np.full((m.wave.warps, WARP_SIZE), -1, np.int64)
    table[warp, lane] = np.arange(m.active)
    return warp, lane, table


def _shuffle(mode: str, body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = list(named_arguments(expr, "mask", "value", "amount").items())
    mask, value = dict(arguments)["mask"], dict(arguments)["value"]
    amount = next(variable for name, variable in arguments if name not in {"mask", "value"})
    _emit_shuffle(body, mode, (mask, value, amount), target, pair=False)


for _name, _mode in (("", "idx"), ("_up", "up"), ("_down", "down"), ("_xor", "xor")):
    register_call(f"shfl{_name}_sync", partial(_shuffle, _mode))


@on("stubs.shfl_sync_intrinsic")
def _shuffle_intrinsic(body: Body, target: Any, expr: Any, signature: Any) -> None:
    mask, mode, value, amount, _ = expr.args
    modes = ("idx", "up", "down", "xor")
    _emit_shuffle(body, modes[body.literal(mode)], (mask, value, amount), target, pair=True)


# ---------------------------------------------------------------------------- votes


def _emit_vote(body: Body, mode: str, mask: Any, predicate: Any, result: Any, *, pair: bool) -> None:
    """``result`` gets the vote; with ``pair`` (ballot, whether the vote holds)."""
    _warp_barrier(body, mask)
    register = body.register(result.name)
    asked = body.cast_register(body.register(predicate.name), body.type_of(predicate), types.boolean)
    named_by = body.cast_register(body.register(mask.name), body.type_of(mask), types.int64)
    dtype = _INT32 if pair else dtype_of(body.type_of(result))

    def step(m: Machine, r: Registers) -> None:
        named = np.broadcast_to(r[named_by], m.active) & 0xFFFFFFFF
        everyone = _bits_of(m, np.True_) & named
        ballot = _bits_of(m, r[asked]) & named
        holds = {
            "all": ballot == everyone,
            "any": ballot != 0,
            "eq": (ballot == everyone) | (ballot == 0),
            "ballot": ballot != 0,
        }[mode]
        bits = convert(convert(ballot, _UINT32), _INT32 if pair else dtype) if mode == "ballot" or pair else None
        if pair:
            r[register] = (bits, holds)
        else:
            r[register] = bits if mode == "ballot" else convert(holds, dtype)

    body.add(step, (asked, named_by), (register,))


def _bits_of(m: Machine, predicate: Any) -> Any:
    """For each active lane, its warp's lanes for which ``predicate`` holds, as bits of an int64."""
    warp = np.broadcast_to(m.per_lane("warp"), m.active)
    bit = np.left_shift(np.int64(1), np.broadcast_to(m.per_lane("lane"), m.active))
    bits = np.zeros(m.wave.warps, np.int64)
    np.bitwise_or.at(bits, warp, np.where(predicate, bit, 0))
    return bits[warp]


def _vote_of_warp(mode: str, body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = named_arguments(expr, "mask", "predicate")
    _emit_vote(body, mode, arguments["mask"], arguments["predicate"], target, pair=False)


for _name in ("all", "any", "eq", "ballot"):
    register_call(f"{_name}_sync", partial(_vote_of_warp, _name))


@on("stubs.vote_sync_intrinsic")
def _vote_intrinsic(body: Body, target: Any, expr: Any, signature: Any) -> None:
    mask, mode, predicate = expr.args
    _emit_vote(body, ("all", "any", "eq", "ballot")[body.literal(mode)], mask, predicate, target, pair=True)


# ---------------------------------------------------------------------------- matches


def _emit_match(body: Body, target: Any, expr: Any, signature: Any, *, everyone: bool) -> None:
    """Which of the lanes that the mask names hold the same bits (PTX ISA, "match.sync")."""
    arguments = named_arguments(expr, "mask", "value")
    mask, value = arguments["mask"], arguments["value"]
    _warp_barrier(body, mask)
    register = body.register(target.name)
    source = body.cast_register(body.register(value.name), body.type_of(value), signature.args[1])
    named_by = body.cast_register(body.register(mask.name), body.type_of(mask), types.int64)

    def step(m: Machine, r: Registers) -> None:
        warp, _, table = positions(m)
        values = np.ascontiguousarray(np.broadcast_to(r[source], m.active))
        bits = values.view(f"i{values.dtype.itemsize}")
        named = np.broadcast_to(r[named_by], m.active) & 0xFFFFFFFF
        there = table[warp]  # per active lane the positions of its warp's lanes
        same = (there >= 0) & (bits[np.maximum(there, 0)] == bits[:, None])
        found = (same.astype(np.int64) << np.arange(WARP_SIZE)).sum(axis=1) & named
        if not everyone:
            r[register] = convert(convert(found, _UINT32), _INT32)
            return
        all_same = found == (_bits_of(m, np.True_) & named)
        r[register] = (convert(convert(np.where(all_same, found, 0), _UINT32), _INT32), all_same)

    body.add(step, (source, named_by), (register,))


register_call("match_any_sync", partial(_emit_match, everyone=False))
register_call("match_all_sync", partial(_emit_match, everyone=True))


# ---------------------------------------------------------------------------- masks


@on("activemask")
def _activemask(body: Body, target: Any, expr: Any, signature: Any) -> None:
    register, dtype = body.register(target.name), dtype_of(signature.return_type)

    def step(m: Machine, r: Registers) -> None:
        m.waits.progress()  # who is active depends on the schedule
        r[register] = convert(convert(_bits_of(m, np.True_), _UINT32), dtype)

    body.add(step, (), (register,))


@on("lanemask_lt")
def _lanemask_lt(body: Body, target: Any, expr: Any, signature: Any) -> None:
    register, dtype = body.register(target.name), dtype_of(signature.return_type)

    def step(m: Machine, r: Registers) -> None:
        r[register] = convert(np.left_shift(np.int64(1), m.per_lane("lane")) - 1, dtype)

    body.add(step, (), (register,))
