"""Finds waits that no schedule can end. Runs in the runner.

In: what runs next, and word of every change of memory. Out: a finding, where nobody can go on.

A lane that is back at the same place with the same registers, while memory has not changed since, will do the same
for ever, whatever the others do, unless one of them changes memory. If that holds for every lane that neither waits
at a barrier nor has returned, nobody ever will: the launch hangs, on any GPU and under any schedule. So a look at
all lanes now and then is compared with where they are later; a change of memory, a barrier that was passed or a
question about who is active ends the comparison, and the launch has its time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.findings import Findings
from grader.simulator.lane_values import LaneIndex, RangeIterator, take
from grader.simulator.memory import ArrayRef
from grader.simulator.program import Program, Registers
from grader.simulator.wave import Wave

# The first look, in block issues of the wave; each next one after twice as many.
FIRST_LOOK = 1 << 11


class Waits:
    """One wave's lookout. While ``looking``, everything that changes memory must call ``progress``."""

    def __init__(self, program: Program, wave: Wave) -> None:
        self._program = program
        self._wave = wave
        self.issues = 0
        self.next_look = FIRST_LOOK
        self.looking = False
        self._visited: set[int] = set()  # blocks that have run since the look
        self._at: npt.NDArray[np.int32] = np.zeros(0, np.int32)  # per lane the block that it was about to run
        self._seen: dict[int, list[tuple[int, Any]]] = {}  # per block the registers that it reads, one entry per lane
        self._back: npt.NDArray[np.bool_] = np.zeros(0, bool)  # per lane, whether it was there again
        self._ran: npt.NDArray[np.bool_] = np.zeros(0, bool)  # per lane, whether it has gone on since

    def progress(self) -> None:
        """Something changed that a waiting lane may see."""
        self.looking = False

    def issue(self, index: int, lanes: LaneIndex | None, pending: dict[int, LaneIndex | None], r: Registers) -> bool:
        """``lanes`` are about to run block ``index``; whether that shows that nobody will ever finish."""
        self.issues += 1
        return (self.looking or self.issues >= self.next_look) and self.look(index, lanes, pending, r)

    def look(self, index: int, lanes: LaneIndex | None, pending: dict[int, LaneIndex | None], r: Registers) -> bool:
        """The same, where an issue has been counted, and it is time to look, or a look is compared with."""
        if self.looking:
            self._visited.add(index)
            return self._is_back(index, lanes, r)
        self.next_look = 2 * self.issues
        self._note(index, lanes, pending, r)
        return False

    def _note(self, index: int, lanes: LaneIndex | None, pending: dict[int, LaneIndex | None], r: Registers) -> None:
        total = self._wave.total
        self.looking = True
        self._visited = {index}
        self._at = np.full(total, -1, np.int32)
        self._seen = {}
        for block, some in ((index, lanes), *pending.items()):
            self._at[slice(None) if some is None else some] = block
            moved: dict[int, Any] = {}
            everyone = np.arange(total)
            self._seen[block] = [
                (register, _flat(take(r[register], everyone, moved)))
                for register in sorted(self._program.blocks[block].live_in)
            ]
        # Lanes at a barrier wait for those that run, and lanes that have returned for nobody.
        self._back = self._at < 0
        self._ran = np.zeros(total, bool)
        self._ran[slice(None) if lanes is None else lanes] = True

    def _is_back(self, index: int, lanes: LaneIndex | None, r: Registers) -> bool:
        if index not in self._seen:
            return False
        if self._at.size != self._wave.total:  # lanes have been left behind: they returned, and the others are new here
            self.looking = False
            return False
        here = np.flatnonzero(self._at == index) if lanes is None else lanes[self._at[lanes] == index]
        gone_on = self._ran[here]
        self._ran[here] = True
        here = here[gone_on & ~self._back[here]]
        seen = self._seen[index]
        for position, (register, before) in enumerate(seen):
            if not here.size:
                return False
            here = here[_same(before, _flat(r[register]), here)]
            if not here.size and position:  # what differs once mostly differs always: ask it first next time
                seen.insert(0, seen.pop(position))
        self._back[here] = True
        return bool(self._back.all())

    def report(
        self, findings: Findings, lanes: LaneIndex | None, loop_around: Callable[[Sequence[Place]], Place]
    ) -> None:
        """Say that the lanes which have been looked at go round for ever; ``lanes`` are some of them.

        ``loop_around`` says which line's loop holds some places.
        """
        places = [self._program.blocks[index].place for index in self._visited]
        others = "every other thread has returned, waits at a barrier or goes round in a loop, too"
        findings.add(
            "endless-wait",
            Severity.ERROR,
            loop_around(sorted(places, key=lambda place: place.line)),
            f"Threads stay in this loop for ever: what they read there changes no more, since {others}.",
            "Does the loop change what its condition tests, as in i += stride? If it waits for others, look for who"
            " changes that: a lock must be given back before it is taken again, and threads must not wait for one that"
            " itself waits for them.",
            threads=self._wave.threads(np.zeros(1, np.intp) if lanes is None else lanes[:1]),
        )


def _flat(value: Any) -> tuple[Any, ...] | Any:
    """The numbers that a register's value consists of."""
    if isinstance(value, tuple):
        return tuple(_flat(item) for item in value)
    if isinstance(value, ArrayRef):
        return (value.space, value.name, value.root, *value.parts())
    if isinstance(value, RangeIterator):
        return (value.next, value.step, value.remaining)
    return value


def _same(before: Any, now: Any, lanes: LaneIndex) -> npt.NDArray[np.bool_]:
    """Per lane, whether both values agree; NaN never does, and then the time limit decides."""
    if isinstance(before, tuple) or isinstance(now, tuple):
        if not isinstance(before, tuple) or not isinstance(now, tuple) or len(before) != len(now):
            return np.zeros(lanes.size, bool)
        same = np.ones(lanes.size, bool)
        for one, other in zip(before, now, strict=True):
            same &= _same(one, other, lanes)
        return same
    one = before[lanes] if isinstance(before, np.ndarray) else before
    other = now[lanes] if isinstance(now, np.ndarray) else now
    return np.broadcast_to(np.asarray(one == other, bool), lanes.shape)
