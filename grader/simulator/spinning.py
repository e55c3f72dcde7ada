"""Whether lanes that would run again can only wait for others. Runs in the runner.

In: a basic block, the lanes that would run it, the registers that live on there. Out: whether they were there before
with the same values, as lanes are that wait for a lock or a flag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.simulator.lane_values import LaneIndex, RangeIterator, is_wide, take
from grader.simulator.memory import ArrayRef


class Spinning:
    """Who came last to each basic block of one wave, with what in the registers that live on there."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[LaneIndex | None, list[Any], list[Any]]] = {}

    def spins(self, block: int, lanes: LaneIndex | None, values: Iterable[Any]) -> bool:
        """Whether these lanes came to the block with the same values before; they are looked at next time."""
        # Iterators change in place, so theirs is how far they are; other values are never changed, only replaced.
        values = list(values)
        turns = [take(value.remaining, lanes) for value in values if isinstance(value, RangeIterator)]
        others = [value for value in values if not isinstance(value, RangeIterator)]
        before, self._seen[block] = self._seen.get(block), (lanes, turns, others)
        if before is None or not _alike(before[0], lanes, None):
            return False
        same_turn = all(_alike(old, new, None) for old, new in zip(before[1], turns, strict=True))
        return same_turn and all(_alike(old, new, lanes) for old, new in zip(before[2], others, strict=True))


def _alike(old: Any, new: Any, lanes: LaneIndex | None) -> bool:
    """Whether two values are the same in these lanes (None: in all)."""
    if old is new:
        return True
    if is_wide(old) and is_wide(new):
        return bool(np.array_equal(take(old, lanes), take(new, lanes)))
    if isinstance(old, ArrayRef) and isinstance(new, ArrayRef):
        return (old.space, old.root) == (new.space, new.root) and _alike(old.parts(), new.parts(), lanes)
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(_alike(a, b, lanes) for a, b in zip(old, new, strict=True))
    return type(old) is type(new) and not is_wide(old) and bool(np.all(old == new))
