"""A wave: the thread blocks that run at the same time, and where each of their lanes is. Runs in the runner.

In: a grid, a block, which blocks. Out: coordinates of lanes, and which of them have not returned.

Coordinates of a lane, one int32/int64 per lane or one number where all lanes share it: ``tx ty tz`` (threadIdx),
``bx by bz`` (blockIdx), ``thread`` (linear index in its block), ``gthread`` (in the launch), ``slot`` (its block's
index in the wave), ``warp`` (its warp's index in the wave), ``lane`` (0 to 31), ``position`` (in the wave as it began).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.simulator.block_sample import Stretch
from grader.simulator.configuration import Triple


class Wave:
    """Some blocks of a launch, by their numbers in the order x fastest: one or more stretches (first, how many)."""

    def __init__(self, grid: Triple, block: Triple, stretches: Sequence[Stretch]) -> None:
        self.grid = grid
        self.block = block
        self.numbers = np.concatenate([np.arange(first, first + count) for first, count in stretches])
        self.blocks = blocks = self.numbers.size
        (first, count), *more = stretches
        # The same, as an index of what has an entry for each block of the launch.
        self.of_launch: slice | npt.NDArray[np.intp] = self.numbers if more else slice(first, first + count)
        threads = block[0] * block[1] * block[2]
        self.threads_per_block = self._threads = threads
        self.total = self.launched = blocks * threads
        self.warps_per_block = -(-threads // WARP_SIZE)
        self.warps = blocks * self.warps_per_block
        self._kept: npt.NDArray[np.intp] | None = None
        self._alive: npt.NDArray[np.bool_] | None = None
        # By thread of the wave, the basic block where it ended; -1 while it runs. Made when the first ones end.
        self._ended: npt.NDArray[np.int32] | None = None
        self.alive = self.total
        self._coordinates: dict[str, Any] = {}
        self._bases: dict[tuple[str, int], Any] = {}

    def coordinate(self, name: str) -> Any:
        """One coordinate of every lane of the wave."""
        if name not in self._coordinates:
            value = self._compute(name)
            if self._kept is not None and isinstance(value, np.ndarray):
                value = value[self._kept]
            self._coordinates[name] = value
        return self._coordinates[name]

    def _compute(self, name: str) -> Any:
        dx, dy, dz = self.block
        if name in ("tx", "ty", "tz"):
            length, before = {"tx": (dx, 1), "ty": (dy, dx), "tz": (dz, dx * dy)}[name]
            if length == 1:
                return np.int32(0)
            one = np.arange(self._threads) // before % length
            return np.tile(one.astype(np.int32), self.blocks)
        if name in ("bx", "by", "bz"):
            length, before = {
                "bx": (self.grid[0], 1),
                "by": (self.grid[1], self.grid[0]),
                "bz": (self.grid[2], self.grid[0] * self.grid[1]),
            }[name]
            one = self.numbers // before % length
            if (one == one[0]).all():
                return np.int32(one[0])
            return np.repeat(one.astype(np.int32), self._threads)
        if name == "position":
            return np.arange(self.launched)
        if name == "slot":
            return np.repeat(np.arange(self.blocks), self._threads) if self.blocks > 1 else np.int64(0)
        thread = np.arange(self._threads)
        if name == "gthread":
            return np.repeat(self.numbers * self._threads, self._threads) + np.tile(thread, self.blocks)
        if name == "thread":
            return np.tile(thread, self.blocks)
        if name == "lane":
            return np.tile(thread % WARP_SIZE, self.blocks)
        slots = np.repeat(np.arange(self.blocks), self._threads)
        return slots * self.warps_per_block + np.tile(thread // WARP_SIZE, self.blocks)

    def segments(self, space: str) -> int:
        """How many segments of a space this wave uses: one per block, or one per thread."""
        return self.blocks if space == "shared" else self.blocks * self._threads

    def segment_base(self, space: str, segment: int, itemsize: int) -> Any:
        """Where each lane's segment starts: per block in shared memory, per lane in local memory."""
        key = (space, itemsize)
        if key not in self._bases:
            if space == "shared":
                self._bases[key] = self.coordinate("slot") * (segment // itemsize)
            else:
                self._bases[key] = (
                    np.arange(self.total) * (segment // itemsize)
                    if self._kept is None
                    else (self._kept * (segment // itemsize))
                )
        return self._bases[key]

    def retire(self, lanes: npt.NDArray[np.intp] | None, at: int = -1) -> None:
        """These lanes (None: all) have returned, at the end of basic block ``at``."""
        if lanes is None:
            self.alive = 0
            self._alive = np.zeros(self.total, bool)
            return
        if self._alive is None:
            self._alive = np.ones(self.total, bool)
        self._alive[lanes] = False
        self.alive -= lanes.size
        if self._ended is None:
            self._ended = np.full(self.launched, -1, np.int32)
        self._ended[lanes if self._kept is None else self._kept[lanes]] = at

    def ended(self) -> npt.NDArray[np.int32]:
        """Per block of the wave and thread in it, the basic block where it returned; -1 for those that have not."""
        if self._ended is None:
            return np.full((self.blocks, self._threads), -1, np.int32)
        return self._ended.reshape(self.blocks, self._threads)

    def positions(self, lanes: npt.NDArray[np.intp] | None) -> Any:
        """Where these lanes (None: all that are left) are among all threads of the wave: positions, or a slice."""
        if lanes is None and self._kept is None:
            return slice(0, self.launched)
        positions = self.coordinate("position")
        return positions if lanes is None else positions[lanes]

    def warps_of(self, lanes: npt.NDArray[np.intp] | None) -> int:
        """How many warps these lanes (None: all of the wave) are of."""
        if lanes is None and self._kept is None:
            return self.warps
        warps = self.coordinate("warp")
        seen = np.zeros(self.warps, bool)
        seen[warps if lanes is None else warps[lanes]] = True
        return int(np.count_nonzero(seen))

    def is_whole(self) -> bool:
        """Whether no thread has returned yet."""
        return self.alive == self.launched

    def alive_mask(self) -> npt.NDArray[np.bool_]:
        """Per lane, whether it has not returned."""
        return np.ones(self.total, bool) if self._alive is None else self._alive

    def alive_per_block(self) -> npt.NDArray[np.intp]:
        """Per block of the wave, how many of its threads have not returned."""
        slots = np.broadcast_to(self.coordinate("slot"), self.total)
        return np.bincount(slots[self.alive_mask()], minlength=self.blocks)

    def keep(self, lanes: npt.NDArray[np.intp]) -> None:
        """Go on with these lanes alone, in this order."""
        self._kept = lanes if self._kept is None else self._kept[lanes]
        self.total = self.alive = lanes.size
        self._alive = None
        self._coordinates.clear()
        self._bases.clear()

    def every(self, name: str) -> npt.NDArray[Any]:
        """A coordinate with one entry per lane."""
        return np.broadcast_to(self.coordinate(name), self.total)

    def name_of(self, block: int, thread: int) -> str:
        """A thread of the launch, by the linear indices of its block and of itself there, as a person says it."""
        b = (block % self.grid[0], block // self.grid[0] % self.grid[1], block // (self.grid[0] * self.grid[1]))
        t = (thread % self.block[0], thread // self.block[0] % self.block[1], thread // (self.block[0] * self.block[1]))
        return self.say(b, t)

    def say(self, block: Triple, thread: Triple) -> str:
        """A thread of the launch as a person says it: "5 of block 2", "(3, 1) of block (0, 2)"."""
        return f"{_index(thread, self.block)} of block {_index(block, self.grid)}"

    def threads(self, lanes: npt.NDArray[Any]) -> tuple[tuple[Triple, Triple], ...]:
        """Block and thread index of some lanes (few: for messages)."""
        named = []
        for lane in lanes:
            values = [
                np.broadcast_to(self.coordinate(name), self.total)[lane]
                for name in ("bx", "by", "bz", "tx", "ty", "tz")
            ]
            b, t = values[:3], values[3:]
            named.append(((int(b[0]), int(b[1]), int(b[2])), (int(t[0]), int(t[1]), int(t[2]))))
        return tuple(named)


def _index(index: Triple, sizes: Triple) -> str:
    """An index with as many dimensions as the sizes need."""
    dimensions = max((axis + 1 for axis, size in enumerate(sizes) if size > 1), default=1)
    return str(index[0]) if dimensions == 1 else f"({', '.join(map(str, index[:dimensions]))})"
