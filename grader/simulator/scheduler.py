"""Runs groups of lanes over a program's blocks, a wave of thread blocks at a time. Runs in the runner.

In: a program, a wave, arguments. Out: memory that has changed.

All lanes (threads) of a wave advance together. Lanes that branch differently form groups; the group whose block
comes first in the weak topological order runs next, so that lanes meet again at the post-dominator, and a group
that has waited long goes first, so that a lane that spins yields to those it waits for. A barrier holds a block's
lanes until all that have not returned are there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.simulator.barriers import Barriers
from grader.simulator.findings import Findings
from grader.simulator.frames import Frames
from grader.simulator.lane_values import LaneIndex, is_wide, merge, take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef, GlobalSpace, Space
from grader.simulator.program import Barrier, Block, Branch, Call, Exit, Jump, Program, Registers, Return, located
from grader.simulator.sources import Sources
from grader.simulator.spinning import Spinning
from grader.simulator.stops import DepthLimit, Interrupted, StepLimit, Threads
from grader.simulator.waits import Waits
from grader.simulator.wave import Wave

# A group that has waited for this many block issues goes first, so that a lane that spins gets its answer in
# milliseconds. Lanes that leave a longer loop one by one then go on in batches, which costs time but nothing else:
# barriers, also those within a warp, wait for all.
PATIENCE = 128
# After this many it is asked, and then at every so many, whether the group that would go on spins.
SPINNING = 4
# The clock is read after so many lanes have run a block; an issue of few lanes counts as one of MANY_LANES.
CLOCK_EVERY_LANES = 1 << 20
MANY_LANES = 1 << 14


class Scheduler(Machine):
    """A machine that runs; stops at ``deadline`` (CPU time, ``time.process_time`` seconds)."""

    def __init__(
        self,
        program: Program,
        spaces: dict[str, Space],
        constants: list[ArrayRef],
        findings: Findings,
        deadline: float,
        dynamic_shared_bytes: int,
        memory: GlobalSpace,
        sources: Sources,
    ) -> None:
        super().__init__(program, spaces, constants, findings, dynamic_shared_bytes, memory)
        self._deadline = deadline
        self._sources = sources
        self._registers: Registers = []
        self._pending: dict[int, LaneIndex | None] = {}
        self._since: dict[int, int] = {}
        self._barriers: Barriers
        self._frames: Frames
        self._issues = 0
        self._unclocked = 0  # lanes
        self._seen: dict[
            int, tuple[LaneIndex | None, list[Any], list[Any]]
        ] = {}  # by block, who came there last, with what

    def run(self, wave: Wave, arguments: list[Any]) -> None:
        """Run all lanes of one wave to their end, or until ``hung``. Raises StepLimit."""
        self.wave = wave
        self._registers = [*arguments, *([None] * (self.program.registers - len(arguments)))]
        self._pending = {0: None}
        self._since = {0: self._issues}
        self._spinning = Spinning()
        self._barriers = Barriers(self.program, wave, self._registers, self.findings, self.watch)
        self._frames = Frames(wave.total)
        self.waits = Waits(self.program, wave)
        self.watch.begin_wave()
        self.traffic.begin_wave()
        self.forget_spots()
        self._forget_lanes()
        while self._pending or self._barriers:
            if not self._pending:
                self._release(stuck=True)
                continue
            index = self._choose()
            lanes = self._pending.pop(index)
            if lanes is not None and lanes.size == wave.alive and not self._pending and not self._barriers:
                self._compact(lanes, self.program.blocks[index])
                lanes = None
            if self.waits.issue(index, lanes, self._pending, self._registers):
                self.waits.report(self.findings, lanes, self._sources.loop_around)
                self._give_up()
                return
            try:
                if lanes is None and not self._pending:
                    if self._run_together(index):
                        return
                else:
                    self._issue(index, lanes)
            except NotSimulated as error:
                raise located(error, self.program.blocks[self.running].place) from None

    def _tick(self, pending: Iterable[int]) -> None:
        """A block is about to be issued. Raises StepLimit."""
        self._issues += 1
        self._unclocked += max(self.wave.total, MANY_LANES)
        if self._unclocked >= CLOCK_EVERY_LANES:
            self._look_at_clock(pending)

    def _look_at_clock(self, pending: Iterable[int]) -> None:
        """Raises StepLimit."""
        self._unclocked = 0
        if time.process_time() > self._deadline:
            blocks = self.program.blocks
            last = max(pending, key=lambda index: blocks[index].place.line)
            thread, threads = self._example_of(self._pending.get(last))
            raise StepLimit(self._sources.loop_around([blocks[last].place]), thread, threads)

    def interrupted(self) -> Interrupted:
        """What to raise where somebody stops the launch: where the running lanes are."""
        place = self._sources.loop_around([self.program.blocks[self.running].place])
        return Interrupted(place, self._example_of(self.lanes)[0], self.findings.all())

    def _example_of(self, lanes: LaneIndex | None) -> tuple[str, Threads]:
        """The first of some lanes, as a person says it and as indices."""
        lanes = np.flatnonzero(self.wave.alive_mask()) if lanes is None else lanes
        threads = self.wave.threads(lanes[:1])
        return (self.wave.say(*threads[0]) if threads else ""), threads

    def _choose(self) -> int:
        self._tick(self._pending)
        if len(self._pending) == 1:
            return next(iter(self._pending))
        oldest = min(self._pending, key=lambda index: self._since[index])
        waited = self._issues - self._since[oldest]
        if waited > PATIENCE:
            return oldest
        first = min(self._pending, key=lambda index: self.program.blocks[index].rank)
        ask = waited > SPINNING and self._issues % SPINNING == 0 and first != oldest
        if not ask:
            return first
        live = (self._registers[register] for register in sorted(self.program.blocks[first].live_in))
        return oldest if self._spinning.spins(first, self._pending[first], live) else first

    def _compact(self, lanes: LaneIndex, block: Block) -> None:
        """All lanes that are left run as one group: forget the others."""
        if lanes.size == self.wave.total:
            return
        moved: dict[int, Any] = {}
        for register, value in enumerate(self._registers):
            self._registers[register] = take(value, lanes, moved) if register in block.live_in else None
        self._frames.keep(lanes)
        self.wave.keep(lanes)
        self.forget_spots()
        self._forget_lanes()
        self.traffic.lanes_left()

    def _run_together(self, index: int) -> bool:
        """Run all lanes from block ``index`` on as one group, until they part, wait or end; whether they hang."""
        blocks, registers, pending = self.program.blocks, self._registers, self._pending
        waits, ran = self.waits, self.execution.ran_by_all
        weight = max(self.wave.total, MANY_LANES)
        self._activate(None, self.wave.total)
        self._group = self._about
        try:
            while True:
                block = blocks[index]
                self.running = index
                ran[index] += 1
                for step in block.steps:
                    step(self, registers)
                end = block.end
                if type(end) is Jump:
                    index = end.target
                elif type(end) is Branch and (side := _side(registers[end.condition])) is not None:
                    index = end.yes if side else end.no
                else:
                    self._end(index, block, None, registers)
                    return False
                self._issues += 1
                self._unclocked += weight
                if self._unclocked >= CLOCK_EVERY_LANES:
                    self._look_at_clock((index,))
                waits.issues += 1
                if (waits.looking or waits.issues >= waits.next_look) and waits.look(index, None, pending, registers):
                    waits.report(self.findings, None, self._sources.loop_around)
                    self._give_up()
                    return True
        finally:
            self.execution.settle()

    def _issue(self, index: int, lanes: LaneIndex | None) -> None:
        block = self.program.blocks[index]
        self.running = index
        self._activate(lanes, self.wave.total if lanes is None else lanes.size)
        self._group = self._about
        self.execution.ran(index)
        registers = self._registers
        if lanes is None:
            for step in block.steps:
                step(self, registers)
            self._end(index, block, None, registers)
            return
        local: Registers = [None] * len(registers)
        for register in block.inputs:
            local[register] = take(registers[register], lanes)
        for step in block.steps:
            step(self, local)
        for register in block.outputs:
            old = registers[register] if self.live_elsewhere(register) else None
            registers[register] = merge(old, local[register], lanes, self.wave.total)
        self._end(index, block, lanes, local)

    def _end(self, index: int, block: Block, lanes: LaneIndex | None, registers: Registers) -> None:
        match block.end:
            case Jump(target):
                self._go(target, lanes)
            case Branch() as branch:
                self._branch(index, registers[branch.condition], branch, lanes)
            case Exit():
                self.wave.retire(lanes, index)
                if self._barriers:
                    self._release(stuck=False)
            case Barrier() as barrier:
                if barrier.scope == "block":
                    self.traffic.count(barrier.place, "barriers", self.active)
                if lanes is None and not self._barriers and (barrier.scope != "grid" or self.wave.is_whole()):
                    self.waits.progress()
                    self._barriers.passed(barrier, None)
                    self._go(barrier.target, None)
                    return
                self._barriers.arrive(index, np.arange(self.wave.total) if lanes is None else lanes)
                self._release(stuck=False)
            case Call() as call:
                self._call(call, np.arange(self.wave.total) if lanes is None else lanes)
            case Return() as end:
                self._return(end, np.arange(self.wave.total) if lanes is None else lanes)

    def _call(self, call: Call, lanes: LaneIndex) -> None:
        """Put registers aside for a new frame, and go on in the function."""
        registers, moved = self._registers, dict[int, Any]()
        kept = self.program.blocks[call.after].live_in - {call.result}
        saved = {register: take(registers[register], lanes, moved) for register in sorted(kept)}
        arguments = [take(registers[argument], lanes) for argument in call.arguments]
        if not self._frames.push(call, lanes, saved):
            raise DepthLimit(call.place)
        self.waits.progress()
        for parameter, value in zip(call.parameters, arguments, strict=True):
            self._set(parameter, value, lanes)
        self._go(call.entry, None if lanes.size == self.wave.total else lanes)

    def _return(self, end: Return, lanes: LaneIndex) -> None:
        """Take registers back from the frames of these lanes; each goes on where it was called."""
        self.waits.progress()
        value = take(self._registers[end.value], lanes) if end.value >= 0 else None
        for call, here, saved in self._frames.pop(lanes):
            some = lanes[here]
            for register, before in saved.items():
                self._set(register, before, some)
            if end.value >= 0:
                self._set(call.result, take(value, here), some)
            self._go(call.after, None if some.size == self.wave.total else some)

    def _set(self, register: int, value: Any, lanes: LaneIndex) -> None:
        """Give a register a value for these lanes."""
        old = self._registers[register] if self.live_elsewhere(register) else None
        self._registers[register] = merge(old, value, lanes, self.wave.total)

    def _give_up(self) -> None:
        """No lane runs on."""
        self.hung = True
        self._pending.clear()
        self._barriers.clear()
        self.wave.retire(None)

    def _branch(self, index: int, condition: Any, branch: Branch, lanes: LaneIndex | None) -> None:
        yes, no = branch.yes, branch.no
        side = _side(condition)
        if side is not None:
            self._go(yes if side else no, lanes)
            return
        taken = np.flatnonzero(condition)
        others = np.flatnonzero(~condition)
        self.execution.split(index, taken, others)
        self._go(yes, taken if lanes is None else lanes[taken])
        self._go(no, others if lanes is None else lanes[others])

    def _go(self, target: int, lanes: LaneIndex | None) -> None:
        if target not in self._pending:
            self._pending[target] = lanes
            self._since[target] = self._issues
            return
        known = self._pending[target]
        if known is None or lanes is None:
            self._pending[target] = None
            return
        joined = np.concatenate([known, lanes])
        self._pending[target] = None if joined.size == self.wave.total else joined

    def _release(self, *, stuck: bool) -> None:
        """Let lanes go on whose barrier is complete. ``stuck`` says that no other lane can still arrive."""
        released = self._barriers.release(stuck=stuck)
        if released:
            self.waits.progress()
        elif stuck:
            self._barriers.report_stuck()
            self._give_up()
        for target, lanes in released:
            self._go(target, None if lanes.size == self.wave.total else lanes)

    def live_elsewhere(self, register: int) -> bool:
        """Whether a group other than the running one may still read this register."""
        blocks = self.program.blocks
        return any(register in blocks[target].live_in for target in self._pending) or any(
            register in block.live_out for block in self._barriers.blocks()
        )


def _side(condition: Any) -> bool | None:
    """Which way all active lanes go at a branch; None where they part."""
    if not is_wide(condition):
        return bool(condition)
    count = np.count_nonzero(condition)
    return None if 0 < count < condition.size else bool(count)
