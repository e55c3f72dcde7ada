"""What Numba types and cannot compile is the kernel's mistake; what it compiles is run: as Numba itself decides."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
import real_lowering

from grader.simulator.frontend import KernelError, types

ARRAY, TABLE = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
# Each is the body of a kernel of (a, b, out): 8, 2 × 2 and 8 numbers.
CONSTRUCTS = """
out[i] = a.ravel()[i]
out[i] = b.flatten()[0]
out[i] = np.ravel(b)[0]
out[i] = a.copy()[0]
out[i] = a.astype(np.float32)[0]
out[i] = a.max()
out[i] = np.max(a)
out[i] = a.sum() + np.sum(a)
out[i] = a.mean()
out[i] = a.argmax()
a.fill(0)
out[i] = b.transpose()[1, 0]
out[i] = b.transpose((1, 0))[1, 0]
out[i] = b.transpose(1, 0)[1, 0]
out[i] = b.T[1, 0]
out[i] = b[None][0, 1, 1]
out[i] = b[:, None, 1][0, 0]
out[0:2] = a[0:2]
out[:] = a
out[0:2] = 1
out[0:2] = (1.0, 2.0)
b[0] = a[:2]
b[0] = b[1]
b[0] = 7
b[...] = 2
b[:, 0] = a[:2]
out[i] = a.flags.c_contiguous
out[i] = np.sqrt(a[i])
out[i] = np.exp(a[i])
out[i] = np.abs(a[i])
out[i] = np.floor(a[i])
out[i] = np.power(a[i], 2)
out[i] = np.add(a[i], 1)
out[i] = np.sign(a[i])
out[i] = np.sin(a[i])
out[i] = np.maximum(a[i], 2.0)
out[i] = np.hypot(a[i], 1.0)
out[i] = np.isnan(a[i])
out[i] = [1, 2][0]
s = {1, 2}; out[i] = 1
d = {1: 2}; out[i] = d[1]
out[i] = a[a > 2][0]
c = a + 1; out[i] = c[0]
out[i] = np.zeros(3)[0]
out[i] = np.dot(a, a)
out[i] = sum((1, 2, 3)) + sum(a)
out[i] = min(a)
out[i] = i in range(3)
out[i] = len(range(i))
out[i] = tuple((1, 2))[0]
for p in np.ndindex(2, 2): out[i] += b[p]
for p, v in np.ndenumerate(b): out[i] += v
for v in b.flat: out[i] += v
out[i] = b.flat[2]
out[i] = a.item(2)
out[i] = a[i].item()
out[i] = complex(1, 2).imag
out[i] = (a[i] * 1j).conjugate().imag
out[i] = a.dtype.type(3)
out[i] = b.view(np.int64)[1, 1]
out[i] = a.reshape(4, 2)[1, 1]
out[i] = np.reshape(a, (2, 4))[1, 0]
out[i] = (lambda x: x + 1)(a[i])
out[i] = hash(i)
out[i] = a.tolist()[0]
""".strip().splitlines()


def _kernel(body):
    lines = "".join(f"    {line}\n" for line in body.split("; "))
    text = f"def kernel(a, b, out):\n    i = cuda.grid(1)\n{lines}"
    scope = {}
    exec(compile(f"from numba import cuda\nimport numpy as np\n{text}", __file__, "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize("body", CONSTRUCTS)
def test_a_kernel_is_refused_exactly_where_numba_refuses_it(launch, body):
    refusal = real_lowering.refusal(_kernel(body), (ARRAY, TABLE, ARRAY))
    arguments = np.arange(1.0, 9.0), np.arange(1.0, 5.0).reshape(2, 2), np.zeros(8)
    if not refusal:
        launch(_kernel(body), 1, 8, *arguments)
        return
    with pytest.raises(KernelError):
        launch(_kernel(body), 1, 8, *arguments)


@pytest.mark.parametrize("name", sorted(n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)))
def test_numpys_functions_are_refused_where_numba_refuses_them(launch, name):
    count = getattr(np, name).nin
    body = f"out[i] = np.{name}({', '.join(['a[i]'] * count)})"
    refusal = real_lowering.refusal(_kernel(body), (ARRAY, TABLE, ARRAY))
    arguments = np.arange(1.0, 9.0), np.zeros((2, 2)), np.zeros(8)
    if not refusal:
        return
    with pytest.raises(KernelError):
        launch(_kernel(body), 1, 8, *arguments)
