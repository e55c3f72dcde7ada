"""How well warps are filled: active lanes, divergent branches, floating-point operations. Runs in the runner.

In: which lanes ran which block, and parted at which branch. Out: counters, in all and by line.

Counted in steps of Numba's typed IR, once per basic block that runs: a GPU's instructions differ in number, but not
in which lanes of a warp take part. What a compiler turns into predicated instructions counts as a branch here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place
from grader.simulator.program import Branch, Program

if TYPE_CHECKING:
    from grader.simulator.machine import Machine


class Execution:
    """How many lanes and warps ran each basic block of a program, in one launch."""

    def __init__(self, machine: Machine, program: Program) -> None:
        self._machine = machine
        self._program = program
        self._lanes = [0] * len(program.blocks)
        self._warps = [0] * len(program.blocks)
        self._divergent: Counter[int] = Counter()

    def ran(self, block: int) -> None:
        """The active lanes run a block."""
        self._lanes[block] += self._machine.active
        self._warps[block] += self._machine.active_warps()

    def split(self, block: int, taken: npt.NDArray[np.intp], others: npt.NDArray[np.intp]) -> None:
        """Of the active lanes (by position) some take a branch, others do not."""
        warps = self._machine.per_lane("warp")
        sides = np.zeros((2, self._machine.wave.warps), bool)
        sides[0, warps[taken]] = True
        sides[1, warps[others]] = True
        self._divergent[block] += int(np.count_nonzero(sides[0] & sides[1]))

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
