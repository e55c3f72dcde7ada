"""What is known of who read and wrote each piece of memory during a launch. Runs in the runner.

In: touches, in order. Out: ``marks`` of the last writes and reads, stretch by stretch, which ``races`` compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.simulator.marks import ATOMIC, MANY, NOBODY, Mark, Numbering, Order, Threads, Touch
from grader.simulator.memory import ArrayRef
from grader.simulator.regions import Region
from grader.simulator.touched import ATOMIC as CHANGED
from grader.simulator.touched import READ, SILENT, WRITTEN, Touched

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# What the shadows of a launch's global arrays may take, in bytes.
SHADOW_BYTES = 1 << 30
# Two marks, of all the arrays above.
BYTES_PER_GRANULE = 2 * (8 + 4 + 4 + 2 + 1 + 4)
# By the kind of a mark of ``writes``: what was done.
_CODES = np.array([WRITTEN, CHANGED, SILENT], np.uint8)


@dataclass
class Shadow:
    """The marks of one stretch of memory. Reads are only marked once somebody writes: most are never asked for."""

    granule: int
    count: int  # of granules
    reads: Mark | None = None  # made when the first read is marked
    regions: dict[int, Region] = field(default_factory=dict)
    # Plain writes in whose mark's place an atomic operation of the same block stands now: other blocks may race with
    # them still. Made when there is one.
    set_up: Mark | None = None

    @classmethod
    def of(cls, nbytes: int, granule: int) -> Shadow:
        """A shadow of untouched memory."""
        return cls(granule, -(-nbytes // granule))

    @cached_property
    def writes(self) -> Mark:
        """The marks of writes; most arrays are only read, and have none."""
        return Mark.nobody(self.count)

    def finer(self, granule: int) -> Shadow:
        """The same shadow with smaller granules."""
        times = self.granule // granule
        for region in self.regions.values():
            touches = [touch() if callable(touch) else touch for touch in region.unmarked_reads]
            region.unmarked_reads = [touch.finer(times) for touch in touches]
            region.unmarked *= times
        reads = None if self.reads is None else self.reads.finer(times)
        set_up = None if self.set_up is None else self.set_up.finer(times)
        shadow = Shadow(granule, self.count * times, reads, self.regions, set_up)
        if "writes" in vars(self):
            shadow.writes = self.writes.finer(times)
        return shadow

    def keep_set_up(self, touch: Touch, numbering: Numbering) -> None:
        """Keep the plain writes whose marks the atomic operations of ``touch``, by threads of the same block, take."""
        granules, threads = touch.granules, self.writes.thread[touch.granules]
        mine = numbering.block_of_mark(threads) == numbering.block(touch.threads)
        plain = (threads != NOBODY) & (self.writes.kind[granules] != ATOMIC) & mine
        if not plain.any():
            return
        if self.set_up is None:
            self.set_up = Mark.nobody(self.count)
        self.set_up.take(self.writes, granules[plain])

    def regions_of(self, root: int) -> list[Region]:
        """The part of the array that starts at ``root``; all parts for an array that differs by thread (-1)."""
        if root < 0:
            return list(self.regions.values()) or [self.regions.setdefault(root, Region())]
        return [self.regions.setdefault(root, Region())]

    def mark_reads(self, regions: list[Region], numbering: Numbering, published: Order) -> None:
        """Mark the reads that were put off."""
        for region in regions:
            for touch in region.unmarked_reads:
                self.mark_read(touch() if callable(touch) else touch, numbering, published)
            region.marked = region.marked or bool(region.unmarked_reads)
            region.unmarked_reads.clear()
            region.unmarked = 0

    def mark_read(self, touch: Touch, numbering: Numbering, published: Order) -> None:
        """Mark a read, without losing that others have read the place and nothing orders them before it.

        ``published`` says of marks, threads and times of marks which are ordered through fences and atomics.
        """
        if self.reads is None:
            self.reads = Mark.nobody(self.count)
        _add(self.reads, touch, numbering, published)

    def mark_atomic(self, touch: Touch, numbering: Numbering, published: Order) -> None:
        """Mark an atomic operation, without losing that of others, as ``mark_read`` does.

        What a thread has just set up, and changes atomically now, stays something that others may race with.
        """
        own = self.writes.is_own(touch)
        _add(self.writes, touch.part(~own) if own.any() else touch, numbering, published)

    def codes(self) -> npt.NDArray[np.uint8]:
        """Per granule what has been done to it (``touched``)."""
        codes = np.zeros(self.count, np.uint8)
        if "writes" in vars(self):
            there = self.writes.thread != NOBODY
            codes[there] = _CODES[self.writes.kind[there]] if "kind" in self.writes.used else WRITTEN
        if self.set_up is not None:
            codes[self.set_up.thread != NOBODY] |= WRITTEN
        if self.reads is not None:
            codes[self.reads.thread != NOBODY] |= READ
        for region in self.regions.values():
            for touch in region.unmarked_reads:
                codes[(touch() if callable(touch) else touch).granules] |= READ
        return codes

    def forget(self, slots: npt.NDArray[Any] | None, alive: npt.NDArray[np.bool_] | None) -> None:
        """These blocks (None: all) of those that are ``alive`` pass a barrier: nobody races with what came before.

        What others have touched since their last one stays.
        """
        if slots is None or alive is None:
            self.regions = {}
            return
        self.regions = {root: each for root, each in self.regions.items() if not each.is_left_by(slots, alive)}


def _add(mark: Mark, touch: Touch, numbering: Numbering, published: Order) -> None:
    """Make ``touch`` the last access; accesses of its kind that nothing orders before it are remembered with it."""
    marks, granules = mark.thread, touch.granules
    before = marks[granules]
    forgotten = published(before, touch.threads, mark.time[granules]) | (mark.kind[granules] != touch.kind)
    before = np.where(forgotten, NOBODY, before)
    ordered = mark.epoch[granules] != touch.epoch
    warp_ordered = ordered | (mark.warp_epoch[granules] != touch.warp_epoch)
    mark.set(touch)
    # Threads that come to one place with this very instruction: the last one's mark stands there now.
    last = marks[granules]
    _join(marks, touch, before, ordered, warp_ordered, numbering)
    here = np.zeros(last.shape, bool)
    _join(marks, touch, last, here, here, numbering)


def _join(marks: Threads, touch: Touch, other: Threads, ordered: Any, warp_ordered: Any, numbering: Numbering) -> None:
    """Widen the marks where another thread, not ordered before this one, has to be remembered too."""
    granules = touch.granules
    suspects = np.flatnonzero((other != NOBODY) & (other != touch.threads))
    if not suspects.size:
        return
    granules, other, mine = granules[suspects], other[suspects], touch.threads[suspects]
    block, warp = numbering.block(mine), numbering.warp(mine)
    same_block = numbering.block_of_mark(other) == block
    same_warp = numbering.warp_of_mark(other) == warp
    beside = same_warp & ~warp_ordered[suspects]
    across = same_block & ~same_warp & ~ordered[suspects]
    kept = marks[granules]
    beside &= numbering.warp_of_mark(kept) != NOBODY  # never narrow what is already wider
    marks[granules[beside]] = -2 - 2 * warp[beside]
    across &= kept != MANY
    marks[granules[across]] = -3 - 2 * block[across]
    marks[granules[~same_block]] = MANY


class Shadows:
    """The shadows of one launch. ``watched``: by root, where each global array starts, and its bytes."""

    def __init__(self, machine: Machine, watched: dict[int, tuple[int, int]]) -> None:
        self._machine = machine
        self._watched = watched
        self._budget = SHADOW_BYTES
        self._known: dict[Any, Shadow | None] = {}

    def begin_wave(self) -> None:
        """New blocks run: their shared memory is new."""
        self._known.pop("shared", None)

    def of_shared(self) -> Shadow | None:
        """The shadow of shared memory, if it has been touched."""
        return self._known.get("shared")

    def touched(self) -> tuple[Touched, ...]:
        """What the launch has done to each global array so far."""
        found = (
            Touched.of(self._watched[root][0], shadow.granule, shadow.codes())
            for root, shadow in self._known.items()
            if root != "shared" and shadow is not None
        )
        return tuple(each for each in found if each is not None)

    def known(self, array: ArrayRef) -> tuple[bool, Shadow | None]:
        """Whether it has been found out what shadow an array has, and that shadow."""
        key = _key(array)
        return key in self._known, self._known.get(key)

    def of(self, array: ArrayRef, unit: int) -> Shadow | None:
        """An array's shadow, fine enough for elements at multiples of ``unit`` bytes; None where it has none."""
        if array.space not in {"global", "shared"}:
            return None
        key = _key(array)
        if key not in self._known:
            self._known[key] = self._made(array)
        shadow = self._known[key]
        if shadow is not None and (array.dtype.itemsize % shadow.granule or unit % shadow.granule):
            # Elements smaller than what the shadow tells apart, or at addresses between.
            finer = shadow.finer(math.gcd(array.dtype.itemsize, unit, shadow.granule))
            more = finer.count - shadow.count
            self._known[key] = shadow = finer if self._affordable(more) else None
        return shadow

    def _made(self, array: ArrayRef) -> Shadow | None:
        if array.space == "shared":
            return Shadow.of(self._machine.spaces["shared"].bytes.size, self._machine.program.shared_granule)
        if array.root not in self._watched:
            return None
        _, nbytes = self._watched[array.root]
        return Shadow.of(nbytes, array.dtype.itemsize) if self._affordable(nbytes // array.dtype.itemsize) else None

    def _affordable(self, granules: int) -> bool:
        """Whether a shadow fits. Of larger arrays races are not looked for: rather that than no verdict at all."""
        self._budget -= granules * BYTES_PER_GRANULE
        return self._budget >= 0

    def in_granules(self, touch: Touch, shadow: Shadow, array: ArrayRef, unit: int) -> Touch:
        """A touch of elements, numbers of ``unit`` bytes, as one of the granules of a shadow."""
        granules, threads, epoch, warp_epoch = touch.granules, touch.threads, touch.epoch, touch.warp_epoch
        if array.space == "global":
            granules = granules - self._watched[array.root][0] // unit
        wide = array.dtype.itemsize // shadow.granule
        if wide > 1:
            granules = (granules[:, None] * (unit // shadow.granule) + np.arange(wide)).reshape(-1)
            threads = np.repeat(threads, wide)
            epoch = np.repeat(epoch, wide) if isinstance(epoch, np.ndarray) else epoch
            warp_epoch = np.repeat(warp_epoch, wide) if isinstance(warp_epoch, np.ndarray) else warp_epoch
        return Touch(granules, threads, epoch, warp_epoch, touch.place, touch.kind, touch.time)


def _key(array: ArrayRef) -> Any:
    return "shared" if array.space == "shared" else array.root
