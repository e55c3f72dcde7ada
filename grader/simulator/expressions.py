"""Expressions of Numba's IR other than calls: operators, tuples, subscripts, loops. Runs in the runner.

``EXPRESSIONS`` maps an expression's ``op`` to the function that adds its steps to a body.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.simulator import access
from grader.simulator.attributes import translate_attribute
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.memory import is_wide
from grader.simulator.numba_types import caster, convert, dtype_of, is_scalar, plain
from grader.simulator.program import Registers
from grader.simulator.ranges import advance, make_iterator

POSITION = np.dtype(np.int64)


@dataclass(frozen=True)
class LoopOver:
    """What a loop goes over, other than a range: the register and Numba type of a tuple or an array."""

    items: int
    over: Any


def _cast(body: Body, target: Any, expr: Any) -> None:
    register = body.register(target.name)
    if isinstance(plain(body.type_of(target)), types.NoneType):
        return
    source = body.cast_register(body.register(expr.value.name), body.type_of(expr.value), body.type_of(target))
    body.compute(register, lambda item: item, (source,))


def _binop(body: Body, target: Any, expr: Any) -> None:
    _binary(body, target, expr, expr.fn)


def _inplace_binop(body: Body, target: Any, expr: Any) -> None:
    _binary(body, target, expr, expr.immutable_fn)


def _binary(body: Body, target: Any, expr: Any, function: Any) -> None:
    signature = body.typed.calltypes[expr]
    left, right = body.register(expr.lhs.name), body.register(expr.rhs.name)
    body.operator(
        body.register(target.name),
        function,
        [(left, body.type_of(expr.lhs)), (right, body.type_of(expr.rhs))],
        signature,
    )


def _unary(body: Body, target: Any, expr: Any) -> None:
    operand = (body.register(expr.value.name), body.type_of(expr.value))
    body.operator(body.register(target.name), expr.fn, [operand], body.typed.calltypes[expr])


def _build_tuple(body: Body, target: Any, expr: Any) -> None:
    items = list(expr.items)
    body.definitions[target.name] = items
    body.static[target.name] = tuple(body.static.get(item.name) for item in items)
    registers = tuple(body.register(item.name) for item in items)
    if any(body.is_static(body.type_of(item)) for item in items):
        return
    body.compute(body.register(target.name), lambda *values: values, registers)


def _exhaust_iter(body: Body, target: Any, expr: Any) -> None:
    if not isinstance(body.type_of(expr.value), types.BaseTuple):
        raise body.unknown("unpacking this")
    if expr.value.name in body.definitions:
        body.definitions[target.name] = body.definitions[expr.value.name]
    body.compute(body.register(target.name), lambda value: value, (body.register(expr.value.name),))


def _static_getitem(body: Body, target: Any, expr: Any) -> None:
    if isinstance(plain(body.type_of(expr.value)), types.BaseTuple):
        index = expr.index
        if not isinstance(index, int | slice):
            index = body.static[expr.index_var.name]
        body.compute(body.register(target.name), operator.itemgetter(index), (body.register(expr.value.name),))
        return
    if expr.index_var is None:
        raise body.unknown("this subscript")
    _subscript(body, target, expr.value, expr.index_var)


def _getitem(body: Body, target: Any, expr: Any) -> None:
    _subscript(body, target, expr.value, expr.index)


def _typed_getitem(body: Body, target: Any, expr: Any) -> None:
    _subscript(body, target, expr.value, expr.index)


def _subscript(body: Body, target: Any, value: Any, index: Any) -> None:
    value_type = plain(body.type_of(value))
    register, source, place = body.register(target.name), body.register(value.name), body.place()
    if isinstance(value_type, types.UniTuple):
        position = body.register(index.name)
        body.compute(register, _pick, (source, position))
        return
    if not isinstance(value_type, types.Array):
        raise body.unknown(f"a subscript of {value_type}")
    indices = body.index_registers(index)
    positions = tuple(r for r, _ in indices)
    if len(indices) == value_type.ndim and all(isinstance(t, types.Integer) for _, t in indices):

        def step(m: Machine, r: Registers) -> None:
            r[register] = access.load(m, r[source], tuple([r[p] for p in positions]), place)
    elif all(isinstance(t, types.Integer | types.SliceType) for _, t in indices):

        def step(m: Machine, r: Registers) -> None:
            r[register] = access.view(m, r[source], tuple([r[p] for p in positions]), place)
    else:
        raise body.unknown(f"a subscript with {body.type_of(index)}")
    body.add(step, (source, *positions), (register,))


def _getiter(body: Body, target: Any, expr: Any) -> None:
    register, source = body.register(target.name), body.register(expr.value.name)
    over = plain(body.type_of(expr.value))
    if isinstance(over, types.BaseTuple | types.Array):
        # A range over the positions; ``expr_iternext`` turns a position into the item.
        items = body.unit.new_register()
        body.compute(items, lambda value: value, (source,))
        body.static[target.name] = LoopOver(items, over)
        body.compute(register, lambda value: make_iterator(POSITION, 0, _length(value), 1), (source,))
        return
    if "range" not in str(over):
        raise body.unknown(f"a loop over {over}")
    dtype = dtype_of(body.type_of(target).yield_type)
    body.compute(register, lambda parts: make_iterator(dtype, *parts), (source,))


def _iternext(body: Body, target: Any, expr: Any) -> None:
    register, source = body.register(target.name), body.register(expr.value.name)
    over = body.static.get(expr.value.name)
    if not isinstance(over, LoopOver):
        body.add(lambda m, r: r.__setitem__(register, advance(m, source, r[source])), (source,), (register,))
        return
    item_type = body.type_of(target).first_type
    casts = [caster(t, item_type) for t in over.over] if isinstance(over.over, types.BaseTuple) else []
    items, place, dimensions = over.items, body.place(), getattr(over.over, "ndim", 0)

    def step(m: Machine, r: Registers) -> None:
        position, there = advance(m, source, r[source])
        if not np.any(there):
            r[register] = (None, there)
            return
        inside = np.where(there, position, 0)[()]
        if casts:
            values = tuple(cast(v) if cast else v for cast, v in zip(casts, r[items], strict=True))
            item = _pick(values, inside)
        elif dimensions == 1:
            item = access.load(m, r[items], (inside,), place)
        else:
            item = access.view(m, r[items], (inside,), place)
        r[register] = (item, there)

    body.add(step, (source, items), (register,))


def _pair_first(body: Body, target: Any, expr: Any) -> None:
    body.compute(body.register(target.name), operator.itemgetter(0), (body.register(expr.value.name),))


def _pair_second(body: Body, target: Any, expr: Any) -> None:
    body.compute(body.register(target.name), operator.itemgetter(1), (body.register(expr.value.name),))


def _null(body: Body, target: Any, expr: Any) -> None:
    """A variable that has no value on this path yet."""
    if is_scalar(body.type_of(target)):
        body.constant(target.name, convert(0, dtype_of(body.type_of(target))))


def _length(value: Any) -> Any:
    return len(value) if isinstance(value, tuple) else value.shape[0]


def _pick(items: tuple[Any, ...], index: Any) -> Any:
    """One item of a tuple, by an index that may differ by lane."""
    if not is_wide(index):
        return items[int(index)]
    stacked = np.stack([np.broadcast_to(item, index.shape) for item in items])
    return stacked[index, np.arange(index.size)]


EXPRESSIONS: dict[str, Callable[[Body, Any, Any], None]] = {
    "cast": _cast,
    "binop": _binop,
    "inplace_binop": _inplace_binop,
    "unary": _unary,
    "build_tuple": _build_tuple,
    "exhaust_iter": _exhaust_iter,
    "static_getitem": _static_getitem,
    "getitem": _getitem,
    "typed_getitem": _typed_getitem,
    "getiter": _getiter,
    "iternext": _iternext,
    "pair_first": _pair_first,
    "pair_second": _pair_second,
    "null": _null,
    "getattr": translate_attribute,
}
