"""Loops over ranges, tuples, arrays, ``enumerate`` and ``zip``. Runs in the runner.

In: expressions of typed IR. Out: steps of a body.

What a loop goes over is known while translating, so an iterator is a ``Loop`` there; only its position is a
register, which all of Numba's copies of the iterator share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.records import Place
from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.lane_values import RangeIterator, is_wide, merge, take
from grader.simulator.machine import Machine
from grader.simulator.numba_types import Cast, caster, dtype_of, plain
from grader.simulator.program import Registers
from grader.simulator.ranges import advance, make_iterator

POSITION = np.dtype(np.int64)
ENDLESS = 2**62  # turns; enumerate counts on for as long as its other part has items


class Loop(ABC):
    """An iterator: what it reads, and how it goes on."""

    @property
    @abstractmethod
    def registers(self) -> tuple[int, ...]:
        """The registers that it reads."""

    @abstractmethod
    def next(self, m: Machine, r: Registers) -> tuple[Any, Any]:
        """For the active lanes: the next item, and whether there is one."""


@dataclass(frozen=True)
class RangeLoop(Loop):
    """``range``: ``position`` is the register of its state."""

    position: int

    @property
    def registers(self) -> tuple[int, ...]:
        """The one register."""
        return (self.position,)

    def next(self, m: Machine, r: Registers) -> tuple[Any, Any]:
        """The next number."""
        return advance(m, self.position, r[self.position])


@dataclass(frozen=True)
class PositionLoop(Loop):
    """Something with a place for each turn: register ``position`` has the turn, ``items`` what is gone over."""

    position: int
    items: int
    place: Place

    @property
    def registers(self) -> tuple[int, ...]:
        """Position and items."""
        return (self.position, self.items)

    def next(self, m: Machine, r: Registers) -> tuple[Any, Any]:
        """The next item; lanes that are through read nothing."""
        position, there = advance(m, self.position, r[self.position])
        if not np.any(there):
            return None, there
        if not is_wide(there) or there.all():
            return self._item(m, r[self.items], position), there
        lanes = np.flatnonzero(there)
        with m.only(lanes):
            item = self._item(m, take(r[self.items], lanes), take(position, lanes))
        return merge(None, item, lanes, there.size), there

    @abstractmethod
    def _item(self, m: Machine, items: Any, position: Any) -> Any:
        """What stands at a position, for the active lanes."""


@dataclass(frozen=True)
class ItemsLoop(PositionLoop):
    """The items of a tuple (cast to one type) or the elements or rows of an array."""

    casts: tuple[Cast | None, ...]
    dimensions: int

    def _item(self, m: Machine, items: Any, position: Any) -> Any:
        if isinstance(items, tuple):
            cast = tuple(c(item) if c else item for c, item in zip(self.casts, items, strict=True))
            return views.pick(cast, position)
        if self.dimensions == 1:
            return access.load(m, items, (position,), self.place)
        return views.view(m, items, (position,), self.place)


@dataclass(frozen=True)
class JoinedLoop(Loop):
    """``zip``, and ``enumerate`` as a zip with numbers: ends with its shortest part."""

    parts: tuple[Loop, ...]

    @property
    def registers(self) -> tuple[int, ...]:
        """Those of all parts."""
        return tuple(register for part in self.parts for register in part.registers)

    def next(self, m: Machine, r: Registers) -> tuple[Any, Any]:
        """A tuple of the parts' next items; a part is asked for those lanes alone for which all before had one."""
        items: list[Any] = []
        there: Any = np.True_
        for part in self.parts:
            if not np.any(there):
                items.append(None)
            elif not is_wide(there) or there.all():
                item, there = part.next(m, r)
                items.append(item)
            else:
                lanes = np.flatnonzero(there)
                some = list(r)
                for register in part.registers:
                    some[register] = take(r[register], lanes)
                with m.only(lanes):
                    item, more = part.next(m, some)
                items.append(None if item is None else merge(None, item, lanes, there.size))
                there = there.copy()
                there[lanes] = more
        return tuple(items), there


def loop_over(body: Body, variable: Any, item_type: Any) -> Loop:
    """Begin a loop over a variable. Raises NotSimulated for what the simulator cannot go over."""
    begun = body.static.get(variable.name)
    if isinstance(begun, Loop):
        return begun
    source, over = body.register(variable.name), plain(body.type_of(variable))
    position = body.unit.new_register()
    if isinstance(over, types.BaseTuple | types.Array):
        items = body.unit.new_register()
        body.compute(items, lambda value: value, (source,))
        body.compute(position, lambda value: make_iterator(POSITION, 0, length_of(value), 1), (source,))
        casts = tuple(caster(t, item_type) for t in over) if isinstance(over, types.BaseTuple) else ()
        # Records are views, like rows.
        one_axis = isinstance(over, types.Array) and over.ndim == 1
        dimensions = 1 if one_axis and not isinstance(over.dtype, types.Record) else 0
        return ItemsLoop(position, items, body.place(), casts, dimensions)
    if "range" not in str(over):
        raise body.unknown(f"a loop over {over}")
    dtype = dtype_of(item_type)
    body.compute(position, lambda parts: make_iterator(dtype, *parts), (source,))
    return RangeLoop(position)


def begin_loop(body: Body, target: Any, expr: Any) -> None:
    """``target = iter(value)``."""
    body.static[target.name] = loop_over(body, expr.value, body.type_of(target).yield_type)


def next_item(body: Body, target: Any, expr: Any) -> None:
    """``target = (next item, whether there is one)``."""
    register, loop = body.register(target.name), body.static.get(expr.value.name)
    if not isinstance(loop, Loop):
        raise body.unknown("this loop")
    if isinstance(loop, RangeLoop):
        position = loop.position

        def step(m: Machine, r: Registers) -> None:
            r[register] = advance(m, position, r[position])
    else:

        def step(m: Machine, r: Registers) -> None:
            r[register] = loop.next(m, r)

    body.add(step, loop.registers, (register,))


def begin_iterator(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = iter(value)`` as a call."""
    body.static[target.name] = loop_over(body, expr.args[0], body.type_of(target).yield_type)


def take_next(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = next(iterator)`` as a call."""
    register, loop, place = body.register(target.name), body.static.get(expr.args[0].name), body.place()
    if not isinstance(loop, Loop):
        raise body.unknown("next of this")

    def step(m: Machine, r: Registers) -> None:
        item, there = loop.next(m, r)
        if not np.all(there):
            raise NotSimulated(f"the simulator does not know next() of an iterator that is through (line {place.line})")
        r[register] = item

    body.add(step, loop.registers, (register,))


def begin_enumerate(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = enumerate(iterable, start)``."""
    iterable, *start = expr.args
    source = body.cast_register(body.register(start[0].name), body.type_of(start[0]), types.int64) if start else None
    count_type, item_type = body.type_of(target).yield_type
    position, dtype = body.unit.new_register(), dtype_of(count_type)
    one = dtype.type(1)
    if source is None:
        zero = dtype.type(0)
        body.add(lambda m, r: r.__setitem__(position, RangeIterator(dtype, zero, one, ENDLESS)), (), (position,))
    else:
        body.compute(position, lambda first: RangeIterator(dtype, first, one, ENDLESS), (source,))
    body.static[target.name] = JoinedLoop((RangeLoop(position), loop_over(body, iterable, item_type)))


def begin_zip(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = zip(*iterables)``."""
    item_types = body.type_of(target).yield_type
    parts = tuple(loop_over(body, arg, item) for arg, item in zip(expr.args, item_types, strict=True))
    body.static[target.name] = JoinedLoop(parts)


def length_of(value: Any) -> Any:
    """How many items a tuple or an array has."""
    return len(value) if isinstance(value, tuple) else value.shape[0]
