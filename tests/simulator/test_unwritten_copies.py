"""A script that copies to the host what nobody wrote gets a warning, at the line of the copy."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from grader import simulator
from grader.records import Severity


@pytest.fixture(scope="module", autouse=True)
def _simulated():
    simulator.install()
    yield
    simulator.uninstall()


@cuda.jit
def fill(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = i


@cuda.jit
def fill_table(table, columns):
    i, j = cuda.grid(2)
    if i < table.shape[0] and j < columns:
        table[i, j] = 1


@cuda.jit
def fill_records(points, whole):
    i = cuda.grid(1)
    points[i].x = i
    if whole:
        points[i].flag = 1


def unwritten(launches):
    return [[f for f in launch.findings if f.kind == "unwritten-elements"] for launch in launches]


def test_a_copy_of_what_a_launch_left_out_is_a_warning_in_place_of_the_advice():
    out = cuda.device_array(64)
    with simulator.trace() as launches:
        fill[1, 64](out, 60)
        (before,) = unwritten(launches)
        fill[1, 64](cuda.to_device(np.zeros(8)), 8)
        for _ in range(3):
            host = out.copy_to_host()
    assert [f.severity for f in before] == [Severity.ADVICE]
    ((warning,), nothing) = unwritten(launches)
    assert nothing == []
    assert (warning.severity, warning.array, warning.count) == (Severity.WARNING, "x", 1)
    assert warning.place.text == "host = out.copy_to_host()"
    assert warning.what == (
        "4 of 64 elements of x that are copied to the host here were never written, x[60] is the first."
    )
    assert np.isnan(host[60:]).all()


def test_what_is_written_whole_or_copied_in_part_says_nothing():
    out, mapped, table = cuda.device_array(64), cuda.mapped_array(8), cuda.device_array((8, 8))
    with simulator.trace() as launches:
        fill[1, 64](out, 60)
        out[:60].copy_to_host()
        assert out[3] == 3
        fill[1, 64](mapped, 4)
        fill_table[1, (8, 8)](table, 4)
        table[:, :4].copy_to_host()
        fill[1, 64](out, 64)
        out.copy_to_host()
        cuda.to_device(np.zeros(3)).copy_to_host()
    assert [f for found in unwritten(launches) for f in found if f.severity is not Severity.ADVICE] == []


def test_an_element_is_named_with_all_of_its_indices():
    table = cuda.device_array((8, 8))
    with simulator.trace() as launches:
        fill_table[1, (8, 8)](table, 5)
        table.copy_to_host()
    ((warning,),) = unwritten(launches)
    assert "24 of 64 elements of table" in warning.what
    assert "table[0, 5] is the first" in warning.what


@pytest.mark.parametrize("whole", [True, False])
def test_padding_between_the_fields_of_records_is_nobodys_to_write(whole):
    dtype = np.dtype([("flag", np.int8), ("x", np.float64)], align=True)
    points = cuda.device_array(4, dtype)
    with simulator.trace() as launches:
        fill_records[1, 4](points, whole)
        points.copy_to_host()
    (found,) = unwritten(launches)
    assert len(found) == (0 if whole else 1)


def test_what_out_copies_back_unwritten_is_told_with_its_launch():
    with simulator.trace() as launches:
        fill[1, 64](cuda.Out(np.zeros(64)), 60)
        fill[1, 64](cuda.Out(np.zeros(64)), 64)
    told, nothing = unwritten(launches)
    assert [f.severity for f in told] == [Severity.WARNING]
    assert nothing == []


def test_a_copy_of_memory_that_no_launch_wrote_to_is_told_with_the_next_launch():
    with simulator.trace() as launches:
        out = cuda.device_array(4)
        fill[1, 64](out, 4)
        assert out.copy_to_host().tolist() == [0, 1, 2, 3]
        del out
        cuda.current_context().deallocations.clear()
        cuda.device_array(4).copy_to_host()
    ((warning,),) = unwritten(launches)
    assert warning.array == ""
    assert "4 of 4 elements that are copied" in warning.what
