"""How fast is a kernel, and how much of the points does that earn? Pure, in the trusted process.

Comes in: times of runs whose outputs were right, in nanoseconds: of the submission, of the reference, of the CPU
baseline; course.yml's numbers. Goes out: medians and how well they are known, a speed-up, a credit, a Failure.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.records import Failure

# A median counts as known when its 95 % interval reaches no further than this from it, to either side.
KNOWN_TO = 0.02
CONFIDENCE = 0.95
# Two halves of a series whose medians differ by more than this, and by more than chance, are two different machines.
DRIFT = 0.05
# The readable reference must clear the minimum by this factor, or the minimum asks too much of this machine.
REFERENCE_MARGIN = 1.5


@dataclass(frozen=True)
class Timing:
    """The median of a series of times, in nanoseconds, with the interval in which it lies with 95 % confidence.

    ``low_ns`` is 0 and ``high_ns`` infinite where there are too few times for an interval.
    """

    median_ns: float
    low_ns: float
    high_ns: float
    runs: int

    @property
    def spread(self) -> float:
        """How far the interval reaches from the median, as a fraction of it, to the farther side."""
        return max(self.high_ns - self.median_ns, self.median_ns - self.low_ns) / self.median_ns

    @property
    def is_known(self) -> bool:
        """Whether the median is known to ``KNOWN_TO``."""
        return self.spread <= KNOWN_TO


def timing_of(times: Sequence[float]) -> Timing:
    """The median of ``times`` (at least one, each above 0) and its interval.

    The interval is that between two of the times in their order, which needs no assumption about how times are
    distributed: the median lies outside only if all too many of them fell on one side of it, and that is a binomial
    probability (W. J. Conover, "Practical Nonparametric Statistics", 3rd edition, section 3.2). It takes six times.
    """
    ordered = sorted(times)
    count = len(ordered)
    left_out = _left_out(count)
    low, high = (ordered[left_out - 1], ordered[count - left_out]) if left_out else (0.0, math.inf)
    return Timing(statistics.median(ordered), low, high, count)


def _left_out(count: int) -> int:
    """The largest k so that the k-th smallest and the k-th largest of ``count`` values enclose the median; 0: none."""
    tail, k = 0.0, 0
    while True:
        tail += math.comb(count, k) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            return k
        k += 1


def drift_of(times: Sequence[float]) -> float:
    """By what fraction the second half of a series is slower (above 0) or faster than the first; 0 within chance."""
    half = len(times) // 2
    first, second = timing_of(times[:half] or times), timing_of(times[-half:] or times)
    change = second.median_ns / first.median_ns - 1
    apart = first.high_ns < second.low_ns or second.high_ns < first.low_ns
    return change if apart and abs(change) > DRIFT else 0.0


def full_speedup(min_speedup: float, full_at: float, reference_speedup: float) -> float:
    """The speed-up that earns full points: ``full_at`` of the reference's, and never less than the minimum."""
    return max(min_speedup, full_at * reference_speedup)


def credit_of(speedup: float, min_speedup: float, full: float) -> float:
    """The fraction of the points, 0 to 1, that a speed-up over the CPU baseline earns.

    None below ``min_speedup``, all from ``full`` on. In between log(speedup / min_speedup) / log(full / min_speedup):
    each doubling of the speed earns as much as the one before. Where nothing is asked for (both are 0), any speed earns
    all. Raises ValueError for full points above a minimum that is not above 0.
    """
    if min_speedup <= 0 < full:
        raise ValueError(f"a minimum above 0 is needed for points that grow up to {full:g}, found {min_speedup:g}")
    if speedup < min_speedup:
        return 0.0
    if speedup >= full:
        return 1.0
    return math.log(speedup / min_speedup) / math.log(full / min_speedup)


def bonus_credit_of(speedup: float, full: float, bonus_at: float, reference_speedup: float) -> float:
    """The fraction of the bonus, 0 to 1, of a speed-up: none below ``full``, all at ``bonus_at`` of the reference's.

    In between as ``credit_of``.
    """
    return credit_of(speedup, full, max(full, bonus_at * reference_speedup))


def asks_too_much(reference_speedup: float, min_speedup: float) -> str:
    """Why the minimum can't be asked for on this machine, where not even the reference is well above it; else ""."""
    if reference_speedup >= REFERENCE_MARGIN * min_speedup:
        return ""
    return (
        f"on this machine the reference reaches {times(reference_speedup)} the CPU baseline's speed, less than "
        f"{REFERENCE_MARGIN:g} times the minimum of {min_speedup:g}"
    )


def too_slow(speedup: float, min_speedup: float, call: str, advice: str) -> Failure | None:
    """The failure of a kernel that is slower than the minimum, or None."""
    if speedup >= min_speedup:
        return None
    return Failure(
        "too-slow",
        f"The result is right, but the kernels are too slow: {times(speedup)} the CPU baseline's speed.",
        expected=f"at least {min_speedup:g} times",
        found=f"{times(speedup)}",
        where=call,
        advice=advice,
    )


def times(factor: float) -> str:
    """A factor as a person says it: "2.7 times", "0.031 times", "310 times"."""
    if factor <= 0:
        return "0 times"
    digits = max(0, 1 - math.floor(math.log10(factor)))
    return f"{factor:,.{digits}f} times"


def duration(nanoseconds: float) -> str:
    """A time as a person says it, in three digits: "13.2 ms", "840 µs", "2.10 s"."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)):
        if nanoseconds >= size or size == 1.0:
            value = nanoseconds / size
            digits = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("there is a smallest unit")
