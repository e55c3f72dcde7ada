"""NumPy's functions over parts of arrays, one part for each thread, and sums over them."""

from __future__ import annotations

import numpy as np
from numba import cuda

ROWS, COLUMNS = 96, 5


def row_angles(y, x, out):
    """Each thread goes over a row of its own."""
    i = cuda.grid(1)
    if i < out.shape[0]:
        # wrong: if True: -> out-of-bounds on out at: np.arctan2(y[i], x[i], out[i])
        np.arctan2(y[i], x[i], out[i])
        # wrong: np.arctan2(y[i], x[i], out[0]) -> race on out
        # wrong: np.arctan2(y[i + 1], x[i], out[i]) -> out-of-bounds on y


def run_row_angles(bench):
    y, x = bench.rng.normal(size=(2, ROWS, COLUMNS)).astype(np.float32)
    out = bench.device_array((ROWS, COLUMNS), np.float32)
    bench.launch(row_angles, 2, 64, y, x, out)
    return [(out, np.arctan2(y, x))]


def clipped(a, low, out):
    """Two steps over the same part; a thread may read what it wrote itself."""
    i = cuda.grid(1)
    first = 4 * i
    part, mine = a[first : first + 4], out[first : first + 4]
    # wrong: part, mine = a[first : first + 4], out[first : first + 5] -> race on out at: np.maximum(part, low, mine)
    np.maximum(part, low, mine)
    np.minimum(mine, 1.0, mine)
    # wrong: np.minimum(out, 1.0, out) -> race on out


def run_clipped(bench):
    a = bench.rng.normal(size=512)
    out = bench.device_array(512, np.float64)
    bench.launch(clipped, 4, 32, a, 0.25, out)
    return [(out, np.clip(a, 0.25, 1.0))]
