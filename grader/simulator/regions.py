"""What has happened to one array lately, as far as it spares looking for races. Runs in the runner.

In: touches of ``watch``, and barriers. Out: whether somebody may have read or written where others do now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.simulator.marks import Touch

# The first byte of a block's shared memory that is touched, and the one behind the last.
Span = tuple[int, int]
ANYWHERE: Span = (0, 1 << 62)


@dataclass
class Region:
    """One array's part of a shadow since its beginning, of shared memory since all blocks passed a barrier.

    Reads that have not been marked, and whether somebody wrote.
    """

    unmarked_reads: list[Touch | Callable[[], Touch]] = field(default_factory=list)
    unmarked: int = 0  # accesses in unmarked_reads
    unmarked_span: Span = (0, 0)  # where in shared memory they are, or beyond
    marked: bool = False  # whether reads have been marked since
    written: bool = False
    by_all: bool = False  # whether all blocks of the wave may have touched it
    by: npt.NDArray[np.bool_] | None = None  # else by block of the wave: whether it may have, since its last barrier

    def touch(self, slots: npt.NDArray[Any] | None, blocks: int) -> None:
        """These of a wave's blocks (None: all) touch it."""
        if slots is None or self.by_all:
            self.by_all = True
            return
        if self.by is None:
            self.by = np.zeros(blocks, bool)
        self.by[slots] = True

    def is_left_by(self, slots: npt.NDArray[Any], alive: npt.NDArray[np.bool_]) -> bool:
        """These blocks pass a barrier: whether none of those that are ``alive`` has touched it since its last one."""
        if self.by_all:
            self.by_all, self.by = False, np.ones(alive.size, bool)
        if self.by is None:
            return True
        self.by[slots] = False
        return not (self.by & alive).any()

    def put_off(self, read: Touch | Callable[[], Touch], accesses: int, span: Span) -> None:
        """Keep a read that has not been marked."""
        if not self.unmarked_reads:
            self.unmarked_span = span
        elif span[0] < self.unmarked_span[0] or span[1] > self.unmarked_span[1]:
            self.unmarked_span = min(span[0], self.unmarked_span[0]), max(span[1], self.unmarked_span[1])
        self.unmarked_reads.append(read)
        self.unmarked += accesses

    def is_read_in(self, span: Span) -> bool:
        """Whether somebody may have read there since."""
        first, behind = self.unmarked_span
        return self.marked or (bool(self.unmarked_reads) and first < span[1] and span[0] < behind)

    def is_written_to(self) -> bool:
        """Whether somebody has written since."""
        return self.written
