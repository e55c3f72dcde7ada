"""Right kernels pass in whatever style they are written: factories, closures, scratch memory, views, streams."""

from __future__ import annotations

import pytest

HOST = "\ndef scale(x, factor, out, bumped):\n    shift = float32(1.0) if bumped else float32(0.0)\n"
GRID = "[(x.size + 63) // 64, 64]"

STYLES = {
    "a kernel from a factory with a closure": """
def make(step):
    @cuda.jit
    def kernel(x, factor, out, shift):
        for i in range(cuda.grid(1), out.size, step):
            out[i] = factor * x[i] + shift
    return kernel

def scale(x, factor, out, bumped):
    make(4 * 64)[4, 64](x, factor, out, float32(1.0) if bumped else float32(0.0))
""",
    "two kernels of one factory": """
def make(offset):
    @cuda.jit
    def kernel(x, factor, out, shift):
        i = 2 * cuda.grid(1) + offset
        if i < out.size:
            out[i] = factor * x[i] + shift
    return kernel

EVEN, ODD = make(0), make(1)

def scale(x, factor, out, bumped):
    shift = float32(1.0) if bumped else float32(0.0)
    for kernel in (EVEN, ODD):
        kernel[(x.size + 63) // 64, 64](x, factor, out, shift)
""",
    "device functions, one nested in another, and njit": """
from numba import njit

@njit
def times(a, b):
    return a * b

@cuda.jit(device=True, inline="always")
def plus(a, b):
    return a + b

@cuda.jit(device=True)
def both(a, b, c):
    return plus(times(a, b), c)

@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = both(factor, x[i], shift)
"""
    + HOST
    + f"    kernel{GRID}(x, factor, out, shift)\n",
    "module constants, tuples and small arrays": """
THREADS = 64
SIGNS = (1.0, -1.0)
TABLE = np.array([[2.0, 0.5], [4.0, 0.25]], dtype=np.float32)

@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        k = i % 2
        out[i] = factor * x[i] * TABLE[k, 0] * TABLE[k, 1] * float32(SIGNS[1]) * float32(SIGNS[1]) + shift
"""
    + HOST
    + "    kernel[math.ceil(x.size / THREADS), THREADS](x, factor, out, shift)\n",
    "scratch memory, fills, copies and views": """
@cuda.jit
def multiply(x, factor, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = factor * x[i]

@cuda.jit
def add(y, z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = y[i, 1] + z[i]
"""
    + HOST
    + f"""
    y = cuda.device_array((x.shape[0], 3), dtype=np.float32)
    z = cuda.device_array_like(x)
    z[:] = 0.0
    z[: x.size // 2] = shift
    z[x.size // 2 :].copy_to_device(cuda.to_device(np.full(x.size - x.size // 2, shift)))
    multiply{GRID}(x, factor, y[:, 1])
    add{GRID}(y, z, out)
""",
    "four elements at a time": """
from grader.vector_access import load4, store4

@cuda.jit
def kernel(x, factor, out, shift):
    i = 4 * cuda.grid(1)
    if i + 3 < out.size:
        a, b, c, d = load4(x, i)
        store4(out, i, (factor * a + shift, factor * b + shift, factor * c + shift, factor * d + shift))
    else:
        for k in range(i, out.size):
            out[k] = factor * x[k] + shift
"""
    + HOST
    + f"    kernel{GRID}(x, factor, out, shift)\n",
    "streams, events and synchronisation": """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + shift
"""
    + HOST
    + """
    stream = cuda.stream()
    kernel[(x.size + 63) // 64, 64, stream](x, factor, out, shift)
    event = cuda.event()
    event.record(stream)
    event.synchronize()
    stream.synchronize()
    cuda.synchronize()
""",
    "attributes of the device choose the grid": """
@cuda.jit
def kernel(x, factor, out, shift):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = factor * x[i] + shift
"""
    + HOST
    + """
    gpu = cuda.get_current_device()
    kernel[2 * gpu.MULTIPROCESSOR_COUNT, gpu.MAX_THREADS_PER_BLOCK // 4](x, factor, out, shift)
""",
    "imports inside functions, aliases, names from numba.cuda": """
import numba as nb
from numba import cuda as gpu
from numba.cuda import grid as where

@gpu.jit("void(float32[:], float32, float32[:], float32)", fastmath=False, lineinfo=True)
def kernel(x, factor, out, shift):
    i = where(1)
    if i < out.shape[0]:
        out[i] = nb.float32(factor * x[i]) + shift
"""
    + HOST
    + f"    from numba import cuda as c\n    c.synchronize()\n    kernel{GRID}(x, factor, out, shift)\n",
    "forall": """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + shift
"""
    + HOST
    + "    kernel.forall(x.size)(x, factor, out, shift)\n",
    "two dimensions and shared memory": """
@cuda.jit
def kernel(x, factor, out, shift):
    tile = cuda.shared.array((4, 16), float32)
    row, col = cuda.threadIdx.y, cuda.threadIdx.x
    i = (cuda.blockIdx.y * 4 + row) * 16 + col
    tile[row, col] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    if i < out.size:
        out[i] = factor * tile[row, col] + shift
"""
    + HOST
    + "    kernel[(1, (x.size + 63) // 64), (16, 4)](x, factor, out, shift)\n",
    "dynamic shared memory": """
@cuda.jit
def kernel(x, factor, out, shift):
    tile = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    if i < out.size:
        out[i] = factor * tile[cuda.threadIdx.x] + shift
"""
    + HOST
    + "    kernel[(x.size + 63) // 64, 64, 0, 64 * 4](x, factor, out, shift)\n",
    "a reshaped output and transposed views": """
@cuda.jit
def kernel(x, factor, out, shift):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = factor * x[i, j] + shift
"""
    + HOST
    + "    kernel[(x.size, 1), (1, 1)](x.reshape(x.size, 1), factor, out.reshape((out.size, 1)), shift)\n",
    "a fused multiply-add and more precise arithmetic": """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = cuda.fma(factor, x[i], shift) if i % 2 else np.float64(factor) * x[i] + shift
"""
    + HOST
    + f"    kernel{GRID}(x, factor, out, shift)\n",
    "asserts, prints and an exception that is not raised": """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    assert i >= 0, "never"
    if i < 0:
        raise ValueError("never")
    if i == 0:
        print("thread", i, x[i])
    if i < out.size:
        out[i] = factor * x[i] + shift
"""
    + HOST
    + f"    print('launching')\n    kernel{GRID}(x, factor, out, shift)\n    return out\n",
    "a local array and nested loops": """
@cuda.jit
def kernel(x, factor, out, shift):
    parts = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i >= out.size:
        return
    for k in range(4):
        parts[k] = x[i] / 4
    total = float32(0)
    for part in parts:
        total += part
    out[i] = factor * total + shift
"""
    + HOST
    + f"    kernel{GRID}(x, factor, out, shift)\n",
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("n", [1, 97, 1000])
def test_right_code_passes(candidate, style, n):
    judge = candidate(STYLES[style])
    judge.check("scale", n=n)
    judge.check("scale", n=n, bumped=True)
    assert [finding for finding in judge.findings if finding.severity.value == "error"] == []


def test_large_scratch_memory_and_small_elements_cost_no_verdict(candidate):
    """Bytes in shared memory have shadows many times their size; so has a large array that is hardly touched."""
    small = """
@cuda.jit
def kernel(x, factor, out, shift):
    s = cuda.shared.array(48 * 1024, np.uint8)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = t
    cuda.syncthreads()
    if i < out.size:
        out[i] = factor * x[i] + shift + (s[t] - t)

def scale(x, factor, out, bumped):
    kernel[(x.size + 31) // 32, 32](x, factor, out, np.float32(1) if bumped else np.float32(0))
"""
    large = """
@cuda.jit
def kernel(x, factor, out, shift, scratch):
    i = cuda.grid(1)
    if i < out.size:
        scratch[i] = factor * x[i]
        out[i] = scratch[i] + shift

def scale(x, factor, out, bumped):
    for scratch in [cuda.device_array(25_000_000, np.float32) for _ in range(5)]:
        kernel[(x.size + 63) // 64, 64](x, factor, out, float32(1) if bumped else float32(0), scratch)
"""
    candidate(small).check("scale", n=65536)
    candidate(large).check("scale", n=100)
