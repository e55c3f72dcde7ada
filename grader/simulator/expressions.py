"""Expressions of Numba's IR other than calls: operators, tuples, subscripts, loops. Runs in the runner.

In: expressions of typed IR. Out: steps of a body.

``EXPRESSIONS`` maps an expression's ``op`` to the function that adds its steps to a body.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.records import Place
from grader.simulator import access, views
from grader.simulator.attributes import translate_attribute
from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, has_builtin_target, types
from grader.simulator.loops import begin_loop, next_item
from grader.simulator.machine import Machine
from grader.simulator.numba_types import convert, dtype_of, has_values, is_scalar, plain
from grader.simulator.operators import translate_operator
from grader.simulator.pointers import get_pointed, is_pointer
from grader.simulator.program import Registers
from grader.simulator.promotions import note_promotion
from grader.simulator.raising import guard_item
from grader.simulator.structs import field_name, get_field, get_field_of_array, is_record
from grader.simulator.ufunc_calls import IN_PLACE, translate_ufunc


def _cast(body: Body, target: Any, expr: Any) -> None:
    register = body.register(target.name)
    if isinstance(plain(body.type_of(target)), types.NoneType):
        return
    source = body.cast_register(body.register(expr.value.name), body.type_of(expr.value), body.type_of(target))
    body.copy(register, source)


def _binop(body: Body, target: Any, expr: Any) -> None:
    _binary(body, target, expr, expr.fn)


def _inplace_binop(body: Body, target: Any, expr: Any) -> None:
    ufunc = IN_PLACE.get(expr.immutable_fn)
    if isinstance(plain(body.type_of(expr.lhs)), types.Array) and ufunc is not None:
        given = [(body.register(operand.name), body.type_of(operand)) for operand in (expr.lhs, expr.rhs, expr.lhs)]
        translate_ufunc(body, target, ufunc, given)
        return
    _binary(body, target, expr, expr.immutable_fn)


def _binary(body: Body, target: Any, expr: Any, function: Any) -> None:
    signature = body.typed.calltypes[expr]
    left, right = body.register(expr.lhs.name), body.register(expr.rhs.name)
    translate_operator(
        body,
        body.register(target.name),
        function,
        [(left, body.type_of(expr.lhs)), (right, body.type_of(expr.rhs))],
        signature,
    )
    note_promotion(body, (expr.lhs, expr.rhs), signature.return_type)


def _unary(body: Body, target: Any, expr: Any) -> None:
    operand = (body.register(expr.value.name), body.type_of(expr.value))
    translate_operator(body, body.register(target.name), expr.fn, [operand], body.typed.calltypes[expr])


def _build_tuple(body: Body, target: Any, expr: Any) -> None:
    items = list(expr.items)
    body.definitions[target.name] = items
    body.static[target.name] = tuple(body.static.get(item.name) for item in items)
    registers = tuple(body.register(item.name) for item in items)
    body.compute(body.register(target.name), lambda *values: values, registers)


def _exhaust_iter(body: Body, target: Any, expr: Any) -> None:
    source, register, place = body.register(expr.value.name), body.register(target.name), body.place()
    source_type = plain(body.type_of(expr.value))
    if isinstance(source_type, types.Array):
        get = access.load if source_type.ndim == 1 and not is_record(source_type.dtype) else views.view

        def step(m: Machine, r: Registers) -> None:
            r[register] = tuple(get(m, r[source], (np.int64(k),), place) for k in range(expr.count))

        body.add(step, (source,), (register,))
        return
    if not isinstance(source_type, types.BaseTuple):
        raise body.unknown("unpacking this")
    if expr.value.name in body.definitions:
        body.definitions[target.name] = body.definitions[expr.value.name]
    body.compute(register, lambda value: value, (source,))


def _static_getitem(body: Body, target: Any, expr: Any) -> None:
    value_type = plain(body.type_of(expr.value))
    if is_record(value_type):
        get_field(body, target, expr.value, field_name(body, value_type, expr.index, expr.index_var))
        return
    if isinstance(value_type, types.Array) and isinstance(expr.index, str):
        get_field_of_array(body, target, expr.value, expr.index)
        return
    if isinstance(value_type, types.BaseTuple):
        index = expr.index
        if not isinstance(index, int | slice):
            index = body.static[expr.index_var.name]
        known = body.static.get(expr.value.name)
        body.static[target.name] = known[index] if isinstance(known, tuple) else None
        body.compute(body.register(target.name), operator.itemgetter(index), (body.register(expr.value.name),))
        return
    if isinstance(value_type, types.EnumClass):
        name = expr.index if isinstance(expr.index, str) else body.literal(expr.index_var)
        body.constant(target.name, body.constant_value(value_type.instance_class[name], value_type.dtype))
        return
    if expr.index_var is None:
        raise body.unknown("this subscript")
    _subscript(body, target, expr.value, expr.index_var)


def _getitem(body: Body, target: Any, expr: Any) -> None:
    _subscript(body, target, expr.value, expr.index)


def _typed_getitem(body: Body, target: Any, expr: Any) -> None:
    """``items[index]`` in one of the copies that Numba makes of a loop by ``literal_unroll``, one for each type.

    Only lanes whose item is of this copy's type come here.
    """
    value_type, wanted = plain(body.type_of(expr.value)), plain(expr.dtype)
    if not isinstance(value_type, types.Tuple) or is_scalar(wanted) or not has_values(wanted):
        _subscript(body, target, expr.value, expr.index)
        return
    ours = [k for k, item in enumerate(value_type) if plain(item) == wanted]
    register = body.register(target.name)
    numbers = np.array([ours.index(k) if k in ours else 0 for k in range(len(value_type))])

    def pick(items: tuple[Any, ...], index: Any) -> Any:
        return views.pick(tuple(items[k] for k in ours), numbers[index])

    body.compute(register, pick, (body.register(expr.value.name), body.register(expr.index.name)))


def _subscript(body: Body, target: Any, value: Any, index: Any) -> None:
    value_type = plain(body.type_of(value))
    register, source, place = body.register(target.name), body.register(value.name), body.place()
    if isinstance(value_type, types.Optional):
        source, value_type = body.cast_register(source, value_type, value_type.type), value_type.type
    if isinstance(value_type, types.BaseTuple) and (
        isinstance(value_type, types.UniTuple) or is_scalar(body.type_of(target))
    ):
        position = body.register(index.name)
        wanted = types.UniTuple(plain(body.type_of(target)), len(value_type))
        source = body.cast_register(source, value_type, wanted)
        name = str(getattr(value, "unversioned_name", value.name)).lstrip("$")
        guard_item(body, position, len(value_type))

        def step(m: Machine, r: Registers) -> None:
            r[register] = views.pick_item(m, r[source], r[position], name, place)

        body.add(step, (source, position), (register,))
        return
    if is_record(value_type):
        get_field(body, target, value, field_name(body, value_type, None, index))
        return
    if is_pointer(value_type):
        get_pointed(body, target, value, index)
        return
    if isinstance(value_type, types.NumpyFlatType):
        position = body.cast_register(body.register(index.name), body.type_of(index), types.int64)
        body.add(
            lambda m, r: r.__setitem__(register, views.load_flat(m, r[source], r[position], place)),
            (source, position),
            (register,),
        )
        return
    if not isinstance(value_type, types.Array):
        raise body.unknown(f"a subscript of {value_type}")
    if isinstance(plain(body.type_of(index)), types.EllipsisType):
        raise KernelError(
            "Numba cannot compile a[...] for a GPU; with another index, as in a[..., 0], it can.", body.line
        )
    if isinstance(plain(body.type_of(index)), types.NoneType) and not has_builtin_target():
        raise KernelError(
            "Numba cannot compile a[None] for a GPU; with another index, as in a[None, :], it can.", body.line
        )
    indices = body.index_registers(index)
    positions = tuple(r for r, _ in indices)
    if len(indices) == value_type.ndim and all(isinstance(t, types.Integer) for _, t in indices):
        get = views.view if is_record(value_type.dtype) else access.load
        body.add(_element_step(register, source, positions, place, get), (source, *positions), (register,))
        return
    if all(isinstance(t, types.Integer | types.SliceType | types.EllipsisType | types.NoneType) for _, t in indices):
        element = is_scalar(body.type_of(target))  # a[i, ...] of one axis

        def step(m: Machine, r: Registers) -> None:
            part = views.view(m, r[source], tuple([r[p] for p in positions]), place)
            r[register] = access.load(m, part, (), place) if element else part
    else:
        raise body.unknown(f"a subscript with {body.type_of(index)}")
    body.add(step, (source, *positions), (register,))


def _element_step(
    register: int, source: int, positions: tuple[int, ...], place: Place, get: Callable[..., Any]
) -> Callable[[Machine, Registers], None]:
    """A step ``register = source[positions]``; one or two axes, of which there are many, without a loop over them."""
    if len(positions) == 1:
        (only,) = positions

        def step(m: Machine, r: Registers) -> None:
            r[register] = get(m, r[source], (r[only],), place)
    elif len(positions) == 2:
        first, second = positions

        def step(m: Machine, r: Registers) -> None:
            r[register] = get(m, r[source], (r[first], r[second]), place)
    else:

        def step(m: Machine, r: Registers) -> None:
            r[register] = get(m, r[source], tuple([r[p] for p in positions]), place)

    return step


def _pair_first(body: Body, target: Any, expr: Any) -> None:
    body.compute(body.register(target.name), operator.itemgetter(0), (body.register(expr.value.name),))


def _pair_second(body: Body, target: Any, expr: Any) -> None:
    body.compute(body.register(target.name), operator.itemgetter(1), (body.register(expr.value.name),))


def _null(body: Body, target: Any, expr: Any) -> None:
    """A variable that has no value on this path yet."""
    if is_scalar(body.type_of(target)):
        body.constant(target.name, convert(0, dtype_of(body.type_of(target))))


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
    "getiter": begin_loop,
    "iternext": next_item,
    "pair_first": _pair_first,
    "pair_second": _pair_second,
    "null": _null,
    "getattr": translate_attribute,
}
