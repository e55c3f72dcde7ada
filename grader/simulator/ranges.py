"""``for i in range(...)`` on lanes. Runs in the runner.

In: start, stop and step, one for all lanes or one per lane. Out: ``RangeIterator``s, and their next values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.simulator.lane_values import RangeIterator, is_wide, widen
from grader.simulator.machine import Machine


def make_iterator(dtype: np.dtype[Any], start: Any, stop: Any, step: Any) -> RangeIterator:
    """An iterator that has not begun. ``start``, ``stop``, ``step`` are of ``dtype``, each uniform or per lane."""
    if not (is_wide(start) or is_wide(stop) or is_wide(step)):
        # Python ints for the count: a range may be longer than its dtype can say.
        first, last, by = int(start), int(stop), int(step)
        return RangeIterator(dtype, start, step, len(range(first, last, by)) if by else 0)
    start, stop, step = (np.asarray(part, np.int64) for part in (start, stop, step))
    away = np.where(step > 0, step - 1, step + 1)
    count = np.where(step == 0, 0, (stop - start + away) // np.where(step == 0, 1, step))
    return RangeIterator(dtype, start.astype(dtype)[()], step.astype(dtype)[()], np.maximum(count, 0))


def advance(machine: Machine, register: int, iterator: RangeIterator) -> tuple[Any, Any]:
    """The next value and whether there is one, for the active lanes; moves the shared state on."""
    lanes = machine.lanes
    if iterator.is_uniform() and (lanes is None or not machine.live_elsewhere(register)):
        value = iterator.next
        if iterator.remaining <= 0:
            return value, np.False_
        iterator.next = value + iterator.step
        iterator.remaining -= 1
        return value, np.True_
    total = machine.wave.total
    if lanes is None:
        value, there = iterator.next, iterator.remaining > 0
        iterator.next = value + iterator.step
        iterator.remaining = iterator.remaining - 1
        return value, there
    if not is_wide(iterator.remaining) or iterator.remaining.size != total:
        iterator.remaining = widen(iterator.remaining, total)
    iterator.next = widen(iterator.next, total)
    value = iterator.next[lanes]
    there = iterator.remaining[lanes] > 0
    step = iterator.step[lanes] if is_wide(iterator.step) else iterator.step
    iterator.next[lanes] = value + step
    iterator.remaining[lanes] -= 1
    return value, there
