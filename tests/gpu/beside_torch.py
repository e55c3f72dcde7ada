"""Fast references beside PyTorch, in one process, on the same arrays. Needs a GPU and PyTorch."""

# mypy: ignore-errors
from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import torch
from numba import cuda, float32

from grader.assignment_folder import import_by_path
from grader.speed import Timing, duration, timing_of

SOLUTIONS = Path(__file__).parents[2] / "solutions"
RUNS = 25
# Written before each run: more than any cache, and several times, since Numba's host may need half a millisecond for
# each launch: what is timed must be waiting when the GPU comes to it.
FLUSH_BYTES = 2 << 30
FLUSHES = 6


def timed(work, flush) -> Timing:
    """``work``'s time by events, with a cold cache, after one run that is not counted."""
    times = []
    for _ in range(RUNS + 1):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(FLUSHES):
            flush.zero_()
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e6)
    return timing_of(times[1:])


def comparisons() -> Iterator[tuple[str, Timing, Timing]]:
    """Call, the fast reference's timing, PyTorch's best. Raises AssertionError where results are not close."""
    torch.backends.cuda.matmul.allow_tf32 = False
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for make in (vector_add, reduce_sum, matmul, softmax, attention, attention_of_eight_heads):
        call, ours, theirs = make()
        yield call, timed(ours, flush), min((timed(one, flush) for one in theirs), key=lambda timing: timing.median_ns)


def random(*shape):
    """Standard normal float32 numbers, and Numba's view of them."""
    array = torch.randn(*shape, device="cuda")
    return array, cuda.as_cuda_array(array)


def close(found, wanted) -> None:
    """Raise AssertionError unless it is about the same."""
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-3)


def fast(number: str):
    """solutions/NN/fast.py."""
    return import_by_path(SOLUTIONS / number / "fast.py")


def vector_add():
    """2^27 elements."""
    add = fast("01").vector_add
    (a, va), (b, vb), (out, vout) = (random(1 << 27) for _ in range(3))
    add(va, vb, vout)
    close(out, a + b)
    return "vector_add(n=2^27)", lambda: add(va, vb, vout), [lambda: torch.add(a, b, out=out)]


def reduce_sum():
    """2^28 elements, and setting out to zero first, which is part of the work.

    PyTorch sets it, without waiting, as a race's plan does: Numba's ``out[:] = 0`` waits for the GPU.
    """
    module = fast("02")
    (x, vx), (out, vout) = random(1 << 28), random(1)

    def ours():
        out.zero_()
        module.sum_kernel[module.blocks_for(x.numel()), module.THREADS](vx, vout)

    ours()
    torch.testing.assert_close(out[0].double(), x.double().sum(), rtol=0, atol=1.0)
    return "reduce_sum(n=2^28)", ours, [lambda: torch.sum(x)]


def matmul():
    """4096 x 4096 x 4096."""
    multiply = fast("03").matmul
    (a, va), (b, vb), (out, vout) = (random(4096, 4096) for _ in range(3))
    multiply(va, vb, vout)
    close(out, a @ b)
    return "matmul(m=4096, k=4096, n=4096)", lambda: multiply(va, vb, vout), [lambda: torch.mm(a, b, out=out)]


def softmax():
    """4096 rows of 4096."""
    module = fast("04")
    (x, vx), (out, vout) = (random(4096, 4096) for _ in range(2))
    module.softmax(vx, vout)
    close(out, torch.softmax(x, 1))
    return "softmax(rows=4096, cols=4096)", lambda: module.softmax(vx, vout), [lambda: torch.softmax(x, 1)]


def attention(heads: int = 1, n: int = 4096, d: int = 64):
    """One head of 4096 queries."""
    module = fast("04")
    (q, vq), (k, vk), (v, vv), (out, vout) = (random(heads, n, d) for _ in range(4))
    parts, tiles, scale = module.parts_for(heads, n), n // module.QUERIES, float32(1 / math.sqrt(d))
    (_, sums), (_, stats) = random(parts, heads, n, d), random(parts, heads, n, 2)
    fused = torch.nn.functional.scaled_dot_product_attention

    def ours():
        module.attention_part_kernel[(tiles, parts, heads), module.WORKERS](vq, vk, vv, sums, stats, scale, False)
        module.combine_kernel[(n // module.TILE, heads), (d // 4, module.TILE)](sums, stats, vout)

    def unfused():
        return torch.softmax(q @ k.transpose(1, 2) / math.sqrt(d), -1) @ v

    ours()
    close(out, unfused())
    return f"attention(heads={heads}, n={n}, d={d})", ours, [lambda: fused(q, k, v), unfused]


def attention_of_eight_heads():
    """The same with more to do."""
    return attention(heads=8)


def main() -> None:
    """A table."""
    print(f"| call | fast.py | PyTorch {torch.__version__} | speed as a share of PyTorch's |")
    print("| --- | --- | --- | --- |")
    for call, *timings in comparisons():
        ours, theirs = (f"{duration(t.median_ns)} ({duration(t.low_ns)} to {duration(t.high_ns)})" for t in timings)
        print(f"| `{call}` | {ours} | {theirs} | {timings[1].median_ns / timings[0].median_ns:.1%} |", flush=True)


if __name__ == "__main__":
    main()
