"""Watches shared and global memory for races. Runs in the runner.

Two accesses of one place by different threads, of which one writes, are a race unless something orders them:
a barrier of the block or the grid, a ``syncwarp`` of the warp, atomics with atomics, or, between blocks, a fence and
then an atomic by the one that wrote, and an atomic by the other's block after that. The end of the launch orders all.
The method is Oclgrind's (J. Price, S. McIntosh-Smith, "Oclgrind: an extensible OpenCL device simulator", 2015):
keep the last reader and writer of each place per barrier interval.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.first_writes import FirstWrites
from grader.simulator.memory import ArrayRef
from grader.simulator.shadow import BYTES_PER_GRANULE, NOBODY, Mark, Numbering, Shadow, Threads, Touch

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# What the shadows of a launch's global arrays may take, in bytes.
SHADOW_BYTES = 1 << 30
# How many reads may wait for being marked, at 16 bytes each.
MAX_UNMARKED = 4 << 20


class Watch:
    """The shadows of one launch. ``watched`` maps the roots of global arrays that kernels write to their bytes."""

    def __init__(self, machine: Machine, threads: int, blocks: int, watched: dict[int, tuple[int, int]]) -> None:
        self._machine = machine
        self.first_writes = FirstWrites(machine)
        self._number = Numbering(threads)
        self._total = blocks << self._number.shift
        self._watched = watched
        self._budget = SHADOW_BYTES
        self._shadows: dict[Any, Shadow | None] = {}
        self._places: list[Place] = []
        self._place_numbers: dict[Place, int] = {}
        self._time = 0
        # Per block of the launch: when it last fenced, up to when its writes are published, when it last acquired.
        self._fenced = np.full(blocks, -1, np.int64)
        self._published = np.full(blocks, -1, np.int64)
        self._acquired = np.full(blocks, -1, np.int64)
        # The same per thread, for threads of one block; made when a thread first fences.
        self._thread_times: npt.NDArray[np.int64] | None = None
        # The last time that all threads of the grid met.
        self._met = -1
        self._epoch: Any = np.int32(0)
        self._threads: Threads | None = None
        self._warp_epoch: Any = np.int32(0)

    # ------------------------------------------------------------------ time

    def begin_wave(self) -> None:
        """New blocks run: their shared memory is new, and no barrier has been passed."""
        self._epoch, self._warp_epoch = np.int32(0), np.int32(0)
        self._threads = None
        self._shadows.pop("shared", None)
        self.first_writes.begin_wave()

    def passed_barrier(self, slots: npt.NDArray[Any] | None) -> None:
        """Blocks (by slot; None: all) have passed a barrier."""
        if slots is None:
            self._epoch = self._epoch + np.int32(1)
        else:
            if not isinstance(self._epoch, np.ndarray):
                self._epoch = np.full(self._machine.wave.blocks, self._epoch, np.int32)
            self._epoch[slots] += 1
            alive = self._machine.wave.alive_per_block() > 0
            if not (self._epoch[alive] == self._epoch[alive][:1]).all():
                return
        shadow = self._shadows.get("shared")
        if shadow is not None:
            shadow.forget_reads()

    def passed_grid_barrier(self) -> None:
        """All threads of the launch have met: what comes is ordered behind all that was."""
        self._met = self._time
        self.passed_barrier(None)

    def passed_warp_barrier(self, warps: npt.NDArray[Any] | None) -> None:
        """Warps (None: all) have passed a ``syncwarp``."""
        if warps is None:
            self._warp_epoch = self._warp_epoch + np.int32(1)
            return
        if not isinstance(self._warp_epoch, np.ndarray):
            self._warp_epoch = np.full(self._machine.wave.warps, self._warp_epoch, np.int32)
        self._warp_epoch[warps] += 1

    def _active_threads(self) -> Threads:
        """The numbers of the active threads."""
        if self._threads is None:
            wave = self._machine.wave
            self._threads = self._number.number(wave.first + wave.every("slot"), wave.every("thread"))
        lanes = self._machine.lanes
        if self._threads.size != self._machine.wave.total:  # lanes have been left behind
            self._threads = None
            return self._active_threads()
        return self._threads if lanes is None else self._threads[lanes]

    def fence(self) -> None:
        """The active lanes execute ``threadfence``."""
        threads = self._active_threads()
        self._fenced[self._number.block(threads)] = self._time
        if self._thread_times is None:
            self._thread_times = np.full((3, self._total), -1, np.int64)
        self._thread_times[0, threads] = self._time

    def _publish_and_acquire(self) -> None:
        """The active lanes execute an atomic operation."""
        self._time += 1
        threads = self._active_threads()
        blocks = self._number.block(threads)
        self._published[blocks] = self._fenced[blocks]
        self._acquired[blocks] = self._time
        if self._thread_times is not None:
            fenced, published, acquired = self._thread_times
            published[threads] = fenced[threads]
            acquired[threads] = self._time

    # ------------------------------------------------------------------ accesses

    def read(
        self, array: ArrayRef, elements: Any, inside: Any, place: Place, unit: int, *, copied: bool = False
    ) -> None:
        """The active lanes (``inside`` None: all; else a bool per lane) read these elements.

        ``elements`` counts ``unit`` bytes: those of an element, or 1 where elements may start anywhere.
        ``copied``: what nobody has written may be read, since it is copied as part of a record.
        """
        if not copied:
            self.first_writes.check(array, elements, inside, place, "Read of", unit)
        shadow = self._shadow(array, unit)
        if shadow is None:
            return
        touch = self._touch(shadow, array, elements, inside, place, unit, atomic=False)
        regions = shadow.regions_of(array.root)
        if not any(region.written for region in regions):
            regions[0].unmarked_reads.append(touch)
            regions[0].unmarked += touch.granules.size
            if regions[0].unmarked > MAX_UNMARKED:
                shadow.mark_reads(regions, self._number, self._is_published)
            return
        self._check(shadow.writes, touch, array, ("reads", "wrote"))
        shadow.mark_read(touch, self._number, self._is_published)

    def write(self, array: ArrayRef, elements: Any, inside: Any, place: Place, values: Any, unit: int) -> None:
        """They write ``values`` (one, or one per lane that is inside), before memory has changed."""
        self.first_writes.note(array, elements, inside, unit)
        shadow = self._shadow(array, unit)
        if shadow is None:
            return
        touch = self._touch(shadow, array, elements, inside, place, unit, atomic=False)
        regions = shadow.regions_of(array.root)
        shadow.mark_reads(regions, self._number, self._is_published)
        lanes = touch.granules.size * shadow.granule // array.dtype.itemsize
        here = np.broadcast_to(elements, self._machine.active)
        here = here if inside is None else here[inside]
        space = self._machine.spaces[array.space]
        memory = space.view(array.dtype) if unit == array.dtype.itemsize else space.view_at_bytes(array.dtype)
        same = np.broadcast_to(memory[here] == values, lanes)
        repeat = touch.granules.size // max(lanes, 1)
        same = np.repeat(same, repeat) if repeat > 1 else same
        values = np.repeat(values, repeat) if repeat > 1 and isinstance(values, np.ndarray) else values
        self._check(shadow.reads, touch, array, ("writes", "read"))
        self._check(shadow.writes, touch, array, ("writes", "wrote"), same)
        shadow.writes.set(touch)
        for region in regions:
            region.written = True
        self._check_crowd(shadow, touch, array, values)

    def atomic(self, array: ArrayRef, elements: Any, inside: Any, place: Place, unit: int) -> None:
        """They execute an atomic operation, which also publishes what was fenced before and acquires."""
        self._publish_and_acquire()
        self.first_writes.check(array, elements, inside, place, "Atomic operation on", unit)
        self.first_writes.note(array, elements, inside, unit)
        shadow = self._shadow(array, unit)
        if shadow is None:
            return
        touch = self._touch(shadow, array, elements, inside, place, unit, atomic=True)
        regions = shadow.regions_of(array.root)
        shadow.mark_reads(regions, self._number, self._is_published)
        self._check(shadow.reads, touch, array, ("changes", "read"))
        self._check(shadow.writes, touch, array, ("changes", "wrote"))
        shadow.writes.set(touch)
        for region in regions:
            region.written = True

    # ------------------------------------------------------------------ shadows

    def _shadow(self, array: ArrayRef, unit: int) -> Shadow | None:
        if array.space not in {"global", "shared"}:
            return None
        key: Any = "shared" if array.space == "shared" else array.root
        if key not in self._shadows:
            if key == "shared":
                nbytes = self._machine.spaces["shared"].bytes.size
                self._shadows[key] = Shadow.of(nbytes, self._machine.program.shared_granule)
            elif key in self._watched and self._affordable(self._watched[key][1] // array.dtype.itemsize):
                self._shadows[key] = Shadow.of(self._watched[key][1], array.dtype.itemsize)
            else:
                self._shadows[key] = None
        shadow = self._shadows[key]
        if shadow is not None and (array.dtype.itemsize % shadow.granule or unit % shadow.granule):
            # Elements smaller than what the shadow tells apart, or at addresses between.
            finer = shadow.finer(math.gcd(array.dtype.itemsize, unit, shadow.granule))
            more = finer.writes.thread.size - shadow.writes.thread.size
            self._shadows[key] = shadow = finer if self._affordable(more) else None
        return shadow

    def _affordable(self, granules: int) -> bool:
        """Whether a shadow fits. Of larger arrays races are not looked for: rather that than no verdict at all."""
        self._budget -= granules * BYTES_PER_GRANULE
        return self._budget >= 0

    def _touch(
        self, shadow: Shadow, array: ArrayRef, elements: Any, inside: Any, place: Place, unit: int, *, atomic: bool
    ) -> Touch:
        machine = self._machine
        active = machine.active
        self._time += 1
        granules = np.broadcast_to(elements, active)
        threads = self._active_threads()
        epoch, warp_epoch = self._epoch, self._warp_epoch
        if isinstance(epoch, np.ndarray):
            epoch = np.broadcast_to(epoch[machine.per_lane("slot")], active)
        if isinstance(warp_epoch, np.ndarray):
            warp_epoch = np.broadcast_to(warp_epoch[machine.per_lane("warp")], active)
        if inside is not None:
            granules, threads = granules[inside], threads[inside]
            epoch = epoch[inside] if isinstance(epoch, np.ndarray) else epoch
            warp_epoch = warp_epoch[inside] if isinstance(warp_epoch, np.ndarray) else warp_epoch
        if array.space == "global":
            granules = granules - self._watched[array.root][0] // unit
        wide = array.dtype.itemsize // shadow.granule
        if wide > 1:
            granules = (granules[:, None] * (unit // shadow.granule) + np.arange(wide)).reshape(-1)
            threads = np.repeat(threads, wide)
            epoch = np.repeat(epoch, wide) if isinstance(epoch, np.ndarray) else epoch
            warp_epoch = np.repeat(warp_epoch, wide) if isinstance(warp_epoch, np.ndarray) else warp_epoch
        if place not in self._place_numbers:
            self._place_numbers[place] = len(self._places)
            self._places.append(place)
        return Touch(granules, threads, epoch, warp_epoch, self._place_numbers[place], atomic, self._time)

    # ------------------------------------------------------------------ verdicts

    def _check(
        self,
        marks: Mark,
        touch: Touch,
        array: ArrayRef,
        verbs: tuple[str, str],
        same: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Report accesses of ``touch`` that race with the marked ones. ``verbs``: what I do, what the other did."""
        other = marks.thread[touch.granules]
        suspects = np.flatnonzero((other != NOBODY) & (other != touch.threads))
        if not suspects.size:
            return
        granules, other, mine = touch.granules[suspects], other[suspects], touch.threads[suspects]
        block = self._number.block(mine)
        their_block = self._number.block_of_mark(other)
        same_block = their_block == block
        race = ~self._is_published(other, mine, marks.time[granules])
        race &= ~same_block | (marks.epoch[granules] == _of(touch.epoch, suspects))
        same_warp = self._number.warp_of_mark(other) == self._number.warp(mine)
        race &= ~(same_warp & (marks.warp_epoch[granules] != _of(touch.warp_epoch, suspects)))
        if touch.atomic:
            race &= ~marks.atomic[granules]
        if not race.any():
            return
        mixed = (
            marks.atomic[granules] if verbs[0] == "reads" else np.full(race.shape, touch.atomic and verbs[1] == "read")
        )
        harmless = mixed if same is None else mixed | same[suspects]
        worst = race & ~harmless if (race & ~harmless).any() else race
        first = int(np.flatnonzero(worst)[0])
        severity = "race" if not harmless[first] else "mixed-atomic" if mixed[first] else "same-value-writes"
        self._report(
            severity,
            array,
            touch.place,
            int(marks.place[granules[first]]),
            verbs,
            int(mine[first]),
            int(other[first]),
            int(worst.sum()),
        )

    def _is_published(self, marks: Threads, mine: Threads, time: Any) -> npt.NDArray[np.bool_]:
        """Who made the mark fenced and then touched an atomic, and my side touched one after the mark's access.

        Within a block that is asked of threads, between blocks of blocks. Which atomic is not asked: rather a race
        unseen than right code blamed.
        """
        if self._thread_times is None and self._met < 0:
            return np.zeros(mine.shape, bool)  # nobody has fenced
        met = np.broadcast_to(np.asarray(time <= self._met), mine.shape)
        if self._thread_times is None:
            return met
        block, theirs = self._number.block(mine), self._number.block_of_mark(marks)
        published = np.where(theirs >= 0, self._published[np.maximum(theirs, 0)], np.iinfo(np.int64).max)
        ordered = np.asarray((time <= published) & (self._acquired[block] >= time))
        same_block = theirs == block
        _, published, acquired = self._thread_times
        within = (marks >= 0) & (time <= published[np.maximum(marks, 0)]) & (acquired[mine] >= time)
        return np.asarray(met | np.where(same_block, within, ordered), bool)

    def _check_crowd(self, shadow: Shadow, touch: Touch, array: ArrayRef, values: Any) -> None:
        """Several threads that write one place with one instruction. ``values``: what they write."""
        winner = shadow.writes.thread[touch.granules]
        losers = np.flatnonzero(winner != touch.threads)
        if not losers.size:
            return
        order = np.argsort(touch.granules, kind="stable")
        places, written = touch.granules[order], np.broadcast_to(values, order.shape)[order]
        agree = bool(((places[1:] != places[:-1]) | (written[1:] == written[:-1])).all())
        first = int(losers[0])
        self._report(
            "same-value-writes" if agree else "race",
            array,
            touch.place,
            touch.place,
            ("writes", "wrote"),
            int(touch.threads[first]),
            int(winner[first]),
            len(losers),
        )

    def _report(
        self,
        kind: str,
        array: ArrayRef,
        here: int,
        there: int,
        verbs: tuple[str, str],
        mine: int,
        other: int,
        count: int,
    ) -> None:
        place, their_place = self._places[here], self._places[there]
        wave = self._machine.wave
        whom = f"thread {wave.name_of(*self._number.name(other))}" if other >= 0 else "other threads"
        where = "at the same line" if their_place.line == place.line else f"at line {their_place.line}"
        block, theirs = self._number.block(np.asarray([mine])), self._number.block_of_mark(np.asarray([other]))
        in_block = bool(block[0] == theirs[0])
        me = wave.name_of(*self._number.name(mine))
        missing = "barrier is in between." if in_block else "order is certain: they are of different blocks."
        what = f"Race on {array.name}: thread {me} {verbs[0]} what {whom} {verbs[1]} {where}, and no {missing}"
        advice = (
            "Put cuda.syncthreads() between the two accesses, where every thread of the block passes it."
            if in_block and here != there
            else "Give each thread a place of its own, or use cuda.atomic."
        )
        severity = Severity.ERROR if kind == "race" else Severity.WARNING
        if kind == "mixed-atomic":
            what = f"{array.name} is {verbs[0].replace('reads', 'read')} here while others change it atomically."
            advice = "Read it after a barrier, or atomically, if it must be the value of one moment."
        elif kind == "same-value-writes":
            what = f"Several threads write the same value to one place of {array.name}."
            advice = "Let one thread write it."
        self._machine.findings.add(kind, severity, place, what, advice, array=array.name, count=count)


def _of(stamp: Any, lanes: npt.NDArray[np.intp]) -> Any:
    return stamp[lanes] if isinstance(stamp, np.ndarray) else stamp
