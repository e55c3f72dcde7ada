"""What a problem.py gives is used only in the form that it must have; anything else is one sentence to its author."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.errors import AuthoringError
from grader.problem import Output, Problem, Sample, Work
from grader.problem_calls import baseline_of, expected_of, require_same_forms, sample_of, smaller_of, work_of

N = 100
RNG = np.random.default_rng(1)
INPUTS = {
    "x": np.arange(N, dtype=np.float32),
    "out": Output((N,), np.float32),
    "out_sum": Output((1,), np.float32),
}
PLACES = np.arange(8)
FEW: dict[str, Any] = INPUTS | {"x": INPUTS["x"][:8], "out": Output((8,), np.float32)}
WHERE = {"out": PLACES, "out_sum": ...}
RIGHT = {"out": np.zeros(N, np.float32), "out_sum": np.zeros(1, np.float32)}


class Given(Problem):
    """Gives what it is told to."""

    entry = "given"

    def __init__(self, given: Any) -> None:
        self.given = given

    def make_inputs(self, rng, **sizes):
        return self.given

    def expected(self, inputs):
        return self.given

    def baseline(self, inputs):
        return self.given

    def tolerance(self, inputs, expected):
        return self.given

    def work(self, inputs):
        return self.given

    def sample(self, inputs, rng):
        return self.given

    def smaller(self, sizes):
        return self.given


@pytest.mark.parametrize("number", [8, 8.0, np.int64(8), np.float32(8)])
def test_work_is_in_whole_numbers_of_any_type(number):
    assert work_of(Given(Work(number, number)), INPUTS) == Work(8, 8)
    assert work_of(Given(Work(number, 0)), INPUTS).operations == 0


@pytest.mark.parametrize(
    "work",
    [
        *(Work(b, 8) for b in (0, -4, 1.5, float("nan"), float("inf"), None, True, "8", 8 + 0j)),
        *(Work(8, o) for o in (-1, 0.5, float("nan"), float("-inf"), None, False, np.bool_(True))),
        None,
        (8, 8),
    ],
)
def test_work_in_anything_but_whole_numbers_is_the_authors_mistake(work):
    with pytest.raises(AuthoringError, match=r"problem\.py: work of given gives .*; expected"):
        work_of(Given(work), INPUTS)


@pytest.mark.parametrize("place", [PLACES, slice(8), slice(0, 16, 2), -1 - PLACES])
def test_a_sample_lies_at_any_numpy_index(place):
    sample = Sample(FEW, WHERE | {"out": place})
    assert sample_of(Given(sample), INPUTS, RNG) is sample
    assert sample_of(Given(None), INPUTS, RNG) is None


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (FEW, "expected a Sample, or None"),
        (Sample({}, WHERE), "gives the inputs nothing; expected x, out, out_sum"),
        (Sample(FEW | {"y": 1}, WHERE), "gives the inputs x, out, out_sum, y"),
        (Sample(FEW | {"out_sum": RIGHT["out_sum"]}, WHERE), "has the outputs out; expected out, out_sum"),
        (Sample(FEW, {"out": PLACES}), "has places for out; expected one for each of out, out_sum"),
        (Sample(FEW, {}), "has places for nothing"),
        (Sample(FEW, WHERE | {"x": PLACES}), "has places for out, out_sum, x"),
        (Sample(FEW, PLACES), "has places for a value of type ndarray"),
        (Sample(FEW, WHERE | {"out": PLACES[:7]}), r"in the shape \(8,\); what lies at its place has \(7,\)"),
        (Sample(FEW, WHERE | {"out": PLACES[:, None]}), r"what lies at its place has \(8, 1\)"),
        (Sample(FEW, WHERE | {"out": PLACES + N}), "the place of out is no index of it: .*out of bounds"),
        (Sample(FEW, WHERE | {"out": PLACES * 0.5}), "is no index of it"),
        (Sample(FEW, WHERE | {"out": (PLACES, PLACES)}), "is no index of it"),
        (Sample(FEW | {"out": Output((8,), np.float64)}, WHERE), "has out as float64; the output is float32"),
        (Sample(FEW | {"out": Output((0,), np.float32)}, WHERE | {"out": PLACES[:0]}), "looks at no element of out"),
    ],
)
def test_a_sample_that_is_no_part_of_the_call_is_the_authors_mistake(sample, said):
    with pytest.raises(AuthoringError, match=rf"problem\.py: sample of given.*{said}"):
        sample_of(Given(sample), INPUTS, RNG)


@pytest.mark.parametrize("smaller", [{"n": 50, "flag": True}, {"n": np.int64(99), "flag": False}, {"n": 0, "flag": 1}])
def test_smaller_sizes_are_the_same_names_with_smaller_numbers(smaller):
    assert smaller_of(Given(smaller), {"n": N, "flag": True}) == smaller
    assert smaller_of(Given(None), {"n": N}) is None


@pytest.mark.parametrize(
    "smaller",
    [
        {"n": N},
        {"n": N + 1},
        {"n": N / 2},
        {"n": -1},
        {"n": True},
        {"n": None},
        {"m": 1},
        {},
        {"n": 1, "m": 1},
        [1],
        50,
    ],
)
def test_sizes_that_are_not_smaller_are_the_authors_mistake(smaller):
    with pytest.raises(AuthoringError, match=r"problem\.py: smaller of given gives .* for \{'n': 100\}; expected"):
        smaller_of(Given(smaller), {"n": N})


def test_what_has_the_outputs_form_is_taken_as_it_is():
    assert baseline_of(Given(RIGHT), INPUTS) is RIGHT
    wide = {name: value.astype(np.float64) for name, value in RIGHT.items()}
    assert expected_of(Given(wide), INPUTS) is wide


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"out": RIGHT["out"]}, "out; expected out, out_sum"),
        (RIGHT | {"x": 1}, "out, out_sum, x; expected out, out_sum"),
        (RIGHT["out"], "a value of type ndarray"),
        (None, "a value of type NoneType"),
        (RIGHT | {"out": RIGHT["out"][:-1]}, r"\(99,\)"),
        (RIGHT | {"out_sum": np.float32(0)}, r"\(\)"),
    ],
)
@pytest.mark.parametrize(("of", "method"), [(baseline_of, "baseline"), (expected_of, "expected")])
def test_outputs_that_are_missing_or_have_another_shape_are_the_authors_mistake(of, method, given, said):
    with pytest.raises(AuthoringError, match=rf"problem\.py: {method} of given gives.*{said}"):
        of(Given(given), INPUTS)


@pytest.mark.parametrize("out", [RIGHT["out"].astype(np.float64), [0.0] * N])
def test_a_baseline_in_another_dtype_is_the_authors_mistake(out):
    with pytest.raises(AuthoringError, match=r"baseline of given gives out as .*; expected float32 of shape \(100,\)"):
        baseline_of(Given(RIGHT | {"out": out}), INPUTS)


@pytest.mark.parametrize("other", [{"x": INPUTS["x"][1:]}, {"out": INPUTS["x"]}, {"more": 1}])
def test_inputs_of_one_size_differ_in_values_alone(other):
    require_same_forms(INPUTS | {"x": INPUTS["x"] + 1}, INPUTS)
    with pytest.raises(AuthoringError, match="only values may be random"):
        require_same_forms(INPUTS | other, INPUTS)
    with pytest.raises(AuthoringError, match="only values may be random"):
        require_same_forms(INPUTS, INPUTS | other)


def test_an_authors_exception_names_its_line(tmp_path):
    from grader.assignment_folder import import_by_path
    from grader.problem import by_author

    file = tmp_path / "problem.py"
    file.write_text("def work(inputs):\n    return inputs['x']\n")
    with pytest.raises(AuthoringError, match=r"^problem\.py:2: KeyError: 'x'$"):
        by_author(lambda: import_by_path(file).work({}))
