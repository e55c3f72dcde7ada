"""A launch's state as the steps of its program see it. Runs in the runner.

In: a program, memory, a wave. Out: what steps ask for: values per lane, who is active.

While a block runs, ``machine.lanes`` is None when every lane of the wave takes part, else the lanes that do; registers
then hold values for just those. Which lanes run, and when, is the ``scheduler``'s.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.simulator.configuration import Triple
from grader.simulator.execution import Execution
from grader.simulator.findings import Findings
from grader.simulator.lane_values import LaneIndex, is_wide
from grader.simulator.memory import ArrayRef, GlobalSpace, Space
from grader.simulator.printed import Printed
from grader.simulator.program import Program
from grader.simulator.spots import Lockstep, Spot
from grader.simulator.traffic import Traffic
from grader.simulator.waits import Waits
from grader.simulator.watch import Watch
from grader.simulator.wave import Wave

if TYPE_CHECKING:
    from grader.simulator.raising import Raised


@dataclass
class About:
    """What has been found out about the active lanes, as far as somebody asked: groups of lanes run many blocks."""

    lanes: LaneIndex | None
    coordinates: dict[str, Any] = field(default_factory=dict)
    bases: dict[tuple[str, int], Any] = field(default_factory=dict)  # of segments, by space and itemsize
    warps: int = 0
    threads: Any = None
    slots: LaneIndex | None = None


class Machine:
    """One launch's state."""

    def __init__(
        self,
        program: Program,
        spaces: dict[str, Space],
        constants: list[ArrayRef],
        findings: Findings,
        dynamic_shared_bytes: int,
        memory: GlobalSpace,
    ) -> None:
        self.program = program
        self.spaces = spaces
        self.constants = constants
        self.findings = findings
        self.lanes: LaneIndex | None = None
        self.active = 0
        self.running = 0  # the basic block
        self.traffic = Traffic(self)
        # By the identity of an access's place, which the program keeps, and its verb.
        self.spots: dict[tuple[int, str], Spot] = {}
        # The same, of local arrays at indices that all lanes share.
        self.locksteps: dict[tuple[int, str], Lockstep] = {}
        self.execution = Execution(self, program)
        self._about = About(None)
        self._group = self._about  # the group of lanes that the scheduler has chosen; the active ones may be some of it
        self.memory = memory
        self.wave: Wave
        self.watch: Watch
        self.static_shared_bytes = program.shared_layout
        self.dynamic_shared_bytes = dynamic_shared_bytes
        self.waits: Waits
        # What threads print, and the first that one of them raises, if the host is told: with debug=True.
        self.printed = Printed()
        self.raised: Raised | None = None
        self.hung = False  # whether lanes were given up that would have waited for ever

    def per_lane(self, name: str) -> Any:
        """A coordinate of the active lanes (see ``Wave``): one number, or one per active lane."""
        value = self.wave.coordinate(name)
        if self.lanes is None or not is_wide(value):
            return value
        known = self._about.coordinates
        if name not in known:
            known[name] = value[self.lanes]
        return known[name]

    def example(self, positions: LaneIndex) -> tuple[tuple[Triple, Triple], ...]:
        """Block and thread index of the first of some active lanes (positions among them), for a message."""
        return self.wave.threads(positions[:1] if self.lanes is None else self.lanes[positions[:1]])

    def active_warps(self) -> int:
        """How many warps the active lanes are of."""
        if not self._about.warps:
            self._about.warps = self.wave.warps_of(self.lanes)
        return self._about.warps

    def active_threads(self) -> Any:
        """The active lanes among all threads of the wave: positions, or a slice."""
        if self._about.threads is None:
            self._about.threads = self.wave.positions(self.lanes)
        return self._about.threads

    def active_slots(self) -> LaneIndex | None:
        """The blocks of the wave that the active lanes are of; None for all of them."""
        if self.lanes is None:
            return None
        if self._about.slots is None:
            slots = np.broadcast_to(self.per_lane("slot"), self.active)
            self._about.slots = np.flatnonzero(np.bincount(slots, minlength=self.wave.blocks))
        return self._about.slots

    def forget_spots(self) -> None:
        """What was found out about accesses need not hold any more."""
        self.traffic.settle(self.spots.values())
        self.spots.clear()
        self.locksteps.clear()

    def _activate(self, lanes: LaneIndex | None, count: int) -> None:
        self.lanes, self.active = lanes, count
        self._about = self._group if lanes is self._group.lanes else About(lanes)

    def _forget_lanes(self) -> None:
        """The wave is another one, or has other lanes: nothing is known about any."""
        self.lanes = None
        self._about = self._group = About(None)

    def segment_base(self, space: str, itemsize: int) -> Any:
        """Where each active lane's segment of a space starts, in elements of ``itemsize`` bytes."""
        if space in {"global", "const"}:
            return 0
        value = self.wave.segment_base(space, self.spaces[space].segment, itemsize)
        if self.lanes is None or not is_wide(value):
            return value
        known = self._about.bases
        if (space, itemsize) not in known:
            known[space, itemsize] = value[self.lanes]
        return known[space, itemsize]

    @contextmanager
    def only(self, positions: LaneIndex) -> Iterator[None]:
        """While it holds, only these of the active lanes take part."""
        lanes, active = self.lanes, self.active
        self._activate(positions if lanes is None else lanes[positions], positions.size)
        try:
            yield
        finally:
            self._activate(lanes, active)

    @abstractmethod
    def live_elsewhere(self, register: int) -> bool:
        """Whether a group other than the running one may still read this register."""
