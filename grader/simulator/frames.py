"""Call frames of functions that call themselves: what each lane goes back to. Runs in the runner.

In: registers of lanes that call. Out: the same when they return, with the function's result.

Other device functions are inlined and need none. A frame holds what its lanes' registers were at the call, one
entry per lane that called together; lanes may return from one frame at different times, and from many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.simulator.lane_values import LaneIndex, take
from grader.simulator.program import Call

# A thread of a GPU has a stack of 1 KiB unless the host asks for more (CUDA Driver API, CU_LIMIT_STACK_SIZE): so
# many calls inside each other need more than that, even at one byte each.
MAX_DEPTH = 1024


@dataclass
class _Frame:
    call: Call
    saved: dict[int, Any]
    parents: npt.NDArray[np.int64]  # each lane's frame before the call, -1 for none
    parent_positions: npt.NDArray[np.int64]
    lanes_left: int


class Frames:
    """The stacks of all lanes of a wave."""

    def __init__(self, lanes: int) -> None:
        self._frames: dict[int, _Frame] = {}
        self._next = 0
        self._lanes = lanes
        # Per lane; made at the first call.
        self._frame: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._position, self._depth = self._frame, self._frame

    def push(self, call: Call, lanes: LaneIndex, saved: dict[int, Any]) -> bool:
        """These lanes call; ``saved`` are registers for just them. False where some are too deep already."""
        if not self._next:
            self._frame = np.full(self._lanes, -1, np.int64)
            self._position, self._depth = np.zeros((2, self._lanes), np.int64)
        self._frames[self._next] = _Frame(call, saved, self._frame[lanes], self._position[lanes], lanes.size)
        self._frame[lanes] = self._next
        self._position[lanes] = np.arange(lanes.size)
        self._depth[lanes] += 1
        self._next += 1
        return bool(self._depth[lanes].max() <= MAX_DEPTH)

    def pop(self, lanes: LaneIndex) -> list[tuple[Call, LaneIndex, dict[int, Any]]]:
        """These lanes return: by frame, the call, which of ``lanes`` (positions in it), their saved registers."""
        returned = []
        numbers = self._frame[lanes]
        for number in np.unique(numbers).tolist():
            frame = self._frames[number]
            here = np.flatnonzero(numbers == number)
            positions = self._position[lanes[here]]
            moved: dict[int, Any] = {}
            saved = {register: take(value, positions, moved) for register, value in frame.saved.items()}
            returned.append((frame.call, here, saved))
            self._frame[lanes[here]] = frame.parents[positions]
            self._position[lanes[here]] = frame.parent_positions[positions]
            frame.lanes_left -= here.size
            if not frame.lanes_left:
                del self._frames[number]
        self._depth[lanes] -= 1
        return returned

    def keep(self, lanes: LaneIndex) -> None:
        """Go on with these lanes alone, in this order."""
        self._lanes = lanes.size
        if not self._next:
            return
        self._frame, self._position, self._depth = self._frame[lanes], self._position[lanes], self._depth[lanes]
