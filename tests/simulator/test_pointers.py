"""Raw pointers as arguments, arrays made of them, and addresses of arrays: as a GPU has them, and watched."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda

from grader import simulator
from grader.records import Severity
from grader.simulator.frontend import KernelError, has_builtin_target, types

VOID = types.void


@pytest.fixture
def launches():
    simulator.install()
    with simulator.trace() as traced:
        yield traced
    simulator.uninstall()


def _mistakes(launches):
    return [(f.kind, f.count) for launch in launches for f in launch.findings if f.severity is Severity.ERROR]


def _address(array):
    return array.__cuda_array_interface__["data"][0]


def test_elements_are_read_and_written_through_pointers(launches):
    pointer = types.CPointer(types.int32)

    @cuda.jit(VOID(pointer, types.int32, pointer, types.uint32))
    def kernel(r, a, x, n):
        i = cuda.grid(1)
        if i < n:
            r[i] += a * x[i]

    x, r = cuda.to_device(np.arange(100, dtype=np.int32)), cuda.to_device(np.ones(100, np.int32))
    kernel[4, 32](_address(r), 3, _address(x), 100)
    np.testing.assert_array_equal(r.copy_to_host(), 3 * np.arange(100) + 1)
    assert _mistakes(launches) == []
    assert launches[0].counters["global_loads"] == 200
    assert launches[0].counters["global_load_requests"] == 8


def test_a_pointer_may_lead_into_the_middle_and_be_gone_back_from(launches):
    @cuda.jit(VOID(types.CPointer(types.float64), types.int64))
    def kernel(p, offset):
        p[offset] = p[0] + p[1]

    x = cuda.to_device(np.arange(8.0))
    kernel[1, 1](_address(x) + 3 * 8, -2)
    np.testing.assert_array_equal(x.copy_to_host(), [0, 7, 2, 3, 4, 5, 6, 7])
    assert [finding.kind for finding in launches[0].findings if finding.severity is not Severity.ADVICE] == []


@pytest.mark.parametrize(
    ("start", "index", "ok"), [(0, 9, True), (0, 10, False), (3, 7, False), (3, -3, True), (3, -4, False)]
)
def test_an_access_outside_of_what_was_allocated_is_found(launches, start, index, ok):
    @cuda.jit(VOID(types.CPointer(types.uint16), types.int64))
    def kernel(p, k):
        p[k] = 1

    x = cuda.to_device(np.zeros(10, np.uint16))
    kernel[1, 1](_address(x) + 2 * start, index)
    assert _mistakes(launches) == ([] if ok else [("out-of-bounds", 1)])
    assert x.copy_to_host().sum() == (1 if ok else 0)


def test_a_race_through_pointers_is_found(launches):
    @cuda.jit(VOID(types.CPointer(types.int32)))
    def kernel(p):
        p[0] = cuda.grid(1)

    kernel[1, 64](_address(cuda.to_device(np.zeros(1, np.int32))))
    assert [kind for kind, _ in _mistakes(launches)] == ["race"]


def test_a_pointer_that_differs_by_thread(launches):
    pointer = types.CPointer(types.int64)

    @cuda.jit(VOID(pointer, pointer))
    def kernel(p, q):
        i = cuda.grid(1)
        which = p if i % 2 else q
        which[i] = i

    x, y = cuda.to_device(np.full(6, -1)), cuda.to_device(np.full(6, -1))
    kernel[1, 6](_address(x), _address(y))
    assert x.copy_to_host().tolist() == [-1, 1, -1, 3, -1, 5]
    assert y.copy_to_host().tolist() == [0, -1, 2, -1, 4, -1]


@pytest.mark.skipif(has_builtin_target(), reason="the built-in target has none for kernels")
@pytest.mark.parametrize(("order", "name"), [("C", "carray"), ("F", "farray")])
def test_arrays_are_made_of_pointers(launches, order, name):
    from numba.cuda.np import numpy_support

    make = getattr(numpy_support, name)

    # Numba takes computed writes to such an array, alone, for dead code; on a GPU, too.
    @cuda.jit(VOID(types.CPointer(types.float32), types.int64, types.float32[:, :]))
    def kernel(p, n, out):
        a = make(p, (n, 3))
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            out[i, j] = a[i, j]

    for rows, found in ((4, []), (5, ["out-of-bounds"])):
        launches.clear()
        x, out = cuda.to_device(np.arange(12, dtype=np.float32)), cuda.to_device(np.zeros((5, 3), np.float32))
        kernel[1, (8, 4)](_address(x), rows, out)
        assert sorted({kind for kind, _ in _mistakes(launches)}) == found
        if not found:
            expected = np.arange(12).reshape(4, 3, order=order)
            np.testing.assert_array_equal(out.copy_to_host()[:4], expected)


def test_the_address_of_an_array_is_the_hosts(launches):
    @cuda.jit
    def kernel(a, out):
        out[0] = a.ctypes.data
        out[1] = a[2:].ctypes.data

    a, out = cuda.to_device(np.zeros(8, np.float32)), cuda.to_device(np.zeros(2, np.int64))
    kernel[1, 1](a, out)
    assert out.copy_to_host().tolist() == [_address(a), _address(a) + 8]


@pytest.mark.skipif(has_builtin_target(), reason="the built-in target has no such argument")
def test_an_alignment_that_is_none_is_numbas_error_and_others_are_kept(launches):
    @cuda.jit
    def kernel(out):
        first = cuda.shared.array(3, np.uint8)
        second = cuda.shared.array(3, np.uint8, 64)
        first[0] = second[0] = 0
        out[0] = second.ctypes.data % 64

    out = np.ones(1, np.int64)
    kernel[1, 1](out)
    assert out[0] == 0
    assert launches[0].counters["shared_bytes"] == 67
    for wrong in (-8, 0, 4, 24):

        @cuda.jit
        def refused(out):
            cuda.local.array(3, np.uint8, alignment=wrong)  # noqa: B023
            out[0] = 1

        with pytest.raises(ValueError, match="Alignment must be"):
            refused[1, 1](out)


def test_a_nested_array_of_a_record_is_filled_from_an_array(launch):
    dtype = np.dtype([("x", np.float32), ("v", np.int16, (2, 3))], align=True)

    def kernel(records, given):
        i = cuda.grid(1)
        records[i]["v"] = given[i]

    records, given = np.zeros(4, dtype), np.arange(24, dtype=np.int16).reshape(4, 2, 3)
    launched = launch(kernel, 1, 4, records, given)
    assert errors(launched) == []
    np.testing.assert_array_equal(records["v"], given)
    assert launched.counters["global_loads"] == launched.counters["global_stores"] == 24
    launched = launch(kernel, 1, 4, records, given[:, :, :2].copy())
    assert "out-of-bounds" in errors(launched)

    def attribute(records, given):
        records[0].v = given[0]

    with pytest.raises(KernelError, match="attribute v"):
        launch(attribute, 1, 1, records, given)
