"""How well warps are filled: active lanes, divergent branches, floating-point operations. Runs in the runner.

In: which lanes ran which block, and parted at which branch. Out: counters, in all and by line.

Counted in steps of Numba's typed IR, once per basic block that runs: a GPU's instructions differ in number, but not
in which lanes of a warp take part. What a compiler turns into predicated instructions counts as a branch here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.records import Place
from grader.simulator.program import Branch, Program

if TYPE_CHECKING:
    from grader.simulator.machine import Machine


@dataclass
class Spread:
    """How the smaller side of the branches of a line that part warps lies over them, where all blocks part alike."""

    lanes: int = 0
    warps: int = 0  # that these lanes are in
    needed: int = 0  # that they would fill, packed in each block
    steps: int = 0  # of warps that packing would save


class Execution:
    """How many lanes and warps ran each basic block of a program, in one launch."""

    def __init__(self, machine: Machine, program: Program) -> None:
        self._machine = machine
        self._program = program
        self._lanes = [0] * len(program.blocks)
        self._warps = [0] * len(program.blocks)
        # By block, how often all lanes of the wave ran it together, since that was last added to the above.
        self.ran_by_all: defaultdict[int, int] = defaultdict(int)
        self._divergent: Counter[int] = Counter()
        self._spreads: defaultdict[int, Spread] = defaultdict(Spread)
        self._irregular: set[int] = set()  # blocks that end in a branch at which grid blocks part differently

    def ran(self, block: int) -> None:
        """The active lanes run a block."""
        self._lanes[block] += self._machine.active
        self._warps[block] += self._machine.active_warps()

    def settle(self) -> None:
        """Add up what all lanes of the wave, which are the active ones, have run together."""
        lanes, warps = self._machine.active, self._machine.active_warps()
        for block, times in self.ran_by_all.items():
            self._lanes[block] += times * lanes
            self._warps[block] += times * warps
        self.ran_by_all.clear()

    def split(self, block: int, taken: npt.NDArray[np.intp], others: npt.NDArray[np.intp]) -> None:
        """Of the active lanes (by position) some take a branch, others do not."""
        wave, warps = self._machine.wave, self._machine.per_lane("warp")
        sides = [np.bincount(warps[side], minlength=wave.warps) for side in (taken, others)]
        parted = int(np.count_nonzero(np.minimum(*sides)))
        if parted:
            self._divergent[block] += parted
        if parted and block not in self._irregular:
            self._note_spread(block, sides, min(range(2), key=lambda side: (taken, others)[side].size))

    def _note_spread(self, block: int, sides: list[npt.NDArray[np.intp]], smaller: int) -> None:
        """How many warps the smaller side (0: takes the branch) is spread over. ``sides`` counts lanes by warp."""
        per_block = [side.reshape(-1, self._machine.wave.warps_per_block) for side in sides]
        few = per_block[smaller][(per_block[0] + per_block[1]).any(axis=1)]
        # The last block may end early. One or two blocks show no pattern.
        if len(few) <= 2 or (few[:-1] != few[0]).any():
            self._irregular.add(block)
            self._spreads.pop(block, None)
            return
        end = self._program.blocks[block].end
        assert isinstance(end, Branch)
        spread = self._spreads[block]
        warps, needed = int(np.count_nonzero(few)), int((-(-few.sum(axis=1) // WARP_SIZE)).sum())
        spread.lanes += int(few.sum())
        spread.warps += warps
        spread.needed += needed
        steps = self._program.blocks[end.no if smaller else end.yes].steps_of_lines.total()
        spread.steps += (warps - needed) * steps

    def spreads(self) -> dict[Place, Spread]:
        """By line: what packing the lanes that part from their warps would save."""
        lines: defaultdict[Place, Spread] = defaultdict(Spread)
        for number, spread in self._spreads.items():
            end = self._program.blocks[number].end
            assert isinstance(end, Branch)
            line = lines[end.place.whole_line]
            line.lanes += spread.lanes
            line.warps += spread.warps
            line.needed += spread.needed
            line.steps += spread.steps
        return dict(lines)

    def finish(self, counters: Counter[str], lines: defaultdict[Place, Counter[str]]) -> None:
        """Add what was counted to a launch's counters, in all and by line."""
        for number, block in enumerate(self._program.blocks):
            lanes, warps = self._lanes[number], self._warps[number]
            if not lanes:
                continue
            for place, steps in block.steps_of_lines.items():
                _add(counters, lines[place], "thread_steps", lanes * steps)
                _add(counters, lines[place], "warp_steps", warps * steps)
            for (place, width), flops in block.flops.items():
                _add(counters, lines[place], f"flops_float{width}", lanes * flops)
            if isinstance(block.end, Branch):
                _add(counters, lines[block.end.place], "branches", warps)
                _add(counters, lines[block.end.place], "divergent_branches", self._divergent[number])


def _add(counters: Counter[str], line: Counter[str], name: str, count: Any) -> None:
    counters[name] += count
    line[name] += count
