"""Read-modify-writes: lanes that meet at one element take turns. Runs in the runner.

In: an array, an index per axis, operands, how they combine. Out: memory changed, the old values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.records import Place
from grader.simulator.access import by_source
from grader.simulator.addressing import elements_of, locate
from grader.simulator.lane_values import LaneIndex, take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import convert


def atomic(
    machine: Machine,
    array: ArrayRef,
    indices: tuple[Any, ...],
    place: Place,
    combine: Any,
    operands: tuple[Any, ...],
    direct: np.ufunc | None,
    need_old: bool,
) -> Any:
    """A read-modify-write per lane, one after another where lanes meet: ``new = combine(old, *operands)``.

    Returns the old values. ``direct`` is a ufunc whose ``at`` does the same when nobody wants them.
    """
    if array.which is not None:
        old = np.zeros(machine.active, array.dtype)
        for part, lanes in by_source(machine, array):
            of_lanes = take(operands, lanes)
            before = atomic(machine, part, take(indices, lanes), place, combine, of_lanes, direct, need_old)
            old[lanes] = before if need_old else 0
        return old
    there = locate(machine, array, indices, place, "Atomic operation on")
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = elements_of(machine, array, unit)
    everyone = np.arange(machine.active) if bad is None else np.flatnonzero(~np.broadcast_to(bad, machine.active))
    where = np.broadcast_to(elements, machine.active)[everyone]
    machine.traffic.note("atomic", array, there, None if bad is None else everyone, place)
    machine.watch.atomic(array, there, None if bad is None else everyone, place)
    values = [np.broadcast_to(convert(operand, array.dtype), machine.active)[everyone] for operand in operands]
    before_all = memory[where] if machine.waits.looking else None
    returned = None
    if direct is not None and not need_old:
        direct.at(memory, where, values[0])
    else:
        returned = _by_turns(machine, memory, where, everyone, combine, values)
    if before_all is not None and np.any(before_all != memory[where]):
        machine.waits.progress()
    return returned


def _by_turns(
    machine: Machine,
    memory: npt.NDArray[Any],
    where: LaneIndex,
    everyone: LaneIndex,
    combine: Any,
    values: list[npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Lanes that meet at one element change it one after another; the old values, one per active lane."""
    old = np.zeros(machine.active, memory.dtype)
    for turn in _turns(where):
        before = memory[where[turn]]
        old[everyone[turn]] = before
        memory[where[turn]] = combine(before, *(operand[turn] for operand in values))
    return old


def _turns(where: LaneIndex) -> list[LaneIndex]:
    """Positions in ``where`` by turns: equal elements never share a turn, and keep their order."""
    order = np.argsort(where, kind="stable")
    ranked = where[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if ranked.size else np.zeros(0, np.intp)
    rank = np.arange(ranked.size) - np.repeat(starts, np.diff(np.r_[starts, ranked.size]))
    by_turn = np.argsort(rank, kind="stable")
    ends: LaneIndex = np.cumsum(np.bincount(rank)) if rank.size else np.zeros(0, np.intp)
    return np.split(order[by_turn], ends[:-1]) if rank.size else []
