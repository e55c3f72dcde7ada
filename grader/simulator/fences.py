"""What fences and atomics order: who has published what, and who has seen it. Runs in the runner.

In: fences, atomics and barriers as they are passed. Out: whether an access is ordered before another.

After the PTX ISA's memory consistency model ("Causality order"): a write is ordered before another thread's access
where a fence follows it, an atomic operation follows the fence, and an atomic operation of the other thread follows
that. Between write and fence, and between fence and atomic, a barrier may hand on to another thread; so it may after
the other side's atomic. Which atomic is not asked: rather a race unseen than right code blamed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.simulator.marks import NOBODY, WARP_SHIFT, Numbering, Threads

Times = npt.NDArray[np.int64]
# Rows of the arrays below: a fence reaches other blocks, or its own block only.
DEVICE, BLOCK = 0, 1
# Accesses have times from 1 on. It is 0 so that memory for threads that never fence is never touched.
NEVER = 0


class Fences:
    """Times of fences and atomics of one launch's threads, as ``number`` numbers them. A time counts accesses."""

    def __init__(self, number: Numbering, blocks: int) -> None:
        self._number = number
        self._blocks = blocks
        # When each block last passed a barrier, and each warp a syncwarp.
        self._block_met = np.zeros(blocks, np.int64)
        self._warp_met = np.zeros(blocks << (number.shift - WARP_SHIFT), np.int64)
        self._grid_met = NEVER  # when all threads of the launch last met
        self._known: _Known | None = None

    # ------------------------------------------------------------------ what happens

    def met_at_barrier(self, blocks: Any, time: int) -> None:
        """These blocks (an index array or slice, through the launch) pass a barrier: all know what one does."""
        self._block_met[blocks] = time
        if self._known is not None:
            by_block = self._known.acquired.reshape(self._blocks, -1)
            by_block[blocks] = by_block[blocks].max(axis=1, keepdims=True)

    def met_in_grid(self, time: int) -> None:
        """All threads of the launch meet: what comes is ordered behind all that was."""
        self._grid_met = time

    def met_in_warp(self, warps: Any, time: int) -> None:
        """These warps (through the launch) pass a ``syncwarp``."""
        self._warp_met[warps] = time
        if self._known is not None:
            by_warp = self._known.acquired.reshape(-1, WARP_SIZE)
            by_warp[warps] = by_warp[warps].max(axis=1, keepdims=True)

    def fence(self, threads: Threads, time: int, *, for_device: bool) -> None:
        """These threads execute ``threadfence``, or ``threadfence_block``."""
        if self._known is None:
            self._known = _Known(self._blocks, self._blocks << self._number.shift)
        met = np.maximum(self._block_met[self._number.block(threads)], self._warp_met[self._number.warp(threads)])
        for row in (DEVICE, BLOCK) if for_device else (BLOCK,):
            self._known.fenced[row, threads] = time
            self._known.covers[row, threads] = met

    def atomic(self, threads: Threads, time: int) -> None:
        """These threads execute an atomic operation: it publishes what fences cover, and sees what others published."""
        known = self._known
        if known is None:
            return
        known.acquired[threads] = time
        blocks, warps = np.unique(self._number.block(threads)), np.unique(self._number.warp(threads))
        for row in (DEVICE, BLOCK):
            known.published[row, threads] = known.fenced[row, threads]
            covered = known.covered[row]
            np.maximum.at(covered, self._number.block(threads), known.covers[row, threads])
            # Fences of others, before a barrier that these threads have passed, too.
            for groups, met, width in (
                (blocks, self._block_met, 1 << self._number.shift),
                (warps, self._warp_met, WARP_SIZE),
            ):
                fenced = known.fenced[row].reshape(-1, width)[groups]
                handed_on = (fenced <= met[groups][:, None]) & (fenced > NEVER)
                if not handed_on.any():
                    continue
                published = known.published[row].reshape(-1, width)
                published[groups] = np.where(handed_on, fenced, published[groups])
                covers = known.covers[row].reshape(-1, width)[groups]
                theirs = groups if width > WARP_SIZE else groups >> (self._number.shift - WARP_SHIFT)
                np.maximum.at(covered, theirs, np.where(handed_on, covers, NEVER).max(axis=1))

    # ------------------------------------------------------------------ what that orders

    def order(self, marks: Threads, mine: Threads, time: Any) -> npt.NDArray[np.bool_]:
        """Which accesses, made at ``time`` by those whom ``marks`` name, come before what threads ``mine`` do now."""
        known = self._known
        met = np.broadcast_to(np.asarray(time <= self._grid_met), mine.shape)
        if known is None:
            return met  # nobody has fenced
        seen = np.asarray(known.acquired[mine] >= time)
        if not seen.any():
            return met
        theirs = self._number.block_of_mark(marks)
        row = np.where(theirs == self._number.block(mine), BLOCK, DEVICE)
        one = marks >= 0
        published = known.published[row, np.where(one, marks, 0)]
        if not one.all():
            of_block = known.published.reshape(2, self._blocks, -1).max(axis=2)[row, np.maximum(theirs, 0)]
            published = np.where(one, published, of_block)
        published = np.maximum(published, known.covered[row, np.maximum(theirs, 0)])
        # Several blocks: nobody remembers who they were.
        return np.asarray(met | (seen & ((theirs == NOBODY) | (time <= published))))


class _Known:
    """Times by thread, made when the first thread fences; rows are ``DEVICE`` and ``BLOCK``."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.fenced: Times = np.zeros((2, threads), np.int64)  # the last fence
        self.covers: Times = np.zeros((2, threads), np.int64)  # up to when it covers what others of its block did
        self.published: Times = np.zeros((2, threads), np.int64)  # up to when a thread's own accesses are
        self.covered: Times = np.zeros((2, blocks), np.int64)  # up to when all accesses of a block are
        self.acquired: Times = np.zeros(threads, np.int64)  # the last atomic, own or handed on
