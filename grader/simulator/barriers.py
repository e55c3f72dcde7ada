"""Where lanes wait for each other: the barriers of a block, of the lanes of a warp, of the grid. Runs in the runner.

In: lanes that arrive. Out: lanes that go on, and what they voted; findings about who never comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.absent import EVERY_LANE, Absent
from grader.simulator.findings import Findings
from grader.simulator.lane_values import LaneIndex, is_wide, merge, take
from grader.simulator.program import Barrier, Block, Program, Registers
from grader.simulator.watch import Watch
from grader.simulator.wave import Wave

Released = tuple[int, LaneIndex]  # where to go on, and who


class Barriers:
    """The waiting lanes of one wave, by the block whose end is the barrier."""

    def __init__(self, program: Program, wave: Wave, registers: Registers, findings: Findings, watch: Watch) -> None:
        self._watch = watch
        self._program = program
        self._wave = wave
        self._registers = registers
        self._findings = findings
        self._waiting: dict[int, LaneIndex] = {}
        self._absent = Absent(program, wave, findings)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def blocks(self) -> Iterator[Block]:
        """The blocks at whose ends lanes wait."""
        return (self._program.blocks[index] for index in self._waiting)

    def arrive(self, index: int, lanes: LaneIndex) -> None:
        """These lanes wait at the end of block ``index``."""
        known = self._waiting.get(index)
        self._waiting[index] = lanes if known is None else np.concatenate([known, lanes])

    def _barrier(self, index: int) -> Barrier:
        end = self._program.blocks[index].end
        assert isinstance(end, Barrier)
        return end

    def _leave(self, index: int, passing: npt.NDArray[np.bool_]) -> LaneIndex:
        """Take the passing lanes out of those that wait."""
        lanes = self._waiting.pop(index)
        if not passing.all():
            self._waiting[index] = lanes[~passing]
        return lanes[passing]

    def release(self, *, stuck: bool) -> list[Released]:
        """Who may go on, and where. ``stuck`` says that no other lane can still arrive."""
        released = []
        for index in list(self._waiting):
            if self._barrier(index).scope == "warp":
                released += self._release_warps(index, stuck=stuck)
        return released + self._release_blocks() + self._release_grid()

    def clear(self) -> None:
        """Nobody waits any more."""
        self._waiting.clear()

    def passed(self, barrier: Barrier, lanes: LaneIndex | None) -> None:
        """These lanes (None: all of the wave) pass together: what they vote, and what that orders."""
        if barrier.scope == "block":
            slots = None if lanes is None else np.unique(self._coordinate("slot")[lanes])
            self._absent.look_at_blocks(barrier, slots)
            self._vote(barrier, lanes)
            self._watch.passed_barrier(slots)
        elif barrier.scope == "grid":
            self._absent.look_at_blocks(barrier, None)
            self._watch.passed_grid_barrier()
        else:
            self._passed_in_warps(barrier, lanes)

    def _passed_in_warps(self, barrier: Barrier, lanes: LaneIndex | None) -> None:
        mask = np.int64(-1) if barrier.mask < 0 else take(self._registers[barrier.mask], lanes).astype(np.int64)
        mask = mask & EVERY_LANE
        warps = self._coordinate("warp") if lanes is None else self._coordinate("warp")[lanes]
        if is_wide(mask) or mask != EVERY_LANE:
            bits = self._coordinate("lane") if lanes is None else self._coordinate("lane")[lanes]
            self._absent.look_at_own_bits(barrier, np.broadcast_to(mask, warps.shape), bits, lanes)
        self._absent.look_at_warps(barrier, warps, np.broadcast_to(mask, warps.shape))
        if barrier.orders_memory:
            self._order_warps(warps, mask, everyone=lanes is None)

    def _order_warps(self, warps: npt.NDArray[Any], mask: Any, *, everyone: bool) -> None:
        """What a ``syncwarp`` of lanes, one entry of ``warps`` and ``mask`` per lane, orders."""
        if not is_wide(mask) and mask == EVERY_LANE:
            self._watch.passed_warp_barrier(None if everyone else np.unique(warps))
            return
        mask = np.broadcast_to(mask, warps.shape)
        there = self._there()[warps]
        whole = (there & ~mask) == 0
        if whole.any():
            self._watch.passed_warp_barrier(np.unique(warps[whole]))
        # Who waits for itself alone is ordered behind nobody.
        part = ~whole & ((mask & (mask - 1)) != 0)
        if part.any():
            self._watch.passed_part_of_warp(warps[part], mask[part])

    def _there(self) -> npt.NDArray[np.int64]:
        """Per warp of the wave, its lanes that have not returned, as bits."""
        alive = self._wave.alive_mask()
        there = np.zeros(self._wave.warps, np.int64)
        bits = np.left_shift(np.int64(1), self._coordinate("lane")[alive])
        np.bitwise_or.at(there, self._coordinate("warp")[alive], bits)
        return there

    def _coordinate(self, name: str) -> npt.NDArray[Any]:
        return np.broadcast_to(self._wave.coordinate(name), self._wave.total)

    # ------------------------------------------------------------------ blocks

    def _vote(self, barrier: Barrier, lanes: LaneIndex | None) -> None:
        """What ``syncthreads_count``, ``_and`` and ``_or`` return to lanes that pass together (None: all)."""
        if not barrier.vote:
            return
        slots = np.broadcast_to(self._wave.coordinate("slot"), self._wave.total)
        slots = slots if lanes is None else slots[lanes]
        predicate = np.broadcast_to(take(self._registers[barrier.predicate], lanes), slots.shape) != 0
        yes = np.bincount(slots, predicate)[slots]
        there = np.bincount(slots)[slots]
        vote = {"count": yes, "and": yes == there, "or": yes > 0}[barrier.vote].astype(np.int32)
        old = None if lanes is None else self._registers[barrier.result]
        self._registers[barrier.result] = vote if lanes is None else merge(old, vote, lanes, self._wave.total)

    def _release_blocks(self) -> list[Released]:
        waiting = {i: lanes for i, lanes in self._waiting.items() if self._barrier(i).scope == "block"}
        if not waiting:
            return []
        slots = np.broadcast_to(self._wave.coordinate("slot"), self._wave.total)
        arrived = np.bincount(slots[np.concatenate(list(waiting.values()))], minlength=self._wave.blocks)
        complete = (arrived > 0) & (arrived == self._wave.alive_per_block())
        if not complete.any():
            return []
        self._report_divergence(waiting, slots, complete)
        for index in waiting:
            self._absent.look_at_blocks(self._barrier(index), np.flatnonzero(complete))
        released = []
        for index, lanes in waiting.items():
            passing = complete[slots[lanes]]
            if passing.any():
                there = self._leave(index, passing)
                self._vote(self._barrier(index), there)
                released.append((self._barrier(index).target, there))
        self._watch.passed_barrier(np.flatnonzero(complete))
        return released

    def _report_divergence(
        self, waiting: dict[int, LaneIndex], slots: npt.NDArray[Any], complete: npt.NDArray[np.bool_]
    ) -> None:
        """Threads of a block that met at barriers of different lines. One line may be two blocks of Numba's IR."""
        by_line: dict[tuple[str, int], tuple[Place, list[LaneIndex]]] = {}
        for index, lanes in waiting.items():
            place = self._barrier(index).place
            by_line.setdefault((place.file, place.line), (place, []))[1].append(lanes)
        lines_seen = sum(
            (np.bincount(slots[np.concatenate(lanes)], minlength=self._wave.blocks) > 0).astype(np.int64)
            for _, lanes in by_line.values()
        )
        split = complete & (lines_seen > 1)
        if not split.any():
            return
        first, second = [by_line[line][0] for line in sorted(by_line)][:2]
        everyone = np.concatenate(list(waiting.values()))
        self._findings.add(
            "divergent-barrier",
            Severity.ERROR,
            first,
            f"Threads of a block wait at different barriers: some at line {first.line}, others at line {second.line}.",
            "Put syncthreads() where every thread of the block passes it, outside of if and else.",
            threads=self._wave.threads(everyone[split[slots[everyone]]][:1]),
            count=int(split.sum()),
        )

    # ------------------------------------------------------------------ the grid

    def _release_grid(self) -> list[Released]:
        """All threads of the launch that have not returned, if the first of each block is among them.

        In each block the others wait for the first thread, which waits for those of the other blocks: CUDA's
        cooperative_groups/details/sync.h. So a block whose first thread has returned never comes.
        """
        waiting = {i: lanes for i, lanes in self._waiting.items() if self._barrier(i).scope == "grid"}
        if not waiting or sum(lanes.size for lanes in waiting.values()) < self._wave.alive:
            return []
        everyone = np.concatenate(list(waiting.values()))
        if np.count_nonzero(self._coordinate("thread")[everyone] == 0) < self._wave.blocks:
            return []
        for index in waiting:
            self._absent.look_at_blocks(self._barrier(index), None)
        self._report_divergence(waiting, self._coordinate("slot"), np.ones(self._wave.blocks, bool))
        self._watch.passed_grid_barrier()
        released = [(self._barrier(index).target, lanes) for index, lanes in waiting.items()]
        self._waiting.clear()
        return released

    def report_stuck(self) -> None:
        """Lanes wait for others that wait elsewhere, or have returned from a grid that waits for all."""
        places = {self._barrier(index).place.line: self._barrier(index).place for index in self._waiting}
        first = places[min(places)]
        grid = [lanes for index, lanes in self._waiting.items() if self._barrier(index).scope == "grid"]
        waiting = sum(lanes.size for lanes in self._waiting.values())
        returned = self._wave.launched - waiting
        if len(places) > 1:
            lines = " and ".join(str(line) for line in sorted(places))
            why = f"Threads wait for each other at lines {lines}, and none of these barriers is ever complete"
        else:
            why = (
                f"{waiting} threads wait here for the whole grid, and {returned} have returned, blocks' first ones too"
            )
        self._findings.add(
            "endless-wait" if len(places) == 1 else "divergent-barrier",
            Severity.ERROR,
            first,
            f"{why}: no schedule can end this wait.",
            "Let every thread of the grid come to grid.sync(): put no return before it and no if around it."
            if grid
            else "Put the barrier where every thread passes it, outside of if and else.",
            threads=self._wave.threads(next(iter(self._waiting.values()))[:1]),
            count=waiting,
        )

    # ------------------------------------------------------------------ warps

    def _release_warps(self, index: int, *, stuck: bool) -> list[Released]:
        barrier, lanes = self._barrier(index), self._waiting[index]
        mask = take(self._registers[barrier.mask], lanes) if barrier.mask >= 0 else np.int64(-1)
        mask = mask if is_wide(mask) else np.broadcast_to(mask, lanes.shape)
        warps = np.broadcast_to(self._wave.coordinate("warp"), self._wave.total)
        bits = np.left_shift(np.int64(1), np.broadcast_to(self._wave.coordinate("lane"), self._wave.total))
        here, there = np.zeros(self._wave.warps, np.int64), self._there()
        np.bitwise_or.at(here, warps[lanes], bits[lanes])
        needed = mask.astype(np.int64) & EVERY_LANE & there[warps[lanes]]
        passing = (needed & ~here[warps[lanes]]) == 0
        if stuck and not passing.any():
            passing[:] = True
            self._findings.add(
                "incomplete-warp",
                Severity.ERROR,
                barrier.place,
                "The mask names lanes of the warp that never come to this line.",
                "Let every lane that the mask names execute the call, or name only those that do.",
                threads=self._wave.threads(lanes[:1]),
            )
        if not passing.any():
            return []
        passed = self._leave(index, passing)
        self.passed(barrier, passed)
        return [(barrier.target, passed)]
