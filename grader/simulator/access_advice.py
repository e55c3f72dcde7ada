"""Which access of a line is the dear one, and what to try, by how its array lies in memory. Runs in the runner; pure.

In: counters by expression, arrays. Out: a place, sentences for ``performance_advice``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from grader.records import Place
from grader.simulator.access_costs import WIDE
from grader.simulator.lane_values import is_wide
from grader.simulator.memory import ArrayRef


def costliest(spots: Mapping[Place, Mapping[str, int]], line: Place, space: str, cost: str) -> Place:
    """The expression of a line that costs most: "sectors" of ``global`` memory, "bank_conflicts" of ``shared``."""
    names = [f"{space}_{kind}_{cost}" for kind in ("load", "store", "atomic")]
    of_line = [spot for spot in spots if spot.whole_line == line]
    return max(of_line, key=lambda spot: sum(spots[spot].get(name, 0) for name in names), default=line)


def beside_each_other(array: ArrayRef | None) -> str:
    """What to try where neighbouring threads touch places that are far apart, by how the array lies in memory."""
    neighbours = "Let neighbouring threads (threadIdx.x) touch neighbouring elements"
    if array is not None and not array.shape and is_wide(array.address):
        return (
            "The fields of a record lie beside each other, and the next record's behind them: give each field an array "
            f"of its own. {neighbours} of it."
        )
    strides = [int(np.max(stride)) for stride in array.strides] if array is not None else []
    if len(strides) > 1 and min(strides) < strides[-1]:
        which = ("first", "second", "third")[strides.index(min(strides))] if len(strides) <= 3 else "closest"
        return f"{neighbours}: the {which} index of this array, which is not in C order."
    return f"{neighbours}, the last index of an array."


def other_banks(array: ArrayRef | None, kind: str) -> str:
    """What to try where threads of a warp meet at banks of shared memory."""
    banks = "Threads of a warp should touch different banks (element number modulo 32, for 4-byte elements)"
    if kind == "atomic":
        return (
            "Atomic operations of a warp that meet at a bank wait for each other. Fewer meet with a copy of the array "
            "for each part of a block; add the copies up at the end."
        )
    if array is not None and array.dtype == WIDE:
        return (
            "Of load4 and store4, eight threads are served together: they should touch eight different groups of four "
            "banks. Let neighbouring threads take neighbouring fours, or make rows four elements longer: (32, 36)."
        )
    if array is not None and len(array.shape) < 2:
        return f"{banks}: neighbouring threads neighbouring elements, as in s[t] rather than s[2 * t]."
    return f"{banks}: a row that is one element longer, as in (32, 33), often does it."
