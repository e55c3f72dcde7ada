"""Watches shared and global memory for races. Runs in the runner.

In: accesses, barriers and fences as they are passed. Out: findings.

Two accesses of one place by different threads, of which one writes, are a race unless something orders them:
a barrier of the block or the grid, a ``syncwarp`` of the warp, atomics with atomics, or, between blocks, a fence and
then an atomic by the one that wrote, and an atomic by the other's block after that. The end of the launch orders all.
The method is Oclgrind's (J. Price, S. McIntosh-Smith, "Oclgrind: an extensible OpenCL device simulator", 2015):
keep the last reader and writer of each place per barrier interval.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place
from grader.simulator.fences import Fences
from grader.simulator.first_writes import FirstWrites
from grader.simulator.marks import ATOMIC, NOBODY, PLAIN, SILENT, Mark, Numbering, Threads, Touch
from grader.simulator.memory import ArrayRef
from grader.simulator.races import Races, Same, same_value
from grader.simulator.regions import ANYWHERE, Region, Span
from grader.simulator.shadow import Shadow, Shadows
from grader.simulator.spots import Located, Spot
from grader.simulator.touched import Touched
from grader.simulator.warp_order import WarpOrder

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# How many reads may wait for being marked, at 16 bytes each.
MAX_UNMARKED = 4 << 20
# One whose places are not worked out before they are asked for counts as so many.
UNMADE = 1 << 7


class Watch:
    """Who touched what in one launch. ``watched``: by root, where each global array starts, and its bytes."""

    def __init__(self, machine: Machine, threads: int, blocks: int, watched: dict[int, tuple[int, int]]) -> None:
        self._machine = machine
        self.first_writes = FirstWrites(machine)
        self._number = Numbering(threads)
        self._shadows = Shadows(machine, watched)
        self._time = 0
        self._fences = Fences(self._number, blocks)
        self._races = Races(machine, self._number, self._fences)
        self._epoch: Any = np.int32(0)
        self._threads: Threads | None = None
        self._warp_epoch: Any = np.int32(0)

    # ------------------------------------------------------------------ time

    def begin_wave(self) -> None:
        """New blocks run: their shared memory is new, and no barrier has been passed."""
        self._epoch, self._warp_epoch = np.int32(0), np.int32(0)
        self._threads = None
        self._races.parts = None
        self._shadows.begin_wave()
        self.first_writes.begin_wave()

    def passed_barrier(self, slots: npt.NDArray[Any] | None) -> None:
        """Blocks (by slot; None: all) have passed a barrier."""
        wave = self._machine.wave
        self._fences.met_at_barrier(wave.of_launch if slots is None else wave.numbers[slots], self._time)
        if slots is None:
            self._epoch = self._epoch + np.int32(1)
        else:
            if not isinstance(self._epoch, np.ndarray):
                self._epoch = np.full(self._machine.wave.blocks, self._epoch, np.int32)
            self._epoch[slots] += 1
        shadow = self._shadows.of_shared()
        if shadow is not None:
            shadow.forget(slots, None if slots is None else wave.alive_per_block() > 0)

    def passed_grid_barrier(self) -> None:
        """All threads of the launch have met: what comes is ordered behind all that was."""
        self._fences.met_in_grid(self._time)
        self.passed_barrier(None)

    def passed_warp_barrier(self, warps: npt.NDArray[Any] | None) -> None:
        """Warps (None: all) have passed a ``syncwarp``."""
        self._fences.met_in_warp(self._warps_of_launch(warps), self._time)
        if warps is None:
            self._warp_epoch = self._warp_epoch + np.int32(1)
            return
        if not isinstance(self._warp_epoch, np.ndarray):
            self._warp_epoch = np.full(self._machine.wave.warps, self._warp_epoch, np.int32)
        self._warp_epoch[warps] += 1

    def passed_part_of_warp(self, warps: npt.NDArray[Any], masks: npt.NDArray[Any]) -> None:
        """Lanes, of these warps each, have passed a ``syncwarp`` of those in their mask, which are not all."""
        wave, of_launch = self._machine.wave, self._warps_of_launch(warps)
        self._fences.met_in_warp(np.unique(of_launch), self._time)
        if self._races.parts is None:
            first, last = self._warps_of_launch(np.array([0, wave.warps - 1])).tolist()
            self._races.parts = WarpOrder(self._number, first, last - first + 1)
        rest = self._races.parts.met(of_launch, masks, self._time)
        if rest.size:
            self.passed_warp_barrier(np.unique(warps[np.isin(of_launch, rest)]))

    def _warps_of_launch(self, warps: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """The numbers through the launch of some warps of the wave (None: all)."""
        wave = self._machine.wave
        warps = np.arange(wave.warps) if warps is None else warps
        first_threads = self._number.number(wave.numbers[warps // wave.warps_per_block], 0)
        return self._number.warp(first_threads) + warps % wave.warps_per_block

    def _active_threads(self) -> Threads:
        """The numbers of the active threads."""
        if self._threads is None:
            wave = self._machine.wave
            self._threads = self._number.number(wave.numbers[wave.every("slot")], wave.every("thread"))
        lanes = self._machine.lanes
        if self._threads.size != self._machine.wave.total:  # lanes have been left behind
            self._threads = None
            return self._active_threads()
        return self._threads if lanes is None else self._threads[lanes]

    def _touch_regions(self, array: ArrayRef, regions: list[Region]) -> None:
        """The active lanes touch these regions."""
        if array.space != "shared":
            return
        slots = self._machine.active_slots()
        for region in regions:
            region.touch(slots, self._machine.wave.blocks)

    def fence(self, *, for_device: bool) -> None:
        """The active lanes execute ``threadfence`` or ``threadfence_block``."""
        shadow = self._shadows.of_shared()
        if shadow is not None and not self._fences.are_used:  # from now on it matters when a read is marked
            shadow.mark_reads(list(shadow.regions.values()), self._number, self._fences.order)
        self._fences.fence(self._active_threads(), self._time, for_device=for_device)

    # ------------------------------------------------------------------ accesses

    def read(self, array: ArrayRef, there: Located, inside: Any, place: Place, *, copied: bool = False) -> None:
        """The active lanes (``inside`` None: all; else a bool per lane) read what is there.

        ``copied``: what nobody has written may be read, since it is copied as part of a record.
        """
        if not copied:
            self.first_writes.check(array, there, inside, place, "Read of")
        elements, unit = there.elements, there.unit
        shadow = self._shadows.of(array, unit)
        if shadow is None:
            return
        touch = self._touch(shadow, array, elements, inside, place, unit, atomic=False)
        regions = shadow.regions_of(array.root)
        self._touch_regions(array, regions)
        written = any(region.written for region in regions)
        if written:
            self._races.check(shadow.writes, touch, array, ("reads", "wrote"))
            self._check_set_up(shadow, touch, array, "reads")
        # When it is marked matters to what comes in between: a fence, and a barrier of the grid.
        if not written or (array.space == "shared" and not self._fences.are_used):
            shared = array.space == "shared" and inside is None
            regions[0].put_off(touch, touch.granules.size, self._span(array, there) if shared else ANYWHERE)
            if regions[0].unmarked > MAX_UNMARKED:
                shadow.mark_reads(regions, self._number, self._fences.order)
            return
        shadow.mark_read(touch, self._number, self._fences.order)
        for region in regions:
            region.marked = True

    def read_again(self, array: ArrayRef, spot: Spot, shift: int, place: Place) -> bool:
        """All lanes read what they read before, moved; False, and nothing is noted, where that needs a closer look."""
        if shift not in spot.written and not self.first_writes.vouches_for(array):
            return False
        if array.space not in {"global", "shared"}:
            return True
        epoch, warp_epoch = self._epoch, self._warp_epoch
        known, shadow = self._shadows.known(array)
        if not known or isinstance(epoch, np.ndarray) or isinstance(warp_epoch, np.ndarray):
            return False
        if shadow is None:
            return True
        region = shadow.regions.get(array.root) if array.root >= 0 else None
        if region is None or region.written or spot.unit % shadow.granule:
            return False
        self._time += 1
        threads, site, time = self._active_threads(), self._races.site(place), self._time

        def later() -> Touch:
            touch = Touch(spot.elements + shift, threads, epoch, warp_epoch, site, PLAIN, time)
            return self._shadows.in_granules(touch, shadow, array, spot.unit)

        region.touch(None, 0)
        there = Located(spot.elements, None, spot.unit, spot, shift)
        region.put_off(later, UNMADE, self._span(array, there) if array.space == "shared" else ANYWHERE)
        if region.unmarked > MAX_UNMARKED:
            shadow.mark_reads([region], self._number, self._fences.order)
        return True

    def write(self, array: ArrayRef, there: Located, inside: Any, place: Place, values: Any) -> None:
        """They write ``values`` (one, or one per lane that is inside), before memory has changed."""
        self.first_writes.note(array, there, inside)
        elements, unit = there.elements, there.unit
        shadow = self._shadows.of(array, unit)
        if shadow is None:
            return
        touch = self._touch(shadow, array, elements, inside, place, unit, atomic=False)
        regions = shadow.regions_of(array.root)
        # What was touched before a barrier of all blocks cannot be raced with in shared memory; nor, of what came
        # after it, what lies elsewhere, as another buffer in turn does. When reads are marked matters to fences only.
        read = written = True
        if array.space == "shared":
            near = inside is None and not self._fences.are_used and any(region.unmarked_reads for region in regions)
            span = self._span(array, there) if near else ANYWHERE
            read = any(region.is_read_in(span) for region in regions)
            written = any(region.is_written_to() for region in regions)
        if read:
            shadow.mark_reads(regions, self._number, self._fences.order)
        lanes = touch.granules.size * shadow.granule // array.dtype.itemsize
        here = np.broadcast_to(elements, self._machine.active)
        here = here if inside is None else here[inside]
        space = self._machine.spaces[array.space]
        memory = space.view(array.dtype) if unit == array.dtype.itemsize else space.view_at_bytes(array.dtype)
        repeat = touch.granules.size // max(lanes, 1)

        @cache
        def same() -> npt.NDArray[np.bool_]:
            there = np.broadcast_to(same_value(memory[here], values), lanes)
            return np.repeat(there, repeat) if repeat > 1 else there

        # In shared memory that is a race all the same: a tile of equal numbers must not hide a missing barrier.
        silent = same() if array.space == "global" else None
        if shadow.reads is not None and read:
            self._races.check(shadow.reads, touch, array, ("writes", "read"), None if silent is None else same)
        if written:
            self._races.check(shadow.writes, touch, array, ("writes", "wrote"), same)
            self._check_set_up(shadow, touch, array, "writes", same)
        if silent is not None and silent.any():
            touch.kind = np.where(silent & self._is_first_here(shadow.writes, touch), SILENT, PLAIN).astype(np.uint8)
        shadow.writes.set(touch)
        self._touch_regions(array, regions)
        for region in regions:
            region.written = True
        spread = np.repeat(values, repeat) if repeat > 1 and isinstance(values, np.ndarray) else values
        self._races.check_crowd(shadow, touch, array, spread)

    def atomic(self, array: ArrayRef, there: Located, inside: Any, place: Place) -> None:
        """They execute an atomic operation, which also publishes what was fenced before and acquires."""
        self.first_writes.check(array, there, inside, place, "Atomic operation on")
        self.first_writes.note(array, there, inside)
        elements, unit = there.elements, there.unit
        shadow = self._shadows.of(array, unit)
        if shadow is not None:
            touch = self._touch(shadow, array, elements, inside, place, unit, atomic=True)
            regions = shadow.regions_of(array.root)
            shadow.mark_reads(regions, self._number, self._fences.order)
            if shadow.reads is not None:
                self._races.check(shadow.reads, touch, array, ("changes", "read"))
            self._races.check(shadow.writes, touch, array, ("changes", "wrote"))
            self._check_set_up(shadow, touch, array, "changes")
            if array.space == "global":
                shadow.keep_set_up(touch, self._number)
            shadow.mark_atomic(touch, self._number, self._fences.order)
            self._touch_regions(array, regions)
            for region in regions:
                region.written = True
        # What it sees orders what comes after it, not itself.
        self._fences.atomic(self._active_threads(), self._time)

    def _check_set_up(self, shadow: Shadow, touch: Touch, array: ArrayRef, verb: str, same: Same | None = None) -> None:
        """Races with plain writes that atomic operations of their own block have followed."""
        if shadow.set_up is not None:
            self._races.check(shadow.set_up, touch, array, (verb, "wrote"), same)

    # ------------------------------------------------------------------ touches

    def touched(self) -> tuple[Touched, ...]:
        """What the launch has done to global memory."""
        return self._shadows.touched()

    def _span(self, array: ArrayRef, there: Located) -> Span:
        """Where in its block's shared memory each active lane touches something: first byte, and behind the last."""
        spot, unit = there.spot, there.unit
        first, last = (None, None) if spot is None or spot.span is None else spot.span
        if first is None or last is None:
            within = (there.elements if spot is None else spot.elements) - self._machine.segment_base("shared", unit)
            first, last = int(np.min(within)), int(np.max(within))
            if spot is not None:
                spot.span = first, last
        return (first + there.shift) * unit, (last + there.shift) * unit + array.dtype.itemsize

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
        site = self._races.site(place)
        touch = Touch(granules, threads, epoch, warp_epoch, site, ATOMIC if atomic else PLAIN, self._time)
        return self._shadows.in_granules(touch, shadow, array, unit)

    def _is_first_here(self, writes: Mark, touch: Touch) -> npt.NDArray[np.bool_]:
        """Where no mark of a write that changed something would be lost, unless a barrier has ordered it."""
        granules, before = touch.granules, writes.thread[touch.granules]
        nobody = np.asarray(before == NOBODY)
        if nobody.all():
            return nobody
        ordered = (writes.epoch[granules] != touch.epoch) & (
            self._number.block_of_mark(before) == self._number.block(touch.threads)
        )
        return np.asarray(nobody | (writes.kind[granules] == SILENT) | ordered)
