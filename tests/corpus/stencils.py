"""Stencils: each element from its neighbours."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, float64

T = 64
RADIUS = 3
WIDE = T + 2 * RADIUS


def blur(x, out):
    """A tile with a halo on both sides; zeros beyond the ends."""
    s = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + RADIUS] = x[i] if i < x.size else float32(0)
    if t < RADIUS:
        # wrong: if t < RADIUS - 1: -> uninitialised-read on s at: total += s[t + k]
        left, right = i - RADIUS, i + T
        s[t] = x[left] if left >= 0 else float32(0)
        s[t + T + RADIUS] = x[right] if right < x.size else float32(0)
        # wrong: s[t + T + RADIUS] = x[right] -> out-of-bounds on x
        # wrong: s[t + T] = x[right] if right < x.size else float32(0) -> race on s
    cuda.syncthreads()
    # wrong: pass -> race on s at: total += s[t + k]
    # wrong: cuda.syncwarp() -> race on s at: total += s[t + k]
    total = float32(0)
    for k in range(2 * RADIUS + 1):
        # wrong: for k in range(2 * RADIUS + 2): -> out-of-bounds on s at: total += s[t + k]
        total += s[t + k]
    if i < x.size:
        out[i] = total / float32(2 * RADIUS + 1)


def run_blur(bench):
    x = bench.rng.random(300).astype(np.float32)
    out = bench.device_array(300, np.float32)
    bench.launch(blur, 5, T, x, out)
    return [(out, np.convolve(x, np.ones(7) / 7, "same"))]


def jacobi(old, new):
    i, j = cuda.grid(2)
    if 0 < i < old.shape[0] - 1 and 0 < j < old.shape[1] - 1:
        # wrong: if i < old.shape[0] - 1 and 0 < j < old.shape[1]: -> out-of-bounds on old at: new[i, j] = 0.25
        new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


def run_jacobi(bench):
    a = bench.rng.random((33, 30))
    b, expected = a.copy(), a.copy()
    for _ in range(4):
        bench.launch(jacobi, (5, 4), (8, 8), a, b)
        # wrong: bench.launch(jacobi, (5, 4), (8, 8), a, a) -> race at: new[i, j] = 0.25
        a, b = b, a
        old = expected.copy()
        expected[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
    return [(a, expected)]


def red_black(x, colour):
    """Gauss-Seidel: one launch per colour, in place."""
    i, j = cuda.grid(2)
    if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
        mine = (i + j) % 2 == colour
        # wrong: mine = i % 2 == colour -> race on x at: x[i, j] = 0.25
        if mine:
            x[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def run_red_black(bench):
    x = bench.rng.random((20, 23))
    expected = x.copy()
    i, j = np.indices(x.shape)[:, 1:-1, 1:-1]
    for colour in (0, 1, 0, 1):
        mine = expected[1:-1, 1:-1]
        means = 0.25 * (expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:])
        mine[(i + j) % 2 == colour] = means[(i + j) % 2 == colour]
        bench.launch(red_black, (3, 3), (8, 8), x, colour)
    return [(x, expected)]


def life(now, after):
    """On a torus."""
    i, j = cuda.grid(2)
    rows, columns = now.shape
    if i < rows and j < columns:
        alive = 0
        for di in range(rows - 1, rows + 2):
            for dj in range(columns - 1, columns + 2):
                alive += now[(i + di) % rows, (j + dj) % columns]
                # wrong: alive += now[(i + di) % rows, j + dj - columns] -> out-of-bounds on now
        alive -= now[i, j]
        after[i, j] = 1 if alive == 3 or (alive == 2 and now[i, j] == 1) else 0
        # wrong: now[i, j] = 1 if alive == 3 or (alive == 2 and now[i, j] == 1) else 0 -> race on now


def run_life(bench):
    now = bench.rng.integers(0, 2, (20, 30)).astype(np.uint8)
    after = bench.device_array(now.shape, np.uint8)
    bench.launch(life, (3, 4), (8, 8), now, after)
    around = sum(np.roll(now, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - now
    return [(after, (around == 3) | ((around == 2) & (now == 1)))]


@cuda.jit(device=True)
def inside(index, length):
    """The nearest index that there is."""
    return 0 if index < 0 else index if index < length else length - 1


def tile_with_halo(image, out):
    """18 × 18 values for 16 × 16 threads, fetched in turns; edges repeat."""
    s = cuda.shared.array((18, 18), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 16 - 1, cuda.blockIdx.x * 16 - 1
    for k in range(ty * 16 + tx, 18 * 18, 256):
        # wrong: for k in range(ty * 16 + tx, 18 * 17, 256): -> uninitialised-read on s at: total += s[ty + dy, tx + dx]
        # wrong: for k in range(ty * 16 + tx, 18 * 18 + 1, 256): -> out-of-bounds on s at: s[k // 18, k % 18] = image
        row = inside(top + k // 18, image.shape[0])
        column = inside(left + k % 18, image.shape[1])
        # wrong: column = left + k % 18 -> out-of-bounds on image at: s[k // 18, k % 18] = image
        s[k // 18, k % 18] = image[row, column]
    cuda.syncthreads()
    # wrong: pass -> race on s at: total += s[ty + dy, tx + dx]
    i, j = cuda.blockIdx.y * 16 + ty, cuda.blockIdx.x * 16 + tx
    if i < image.shape[0] and j < image.shape[1]:
        total = float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[i, j] = total / float32(9)


def run_tile_with_halo(bench):
    image = bench.rng.random((40, 37)).astype(np.float32)
    out = bench.device_array(image.shape, np.float32)
    bench.launch(tile_with_halo, (3, 3), (16, 16), image, out)
    padded = np.pad(image, 1, "edge")
    return [(out, sum(padded[i : i + 40, j : j + 37] for i in range(3) for j in range(3)) / 9)]


def laplacian(x, out):
    i, j, k = cuda.grid(3)
    inside = 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1
    inside = inside and 0 < k < x.shape[2] - 1
    # wrong: inside = inside and 0 < k < x.shape[2] -> out-of-bounds on x at: along = x[i, j, k - 1]
    # wrong: inside = inside and k < x.shape[2] -> negative-index on x at: along = x[i, j, k - 1]
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        out[i, j, k] = 0
        if inside:
            along = x[i, j, k - 1] + x[i, j, k + 1]
            across = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k]
            out[i, j, k] = along + across - 6 * x[i, j, k]


def run_laplacian(bench):
    x = bench.rng.random((9, 10, 11))
    out = bench.device_array(x.shape, np.float64)
    bench.launch(laplacian, (3, 3, 3), (4, 4, 4), x, out)
    expected = np.zeros_like(x)
    expected[1:-1, 1:-1, 1:-1] = (
        (x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1])
        + (x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1])
        + (x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:])
        - 6 * x[1:-1, 1:-1, 1:-1]
    )
    return [(out, expected)]


def heat(x, steps):
    """Two rows in shared memory, used in turn: one barrier to a step."""
    s = cuda.shared.array((2, T), float64)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    # wrong: s[1, t] = x[t] -> uninitialised-read on s at: here = s[now, t]
    for step in range(steps):
        now = step % 2
        cuda.syncthreads()
        # wrong: pass -> race on s at: left = s[now, t - 1] if t > 0 else 0.0
        left = s[now, t - 1] if t > 0 else 0.0
        right = s[now, t + 1] if t < T - 1 else 0.0
        # wrong: right = s[now, t + 1] -> out-of-bounds on s
        here = s[now, t]
        s[1 - now, t] = here + 0.25 * (left - 2 * here + right)
        # wrong: s[now, t] = here + 0.25 * (left - 2 * here + right) -> race on s
    x[t] = s[steps % 2, t]


def run_heat(bench):
    x = bench.rng.random(T)
    expected = x.copy()
    for _ in range(5):
        padded = np.pad(expected, 1)
        expected = expected + 0.25 * (padded[:-2] - 2 * expected + padded[2:])
    bench.launch(heat, 1, T, x, 5)
    return [(x, expected)]


def upwind(x, out):
    """The left neighbour comes from the next lane; a warp's first one from memory."""
    i = cuda.grid(1)
    here = x[i] if i < x.size else 0.0
    left = cuda.shfl_up_sync(0xFFFFFFFF, here, 1)
    if i < x.size:
        if cuda.laneid == 0:
            left = x[i - 1] if i > 0 else 0.0
            # wrong: left = x[i + 1] if i > 0 else 0.0 -> out-of-bounds on x
        out[i] = here - left


def run_upwind(bench):
    x = bench.rng.random(97)
    out = bench.device_array(97, np.float64)
    bench.launch(upwind, 4, 32, x, out)
    return [(out, np.diff(x, prepend=0))]
