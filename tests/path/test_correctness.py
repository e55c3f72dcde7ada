"""Right values pass whatever way they were computed; wrong ones are named with element, expected and found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.correctness import compare, judge_outcome, told_once
from grader.judge import CheckFailed
from grader.plan import LaunchPlan
from grader.problem import Output
from grader.records import Finding, Outcome, Place, Severity
from grader.unwritten import fills_for, untouched

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
def test_a_float_is_right_within_its_tolerance_and_nan_only_as_nan(expected, found, right):
    failure = compare("out", np.array([expected]), np.array([found], np.float32), np.array(1e-6), "f()")
    assert (failure is None) == right


@pytest.mark.parametrize(("found", "right"), [(7, True), (8, True), (9, False), (255, False)])
def test_integers_within_a_tolerance(found, right):
    failure = compare("out", np.array([7]), np.array([found], np.uint8), np.array(1.0), "f()")
    assert (failure is None) == right


@pytest.mark.parametrize(
    ("expected", "found", "dtype", "tolerance", "right"),
    [
        (2**53, 2**53 + 1, "i8", 0, False),
        (2**53 + 1, 2**53 + 1, "i8", 0, True),
        (2**64 - 1, 2**64 - 2, "u8", 0, False),
        (2**64 - 1, 2**64 - 2, "u8", 1, True),
        (2**53, 2**53 + 2, "i8", 1, False),
        (-(2**63), 2**63 - 1, "i8", 2.0**63, False),
    ],
)
def test_large_integers_are_compared_exactly(expected, found, dtype, tolerance, right):
    failure = compare("out", np.array([expected], dtype), np.array([found], dtype), np.array(float(tolerance)), "f()")
    assert (failure is None) == right


def test_an_error_that_only_the_second_run_shows_is_a_failure():
    fills = [{"out": np.int32(1)}, {"out": np.int32(2)}]
    race = Finding("race", Severity.ERROR, Place(7), "A race.", array="out")
    outcomes = [Outcome({"out": np.zeros(3, np.int32)}, findings=found) for found in ((), (race,))]
    failure = judge_outcome(Anything(), {}, {"out": np.zeros(3, np.int32)}, None, outcomes, fills, "f()")
    assert failure is not None
    assert failure.kind == "race"


def test_a_tolerance_that_is_nan_accepts_nothing():
    assert compare("out", np.array([1.0]), np.array([5.0]), np.array(np.nan), "f()") is not None


def test_a_failure_names_the_first_and_the_furthest_element():
    expected, found = np.arange(12.0).reshape(3, 4), np.arange(12.0, dtype=np.float32).reshape(3, 4)
    found[1, 2] += 1
    found[2, 1] += 50
    failure = compare("c", expected, found, np.zeros(1), "f(n=3)")
    assert failure.what == "2 of 12 elements of c are wrong."
    assert "c[1, 2] = 6" in failure.expected
    assert "c[1, 2] is 7" in failure.found
    assert "furthest off is c[2, 1]: 59 instead of 9" in failure.found
    assert failure.where == "f(n=3)"


@pytest.mark.parametrize(("shape", "element"), [((1,), "out[0]"), ((1, 1), "out[0, 0]"), ((), "out")])
def test_an_output_of_one_element_is_not_counted(shape, element):
    failure = compare("out", np.full(shape, 2.5), np.full(shape, 1, np.float32), np.array(0.0), "f()")
    assert (failure.what, failure.expected, failure.found) == (
        f"{element} is wrong.",
        f"{element} = 2.5",
        f"{element} is 1",
    )
    assert "very element" not in failure.advice


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        ([10, 21, 29, 255], True),
        ([11, 21, 31, 254], True),
        ([10, 21, 32, 255], False),
        ([10, 20, 30, 0], False),
    ],
)
def test_whole_numbers_that_are_off_by_one_are_asked_about_rounding(found, asked):
    expected = np.array([10, 20, 30, 255])
    failure = compare("out", expected, np.array(found, np.uint8), np.zeros(1), "f()")
    assert ("is the rounding what the specification asks for?" in failure.advice) == asked


def outcome_with(out, findings=()):
    return Outcome({"out": out}, findings=tuple(findings))


class Anything:
    """A problem as far as judging an outcome needs it."""

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}


def judged(outcome, fill):
    expected = {"out": np.zeros(outcome.outputs["out"].shape)}
    plan = LaunchPlan(entry="f", buffers=(), functions=(), operations=())
    return judge_outcome(Anything(), {}, expected, plan, [outcome], [{"out": fill}], "f()")


@pytest.mark.parametrize(
    ("shape", "missing", "asked"),
    [
        ((5, 40), np.s_[:, 16:], True),
        ((40, 5), np.s_[16:], True),
        ((4, 4, 3), np.s_[2:], True),
        ((5, 40), np.s_[2, 3], False),
        ((5, 40), np.s_[2:, 16:], False),
        ((1, 40), np.s_[:, 16:], False),
        ((40,), np.s_[16:], False),
    ],
)
def test_whole_rows_or_columns_that_are_missing_raise_the_question_of_x_and_y(shape, missing, asked):
    (fills,) = fills_for({"out": Output(shape, np.float32)}, np.random.default_rng(1))
    out = np.zeros(shape, np.float32)
    out[missing] = fills["out"]
    failure = judged(outcome_with(out), fills["out"])
    assert failure.kind == "not-all-written"
    assert ("are x and y swapped" in failure.advice) == asked
    assert "Do grid and block cover the whole output" in failure.advice


@pytest.mark.parametrize(
    ("missing", "asked"), [(np.s_[16:], True), (np.s_[39:], True), (np.s_[16:39], False), (np.s_[1::2], False)]
)
def test_an_end_that_is_missing_raises_the_question_of_the_block_and_the_loop(missing, asked):
    (fills,) = fills_for({"out": Output((40,), np.float32)}, np.random.default_rng(1))
    out = np.zeros(40, np.float32)
    out[missing] = fills["out"]
    advice = judged(outcome_with(out), fills["out"]).advice
    assert ("cuda.blockIdx left out" in advice) == asked
    assert "Do grid and block cover the whole output" in advice


def test_one_element_that_is_missing_is_told_in_the_singular():
    (fills,) = fills_for({"out": Output((2,), np.float32)}, np.random.default_rng(1))
    one, two = np.full(1, fills["out"]), np.full(2, fills["out"])
    two[0] = 0
    failure = judged(outcome_with(one), fills["out"])
    assert (failure.expected, failure.found) == ("out[0] written", "out[0] was never written")
    assert judged(outcome_with(two), fills["out"]).what == "1 of 2 elements of out still holds the fill value."


def outside(array, line, count=1):
    return Finding(
        "out-of-bounds", Severity.ERROR, Place(line), f"Read of {array}[9] outside.", array=array, count=count
    )


def test_accesses_outside_of_several_arrays_on_one_line_are_told_once():
    race = Finding("race", Severity.ERROR, Place(7), "A race.", array="a")
    findings = [outside("a", 7, 3), race, outside("b", 7, 2), outside("a", 8), outside("out", 7)]
    merged = told_once(findings)
    assert [finding.place.line for finding in merged] == [7, 7, 8]
    assert merged[0].what == "Read of a[9] outside. The same line goes outside of b and out, too."
    assert (merged[0].count, merged[0].array) == (6, "a, b, out")
    assert merged[1:] == (race, outside("a", 8))
    failure = judged(outcome_with(np.zeros(3), findings), np.float64(0))
    assert (failure.what, failure.found) == (merged[0].what, "in f(), 6 times")


def test_what_a_candidate_saw_is_told_once_too(candidate):
    bench = candidate(
        """
        @cuda.jit
        def kernel(x, factor, out):
            i = cuda.grid(1)
            out[i] = factor * x[i]

        def scale(x, factor, out, bumped):
            kernel[1, 128](x, factor, out)
        """
    )
    with pytest.raises(CheckFailed) as failed:
        bench.check("scale", n=100)
    (finding,) = bench.findings
    assert finding.what == failed.value.failure.what
    assert finding.what.endswith("The same line goes outside of out, too.")


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
