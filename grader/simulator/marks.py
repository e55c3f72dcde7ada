"""One mark per piece of memory: who touched it last, when, where. Runs in the runner.

In: accesses of one instruction. Out: for each granule the one before.

A granule is the size of the elements that a stretch of memory holds; a wider access touches several. Threads are
numbered through the launch. ``epoch`` counts the barriers that a thread's block has passed, ``warp_epoch`` those of
its warp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE

WARP_SHIFT = WARP_SIZE.bit_length() - 1
NOBODY = -1
# More than one reader in one barrier interval: several lanes of warp w are -2 - 2w, several warps of block b are
# -3 - 2b (warps and blocks numbered through the launch), several blocks are MANY.
MANY = np.iinfo(np.int64).min
Threads = npt.NDArray[np.int64]
# Kinds of accesses. A silent write is one of the value that was there already.
PLAIN, ATOMIC, SILENT = 0, 1, 2


class Numbering:
    """How the threads of a launch are numbered here: a power of two to a block, so that blocks and warps are shifts."""

    def __init__(self, threads_per_block: int) -> None:
        self.shift = max((threads_per_block - 1).bit_length(), WARP_SHIFT)
        self._warp_to_block = self.shift - WARP_SHIFT

    def number(self, block: Any, thread: Any) -> Threads:
        """The number of a thread, from its block's and its own linear index."""
        return np.asarray((np.asarray(block, np.int64) << self.shift) + thread)

    def name(self, number: int) -> tuple[int, int]:
        """A thread's block and its index there."""
        return number >> self.shift, number & ((1 << self.shift) - 1)

    def block(self, thread: Threads) -> Threads:
        """The block of each thread."""
        return thread >> self.shift

    def warp(self, thread: Threads) -> Threads:
        """The warp of each thread, through the launch."""
        return thread >> WARP_SHIFT

    def block_of_mark(self, mark: Threads) -> Threads:
        """The block that a mark is about; NOBODY for MANY and NOBODY."""
        if mark.size and mark.min() >= 0:  # single threads: mostly
            return self.block(mark)
        code = -2 - mark
        several = np.where(code & 1, code >> 1, code >> (1 + self._warp_to_block))
        return np.where(mark >= 0, self.block(mark), np.where((mark == MANY) | (mark == NOBODY), NOBODY, several))

    def warp_of_mark(self, mark: Threads) -> Threads:
        """The warp that a mark is about; NOBODY where it is not about one warp alone."""
        if mark.size and mark.min() >= 0:
            return self.warp(mark)
        code = -2 - mark
        one_warp = (mark < NOBODY) & (mark != MANY) & ((code & 1) == 0)
        return np.where(mark >= 0, self.warp(mark), np.where(one_warp, code >> 1, NOBODY))


Order = Callable[[Threads, Threads, Any], npt.NDArray[np.bool_]]


@dataclass
class Touch:
    """One instruction's accesses, an entry per lane; ``epoch``, ``warp_epoch``, ``kind`` may be one number for all."""

    granules: npt.NDArray[np.intp]
    threads: npt.NDArray[np.int64]
    epoch: Any
    warp_epoch: Any
    place: int  # the number of its site
    kind: Any
    time: int

    def part(self, where: npt.NDArray[np.bool_]) -> Touch:
        """Some of the accesses."""

        def some(stamp: Any) -> Any:
            return stamp[where] if isinstance(stamp, np.ndarray) else stamp

        granules, threads = self.granules[where], self.threads[where]
        return Touch(granules, threads, some(self.epoch), some(self.warp_epoch), self.place, some(self.kind), self.time)

    def finer(self, times: int) -> Touch:
        """The same accesses, with granules of which ``times`` make up one of these."""

        def stretched(stamp: Any) -> Any:
            return np.repeat(stamp, times) if isinstance(stamp, np.ndarray) else stamp

        epoch, warp_epoch = stretched(self.epoch), stretched(self.warp_epoch)
        granules = (self.granules[:, None] * times + np.arange(times)).reshape(-1)
        return Touch(
            granules, np.repeat(self.threads, times), epoch, warp_epoch, self.place, stretched(self.kind), self.time
        )


@dataclass
class Mark:
    """Per granule the last access of one kind."""

    thread: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int32]
    warp_epoch: npt.NDArray[np.int32]
    place: npt.NDArray[np.int16]
    kind: npt.NDArray[np.uint8]
    time: npt.NDArray[np.int32]
    # Of epoch, warp_epoch and kind those that are not 0 all over: the memory of the others is never touched.
    used: set[str] = field(default_factory=set)

    @classmethod
    def nobody(cls, granules: int) -> Mark:
        """Marks of memory that nobody has touched."""
        return cls(
            np.full(granules, NOBODY, np.int64),
            np.zeros(granules, np.int32),
            np.zeros(granules, np.int32),
            np.zeros(granules, np.int16),
            np.zeros(granules, np.uint8),
            np.zeros(granules, np.int32),
        )

    def finer(self, times: int) -> Mark:
        """The same marks for granules of which ``times`` make up one of these."""
        return Mark(
            np.repeat(self.thread, times),
            np.repeat(self.epoch, times),
            np.repeat(self.warp_epoch, times),
            np.repeat(self.place, times),
            np.repeat(self.kind, times),
            np.repeat(self.time, times),
            set(self.used),
        )

    def take(self, other: Mark, granules: npt.NDArray[np.intp]) -> None:
        """The marks of these granules as ``other`` has them."""
        for name in ("thread", "epoch", "warp_epoch", "place", "kind", "time"):
            getattr(self, name)[granules] = getattr(other, name)[granules]
        self.used |= other.used

    def is_own(self, touch: Touch) -> npt.NDArray[np.bool_]:
        """Where the last access was a plain one of the same thread, with no barrier of the block since."""
        granules = touch.granules
        own = (self.thread[granules] == touch.threads) & (self.kind[granules] == PLAIN)
        if own.any():
            own &= self.epoch[granules] == touch.epoch
        return np.asarray(own)

    def set(self, touch: Touch, where: npt.NDArray[np.bool_] | None = None) -> None:
        """Make ``touch`` the last access of its granules (``where``: only there)."""
        if where is not None and not where.all():
            touch = touch.part(where)
        self.thread[touch.granules] = touch.threads
        self.place[touch.granules] = touch.place
        self.time[touch.granules] = touch.time
        for name in ("epoch", "warp_epoch", "kind"):
            value = getattr(touch, name)
            if name in self.used or isinstance(value, np.ndarray) or value != 0:
                self.used.add(name)
                getattr(self, name)[touch.granules] = value
