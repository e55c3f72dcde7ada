"""What lanes hold: one value for all of them, or one per lane. Runs in the runner.

In and out: values of registers, which are numbers, tuples, ``ArrayRef``s, ``RangeIterator``s or arrays with an entry
per lane. ``take`` gives some lanes' part of a value, ``merge`` puts it back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.simulator.memory import ArrayRef, Lanes, alike

# Lanes of a wave, or positions among some of them.
LaneIndex = npt.NDArray[np.intp]


class RangeIterator:
    """The state of ``for i in range(...)``, shared by all copies of the iterator; ints or one per lane."""

    __slots__ = ("dtype", "next", "remaining", "step")

    def __init__(self, dtype: np.dtype[Any], start: Lanes, step: Lanes, remaining: Lanes) -> None:
        self.dtype = dtype
        self.next = start
        self.step = step
        self.remaining = remaining

    def is_uniform(self) -> bool:
        """Whether all lanes are at the same turn."""
        wide = np.ndarray
        return not (isinstance(self.next, wide) or isinstance(self.step, wide) or isinstance(self.remaining, wide))


def is_wide(value: Any) -> bool:
    """Whether ``value`` has one entry per lane."""
    return isinstance(value, np.ndarray)


def widen(value: Lanes, lanes: int) -> npt.NDArray[Any]:
    """``value`` with one entry per lane, writable."""
    if isinstance(value, np.ndarray):
        return value
    return np.full(lanes, value)


def take(value: Any, lanes: LaneIndex | None, moved: dict[int, Any] | None = None) -> Any:
    """``value`` for some lanes. ``moved`` keeps copies of iterators the same object."""
    if lanes is None or value is None or isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray):
        return value[lanes]
    if isinstance(value, tuple):
        return tuple(take(item, lanes, moved) for item in value)
    if isinstance(value, ArrayRef):
        parts = value.parts()
        if any(isinstance(part, np.ndarray) for part in parts):
            return value.with_parts(tuple(take(part, lanes) for part in parts))
        return value
    if isinstance(value, RangeIterator):
        if moved is None:
            return value
        if id(value) not in moved:
            moved[id(value)] = RangeIterator(
                value.dtype, take(value.next, lanes), take(value.step, lanes), take(value.remaining, lanes)
            )
        return moved[id(value)]
    return value


def merge(old: Any, new: Any, lanes: LaneIndex, total: int) -> Any:
    """``old`` for all ``total`` lanes, with ``new`` in place for ``lanes``. Never writes into ``old``'s arrays,
    iterators apart, which are shared state.
    """
    if new is None or (old is None and not _has_wide(new)):
        return old if new is None else new
    if isinstance(new, tuple):
        olds = old if isinstance(old, tuple) else (None,) * len(new)
        return tuple(merge(o, n, lanes, total) for o, n in zip(olds, new, strict=True))
    if isinstance(new, ArrayRef):
        if not isinstance(old, ArrayRef):
            old = new.with_parts(tuple(0 for _ in new.parts()))
        old, new = alike([old, new])
        parts = tuple(merge(o, n, lanes, total) for o, n in zip(old.parts(), new.parts(), strict=True))
        return replace(new.with_parts(parts), outside=new.outside or old.outside)
    if isinstance(new, RangeIterator):
        if not isinstance(old, RangeIterator):
            return RangeIterator(
                new.dtype,
                merge(None, new.next, lanes, total),
                merge(None, new.step, lanes, total),
                merge(None, new.remaining, lanes, total),
            )
        if old is not new:
            old.next = merge(old.next, new.next, lanes, total)
            old.step = merge(old.step, new.step, lanes, total)
            old.remaining = merge(old.remaining, new.remaining, lanes, total)
        return old
    # 0.0 and -0.0 are equal and not the same.
    if not isinstance(old, np.ndarray) and not isinstance(new, np.ndarray) and old == new and old != 0:
        return old
    dtype = new.dtype if isinstance(new, np.generic | np.ndarray) else np.dtype(np.int64)
    if dtype.kind in "US" and old is not None:  # texts of different lengths
        dtype = np.promote_types(dtype, old.dtype)
    if isinstance(old, np.ndarray):
        out = old.astype(dtype, copy=True)
    else:
        out = np.empty(total, dtype)
        if old is not None:
            out.fill(old)
    out[lanes] = new
    return out


def _has_wide(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(_has_wide(item) for item in value)
    if isinstance(value, ArrayRef):
        return any(isinstance(part, np.ndarray) for part in value.parts())
    if isinstance(value, RangeIterator):
        return not value.is_uniform()
    return isinstance(value, np.ndarray)
