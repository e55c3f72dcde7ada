"""A kernel of two dimensions launched in one. Runs in the runner, or in anybody's own process.

In: a kernel's typed IR, a launch. Out: what it misses, or None. No GPU refuses such a launch, which computes the
first row or column only; a matrix of one row makes it right.
"""

from __future__ import annotations

from typing import Any

from numba import cuda

from grader.simulator.callees import callee_key
from grader.simulator.frontend import TypedFunction
from grader.simulator.memory import ArrayRef


def unused_dimension(
    typed: TypedFunction, grid: tuple[int, int, int], block: tuple[int, int, int], arguments: list[Any]
) -> tuple[str, str] | None:
    """What happens and what to try, if the kernel asks for more dimensions than the launch has."""
    asked = _dimensions(typed)
    has = max((axis + 1 for axis in range(3) if grid[axis] * block[axis] > 1), default=1)
    arrays = [given for given in arguments if isinstance(given, ArrayRef)]
    wide = [array for array in arrays if len(array.shape) >= asked and min(array.shape) > 1]
    if asked <= has or not wide or grid[0] * block[0] == 1:
        return None
    axis = "xyz"[asked - 1]
    return (
        f"The kernel asks for cuda.grid({asked}), but the launch has {has} dimension{'s' if has > 1 else ''}: "
        f"{axis} is always 0.",
        f"Launch it with tuples of {asked} numbers: kernel[(blocks_x, blocks_y), (threads_x, threads_y)](...).",
    )


def _dimensions(typed: TypedFunction) -> int:
    """The most dimensions that the kernel itself asks ``cuda.grid`` for; 1 if it never does."""
    asked = 1
    for block in typed.ir.blocks.values():
        for statement in block.body:
            value: Any = getattr(statement, "value", None)
            if value is None or getattr(value, "op", "") != "call":
                continue
            if callee_key(typed.typemap[value.func.name]) is not cuda.grid:
                continue
            literal = getattr(typed.typemap[value.args[0].name], "literal_value", 1) if value.args else 1
            asked = max(asked, int(literal))
    return asked
