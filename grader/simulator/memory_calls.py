"""Loads and stores with cache hints, ``cuda.ldcg`` and its like. Runs in the runner.

In: calls of typed IR. Out: steps of a body.

A hint changes where a GPU looks first, never the value: PTX ISA, "Cache Operators".
"""

from __future__ import annotations

from typing import Any

from grader.simulator import access
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.program import Registers
from grader.simulator.registry import named_arguments, on


def _signed(body: Body, index: Any) -> tuple[int, ...]:
    """Numba takes these indices as signed: one that has wrapped below zero counts from the end."""
    return tuple(body.cast_register(r, t, types.int64) for r, t in body.index_registers(index))


@on("ldca", "ldcg", "ldcs", "ldlu", "ldcv")
def _load(body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = named_arguments(expr, "array", "i")
    register, array, place = body.register(target.name), body.register(arguments["array"].name), body.place()
    positions = _signed(body, arguments["i"])

    def step(m: Machine, r: Registers) -> None:
        r[register] = access.load(m, r[array], tuple([r[p] for p in positions]), place)

    body.add(step, (array, *positions), (register,))


@on("stcg", "stcs", "stwb", "stwt")
def _store(body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = named_arguments(expr, "array", "i", "value")
    array_type, place = plain(body.type_of(arguments["array"])), body.place()
    array, value = body.register(arguments["array"].name), body.register(arguments["value"].name)
    source = body.cast_register(value, body.type_of(arguments["value"]), array_type.dtype)
    positions = _signed(body, arguments["i"])

    def step(m: Machine, r: Registers) -> None:
        access.store(m, r[array], tuple([r[p] for p in positions]), r[source], place)

    body.add(step, (array, source, *positions), ())
