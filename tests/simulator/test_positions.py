"""A finding names the expression that it is about, not the line alone."""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from numba import cuda

from grader import simulator
from grader.records import Severity


def beyond(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + x[i + 1]


@cuda.jit(device=True)
def fetch(x, i):
    return x[2 * i]


def through_a_function(x, out):
    i = cuda.grid(1)
    out[i] = fetch(x, i)


def wide_letters(x, out):
    é = cuda.grid(1)  # noqa: PLC2401  (columns count bytes)
    out[é] = x[é] + x[é + 1]


@pytest.mark.parametrize(
    ("kernel", "expression"),
    [
        (beyond, "x[i + 1]"),
        (through_a_function, "x[2 * i]"),
        (wide_letters, "x[é + 1]"),
    ],
)
def test_an_access_outside_names_its_expression(launch, kernel, expression):
    result = launch(kernel, 1, 32, np.zeros(32, np.float32), np.zeros(32, np.float32))
    outside = next(f for f in result.findings if f.kind == "out-of-bounds")
    assert outside.place.expression == expression
    assert f"(in {expression})" in str(outside)


def one_write(x, out):
    out[cuda.threadIdx.x // 2] = x[cuda.threadIdx.x]


def test_a_race_names_the_write(launch):
    (race,) = [
        f for f in launch(one_write, 1, 32, np.arange(32.0), np.zeros(32)).findings if f.severity is Severity.ERROR
    ]
    assert race.place.expression == "out[cuda.threadIdx.x // 2]"


def test_a_finding_in_a_function_that_numba_has_inlined_is_in_the_file_of_that_function(tmp_path):
    (tmp_path / "beside.py").write_text(
        "from numba import cuda\n\n@cuda.jit(device=True, inline=True)\ndef next_of(x, i):\n    return x[i + 1]\n"
    )
    spec = importlib.util.spec_from_file_location("beside", tmp_path / "beside.py")
    beside = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(beside)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = beside.next_of(x, i)

    simulator.install()
    try:
        with simulator.trace() as launches:
            kernel[1, 32](cuda.to_device(np.zeros(32)), cuda.device_array(32))
    finally:
        simulator.uninstall()
    (error,) = [finding for finding in launches[0].findings if finding.severity is Severity.ERROR]
    assert (error.place.file, error.place.line) == (str(tmp_path / "beside.py"), 5)
    assert error.place.expression == "x[i + 1]"
