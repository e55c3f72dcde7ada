"""How far is a kernel from what the GPU can do? Pure, in the trusted process.

Comes in: the least work of a call (problem.py), a measured time, what the GPU was measured to reach. Goes out: which
limit it is, how far away, and whether a time is too short to be true.

The model is the roofline's (S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
for multicore architectures", Communications of the ACM 52, 2009): no kernel is faster than its bytes at the bandwidth
of global memory, nor than its operations at the peak of the arithmetic units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.problem import Work
from grader.speed import duration

# Measured limits are known to a few percent; a time that far below the floor is more than noise.
FLOOR_MARGIN = 0.10


@dataclass(frozen=True)
class Peaks:
    """What a GPU was measured to reach: bytes read plus written per second by a copy, float32 operations per second.

    ``cache_bytes``: so many of the bytes that are written may still be in the cache when a kernel ends.
    """

    bytes_per_second: float
    operations_per_second: float
    cache_bytes: int


@dataclass(frozen=True)
class Roofline:
    """A time beside its floor. ``fraction`` is floor / time: 1 at the limit.

    ``least_ns`` is the floor if as much as fits stays in the cache, and never leaves it while the time is taken.
    """

    floor_ns: float
    least_ns: float
    limit: Literal["memory", "arithmetic"]
    fraction: float
    bytes_per_second: float
    operations_per_second: float

    @property
    def is_impossible(self) -> bool:
        """Whether the time is under the least by more than measurements err."""
        return self.fraction * self.least_ns > self.floor_ns * (1 + FLOOR_MARGIN)

    def sentence(self) -> str:
        """How far it is from which limit, for a report."""
        if self.limit == "memory":
            reached = f"{self.bytes_per_second / 1e9:,.0f} GB/s of the least traffic"
            what = "memory bandwidth"
        else:
            reached = f"{self.operations_per_second / 1e9:,.0f} GFLOP/s"
            what = "arithmetic"
        return f"{self.fraction:.0%} of the limit, which is {what} here ({reached}; floor {duration(self.floor_ns)})"


def roofline_of(work: Work, time_ns: float, peaks: Peaks) -> Roofline:
    """Where a call that took ``time_ns`` stands. Raises ValueError for times and peaks that are not above 0."""
    if min(time_ns, peaks.bytes_per_second, peaks.operations_per_second) <= 0:
        raise ValueError("a time and peaks are above 0")
    by_bytes = work.bytes / peaks.bytes_per_second * 1e9
    by_operations = work.operations / peaks.operations_per_second * 1e9
    floor = max(by_bytes, by_operations)
    to_memory = max(work.bytes - peaks.cache_bytes, 0) / peaks.bytes_per_second * 1e9
    return Roofline(
        floor,
        max(to_memory, by_operations),
        "memory" if by_bytes >= by_operations else "arithmetic",
        floor / time_ns,
        work.bytes / time_ns * 1e9,
        work.operations / time_ns * 1e9,
    )
