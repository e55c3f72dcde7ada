"""Which expression of a line an instruction belongs to: Numba keeps lines, Python's code objects know columns.

Runs in the runner, while typing. In: code objects. Out: positions at nodes of Numba's IR.

Numba's interpreter of bytecode gives each node of its IR a ``Loc`` with a line; here
it also gets ``positions``: first and last line and column, as ``code.co_positions()`` has them (PEP 657).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from grader.kernels_text import Position

try:
    from numba.cuda.core import bytecode, interpreter  # numba-cuda
except ImportError:
    from numba.core import bytecode, interpreter

# Numba numbers instructions from 2: its bytecode begins with one that Python's does not have.
_SHIFT = getattr(bytecode, "_FIXED_OFFSET", 2)
_BYTES_PER_UNIT = 2


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """While it holds, Numba's nodes get their positions."""
    original = interpreter.Interpreter._iter_inst

    def with_positions(self: Any) -> Iterator[Any]:
        known = list(self.func_id.code.co_positions())
        for instruction, keywords in original(self):
            unit = (instruction.offset - _SHIFT) // _BYTES_PER_UNIT
            if 0 <= unit < len(known):
                self.loc.position = known[unit]
            yield instruction, keywords

    interpreter.Interpreter._iter_inst = with_positions
    try:
        yield
    finally:
        interpreter.Interpreter._iter_inst = original


def position_of(loc: Any) -> Position | None:
    """Where a node's expression stands, if that is known."""
    position = getattr(loc, "position", None)
    return None if position is None or None in position else position
