"""Loops over all indices of a shape or all elements of an array, last axis fastest. Runs in the runner.

``np.ndindex``, ``np.ndenumerate``, ``np.nditer`` and ``array.flat`` are iterators themselves: a second loop over one
goes on where the first left off, and ends at once where that was the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.records import Place
from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.lane_values import merge, take
from grader.simulator.loops import POSITION, Loop
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.program import Registers
from grader.simulator.ranges import advance, make_iterator


@dataclass(frozen=True)
class IndexLoop(Loop):
    """``np.ndindex``, ``np.ndenumerate``, ``flat``, ``np.nditer``: indices, elements, or both, in C order."""

    position: int
    items: int
    gives_index: bool
    gives_element: bool
    place: Place
    get: Callable[..., Any] = access.load

    @property
    def registers(self) -> tuple[int, ...]:  # type: ignore[override]
        """Position and shape or array."""
        return (self.position, self.items)

    def next(self, m: Machine, r: Registers) -> tuple[Any, Any]:
        """The next index or element."""
        position, there = advance(m, self.position, r[self.position])
        if not np.any(there):
            return None, there
        lanes = np.flatnonzero(np.broadcast_to(there, m.active))
        with m.only(lanes):
            over = take(r[self.items], lanes)
            index = unravel(take(position, lanes), over.shape if self.gives_element else over)
            item: Any = index
            if self.gives_element:
                element = self.get(m, over, index, self.place)
                item = (index, element) if self.gives_index else element
        return merge(None, item, lanes, np.broadcast_to(there, m.active).size), there


def unravel(position: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index, last axis fastest, that stands at a position of a shape."""
    index: list[Any] = []
    for length in reversed(shape):
        index.append(np.asarray(position % np.maximum(length, 1), np.int64)[()])
        position = position // np.maximum(length, 1)
    return tuple(reversed(index))


def _count(shape: tuple[Any, ...]) -> Any:
    count: Any = np.int64(1)
    for length in shape:
        count = count * length
    return count


def begin_indices(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = np.ndindex(*shape)``, also of a shape given as one tuple."""
    items = body.register(target.name)
    registers = tuple(body.register(arg.name) for arg in expr.args)
    if len(expr.args) == 1 and isinstance(plain(body.type_of(expr.args[0])), types.BaseTuple):
        body.compute(items, lambda shape: shape, registers)
    else:
        body.compute(items, lambda *shape: shape, registers)
    position = body.unit.new_register()
    body.compute(position, lambda shape: make_iterator(POSITION, 0, _count(shape), 1), (items,))
    body.static[target.name] = IndexLoop(position, items, True, False, body.place())


def begin_enumerated_elements(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = np.ndenumerate(array)``."""
    (array,) = expr.args
    _begin_elements(body, target, array, True, access.load)


def begin_views(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = np.nditer(array)``: its items are arrays without axes."""
    if len(expr.args) != 1 or expr.kws or not isinstance(plain(body.type_of(expr.args[0])), types.Array):
        raise body.unknown("nditer of more than one array")
    _begin_elements(body, target, expr.args[0], False, views.view)


def begin_flat(body: Body, target: Any, expr: Any) -> None:
    """``target = array.flat``, which can be indexed, too."""
    _begin_elements(body, target, expr.value, False, access.load)


def _begin_elements(body: Body, target: Any, array: Any, gives_index: bool, get: Callable[..., Any]) -> None:
    items, position = body.register(target.name), body.unit.new_register()
    body.compute(items, lambda value: value, (body.register(array.name),))
    body.compute(position, lambda value: make_iterator(POSITION, 0, _count(value.shape), 1), (items,))
    body.static[target.name] = IndexLoop(position, items, gives_index, True, body.place(), get)
