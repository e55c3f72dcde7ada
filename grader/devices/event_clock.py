"""Times work on a GPU with the GPU's own events. Runs in the runner.

In: how to make events, a cache to empty, how to wait for the GPU; work. Out: a ``Clock`` per piece of work.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from grader.clocks import Clock
from grader.devices.cold_cache import ColdCache

MS = 1_000_000  # nanoseconds; events count milliseconds
# The cache is overwritten this often before a run, at least and at most.
FLUSHES = 2
MAX_FLUSHES = 400
FLUSHING_OVER_ASKING = 4


class EventClock:
    """Before each piece of work the cache is emptied, and that takes long enough for the host to ask for all of it.

    So what the host needs to launch a kernel is not in the time, unless the work waits for the GPU in between: then the
    GPU has nothing to do until the host has asked for more. Nor is a wait part of the host's asking.
    """

    def __init__(self, event: Callable[..., Any], cache: ColdCache, wait: Callable[[], None]) -> None:
        """``event(timing=True)`` makes an event, ``wait()`` waits for all that the GPU was asked for."""
        self._event = event
        self._cache = cache
        self._wait = wait
        self._flushes = FLUSHES
        self._waited_ns = 0

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Around what waits for the GPU in work that is timed."""
        began = time.perf_counter_ns()
        try:
            yield
        finally:
            self._waited_ns += time.perf_counter_ns() - began

    def time(self, work: Callable[[], None]) -> Clock:
        """Time ``work``, which asks the GPU for operations.

        The events are of the legacy default stream, which begins after all that was asked for before, in any stream,
        and ends after it (CUDA C++ Programming Guide, "Default Stream"; Numba's streams are blocking ones).
        """
        before, written, start, end = (self._event(timing=True) for _ in range(4))
        self._wait()
        began = time.perf_counter_ns()
        before.record()
        self._cache.overwrite(self._flushes)
        written.record()
        busy = time.perf_counter_ns()
        self._cache.clean()
        start.record()
        asked = time.perf_counter_ns()
        self._waited_ns = 0
        work()
        end.record()
        queued = time.perf_counter_ns() - self._waited_ns
        self._wait()
        wall = time.perf_counter_ns() - began
        # As often the next time as the GPU is busy with for several times as long as the host needed after it.
        once = max(before.elapsed_time(written) * MS, 1) / self._flushes
        self._flushes = min(max(FLUSHES, math.ceil(FLUSHING_OVER_ASKING * (queued - busy) / once)), MAX_FLUSHES)
        return Clock(
            int(start.elapsed_time(end) * MS), queued - asked, wall, max(int(before.elapsed_time(start) * MS), 1)
        )
