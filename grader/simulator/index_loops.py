"""Loops over all indices of a shape or all elements of an array, last axis fastest. Runs in the runner.

In: expressions of typed IR that begin such a loop. Out: an ``IndexLoop``, and its steps.

``np.ndindex``, ``np.ndenumerate``, ``np.nditer`` and ``array.flat`` are iterators themselves: a second loop over one
goes on where the first left off, and ends at once where that was the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.loops import POSITION, PositionLoop
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.program import Branch, Jump, Registers
from grader.simulator.ranges import advance, make_iterator


@dataclass(frozen=True)
class IndexLoop(PositionLoop):
    """``np.ndindex``, ``np.ndenumerate``, ``flat``, ``np.nditer``: indices, elements, or both, in C order."""

    gives_index: bool
    gives_element: bool
    get: Callable[..., Any] = access.load

    def _item(self, m: Machine, items: Any, position: Any) -> Any:
        index = unravel(position, items.shape if self.gives_element else items)
        if not self.gives_element:
            return index
        element = self.get(m, items, index, self.place)
        return (index, element) if self.gives_index else element


def unravel(position: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index, last axis fastest, that stands at a position of a shape."""
    index: list[Any] = []
    for length in reversed(shape):
        index.append(np.asarray(position % np.maximum(length, 1), np.int64)[()])
        position = position // np.maximum(length, 1)
    return tuple(reversed(index))


def count_of(shape: tuple[Any, ...]) -> Any:
    """How many elements a shape has."""
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
    body.compute(position, lambda shape: make_iterator(POSITION, 0, count_of(shape), 1), (items,))
    body.static[target.name] = IndexLoop(position, items, body.place(), gives_index=True, gives_element=False)


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
    body.compute(position, lambda value: make_iterator(POSITION, 0, count_of(value.shape), 1), (items,))
    body.static[target.name] = IndexLoop(position, items, body.place(), gives_index, True, get)


@contextmanager
def each_position(body: Body, array: int) -> Iterator[int]:
    """A loop of blocks over the elements of the array in a register; what is added while it holds is done for each.

    Gives the register of an element's number, from 0, for ``unravel``.
    """
    position, number, there = (body.unit.new_register() for _ in range(3))
    body.compute(position, lambda value: make_iterator(POSITION, 0, count_of(value.shape), 1), (array,))
    before = body.block
    head = body.start_block()
    before.end = Jump(head)

    def step(m: Machine, r: Registers) -> None:
        r[number], r[there] = advance(m, position, r[position])

    body.add(step, (position,), (number, there))
    turn = body.block
    turn.note_reads((there,))
    inner = body.start_block()
    yield number
    body.block.end = Jump(head)
    turn.end = Branch(there, inner, body.start_block(), body.place())
