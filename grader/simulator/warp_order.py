"""What ``syncwarp`` of a part of a warp orders: the lanes that its mask names, and what they knew before. Runs in the
runner.

In: the barriers of warps that are passed. Out: up to when a lane knows of another.

Of a whole warp a count of its barriers is enough (``watch``). Of parts, each lane keeps up to when it knows what each
other lane of its warp has done, as vector clocks do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.simulator.marks import Numbering, Threads

# Warps whose parts may be told apart, at 4 KiB each. Those beyond are taken to be ordered as a whole.
MOST_WARPS = 1 << 14
_LANES = np.arange(WARP_SIZE)


class WarpOrder:
    """Lanes that have met in part of their warp, for one wave. Warps are numbered through the launch."""

    def __init__(self, number: Numbering, first_warp: int, warps: int) -> None:
        self._number = number
        self._first = first_warp
        self._row = np.full(warps, -1, np.int32)  # by warp, where it is in _known
        self._rows = 0
        self._known: npt.NDArray[np.int32] = np.zeros((0, WARP_SIZE, WARP_SIZE), np.int32)

    def met(self, warps: npt.NDArray[Any], masks: npt.NDArray[Any], time: int) -> npt.NDArray[Any]:
        """Lanes of ``warps`` pass a barrier of the lanes in ``masks`` (one of both per lane); the warps too many."""
        rows = self._rows_of(warps)
        kept = rows >= 0
        for mask in np.unique(masks[kept]).tolist():
            here = np.unique(rows[kept & (masks == mask)])
            members = _LANES[(mask >> _LANES & 1).astype(bool)]
            both = np.ix_(here, members)
            joint = self._known[both].max(axis=1)
            joint[:, members] = time
            self._known[both] = joint[:, None, :]
        return np.unique(warps[~kept])

    def _rows_of(self, warps: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        new = np.unique(warps[self._row[warps - self._first] < 0])[: MOST_WARPS - self._rows]
        if new.size:
            self._row[new - self._first] = np.arange(self._rows, self._rows + new.size)
            self._rows += new.size
            self._known = np.concatenate([self._known, np.zeros((new.size, WARP_SIZE, WARP_SIZE), np.int32)])
        return np.asarray(self._row[warps - self._first])

    def order(self, marks: Threads, mine: Threads, time: Any) -> npt.NDArray[np.bool_]:
        """Which accesses of the same warp, at ``time`` by whom ``marks`` name, are over for all that ``mine`` know."""
        row = self._row[np.maximum(self._number.warp(mine) - self._first, 0)]
        lane = mine & (WARP_SIZE - 1)
        known = self._known[row, lane]
        # Several lanes of the warp: nobody remembers which. One that is known will do.
        by_one = known[np.arange(lane.size), np.where(marks >= 0, marks, 0) & (WARP_SIZE - 1)]
        known[np.arange(lane.size), lane] = 0
        return np.asarray((row >= 0) & (np.where(marks >= 0, by_one, known.max(axis=1)) >= time))
