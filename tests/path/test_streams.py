"""A host function that leaves out a wait between two streams is caught, though its values came out right."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from grader.judge import CheckFailed

TWO_STREAMS = """
@cuda.jit
def multiply(x, factor, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = factor * x[i]

@cuda.jit
def add(y, shift, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = y[i] + shift

def scale(x, factor, out, bumped):
    first, second = cuda.stream(), cuda.stream()
    done = cuda.event()
    y = cuda.device_array(x.shape, x.dtype)
    blocks = (x.size + 63) // 64
    multiply[blocks, 64, first](x, factor, y)
    WAIT
    add[blocks, 64, second](y, float32(1.0) if bumped else float32(0.0), out)
"""
FILLED = TWO_STREAMS.replace("    multiply[", "    y.setitem(slice(None), 0, stream=second)\n    multiply[")


@pytest.mark.parametrize(
    "wait",
    [
        "done.record(first); done.wait(second)",
        "first.synchronize()",
        "cuda.synchronize()",
        "second = first",
        "second = 0",
    ],
)
def test_launches_that_anything_orders_are_right(candidate, wait):
    candidate(TWO_STREAMS.replace("WAIT", wait)).check("scale", n=100)


@pytest.mark.parametrize("wait", ["pass", "second.synchronize()", "done.record(second); second.synchronize()"])
def test_launches_that_nothing_orders_are_a_race(candidate, wait):
    with pytest.raises(CheckFailed) as failed:
        candidate(TWO_STREAMS.replace("WAIT", wait)).check("scale", n=100)
    failure = failed.value.failure
    assert failure.kind == "race"
    assert "add[blocks, 64, second]" in failure.where
    assert "the launch of add reads y[0], which the launch of multiply at line" in failure.what


def test_an_assignment_is_ordered_by_its_stream_too(candidate):
    text = FILLED.replace("WAIT", "done.record(first); done.wait(second)")
    with pytest.raises(CheckFailed) as failed:
        candidate(text).check("scale", n=100)
    assert "the launch of multiply writes y[0], which the assignment at line" in failed.value.failure.what
    candidate(text.replace("stream=second", "stream=first")).check("scale", n=100)
