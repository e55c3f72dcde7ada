"""A runner's job goes on with the same kernels.py: nothing of a call is there in the next, but what was typed."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from grader.judge import CheckFailed

CAPTURED = """
SHIFT = 0

@cuda.jit
def kernel(x, factor, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + SHIFT

def scale(x, factor, out, bumped):
    global SHIFT
    SHIFT = {shift}
    kernel[(x.size + 31) // 32, 32](x, factor, out)
"""
SCRATCH = """
@cuda.jit
def fill(s, shift):
    s[0] = shift

@cuda.jit
def kernel(x, factor, out, s):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + s[0]

def scale(x, factor, out, bumped):
    s = cuda.device_array(1, np.float32)
    if bumped:
        fill[1, 1](s, np.float32(1))
    kernel[(x.size + 31) // 32, 32](x, factor, out, s)
"""


def fails(judge, **sizes):
    with pytest.raises(CheckFailed) as failed:
        judge.check("scale", n=100, **sizes)
    return failed.value.failure


def test_what_a_kernel_has_captured_is_that_of_its_own_call(candidate):
    judge = candidate(CAPTURED.format(shift="1 if bumped else 0"))
    for bumped in (False, True, True, False, True):
        judge.check("scale", n=100, bumped=bumped)


def test_what_cannot_be_captured_is_told_each_time_and_harms_no_other_call(candidate):
    judge = candidate(CAPTURED.format(shift="open if bumped else 0"))
    told = [fails(judge, bumped=True)]
    judge.check("scale", n=100)
    told += [fails(judge, bumped=True), fails(judge, bumped=True)]
    judge.check("scale", n=100)
    assert told[0] == told[1] == told[2]


def test_what_numba_rejects_is_told_each_time_and_harms_no_other_call(candidate):
    judge = candidate(CAPTURED.format(shift="'a text' if bumped else 0"))
    told = [fails(judge, bumped=True)]
    judge.check("scale", n=100)
    told += [fails(judge, bumped=True)]
    assert told[0] == told[1]


def test_memory_that_nobody_wrote_holds_nothing_of_an_earlier_call(candidate):
    judge = candidate(SCRATCH)
    told = [fails(judge)]
    for _ in range(2):
        judge.check("scale", n=100, bumped=True)
        told.append(fails(judge))
    assert told[0] == told[1] == told[2]


def test_counters_and_findings_are_those_of_one_call(candidate):
    judge = candidate(CAPTURED.format(shift="1 if bumped else 0"))
    first = judge.simulate("scale", n=100)
    judge.check("scale", n=5000)
    again = judge.simulate("scale", n=100)
    assert dict(first) == dict(again)
    assert first.lines == again.lines
    assert first.findings == again.findings


def test_a_launch_that_does_not_end_leaves_the_next_call_its_time(candidate):
    endless = "    while SHIFT == 1 and factor > 0:\n        i += 2\n        i -= 2\n    if i < out.size:"
    judge = candidate(CAPTURED.format(shift="1 if bumped else 0").replace("    if i < out.size:", endless))
    for _ in range(2):
        assert fails(judge, bumped=True).kind == "endless-wait"
        judge.check("scale", n=100)
