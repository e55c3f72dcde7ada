"""How wide the elements of a plan's memory are, whatever an array over it makes of them. Runs in the runner.

In: a plan, the dtypes of its arguments. Out: for an array of the plan the bytes of one element, by which accesses are
counted. A kernel that reads float32 as complex64 reads two elements at once, also where host code has copied them into
memory that it has made as complex64.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from grader.plan import Copy, Launch, LaunchPlan
from grader.plan_dtypes import numpy_dtype
from grader.plan_memory import TupleArgument, View

# Bytes say nothing of what they are bytes of: who clears or moves memory takes it as such.
_BYTE = 1
# Of more different stretches in one buffer, the narrowest counts for all of it.
MAX_STRETCHES = 256


class ElementWidths:
    """Of an argument, it is the problem's word. Of scratch memory, the narrowest of the numbers that were copied there,
    or that a kernel takes it for, in any stretch that an array shares with others.
    """

    def __init__(self, plan: LaunchPlan, arguments: Mapping[str, np.dtype[Any]]) -> None:
        """``arguments``: the dtype of each array that the host function gets."""
        self._own = {
            number: 0 if (dtype := arguments[buffer.name]).names is not None else dtype.itemsize
            for number, buffer in enumerate(plan.buffers)
            if buffer.origin == "argument"
        }
        # By buffer: begin, end and width of each stretch.
        self._stretches: defaultdict[int, dict[tuple[int, int, int], None]] = defaultdict(dict)
        for operation in plan.operations:
            match operation:
                case Launch():
                    for view in _views_among(operation.arguments):
                        self._note(view, _width(view))
                case Copy():
                    width = self.of(operation.source)
                    self._note(operation.target, min(width, _width(operation.target) or width))

    def of(self, view: View) -> int:
        """Bytes of an element of the memory under ``view``; 0 where nobody can say, as of records."""
        if view.buffer in self._own:
            return self._own[view.buffer]
        begin, end = view.extent()
        widths = [_width(view)]
        widths += [width for low, high, width in self._stretches[view.buffer] if low < end and begin < high]
        return min(filter(None, widths), default=0)

    def _note(self, view: View, width: int) -> None:
        if width <= _BYTE or view.buffer in self._own:
            return
        stretches = self._stretches[view.buffer]
        stretches[*view.extent(), width] = None
        if len(stretches) > MAX_STRETCHES:
            low, high, narrowest = (
                pick(column) for pick, column in zip((min, max, min), zip(*stretches, strict=True), strict=True)
            )
            self._stretches[view.buffer] = {(low, high, narrowest): None}


def _width(view: View) -> int:
    dtype = numpy_dtype(view.dtype)
    return 0 if dtype.names is not None else dtype.itemsize


def _views_among(arguments: Iterable[Any]) -> Iterator[View]:
    for argument in arguments:
        if isinstance(argument, View):
            yield argument
        elif isinstance(argument, TupleArgument):
            yield from _views_among(argument.items)
