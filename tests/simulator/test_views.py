"""Views of arrays, and loops over them, are NumPy's: slices, steps, new axes, fields of complex numbers."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda, float32

from grader.records import Severity
from grader.simulator.frontend import KernelError, has_builtin_target


def test_slices_with_steps_that_are_negative_or_differ_by_thread(launch):
    bounds = [(None, None), (0, 8), (2, 7), (-1, 1), (7, None), (None, -3), (9, -9), (4, 4), (-20, 20), (6, 0)]
    table = np.array([[-99 if part is None else part for part in pair] for pair in bounds])
    steps = np.array([1, 2, 3, -1, -2, -3, 7, -9])

    def kernel(a, table, steps, sums, lengths):
        i, j = cuda.grid(2)
        step = steps[j]
        if table[i, 0] == -99 and table[i, 1] == -99:
            part = a[::step]
        elif table[i, 0] == -99:
            part = a[: table[i, 1] : step]
        elif table[i, 1] == -99:
            part = a[table[i, 0] :: step]
        else:
            part = a[table[i, 0] : table[i, 1] : step]
        lengths[i, j] = len(part)
        for k in range(part.size):
            sums[i, j] = sums[i, j] * 10 + part[k]

    a = np.arange(1.0, 9.0)
    sums, lengths = np.zeros((10, 8)), np.zeros((10, 8), np.int32)
    assert errors(launch(kernel, (1, 1), (10, 8), a, table, steps, sums, lengths)) == []
    for i, pair in enumerate(bounds):
        for j, step in enumerate(steps):
            part = a[slice(*pair, step)]
            assert lengths[i, j] == part.size
            assert sums[i, j] == float("".join(str(int(v)) for v in part) or 0)


def test_a_slice_reads_nothing_outside_itself(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        part = a[i::-1]
        out[i] = part[i + 1]

    result = launch(kernel, 1, 4, np.arange(8.0), np.zeros(4))
    assert [(f.kind, f.count) for f in result.findings] == [("out-of-bounds", 4)]


def test_ellipsis_new_axes_and_transposes(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = a[..., 1][i % 2, 2]
        out[1, i] = a[:, None, 1][1, 0, i % 2]
        out[2, i] = a[1, np.newaxis, ..., i % 2][0, 2]
        out[3, i] = a.T[i % 2, 2, 1]
        out[4, i] = a[None, :].shape[0] + a[:, None].ndim
        out[5, i] = a.transpose().shape[0]

    a, out = np.random.default_rng(1).random((2, 3, 2)), np.zeros((6, 4))
    launch(kernel, 1, 4, a, out)
    parity = np.arange(4) % 2
    np.testing.assert_array_equal(out[0], a[..., 1][parity, 2])
    np.testing.assert_array_equal(out[1], a[1, 1][parity])
    np.testing.assert_array_equal(out[2], a[1, 2][parity])
    np.testing.assert_array_equal(out[3], a.T[parity, 2, 1])
    assert out[4:].tolist() == [[5] * 4, [2] * 4]


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target has no np.ndindex")
def test_loops_over_indices_elements_and_rows(launch):
    def kernel(a, n, out):
        i = cuda.grid(1)
        for row, column in np.ndindex(a.shape):
            out[0, i] = out[0, i] * 2 + a[row, column]
        for index in np.ndindex(n[i], 2):
            out[1, i] += a[index]
        for index, value in np.ndenumerate(a[: n[i]]):
            out[2, i] += value * (index[0] + 10 * index[1])
        for value in a[:, i % 2 :].flat:
            out[3, i] += value
        out[4, i] = a.flat[3] + a.flat[-1] + len(a.flat)
        for row in a[n[i] :]:
            out[5, i] += row[0]
        for value in np.nditer(a):
            out[6, i] += value.item()

    a, n, out = np.arange(1.0, 7.0).reshape(3, 2), np.array([0, 1, 2, 3]), np.zeros((7, 4))
    assert errors(launch(kernel, 1, 4, a, n, out)) == []
    assert out[0].tolist() == [1 * 32 + 2 * 16 + 3 * 8 + 4 * 4 + 5 * 2 + 6] * 4
    assert out[1].tolist() == [a[:k].sum() for k in n]
    assert out[2].tolist() == [sum(v * (r + 10 * c) for (r, c), v in np.ndenumerate(a[:k])) for k in n]
    assert out[3].tolist() == [a[:, k % 2 :].sum() for k in range(4)]
    assert out[4].tolist() == [a.flat[3] + a.flat[-1] + 6] * 4
    assert out[5].tolist() == [a[k:, 0].sum() for k in n]
    assert out[6].tolist() == [a.sum()] * 4


def test_attributes_and_types_of_arrays(launch):
    def kernel(a, out):
        mine = cuda.local.array(4, a.dtype)
        i = cuda.grid(1)
        mine[0] = a.dtype.type(i) / 3
        out[0, i] = mine[0]
        out[1, i] = a.size + 10 * a.ndim + 100 * a.itemsize + 1000 * a.nbytes
        out[2, i] = a.strides[0] + a.shape[1]
        out[3, i] = np.uint8(a[0, i % 3] * 300)

    a, out = np.random.default_rng(2).random((2, 3), np.float32), np.zeros((4, 4))
    launch(kernel, 1, 4, a, out)
    np.testing.assert_array_equal(out[0], (np.arange(4, dtype=np.float32) / 3).astype(np.float32))
    assert out[1, 0] == 6 + 20 + 400 + 24000
    assert out[2, 0] == 12 + 3
    np.testing.assert_array_equal(out[3], (a[0, [0, 1, 2, 0]] * 300).astype(np.int64) % 256)


def test_parts_of_complex_arrays_and_numbers(launch):
    def kernel(z, out):
        i = cuda.grid(1)
        out[0, i] = z.real[i] + 10 * z.imag[i]
        out[1, i] = z[i].conjugate().imag
        z.imag[i] = i
        out[2, i] = z[i].imag + complex(1, 2).imag

    rng = np.random.default_rng(3)
    z, out = (rng.random(8) + 1j * rng.random(8)).astype(np.complex64), np.zeros((3, 8), np.float32)
    before = z.copy()
    assert errors(launch(kernel, 1, 8, z, out)) == []
    np.testing.assert_allclose(out[0], before.real + 10 * before.imag, rtol=1e-6)
    np.testing.assert_array_equal(out[1], -before.imag)
    np.testing.assert_array_equal(out[2], np.arange(8) + 2)
    np.testing.assert_array_equal(z.real, before.real)


def test_real_and_imaginary_parts_do_not_race(launch):
    def kernel(z):
        i = cuda.grid(1)
        if i % 2:
            z.real[i // 2] = i
        else:
            z.imag[i // 2] = i

    def race(z):
        i = cuda.grid(1)
        z.real[i // 2] = i
        z[i // 2] = 1

    assert errors(launch(kernel, 1, 32, np.zeros(16, np.complex64))) == []
    assert "race" in errors(launch(race, 1, 32, np.zeros(16, np.complex64)))


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target cannot compile sum")
def test_what_numba_implements_in_python_runs_and_is_reported_where_it_was_called(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = sum(a) + sum((1, 2, i))
        out[1, i] = a.mean() + np.mean(a)
        out[2, i] = a.argmax()
        out[3, i] = i in range(1, 8, 2)
        out[4, i] = len(range(i, 10, 3)) + np.size(a)
        out[5, i] = a.sum()

    def unwritten(out):
        s = cuda.shared.array(4, float32)
        if cuda.threadIdx.x < 3:
            s[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        out[cuda.threadIdx.x] = s.mean()

    a, out = np.array([0.5, 8.0, 2.0, 1.5]), np.zeros((6, 4))
    assert errors(launch(kernel, 1, 4, a, out)) == []
    i = range(4)
    assert out[0].tolist() == [15 + k for k in i]
    assert out[1].tolist() == [6] * 4
    assert out[2].tolist() == [1] * 4
    assert out[3].tolist() == [0, 1, 0, 1]
    assert out[4].tolist() == [len(range(k, 10, 3)) + 4 for k in i]
    assert out[5].tolist() == [12] * 4
    (finding,) = (f for f in launch(unwritten, 1, 4, np.zeros(4)).findings if f.severity is Severity.ERROR)
    assert finding.kind == "uninitialised-read"
    assert finding.place.text == "out[cuda.threadIdx.x] = s.mean()"


@pytest.mark.parametrize("step", [0])
def test_a_step_of_zero_by_thread_is_the_kernels_mistake(launch, step):
    def kernel(a, steps, out):
        out[cuda.grid(1)] = len(a[:: steps[cuda.grid(1)]])

    with pytest.raises(KernelError, match="zero"):
        launch(kernel, 1, 2, np.zeros(8), np.array([1, step]), np.zeros(2))


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target has no np.ndindex")
def test_an_index_iterator_goes_on_where_it_was_left(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        indices = np.ndindex(a.shape)
        for index in indices:
            out[0, i] += a[index]
            if index[1] == i:
                break
        for index in indices:
            out[1, i] += a[index]

    a, out = np.arange(1.0, 9.0).reshape(2, 4), np.zeros((2, 4))
    launch(kernel, 1, 4, a, out)
    assert out.tolist() == [[a.flat[: k + 1].sum() for k in range(4)], [a.flat[k + 1 :].sum() for k in range(4)]]
