"""What a GPU reaches: bandwidth of a copy, float32 operations per second. Runs in the runner.

In: nothing. Out: two measured numbers. They are upper limits for any kernel, as far as one can be measured: the faster
of the driver's own copy of memory and of one in accesses of 16 bytes, and a kernel that does nothing but fused
multiply-adds in registers.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

from grader.vector_access import load4, store4

# Many times any cache, and a part of any GPU's memory.
COPY_BYTES = 512 << 20
REPEATS = 9
AT_ONCE = 10  # of the same, one after the other: what the host needs to ask for them is then not in their time
CHAINS = 8  # independent sums per thread: more than an addition takes in steps
UNROLLED = 16  # multiply-adds of each chain in a turn of the loop, whose own cost then counts for nothing
STEPS = 512
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 16
MS = 1e-3


def _multiply_add(out: Any, steps: Any, factor: Any) -> None:
    """``CHAINS`` chains of fused multiply-adds per thread; what they come to is kept only so that it is computed."""
    sums = cuda.local.array(CHAINS, float32)
    for k in range(CHAINS):
        sums[k] = float32(k)
    for _ in range(steps):
        for _ in range(UNROLLED):
            for k in range(CHAINS):
                sums[k] = sums[k] * factor + factor
    total = float32(0)
    for k in range(CHAINS):
        total += sums[k]
    if total == float32(-1):
        out[0] = total


def _copy(source: Any, target: Any) -> None:
    """``target[...] = source``, four elements at a time; their number is a multiple of four."""
    for i in range(4 * cuda.grid(1), source.size, 4 * cuda.gridsize(1)):
        store4(target, i, load4(source, i))


def measure_peaks() -> dict[str, float]:
    """Bytes read and written per second by a copy, float32 operations per second (a multiply-add counts two), and the
    size of the cache in bytes.
    """
    free, _ = cuda.current_context().get_memory_info()
    nbytes = min(COPY_BYTES, free // 4 // 16 * 16)
    source, target = (cuda.device_array(nbytes // 4, "f4") for _ in range(2))
    blocks = int(cuda.get_current_device().MULTIPROCESSOR_COUNT) * BLOCKS_PER_MULTIPROCESSOR
    copy = cuda.jit(_copy)
    copying = min(
        _seconds(lambda: target.copy_to_device(source)),
        _seconds(lambda: copy[nbytes // 16 // THREADS + 1, THREADS](source, target)),
        _seconds(lambda: copy[blocks, THREADS](source, target)),
    )
    kernel = cuda.jit(_multiply_add)
    out = cuda.device_array(1, "f4")
    adding = _seconds(lambda: kernel[blocks, THREADS](out, STEPS, float32(0.5)))
    operations = 2.0 * blocks * THREADS * STEPS * UNROLLED * CHAINS
    return {
        "bytes_per_second": 2 * nbytes / copying,
        "operations_per_second": operations / adding,
        "cache_bytes": int(cuda.get_current_device().L2_CACHE_SIZE),
    }


def _seconds(work: Any) -> float:
    """The shortest of some times: a limit is what was ever reached."""
    times = []
    for _ in range(REPEATS):
        start, end = cuda.event(timing=True), cuda.event(timing=True)
        start.record()
        for _ in range(AT_ONCE):
            work()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * MS / AT_ONCE)
    return float(min(times[1:]))  # the first compiles
