"""The functions of ``cuda.atomic``. Runs in the runner.

In: calls in typed IR. Out: steps of a ``Body`` that carry them out (``atomics``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.simulator.atomics import atomic
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.program import Registers
from grader.simulator.registry import Handler, named_arguments, register_call


def _keep_larger(old: Any, value: Any) -> Any:
    """The stored value stays where either side is NaN, as Numba's compare-and-swap loop does it."""
    return np.where(value > old, value, old)


def _keep_smaller(old: Any, value: Any) -> Any:
    return np.where(value < old, value, old)


def _larger_number(old: Any, value: Any) -> Any:
    """A number takes the place of NaN, NaN that of nothing."""
    return np.where((value > old) | (np.isnan(old) & ~np.isnan(value)), value, old)


def _smaller_number(old: Any, value: Any) -> Any:
    return np.where((value < old) | (np.isnan(old) & ~np.isnan(value)), value, old)


_ATOMICS: dict[str, tuple[Callable[..., Any], np.ufunc | None]] = {
    "add": (np.add, np.add),
    "sub": (np.subtract, np.subtract),
    "and_": (np.bitwise_and, np.bitwise_and),
    "or_": (np.bitwise_or, np.bitwise_or),
    "xor": (np.bitwise_xor, np.bitwise_xor),
    "exch": (lambda old, value: value, None),
    "max": (_keep_larger, None),
    "min": (_keep_smaller, None),
    "nanmax": (_larger_number, np.fmax),
    "nanmin": (_smaller_number, np.fmin),
    "inc": (lambda old, value: np.where(old >= value, 0, old + 1).astype(old.dtype), None),
    "dec": (lambda old, value: np.where((old == 0) | (old > value), value, old - 1).astype(old.dtype), None),
}


def _atomic(name: str) -> Handler:
    combine, direct = _ATOMICS[name]

    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        arguments = named_arguments(expr, "ary", "idx", "val")
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
        # Numba takes indices of atomics as signed: one that has wrapped below zero counts from the end.
        positions = tuple(body.cast_register(r, t, types.int64) for r, t in body.index_registers(index))
    operands = tuple(body.cast_register(body.register(v.name), body.type_of(v), array_type.dtype) for v in values)
    used = body.is_used(target.name)

    def step(m: Machine, r: Registers) -> None:
        r[register] = atomic(
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
    register_call("atomic." + _name, _atomic(_name))


def _compare_and_swap(body: Body, target: Any, expr: Any, signature: Any, *, indexed: bool) -> None:
    names = ("ary", "idx", "old", "val") if indexed else ("ary", "old", "val")
    arguments = named_arguments(expr, *names)
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


register_call("atomic.cas", lambda b, t, e, s: _compare_and_swap(b, t, e, s, indexed=True))
register_call("atomic.compare_and_swap", lambda b, t, e, s: _compare_and_swap(b, t, e, s, indexed=False))
