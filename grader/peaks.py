"""What this machine's GPU was measured to reach, measured once and kept. Trusted process.

In: a warm runner, what the GPU says of itself. Out: ``Peaks``. They are kept by GPU and driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.machine_cache import keep, read_kept
from grader.roofline import Peaks
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import measure_peaks
from grader.sandbox.warm_child import WarmChild

FILE = "peaks"
# Bytes and operations per second that a GPU can have. The slowest that Numba supports (a GT 1010 with DDR4) has some
# 4e10 and 8e11, the fastest (B200) 8e12 and 8e13: a tenth and a hundred times of these leave room for what comes.
POSSIBLE = ((4e9, 8e14), (8e10, 8e15))
LARGEST_CACHE = 1 << 34


def peaks_of(child: WarmChild, gpu: Mapping[str, Any], uuid: str, limits: Limits, *, doubted: bool = False) -> Peaks:
    """The peaks of the machine's GPU. Raises errors.Fault where they must be measured and cannot.

    ``doubted``: something was faster, so they are measured again; of two measurements the larger number is the peak.
    """
    key = f"{gpu['name']} {uuid} driver {gpu.get('driver', '')}"
    known = read_kept(FILE, Peaks).get(key)
    if known is not None and not _is_possible(known):
        known = None  # a race against such a peak could not be judged
    if known is not None and not doubted:
        return known
    now = measure_peaks(child, limits)
    before = known or now
    peaks = Peaks(
        max(now.bytes_per_second, before.bytes_per_second),
        max(now.operations_per_second, before.operations_per_second),
        now.cache_bytes,
    )
    keep(FILE, Peaks, key, peaks)
    return peaks


def _is_possible(peaks: Peaks) -> bool:
    speeds = peaks.bytes_per_second, peaks.operations_per_second
    fits = (low <= speed <= high for speed, (low, high) in zip(speeds, POSSIBLE, strict=True))
    return all(fits) and 0 <= peaks.cache_bytes <= LARGEST_CACHE
