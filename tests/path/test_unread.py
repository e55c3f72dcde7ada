"""A wrong result of elements that no thread read is told so; and what was found before a kernel had to be ended."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.judge import CheckFailed
from grader.plan import LaunchPlan
from grader.records import LaunchRecord
from grader.sandbox.limits import Limits
from grader.unread import hint_of_unread

KERNEL = """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        {line}

def scale(x, factor, out, bumped):
    {before}
    kernel[(x.size + 63) // 64, 64](x, factor, out, float32(1.0) if bumped else float32(0.0))
"""


def failure_of(candidate, line, before="pass", **settings):
    judged = candidate(KERNEL.format(line=line, before=before), **settings)
    with pytest.raises(CheckFailed) as failed:
        judged.check("scale", n=100)
    return failed.value.failure, judged.findings


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("out[i] = factor * (x[i] if i < 64 else 0) + shift", "read only 64 of the 100 elements of x"),
        ("out[i] = factor + shift", "No thread reads x"),
    ],
)
def test_a_wrong_result_names_an_input_that_was_not_read_whole(candidate, line, words):
    failure, _ = failure_of(candidate, line)
    assert failure.kind == "wrong-values"
    assert words in failure.advice


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("out[i] = factor * x[i] + shift + 1", "pass"),  # all of it was read
        ("out[i] = factor * x[99 - i] + shift", "pass"),
        # Read through a copy, which is counted as nobody's.
        ("out[i] = factor * x[i] + shift + 1", "y = cuda.device_array(x.shape, x.dtype); y[:] = x; x = y"),
    ],
)
def test_a_wrong_result_of_what_was_read_is_not_blamed_on_reading(candidate, line, before):
    failure, _ = failure_of(candidate, line, before)
    assert failure.kind == "wrong-values"
    assert "read" not in failure.advice


def test_what_was_found_before_a_time_out_is_told(candidate):
    line = "for k in range(out.size * 10000000): out[k % out.size] = factor * x[k % out.size] + shift"
    failure, findings = failure_of(candidate, line, limits=Limits(cpu_seconds=2, memory_bytes=1 << 30))
    assert failure.kind == "time-out"
    assert "for k in range" in failure.where
    assert [finding.kind for finding in findings] == ["same-value-writes"]


def test_an_endless_loop_is_named_by_its_own_line_and_told_once(candidate):
    line = "k = i\n        while k < 200:\n            out[i] = factor * x[i] + shift\n            j = k + 1"
    failure, findings = failure_of(candidate, line)
    assert failure.kind == "endless-wait"
    assert "while k < 200:" in failure.where
    assert "endless-wait" not in {finding.kind for finding in findings}


def test_a_race_before_a_hang_is_not_taken_for_it(candidate):
    line = "out[0] = x[i]\n        while i >= 0:\n            i = abs(i)"
    failure, findings = failure_of(candidate, line)
    assert failure.kind == "endless-wait"
    assert "while i >= 0" in failure.where
    assert [finding.kind for finding in findings if finding.severity == "error"] == ["race"]


def test_a_gpu_which_counts_launches_only_says_nothing_of_reading():
    inputs = {"x": np.ones(5, np.float32)}
    plan = LaunchPlan.model_validate(
        {
            "entry": "scale",
            "functions": [],
            "buffers": [{"origin": "argument", "name": "x", "nbytes": 20, "data": None}],
            "operations": [],
        },
        strict=False,
    )
    launch = LaunchRecord("kernel", 1, (1, 1, 1), (32, 1, 1), {"launches": 1})
    assert hint_of_unread(inputs, plan, [launch]) == ""
    simulated = replace(launch, counters={"launches": 1, "threads": 32})
    assert hint_of_unread(inputs, plan, [simulated]).startswith("No thread reads x")
