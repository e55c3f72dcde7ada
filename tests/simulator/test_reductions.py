"""Reductions of arrays in a kernel give what Numba's own loops compute; captured tuples of arrays can be gone over."""

# mypy: ignore-errors
from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda

from grader.errors import NotSimulated
from grader.simulator import frontend
from grader.simulator.frontend import KernelError

literal_unroll = pytest.importorskip(
    "numba.cuda.misc.special", reason="the built-in target has no reductions"
).literal_unroll

NUMBERS = [
    np.array([1.0, 2.0, 0.0, -0.0, 1.0, -1.5]),
    np.array([-1.5, 2.5, np.inf]),
    np.array([np.nan, -1.5, 2.5, np.nan, 3.0]),
    np.array([[3.0, 0.0], [1.0, -4.0]]),
]


OF_ALL = ("sum", "prod", "mean", "var", "std", "any", "all")
OF_NUMBERS = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd", "count_nonzero")


def _kernel(*expressions):
    lines = "".join(f"    out[{k}, cuda.grid(1)] = {expression}\n" for k, expression in enumerate(expressions))
    scope = {"np": np, "cuda": cuda}
    exec(compile(f"def kernel(a, out):\n{lines}", __file__, "exec"), scope)
    return scope["kernel"]


def test_functions_and_methods_give_what_numpy_gives(launch):
    functions = _kernel(*(f"np.{name}(a)" for name in OF_ALL + OF_NUMBERS))
    methods = _kernel(*(f"a.{name}()" for name in OF_ALL))
    for a in NUMBERS:
        for kernel, names in ((functions, OF_ALL + OF_NUMBERS), (methods, OF_ALL)):
            out = np.zeros((len(names), 2))
            assert errors(launch(kernel, 1, 2, a, out)) == []
            with np.errstate(all="ignore"):
                expected = [getattr(np, name)(a) for name in names]
            np.testing.assert_allclose(out, np.stack([expected, expected], axis=1))


def test_a_sum_is_one_element_after_the_other_in_the_arrays_dtype(launch):
    a = np.random.default_rng(0).uniform(0, 1, 1000).astype(np.float32)
    out = np.zeros((1, 1), np.float32)
    launched = launch(_kernel("a.sum()"), 1, 1, a, out)
    assert out[0, 0] == reduce(np.add, a, np.float32(0))
    assert out[0, 0] != a.sum()  # NumPy's sums are pairwise
    assert launched.counters["global_loads"] == 1000


def test_a_reduction_of_what_others_write_is_a_race(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        a[i] = i
        out[i] = a.mean()

    assert errors(launch(kernel, 1, 64, np.zeros(64), np.zeros(64))) == ["race"]


CASES = (np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([7, 8, 9]), np.array([5.0]), np.array(3))


def test_a_loop_over_captured_arrays_of_different_types(launch):
    cases = CASES

    def kernel(out):
        k = 0
        for case in literal_unroll(cases):
            out[cuda.grid(1), k] = np.sum(case)
            k = k + 1

    out = np.zeros((3, 5))
    assert errors(launch(kernel, 1, 3, out)) == []
    np.testing.assert_array_equal(out, np.tile([case.sum() for case in CASES], (3, 1)))


def test_an_item_of_captured_arrays_by_an_index_that_differs_by_thread(launch):
    cases = (np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]))

    def kernel(out):
        i = cuda.grid(1)
        out[i] = cases[i % 3][i // 3 % 2]

    out = np.zeros(6)
    assert errors(launch(kernel, 1, 6, out)) == []
    np.testing.assert_array_equal(out, [1, 3, 5, 2, 4, 6])


def test_the_largest_element_needs_numbas_run_time(launch, monkeypatch):
    a, out = NUMBERS[3], np.zeros((1, 4))
    with pytest.raises(KernelError, match="Numba cannot compile"):
        launch(_kernel("a.max()"), 1, 4, a, out)
    if frontend.has_builtin_target():
        return
    monkeypatch.setattr(frontend.config, "CUDA_ENABLE_NRT", True)
    assert errors(launch(_kernel("a.max() - np.nanmin(a)"), 1, 4, a, out)) == []
    np.testing.assert_array_equal(out, np.full((1, 4), 7.0))
    with pytest.raises(NotSimulated, match="arrays that a kernel makes"):
        launch(_kernel("a.copy()[0, 0]"), 1, 4, a, out)
