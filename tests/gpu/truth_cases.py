"""Small kernels whose memory traffic a profiler measures and the simulator predicts.

As a script it launches each once, in order, for ncu to look at: ``python truth_cases.py``. A case says which counters a
compiler may change, and why; all others must be equal.
"""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda, float32, float64, int32

from grader.vector_access import load4, store4

T = 32
PADDED = 33
TILE = 16
N = 1 << 15


@dataclass(frozen=True)
class Case:
    """One launch. ``arrays`` makes its arguments; ``differs``: counters a compiler changes, with the reason."""

    kernel: Callable[..., Any]
    grid: Any
    block: Any
    arguments: Callable[[], list[Any]]
    shared: int = 0
    differs: dict[str, str] = field(default_factory=dict)
    exact: bool = True  # outputs equal bit for bit
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.kernel.__name__


def _f(*shape, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _pair(n=N, dtype=np.float32):
    return lambda: [_f(n, dtype=dtype), np.zeros(n, dtype)]


def _square(n=256, dtype=np.float32):
    return lambda: [_f(n, n, dtype=dtype), np.zeros((n, n), dtype)]


# ---------------------------------------------------------------------------- global memory


def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


def strided(x, out, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * stride]


def misaligned(x, out, by):
    i = cuda.grid(1)
    if i + by < x.size:
        out[i] = x[i + by]


def backwards(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[out.size - 1 - i] = x[i]


def one_for_all(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[cuda.blockIdx.x]


def gather(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]


def scatter(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[index[i]] = x[i]


def every_third(x, out):
    i = cuda.grid(1)
    if i < out.size and i % 3 == 0:
        out[i] = x[i]


def by_row(x, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


def by_column(x, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


def transpose(x, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[j, i]


def volume(x, out):
    k, j, i = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = x[i, j, k]


def grid_stride(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i]


def gray(image, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        total = int32(image[y, x, 0]) + int32(image[y, x, 1]) + int32(image[y, x, 2])
        out[y, x] = total // 3


def axpy(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = alpha * x[i] + y[i]


def product(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i]


def quotient(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] / y[i]


def stencil(x, out):
    i = cuda.grid(1)
    if i > 0 and i < out.size - 1:
        out[i] = x[i - 1] + x[i] + x[i + 1]


def particles(p, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = p[i].x + p[i].z


def integers(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] * y[i] + 7) // 3 % 11 - (x[i] << 2) ^ y[i]


def matmul(a, b, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        out[row, col] = total


def copy_fours(x, out):
    i = 4 * cuda.grid(1)
    if i + 3 < out.size:
        store4(out, i, load4(x, i))


def strided_fours(x, out, stride):
    i = cuda.grid(1)
    if 4 * i + 3 < out.size:
        store4(out, 4 * i, load4(x, stride * i))


def gather_fours(x, index, out):
    i = cuda.grid(1)
    if 4 * i + 3 < out.size:
        store4(out, 4 * i, load4(x, 4 * index[i]))


def rows_of_fours(x, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and 4 * j + 3 < out.shape[1]:
        store4(out, (i, 4 * j), load4(x, (i, 4 * j)))


# ---------------------------------------------------------------------------- shared memory


def shared_fours(out, stride):
    tile = cuda.shared.array(4096, float32)
    t = cuda.threadIdx.x
    store4(tile, stride * t, (t, t + 1, t + 2, t + 3))
    cuda.syncthreads()
    store4(out, 4 * cuda.grid(1), load4(tile, stride * t))


def shared_fours_gather(index, out):
    tile = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    store4(tile, 4 * t, (t, t, t, t))
    cuda.syncthreads()
    store4(out, 4 * i, load4(tile, 4 * index[i]))


def shared_fours_of_one_for_all(out):
    tile = cuda.shared.array((8, 4), float32)
    t = cuda.threadIdx.x
    if t < 8:
        store4(tile, (t, 0), (t, t, t, t))
    cuda.syncthreads()
    store4(out, 4 * cuda.grid(1), load4(tile, (t // 32, 0)))


def tiled_transpose(x, out):
    tile = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * T + ty, cuda.blockIdx.y * T + tx] = tile[tx, ty]


def padded_transpose(x, out):
    tile = cuda.shared.array((T, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * T + ty, cuda.blockIdx.y * T + tx] = tile[tx, ty]


def transpose_of_doubles(x, out):
    tile = cuda.shared.array((TILE, TILE), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]


def small_transpose(x, out):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]


def shared_gather(index, out):
    tile = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = t
    cuda.syncthreads()
    out[i] = tile[index[i]]


def shared_doubles(index, out):
    tile = cuda.shared.array(1024, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = t
    cuda.syncthreads()
    out[i] = tile[index[i]]


def shared_bytes(index, out):
    tile = cuda.shared.array(1024, np.uint8)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = t
    cuda.syncthreads()
    out[i] = tile[index[i]]


def reduction(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


def interleaved_reduction(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 256:
        k = 2 * step * t
        if k < 256:
            tile[k] += tile[k + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


def tiled_matmul(a, b, out):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        sa[ty, tx] = a[row, t * TILE + tx]
        sb[ty, tx] = b[t * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    out[row, col] = total


def dynamic(x, out):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[cuda.blockDim.x - 1 - t]


# ---------------------------------------------------------------------------- atomics, warps, divergence


def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)


def shared_histogram(x, bins):
    mine = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    if t < 128:
        mine[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    if t < 128:
        cuda.atomic.add(bins, t, mine[t])


def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


def parting(x, out):
    i = cuda.grid(1)
    value = x[i]
    if i % 2:
        for k in range(value % 5):
            value += k * x[k]
    out[i] = value


PARTICLE = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32), ("w", np.float32)])


def _particles():
    p = np.zeros(N, PARTICLE)
    for name in "xyzw":
        p[name] = _f(N)
    return [p, np.zeros(N, np.float32)]


def _index(n=N, of=N, seed=1):
    return np.random.default_rng(seed).integers(0, of, n)


VECTORISED = "the compiler reads several neighbouring elements of an unrolled loop with one instruction"
UNROLLED = "lanes that leave an unrolled loop early do their last turns apart from the others"
READ_ONCE = "the compiler reads an element once that the source reads twice, with no write in between"
WHOLE_RECORD = "Numba's compiled code reads all fields of a record where the source asks for one"
PASSES = "a GPU serves atomics of one warp on one address in several passes, and counts their sectors each time"
CASES = [
    Case(copy, 128, 256, _pair()),
    Case(copy, 128, 256, _pair(N - 77), name="copy of a ragged size"),
    Case(copy, N // 48 + 1, 48, _pair(), name="copy by blocks of 48"),
    Case(copy, 128, 256, _pair(dtype=np.float64), name="copy of float64"),
    Case(copy, 128, 256, _pair(dtype=np.uint8), name="copy of uint8"),
    Case(copy, 128, 256, _pair(dtype=np.int16), name="copy of int16"),
    Case(copy, 128, 256, _pair(dtype=np.complex64), name="copy of complex64"),
    Case(copy, 128, 256, _pair(dtype=np.complex128), name="copy of complex128"),
    Case(strided, 128, 256, lambda: [_f(2 * N), np.zeros(N, np.float32), 2], name="stride 2"),
    Case(strided, 128, 256, lambda: [_f(32 * N), np.zeros(N, np.float32), 32], name="stride 32"),
    Case(misaligned, 128, 256, lambda: [_f(N), np.zeros(N, np.float32), 1], name="misaligned by 1"),
    Case(misaligned, 128, 256, lambda: [_f(N), np.zeros(N, np.float32), 5], name="misaligned by 5"),
    Case(backwards, 128, 256, _pair()),
    Case(one_for_all, 128, 256, _pair()),
    Case(gather, 128, 256, lambda: [_f(N), _index(), np.zeros(N, np.float32)]),
    Case(scatter, 128, 256, lambda: [_f(N), np.random.default_rng(2).permutation(N), np.zeros(N, np.float32)]),
    Case(every_third, 128, 256, _pair()),
    Case(by_row, (16, 16), (16, 16), _square()),
    Case(by_row, (8, 32), (32, 8), _square(251), name="by_row of a ragged size"),
    Case(by_column, (16, 16), (16, 16), _square()),
    Case(transpose, (8, 8), (32, 32), _square()),
    Case(volume, (8, 8, 8), (8, 4, 4), lambda: [_f(30, 31, 61), np.zeros((30, 31, 61), np.float32)]),
    Case(
        grid_stride,
        32,
        128,
        _pair(N - 5),
        differs=dict.fromkeys(
            ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors"), UNROLLED
        ),
    ),
    Case(grid_stride, 32, 128, _pair(), name="grid_stride of whole turns"),
    Case(gray, (20, 30), (16, 8), lambda: [_f(233, 310, 3, dtype=np.uint8), np.zeros((233, 310), np.uint8)]),
    Case(axpy, 128, 256, lambda: [np.float32(1.7), _f(N), _f(N, seed=1), np.zeros(N, np.float32)], exact=False),
    Case(product, 128, 256, lambda: [_f(N), _f(N, seed=1), np.zeros(N, np.float32)]),
    Case(quotient, 128, 256, lambda: [_f(N), _f(N, seed=1), np.zeros(N, np.float32)]),
    Case(stencil, 128, 256, _pair()),
    Case(
        particles,
        128,
        256,
        _particles,
        differs=dict.fromkeys(("global_load_requests", "global_load_sectors"), WHOLE_RECORD),
    ),
    Case(
        integers,
        128,
        256,
        lambda: [_f(N, dtype=np.int32), _f(N, dtype=np.int64, seed=1), np.zeros(N, np.int64)],
        differs=dict.fromkeys(("global_load_requests", "global_load_sectors"), READ_ONCE),
    ),
    Case(
        matmul, (4, 4), (16, 16), lambda: [_f(64, 64), _f(64, 64, seed=1), np.zeros((64, 64), np.float32)], exact=False
    ),
    Case(tiled_transpose, (8, 8), (32, 32), _square()),
    Case(padded_transpose, (8, 8), (32, 32), _square()),
    Case(transpose_of_doubles, (8, 8), (16, 16), _square(128, np.float64)),
    Case(small_transpose, (8, 8), (16, 16), _square(128)),
    Case(shared_gather, 8, 1024, lambda: [_index(8192, 1024), np.zeros(8192, np.float32)]),
    Case(shared_doubles, 8, 1024, lambda: [_index(8192, 1024), np.zeros(8192, np.float64)]),
    Case(shared_bytes, 8, 1024, lambda: [_index(8192, 1024), np.zeros(8192, np.uint8)]),
    Case(reduction, 64, 256, lambda: [_f(64 * 256), np.zeros(64, np.float32)]),
    Case(interleaved_reduction, 64, 256, lambda: [_f(64 * 256), np.zeros(64, np.float32)]),
    Case(
        tiled_matmul,
        (8, 8),
        (16, 16),
        lambda: [_f(128, 128), _f(128, 128, seed=1), np.zeros((128, 128), np.float32)],
        differs={"shared_load_requests": VECTORISED},
        exact=False,
    ),
    Case(copy_fours, 32, 256, _pair()),
    Case(copy_fours, 32, 256, _pair(N - 75), name="copy_fours of a ragged size"),
    Case(strided_fours, 32, 256, lambda: [_f(2 * N), np.zeros(N, np.float32), 8], name="fours, stride 8"),
    Case(strided_fours, 32, 256, lambda: [_f(9 * N), np.zeros(N, np.float32), 36], name="fours, stride 36"),
    Case(gather_fours, 32, 256, lambda: [_f(N), _index(N // 4, N // 4), np.zeros(N, np.float32)]),
    Case(rows_of_fours, (2, 32), (32, 8), lambda: [_f(251, 244), np.zeros((251, 244), np.float32)]),
    *(
        Case(shared_fours, 16, 64, lambda s=s: [np.zeros(4096, np.float32), s], name=f"shared_fours, stride {s}")
        for s in (4, 8, 12, 16, 32, 36, 64)
    ),
    Case(shared_fours_gather, 16, 256, lambda: [_index(4096, 256), np.zeros(16384, np.float32)]),
    Case(shared_fours_of_one_for_all, 16, 256, lambda: [np.zeros(16384, np.float32)]),
    Case(dynamic, 64, 256, _pair(64 * 256), shared=1024),
    Case(
        histogram,
        128,
        256,
        lambda: [_index(N, 128), np.zeros(128, np.int64)],
        differs={"global_atomic_sectors": PASSES},
    ),
    Case(shared_histogram, 128, 256, lambda: [_index(N, 128), np.zeros(128, np.int32)]),
    Case(warp_sum, 64, 256, lambda: [_f(64 * 256), np.zeros(512, np.float32)]),
    Case(parting, 64, 256, lambda: [_f(64 * 256, dtype=np.int64), np.zeros(64 * 256, np.int64)]),
]


def run_on_gpu(case: Case) -> list[np.ndarray]:
    """The arrays of a case after one launch."""
    arguments = case.arguments()
    device = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arguments]
    cuda.jit(case.kernel)[case.grid, case.block, 0, case.shared](*device)
    cuda.synchronize()
    return [d.copy_to_host() for d, a in zip(device, arguments, strict=True) if isinstance(a, np.ndarray)]


if __name__ == "__main__":
    for each in CASES:
        run_on_gpu(each)
