"""Threads that are not there when others meet: returned early, gone past, or not named. Runs in the runner.

In: a barrier that is complete, and who passes it. Out: advice on threads that had returned before, errors about those
that went round the barrier (``skipped``) and about lanes whose mask does not name them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import WARP_SIZE
from grader.records import Severity
from grader.simulator.findings import Findings
from grader.simulator.lane_values import LaneIndex
from grader.simulator.program import Barrier, Block, Program
from grader.simulator.skipped import Skipped
from grader.simulator.wave import Wave

# A mask that names all lanes of a warp.
EVERY_LANE = 0xFFFFFFFF


class Absent:
    """The questions of one wave. Barriers are told apart by the block behind them."""

    def __init__(self, program: Program, wave: Wave, findings: Findings) -> None:
        self._wave = wave
        self._findings = findings
        self._skipped = Skipped(program)
        # How many threads were left when a barrier was last looked at: without new returns there is nothing new.
        self._left: dict[int, int] = {}
        self._told: set[int] = set()  # lines of barriers before which threads returned

    def _is_new(self, barrier: Barrier) -> bool:
        if self._wave.is_whole() or self._left.get(barrier.target) == self._wave.alive:
            return False
        self._left[barrier.target] = self._wave.alive
        return True

    # ------------------------------------------------------------------ blocks

    def look_at_blocks(self, barrier: Barrier, slots: npt.NDArray[Any] | None) -> None:
        """The threads of these blocks (None: all) meet, as far as they have not returned."""
        if not self._is_new(barrier):
            return
        ended = self._wave.ended()
        some = np.asarray((ended >= 0).any(axis=1) & (ended < 0).any(axis=1))
        if slots is not None:
            here = np.zeros(some.shape, bool)
            here[slots] = True
            some &= here
        if not some.any():
            return
        gone = 0
        for exit_block in np.unique(ended[some]).tolist():
            behind = self._skipped.by(exit_block, barrier.target) if exit_block >= 0 else None
            if behind is not None:
                those = (ended == exit_block) & some[:, None]
                gone += int(those.any(axis=1).sum())
                self._report(barrier, behind, those, "divergent-barrier", Severity.ERROR)
        if gone < int(some.sum()) and barrier.place.line not in self._told:
            self._told.add(barrier.place.line)
            self._findings.add(
                "early-return",
                Severity.ADVICE,
                barrier.place,
                "Some threads of the block never come to this barrier: they returned before it, or it is in an if or a "
                "loop that they skip. Today's GPUs wait for the others only; CUDA's manual wants all threads of a "
                "block here.",
                "Let all threads come to every barrier, and guard only their work: if i < n: …",
                count=int(some.sum()) - gone,
            )

    def _report(
        self, barrier: Barrier, behind: Block, those: npt.NDArray[np.bool_], kind: str, severity: Severity
    ) -> None:
        """``those``: per block of the wave and thread, whether it went past the barrier, to ``behind``."""
        whom = "a block that have not returned" if kind == "divergent-barrier" else "the warp that the mask names"
        slot, thread = (int(each) for each in np.argwhere(those)[0])
        who = self._wave.name_of(int(self._wave.numbers[slot]), thread)
        count, here = int(those.sum()), int(those[slot].sum())
        others = "" if here == 1 else f" (and {here - 1:,} more of that block)"
        self._findings.add(
            kind,
            severity,
            barrier.place,
            f"Thread {who}{others} never comes here: it went on to line {behind.place.line} instead, and to the end. "
            f"All threads of {whom} must come; what a GPU does otherwise is undefined.",
            "Put the call where every thread passes it: outside of if and else, and not in a loop that some threads "
            "leave before others.",
            count=count,
        )

    # ------------------------------------------------------------------ warps

    def look_at_warps(self, barrier: Barrier, warps: npt.NDArray[Any], masks: npt.NDArray[Any]) -> None:
        """Lanes of these warps (an entry per lane) pass together, with the lanes in their masks that are left."""
        if not self._is_new(barrier):
            return
        ended = self._wave.ended()
        blocks, threads = ended.shape
        padded = np.full((blocks, self._wave.warps_per_block * WARP_SIZE), -1, np.int32)
        padded[:, :threads] = ended
        by_warp = padded.reshape(-1, WARP_SIZE)
        named = np.zeros(self._wave.warps, np.int64)
        np.bitwise_or.at(named, warps, masks)
        absent = (by_warp >= 0) & (named[:, None] >> np.arange(WARP_SIZE) & 1).astype(bool)
        for exit_block in np.unique(by_warp[absent]).tolist():
            behind = self._skipped.by(exit_block, barrier.target)
            if behind is not None:
                those = (absent & (by_warp == exit_block)).reshape(blocks, -1)
                # A syncwarp alone ends once the others have returned: Numba's own reduction has such a one.
                severity = Severity.WARNING if barrier.orders_memory else Severity.ERROR
                self._report(barrier, behind, those, "incomplete-warp", severity)

    def look_at_own_bits(
        self, barrier: Barrier, masks: npt.NDArray[Any], bits: npt.NDArray[Any], lanes: LaneIndex | None
    ) -> None:
        """Lanes pass with a mask that has to name them, too (PTX ISA, "shfl.sync", "vote.sync", "bar.warp.sync")."""
        unnamed = np.flatnonzero((masks >> bits & 1) == 0)
        if unnamed.size:
            self._findings.add(
                "incomplete-warp",
                Severity.ERROR,
                barrier.place,
                f"Lane {int(bits[unnamed[0]])} calls this with mask {int(masks[unnamed[0]]):#x}, which does not name "
                "that lane.",
                "A mask names all lanes that execute the call: 0xFFFFFFFF where the whole warp does.",
                threads=self._wave.threads((unnamed if lanes is None else lanes[unnamed])[:1]),
                count=unnamed.size,
            )
