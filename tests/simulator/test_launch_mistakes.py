"""What a line that launches nothing is told to be, by the exception of Python's or Numba's that it ends with."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, njit

from grader import simulator
from grader.records import Place, Severity
from grader.simulator.live.launch_mistakes import not_launched


def plain(a):
    a[0] = 1


NAMES = {
    "kernel": cuda.jit(plain),
    "device": cuda.jit(plain, device=True),
    "on_cpu": njit(plain),
    "plain": plain,
    "a": np.ones(4),
    "n": 1000,
    "cuda": cuda,
    "np": np,
}
CASES = {
    "kernel[n / 256, 256](a)": "number of blocks must be a whole number, or up to three of them in a tuple; kernel got",
    "kernel[4, n / 4](a)": "number of threads of a block must be a whole number",
    "kernel[(1, 2, 3, 4), 32](a)": "up to three of them",
    "kernel[4](a)": "kernel needs both numbers in its brackets",
    "kernel[(4,)](a)": "kernel needs both numbers in its brackets",
    "kernel(a)": "kernel was called without blocks and threads",
    "device[4, 32](a)": "device is a function for kernels",
    "on_cpu[4, 32](a)": "on_cpu is compiled for the CPU",
    "plain[4, 32](a)": "plain is a Python function, not a kernel",
    "cuda.syncthreads()": "cuda.syncthreads is for kernels",
    "cuda.grid(1)": "cuda.grid is for kernels",
    "cuda.syncwarp()": "cuda.syncwarp is for kernels",
    "cuda.shared.array(3, np.float32)": "cuda.shared.array is for kernels",
    "cuda.atomic.add(a, 0, 1)": "cuda.atomic.add is for kernels",
    "i = cuda.blockIdx.x * 2": "cuda.blockIdx.x is for kernels",
}


@pytest.fixture(scope="module", autouse=True)
def installed():
    simulator.install()
    yield
    simulator.uninstall()


def ending(line):
    with pytest.raises(Exception) as raised:
        exec(line, dict(NAMES))
    return raised.value


@pytest.mark.parametrize("line", CASES)
def test_a_line_that_launches_nothing_is_told_what_is_wrong_and_what_to_try(line):
    told = not_launched(ending(line), Place(7, line))
    assert told is not None
    (finding,) = told.findings
    assert (finding.severity, finding.place.line) == (Severity.ERROR, 7)
    assert CASES[line] in finding.what
    assert finding.advice.endswith(".") or "//" in finding.advice


@pytest.mark.parametrize("line", ["plain[0]", "a + 'x'", "len(n)", "raise NotImplementedError('not yet')", "n[1]"])
def test_other_exceptions_are_left_to_python(line):
    assert not_launched(ending(line), Place(7, line)) is None
