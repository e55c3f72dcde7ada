"""What a script adds to Numba's compiler: Python runs, of several versions the one for CUDA; machine code does not."""

# mypy: ignore-errors
from __future__ import annotations

import importlib

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda

from grader.errors import NotSimulated
from grader.simulator.frontend import has_builtin_target, types

if has_builtin_target():
    pytest.skip("the built-in target has no module for it", allow_module_level=True)
extending = importlib.import_module("numba.cuda.extending")


def cut(x, low, high):
    raise NotImplementedError


@extending.overload(cut)
def _cut(x, low, high):
    if isinstance(x, types.Float):
        return lambda x, low, high: max(low, min(high, x))
    return lambda x, low, high: low


def several(out):
    raise NotImplementedError


@extending.overload(several, target="generic")
def _several_anywhere(out):
    def body(out):
        out[cuda.grid(1)] = 2

    return body


@extending.overload(several, target="cuda")
def _several_on_a_gpu(out):
    def body(out):
        out[cuda.grid(1)] = 3

    return body


@extending.overload_method(types.Array, "first_plus")
def _first_plus(array, value=10):
    def body(array, value=10):
        return array[0] + value

    return body


@extending.overload_attribute(types.Array, "last")
def _last(array):
    return lambda array: array[array.size - 1]


def column(a, k):
    raise NotImplementedError


@extending.overload(column, inline="always")
def _column(a, k):
    return lambda a, k: a[:, k]


@extending.intrinsic
def negated(typing_context, x):
    def machine_code(context, builder, signature, args):
        return builder.neg(args[0])

    return types.int64(types.int64), machine_code


@extending.intrinsic
def nothing(typing_context, x):
    def machine_code(context, builder, signature, args):
        return context.get_dummy_value()

    return types.void(types.int64), machine_code


def test_an_implementation_is_chosen_by_the_types_of_the_arguments(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[i, 0] = cut(x[i], 0.0, 1.0)
        out[i, 1] = cut(i, 5, 6)

    x, out = np.array([-1.0, 0.5, 3.0]), np.zeros((3, 2))
    assert errors(launch(kernel, 1, 3, x, out)) == []
    assert out.tolist() == [[0, 5], [0.5, 5], [1, 5]]


def test_the_one_for_cuda_is_taken_before_the_one_for_any_target(launch):
    @cuda.jit(device=True)
    def through(out):
        several(out)

    def kernel(out, other):
        several(out)
        through(other)

    out, other = np.zeros(4), np.zeros(4)
    launch(kernel, 1, 4, out, other)
    assert out.tolist() == other.tolist() == [3] * 4


def test_methods_and_attributes_with_and_without_their_defaults(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a.first_plus() * 100 + a.first_plus(i) + a.last / 10

    a, out = np.array([1.0, 2.0, 7.0]), np.zeros(2)
    assert errors(launch(kernel, 1, 2, a, out)) == []
    np.testing.assert_allclose(out, [1101.7, 1102.7])


def test_what_is_always_inlined_may_return_a_view_and_its_accesses_are_watched(launch):
    def kernel(a):
        part = column(a, 1)
        part[0] += cuda.grid(1)

    a = np.zeros((2, 3))
    assert errors(launch(kernel, 1, 1, a)) == []
    assert errors(launch(kernel, 1, 64, a)) == ["race"]


def test_a_mistake_in_an_implementation_is_found_in_it(launch):
    def beyond(a):
        raise NotImplementedError

    @extending.overload(beyond)
    def _beyond(a):
        def body(a):
            return a[a.size]

        return body

    def kernel(a, out):
        out[0] = beyond(a)

    launched = launch(kernel, 1, 1, np.zeros(3), np.zeros(1))
    assert errors(launched) == ["out-of-bounds"]
    assert launched.findings[0].place.text.strip() == "return a[a.size]"


@pytest.mark.parametrize("intrinsic", [negated, nothing])
def test_machine_code_is_not_known_and_nobodys_fault(launch, intrinsic):
    def kernel(out):
        intrinsic(1)
        out[0] = 1

    with pytest.raises(NotSimulated, match="the simulator does not know the function"):
        launch(kernel, 1, 1, np.zeros(1))
