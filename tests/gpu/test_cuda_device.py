"""The CUDA device carries out the same plans as the simulated one, and survives what kernels do to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.judge import Candidate, CheckFailed, Settings
from grader.judging import judge_submission
from grader.problem import Output, Problem, Work
from grader.records import State
from grader.sandbox.limits import Limits
from grader.submission import read_submission

SOLUTIONS = Path(__file__).parents[2] / "solutions"
KERNELS = """
from numba import cuda, float32
import numpy as np

{decorator}
def kernel(x, out, n):
    i = cuda.grid(1)
    {body}

def twice(x, out):
    kernel[(x.size + 63) // 64, 64](x, out, x.size)
    {more}
"""
BODY = "if i < out.size: out[i] = 2 * x[i]"


class Twice(Problem):
    entry = "twice"

    def make_inputs(self, rng, n):
        return {"x": rng.standard_normal(n).astype(np.float32), "out": Output((n,), np.float32)}

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"].astype(np.float64)}

    def baseline(self, inputs):
        return {"out": 2 * inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}

    def work(self, inputs):
        return Work(8 * inputs["x"].size, inputs["x"].size)


@pytest.fixture
def twice(gpu, tmp_path):
    def make(body=BODY, more="", decorator="@cuda.jit", **limits):
        (tmp_path / "kernels.py").write_text(KERNELS.format(body=body, more=more, decorator=decorator))
        settings = Settings(device="cuda", seed=3, limits=Limits(**{"cpu_seconds": 20, "memory_bytes": None} | limits))
        return Candidate(read_submission(tmp_path), {"twice": Twice()}, gpu, settings)

    return make


@pytest.mark.parametrize("number", ["01", "02", "03", "04"])
def test_references_are_right_on_a_gpu(gpu, number):
    verdict = judge_submission(SOLUTIONS / number, SOLUTIONS / number, device="cuda", seed=7)
    failed = [(check.name, str(check.failure), check.reason) for check in verdict.checks if check.passed is False]
    assert failed == []
    assert {check.state for check in verdict.checks if check.part != "speed"} == {State.JUDGED}
    assert verdict.device != "simulated"


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 100_003])
def test_a_right_kernel_passes(twice, n):
    twice().check(n=n)


def test_streams_views_fills_and_copies(twice):
    more = """
    s = cuda.stream()
    scratch = cuda.device_array(x.size + 6, np.float32)
    scratch[:] = 5
    scratch[3:-3].copy_to_device(x, stream=s)
    s.synchronize()
    kernel[(x.size + 63) // 64, 64, s](scratch[3:-3], out, x.size)
    s.synchronize()
"""
    twice(more=more).check(n=1000)


def test_declared_signatures_and_options(twice):
    twice(decorator='@cuda.jit("void(float32[:], float32[:], int64)", fastmath=True, lineinfo=True)').check(n=100)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"body": "if i < out.size: out[i] = 3 * x[i]"}, "wrong-values"),
        ({"body": "pass"}, "nothing-written"),
        ({"body": "if i < out.size: out[i] = missing[i]"}, "kernel-rejected"),
        ({"more": "kernel[1, 4096](x, out, x.size)"}, "launch-refused"),
        ({"body": "if i < out.size: out[i] = 2 * x[i]; x[i] = 0"}, "changed-input"),
    ],
)
def test_mistakes_are_the_students_on_a_gpu_too(twice, change, kind):
    with pytest.raises(CheckFailed) as failed:
        twice(**change).check(n=1000)
    assert failed.value.failure.kind == kind


def test_an_illegal_address_costs_one_check_only(twice):
    with pytest.raises(CheckFailed) as failed:
        twice(body="out[i + (1 << 40)] = 1").check(n=1000)
    assert failed.value.failure.kind == "gpu-error"
    twice().check(n=1000)


def test_a_long_kernel_is_ended_and_the_next_check_judged(twice):
    # At a memory access per turn some 16 seconds of a GPU's time, then it ends by itself.
    slow = "for k in range(1 << 30):\n        if x[i % n] == 12345: out[0] = k"
    with pytest.raises(CheckFailed) as failed:
        twice(body=slow, cpu_seconds=3, wall_seconds=6).check(n=64)
    assert failed.value.failure.kind == "time-out"
    twice().check(n=1000)
