"""NumPy's functions over whole arrays in a kernel, ``np.sin(x, r)``: results, findings and counts of each access."""

# mypy: ignore-errors
from __future__ import annotations

import kernel_bench
import numpy as np
import pytest
from numba import cuda, float32

from grader.simulator.callees import ufunc_loops
from grader.simulator.frontend import KernelError, has_builtin_target

UFUNCS = sorted({u for u in vars(np).values() if isinstance(u, np.ufunc) and ufunc_loops(u)}, key=lambda u: u.__name__)


def _kernel(ufunc):
    names = ", ".join("abc"[: ufunc.nin])
    scope = {"np": np}
    exec(compile(f"def kernel({names}, r):\n    np.{ufunc.__name__}({names}, r)\n", __file__, "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_results_are_numpys_for_every_kind_of_number(launch, ufunc):
    rng = np.random.default_rng(3)
    done = 0
    for letter in "?bHilLfdFD":
        given = [(rng.uniform(0.1, 0.9, (2, 3)) * 5).astype(letter) for _ in range(ufunc.nin)]
        with np.errstate(all="ignore"):
            try:
                expected = ufunc(*given)
            except TypeError:
                continue
        if expected.dtype == np.float16:
            continue  # NumPy's choice for small integers; Numba takes float32
        r = np.zeros_like(expected)
        try:
            launched = launch(_kernel(ufunc), 1, 1, *given, r)
        except KernelError:
            continue  # test_lowering holds these against a real compile
        assert not kernel_bench.errors(launched)
        np.testing.assert_allclose(r, expected, rtol=1e-6)
        done += 1
    assert done


def test_there_are_functions_over_arrays():
    assert len(UFUNCS) > 30


@pytest.mark.parametrize("order", "CF")
def test_inputs_are_broadcast_onto_the_output(launch, order):
    def kernel(matrix, row, column, number, r):
        np.hypot(matrix, row, r)
        np.maximum(r, column, r)
        np.fmin(r, number, r)

    matrix = np.arange(12, dtype=np.float32).reshape(3, 4) % 5
    row, column = np.array([0, 3, 1, 7], np.float32), np.array([[1], [6], [2]], np.float32)
    r = np.zeros((3, 4), np.float32)
    launched = launch(kernel, 1, 1, np.asarray(matrix, order=order), row, column, 6.5, r)
    np.testing.assert_allclose(r, np.fmin(np.maximum(np.hypot(matrix, row), column), 6.5), rtol=1e-6)
    assert not kernel_bench.errors(launched)


def test_elements_follow_each_other_where_input_and_output_overlap(launch):
    def kernel(x):
        np.maximum(x[:-1], x[1:], x[1:])

    x = np.array([5, 1, 7, 2, 3], np.float32)
    launch(kernel, 1, 1, x)
    np.testing.assert_array_equal(x, np.maximum.accumulate([5, 1, 7, 2, 3]))


def test_a_longer_output_reads_outside_of_the_input(launch):
    def kernel(x, r):
        np.sin(x, r)

    launched = launch(kernel, 1, 1, np.ones(5, np.float32), np.zeros(8, np.float32))
    (finding,) = launched.findings[:1]
    assert finding.kind == "out-of-bounds"
    assert str(finding.place).endswith("np.sin(x, r)")
    assert finding.array == "x"
    assert finding.count == 3


@pytest.mark.parametrize(("threads", "found"), [(1, []), (2, ["race"]), (64, ["race"])])
def test_threads_that_all_work_in_place_race(launch, threads, found):
    def kernel(x):
        np.sin(x, x)

    launched = launch(kernel, 1, threads, np.ones(4, np.float32))
    assert kernel_bench.errors(launched) == found


def test_threads_with_a_part_each_do_not_race(launch):
    def kernel(x, r):
        i = cuda.grid(1)
        np.cos(x[4 * i : 4 * i + 4], r[4 * i : 4 * i + 4])

    x, r = np.linspace(0, 3, 256, dtype=np.float32), np.zeros(256, np.float32)
    launched = launch(kernel, 2, 32, x, r)
    np.testing.assert_allclose(r, np.cos(x), rtol=1e-6)
    assert not kernel_bench.errors(launched)
    assert launched.counters["global_loads"] == launched.counters["global_stores"] == 256
    # Four turns of two warps, whose lanes are four elements apart.
    assert launched.counters["global_load_requests"] == 8
    assert launched.counters["global_load_sectors"] == 8 * 16
    assert launched.counters["flops_float32"] == 256


def test_parts_of_different_lengths_end_by_thread(launch):
    def kernel(x, r):
        i = cuda.grid(1)
        np.cos(x[i, :i], r[i, :i])

    x, r = np.ones((40, 40), np.float32), np.zeros((40, 40), np.float32)
    launched = launch(kernel, 1, 40, x, r)
    np.testing.assert_allclose(r, np.tril(np.full((40, 40), np.cos(np.float32(1))), -1), rtol=1e-6)
    assert launched.counters["global_stores"] == 40 * 39 // 2


def test_a_read_of_what_nobody_wrote_is_found(launch):
    def kernel(r):
        s = cuda.shared.array(4, float32)
        np.sin(s, r)

    assert kernel_bench.errors(launch(kernel, 1, 1, np.zeros(4, np.float32))) == ["uninitialised-read"]


def test_an_output_can_be_used_as_the_result(launch):
    def kernel(x, r, out):
        out[0] = np.log2(x, r)[2]

    x, r, out = np.array([1, 2, 8], np.float32), np.zeros(3, np.float32), np.zeros(1, np.float32)
    launch(kernel, 1, 1, x, r, out)
    assert out[0] == 3


@pytest.mark.skipif(has_builtin_target(), reason="the built-in target has no type for them")
def test_operators_that_change_an_array_in_place(launch):
    def kernel(a, i, flags):
        a /= 4
        i <<= 3
        i |= 1
        i ^= 2
        i &= 0x7F
        flags |= flags

    a, i, flags = np.arange(5, dtype=np.float32), np.arange(20), np.array([True, False])
    launched = launch(kernel, 1, 1, a, i, flags)
    np.testing.assert_array_equal(a, np.arange(5) / np.float32(4))
    np.testing.assert_array_equal(i, (((np.arange(20) << 3) | 1) ^ 2) & 0x7F)
    np.testing.assert_array_equal(flags, [True, False])
    assert not kernel_bench.errors(launched)


def test_a_result_that_needs_memory_is_refused_with_what_to_write(launch):
    def kernel(x, r):
        y = np.sin(x)
        r[0] = y[0]

    with pytest.raises(KernelError):
        launch(kernel, 1, 1, np.ones(3, np.float32), np.zeros(3, np.float32))
