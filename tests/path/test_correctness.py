"""Right values pass whatever way they were computed; wrong ones are named with element, expected and found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.correctness import compare, fills_for, untouched
from grader.problem import Output

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("expected", "found", "right"),
    [
        (1.0, 1.0 + 1e-7, True),
        (1.0, 1.1, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, INF, True),
        (INF, -INF, False),
        (INF, 1e38, False),
        (1.0, INF, False),
        (0.0, -0.0, True),
    ],
)
def test_floats(expected, found, right):
    failure = compare("out", np.array([expected]), np.array([found], np.float32), np.array(1e-6), "f()")
    assert (failure is None) == right


@pytest.mark.parametrize(("found", "right"), [(7, True), (8, True), (9, False), (255, False)])
def test_integers_within_a_tolerance(found, right):
    failure = compare("out", np.array([7]), np.array([found], np.uint8), np.array(1.0), "f()")
    assert (failure is None) == right


def test_an_infinite_tolerance_is_needed_to_accept_everything():
    assert compare("out", np.array([1.0]), np.array([5.0]), np.array(np.nan), "f()") is not None


def test_a_failure_names_the_first_and_the_furthest_element():
    expected, found = np.arange(12.0).reshape(3, 4), np.arange(12.0, dtype=np.float32).reshape(3, 4)
    found[1, 2] += 1
    found[2, 1] += 50
    failure = compare("c", expected, found, np.zeros(1), "f(n=3)")
    assert failure.what == "2 of 12 elements of c are wrong."
    assert "c[1, 2] = 6" in failure.expected
    assert "c[1, 2] is 7" in failure.found
    assert "c[2, 1] with 59 for 9" in failure.found
    assert failure.where == "f(n=3)"


@given(st.integers(0, 2**32), st.sampled_from(["f2", "f4", "f8", "c8", "u1", "i4", "i8", "?"]))
def test_a_fill_is_told_from_every_result(seed, dtype):
    rng = np.random.default_rng(seed)
    inputs = {"out": Output((5,), np.dtype(dtype))}
    fills = fills_for(inputs, rng)
    if np.dtype(dtype).kind in "fc":
        assert np.isnan(fills[0]["out"])
        results = np.array([0, 1, -1, NAN, INF]).astype(dtype)
        with np.errstate(all="ignore"):
            computed = results * results.dtype.type(0)  # the NaN that arithmetic makes
        for value in (*results, *computed):
            assert not untouched(np.full(3, value, dtype), fills[0]["out"]).any()
    else:
        assert fills[0]["out"] != fills[1]["out"]
    assert untouched(np.full(3, fills[0]["out"], dtype), fills[0]["out"]).all()
