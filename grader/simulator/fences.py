"""What fences and atomics order: who has published what, and who has seen it. Runs in the runner.

In: fences, atomics and barriers as they are passed. Out: whether an access is ordered before another.

After the PTX ISA's memory consistency model ("Causality order"): a write is ordered before another thread's access
where a fence follows it, an atomic operation follows the fence, and an atomic operation of the other thread follows
that. Between write and fence, and between fence and atomic, a barrier may hand on to another thread; so it may after
the other side's atomic. Atomics come in the order in which they were executed, lane after lane within one instruction;
at which address they are is not asked, nor in which order older ones came: rather a race unseen than right code blamed.
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

    @property
    def are_used(self) -> bool:
        """Whether some thread has fenced."""
        return self._known is not None

    # ------------------------------------------------------------------ what happens

    def met_at_barrier(self, blocks: Any, time: int) -> None:
        """These blocks (an index array or slice, through the launch) pass a barrier: all know what one does."""
        self._block_met[blocks] = time
        if self._known is not None:
            self._known.share(blocks, self._blocks)

    def met_in_grid(self, time: int) -> None:
        """All threads of the launch meet: what comes is ordered behind all that was."""
        self._grid_met = time

    def met_in_warp(self, warps: Any, time: int) -> None:
        """These warps (through the launch) pass a ``syncwarp``."""
        self._warp_met[warps] = time
        if self._known is not None:
            self._known.share(warps, self._warp_met.size)

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
        turns = known.turns + 1 + np.arange(threads.size)
        known.turns += threads.size
        known.acquired_turn[threads] = turns
        of_blocks = np.unique(self._number.block(threads), return_index=True, return_inverse=True)
        of_warps = np.unique(self._number.warp(threads), return_index=True)
        for row in (DEVICE, BLOCK):
            known.published.extend(row, threads, known.fenced[row, threads], turns)
            blocks, first, which = of_blocks
            covers = np.zeros(blocks.size, np.int64)
            np.maximum.at(covers, which, known.covers[row, threads])
            known.covered.extend(row, blocks, covers, turns[first])
            # Fences of others, before a barrier that these threads have passed, too.
            for groups, first, met, width in (
                (*of_blocks[:2], self._block_met, 1 << self._number.shift),
                (*of_warps, self._warp_met, WARP_SIZE),
            ):
                fenced = known.fenced[row].reshape(-1, width)[groups]
                handed_on = (fenced <= met[groups][:, None]) & (fenced > NEVER)
                if not handed_on.any():
                    continue
                which, lanes = np.nonzero(handed_on)
                known.published.extend(row, groups[which] * width + lanes, fenced[handed_on], turns[first][which])
                by_group = np.where(handed_on, known.covers[row].reshape(-1, width)[groups], NEVER).max(axis=1)
                shift = 0 if width > WARP_SIZE else self._number.shift - WARP_SHIFT
                theirs, start = np.unique(groups >> shift, return_index=True)
                starts = np.minimum.reduceat(turns[first], start)
                known.covered.extend(row, theirs, np.maximum.reduceat(by_group, start), starts)

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
        turn = known.acquired_turn[mine]
        published = known.published.seen(row, np.where(one, marks, 0), time, turn)
        if not one.all():
            of_block = known.published.until.reshape(2, self._blocks, -1).max(axis=2)[row, np.maximum(theirs, 0)]
            published = np.where(one, published, time <= of_block)
        published |= known.covered.seen(row, np.maximum(theirs, 0), time, turn)
        # Several blocks: nobody remembers who they were.
        return np.asarray(met | (seen & ((theirs == NOBODY) | published)))


class _Published:
    """Up to when accesses are published, each by a thread or a block, and by which atomic the last of them were."""

    def __init__(self, count: int) -> None:
        self.until: Times = np.zeros((2, count), np.int64)
        self._turn: Times = np.zeros((2, count), np.int64)  # of the atomic that published what came after _before
        self._before: Times = np.zeros((2, count), np.int64)

    def extend(self, row: int, who: Threads, until: Times, turn: Times) -> None:
        """The atomics of these turns publish what ``who`` (each once) did until then."""
        known = self.until[row, who]
        more = until > known
        if more.any():
            who = who[more]
            self._before[row, who] = known[more]
            self.until[row, who] = until[more]
            self._turn[row, who] = turn[more]

    def seen(self, row: Any, who: Threads, time: Any, turn: Times) -> npt.NDArray[np.bool_]:
        """Which accesses, at ``time``, an atomic of this turn sees published. Of older ones that is not known: all."""
        later = (time <= self._before[row, who]) | (turn > self._turn[row, who])
        return np.asarray((time <= self.until[row, who]) & later)


class _Known:
    """Times by thread, made when the first thread fences; rows are ``DEVICE`` and ``BLOCK``."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.fenced: Times = np.zeros((2, threads), np.int64)  # the last fence
        self.covers: Times = np.zeros((2, threads), np.int64)  # up to when it covers what others of its block did
        self.published = _Published(threads)  # of a thread's own accesses
        self.covered = _Published(blocks)  # of all accesses of a block
        self.acquired: Times = np.zeros(threads, np.int64)  # the last atomic, own or handed on
        self.acquired_turn: Times = np.zeros(threads, np.int64)
        self.turns = 0  # of atomics so far, by each thread

    def share(self, groups: Any, count: int) -> None:
        """Threads of these groups, of ``count`` equally large ones, meet: all have acquired what one has."""
        for each in (self.acquired, self.acquired_turn):
            by_group = each.reshape(count, -1)
            by_group[groups] = by_group[groups].max(axis=1, keepdims=True)
