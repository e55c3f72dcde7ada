"""A dry run of a race finds what problem.py has wrong for it, and nothing where it is right."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from checked_calls import PROBLEMS

from grader import raced_problem, sample_draws
from grader.errors import AuthoringError
from grader.problem import Output, Problem, Sample, Work
from grader.raced_problem import Looked, look_at
from grader.smaller_sizes import smallest_of

SIZES = {"rows": 1000, "cols": 64}
SAMPLED = 40


class Rows(Problem):
    """out[r, c] = x[r, c] + the sum of row r, and out_largest the largest of each row. Right in every respect."""

    entry = "rows"

    def make_inputs(self, rng, rows, cols):
        x = rng.standard_normal((rows, cols)).astype(np.float32)
        return {"x": x, "out": Output((rows, cols), np.float32), "out_largest": Output((rows,), np.float32)}

    def expected(self, inputs):
        x = inputs["x"].astype(np.float64)
        return {"out": x + x.sum(axis=1, keepdims=True), "out_largest": x.max(axis=1)}

    def baseline(self, inputs):
        x = inputs["x"]
        return {"out": x + x.sum(axis=1, keepdims=True), "out_largest": x.max(axis=1)}

    def tolerance(self, inputs, expected):
        x = np.abs(inputs["x"].astype(np.float64))
        return {"out": 2.0**-24 * (64 + x.shape[1]) * (x + x.sum(axis=1, keepdims=True)), "out_largest": np.zeros(1)}

    def work(self, inputs):
        return Work(bytes=8 * inputs["x"].size, operations=2 * inputs["x"].size)

    def sample(self, inputs, rng):
        rows = len(inputs["x"])
        return self.rows_at(inputs, rng.choice(rows, SAMPLED, replace=False)) if rows > SAMPLED else None

    def rows_at(self, inputs, chosen, places=None):
        """These rows as a call of their own, said to lie at ``places``."""
        cols = inputs["x"].shape[1]
        out, largest = Output((len(chosen), cols), np.float32), Output((len(chosen),), np.float32)
        places = chosen if places is None else places
        return Sample(
            {"x": inputs["x"][chosen], "out": out, "out_largest": largest}, {"out": places, "out_largest": places}
        )

    def smaller(self, sizes):
        return {**sizes, "rows": sizes["rows"] // 2} if sizes["rows"] >= 100 else None


def look(problem: Problem, sizes: dict[str, Any] = SIZES, checked: tuple[dict[str, Any], ...] = ()) -> Looked:
    def rng_of(what: str) -> np.random.Generator:
        return np.random.default_rng([3, zlib.crc32(what.encode())])

    return look_at(problem, sizes, problem.make_inputs(rng_of("recorded"), **sizes), checked, rng_of)


def with_method(name: str, method: Any, base: type[Problem] = Rows) -> Problem:
    return type("Changed", (base,), {name: method})()


def test_a_problem_that_is_right_leaves_no_doubt():
    assert look(Rows()) == Looked(outputs=65_000, sampled=40 * 65, steps=4)
    assert smallest_of(Rows(), SIZES) == {"rows": 62, "cols": 64}


def test_without_a_sample_all_outputs_are_looked_at():
    looked = look(with_method("sample", Problem.sample))
    assert looked == Looked(outputs=65_000, sampled=65_000, steps=4)


def other_places(self, inputs, rng):
    chosen = rng.choice(len(inputs["x"]), SAMPLED, replace=False)
    return self.rows_at(inputs, chosen, np.sort(chosen))


def one_row_off(self, inputs, rng):
    chosen = rng.choice(len(inputs["x"]) - 1, SAMPLED, replace=False)
    return self.rows_at(inputs, chosen, chosen + 1)


def rows_cut_short(self, inputs, rng):
    rows, cols = inputs["x"].shape
    chosen, half = rng.choice(rows, SAMPLED, replace=False), cols // 2
    out, largest = Output((SAMPLED, half), np.float32), Output((SAMPLED,), np.float32)
    return Sample(
        {"x": inputs["x"][chosen, :half], "out": out, "out_largest": largest},
        {"out": (chosen, slice(half)), "out_largest": chosen},
    )


def first_rows(self, inputs, rng):
    return self.rows_at(inputs, np.arange(SAMPLED))


def own_generator(self, inputs, rng):
    return Rows.sample(self, inputs, np.random.default_rng(1))


def first_half(self, inputs, rng):
    return self.rows_at(inputs, rng.choice(len(inputs["x"]) // 2, SAMPLED, replace=False))


def all_but_the_end(self, inputs, rng):
    return self.rows_at(inputs, rng.choice(len(inputs["x"]) * 7 // 8, SAMPLED, replace=False))


def nothing(self, inputs, rng):
    return self.rows_at(inputs, np.arange(0))


def sometimes_all(self, inputs, rng):
    return Rows.sample(self, inputs, rng) if rng.random() < 0.5 else None


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (other_places, "its baseline is wrong: .* of out are wrong"),
        (one_row_off, "its baseline is wrong"),
        (rows_cut_short, "its baseline is wrong"),
        (first_rows, "looks at the same places of out, out_largest in each of 3 draws"),
        (own_generator, "looks at the same places"),
        (
            first_half,
            r"in 180 draws, sample of rows looked at no element of out with an index from 500 to 624 of axis 0",
        ),
        (all_but_the_end, "with an index from 875 to 999 of axis 0"),
        (nothing, "looks at no element of out"),
        (sometimes_all, "gives a Sample and, another time, None"),
    ],
)
def test_a_wrong_sample_is_found(sample, said):
    with pytest.raises(AuthoringError, match=said):
        look(with_method("sample", sample))


def test_a_sample_of_few_elements_that_reaches_all_is_right(monkeypatch):
    def one_row(self, inputs, rng):
        return self.rows_at(inputs, rng.choice(len(inputs["x"]), 1))

    def neighbours(self, inputs, rng):
        start = int(rng.integers(len(inputs["x"]) - SAMPLED + 1))
        return self.rows_at(inputs, np.arange(start, start + SAMPLED), slice(start, start + SAMPLED))

    for sample in (one_row, neighbours):
        assert look(with_method("sample", sample)).doubts == ()
    monkeypatch.setattr(sample_draws, "SECONDS", 0)  # three draws say nothing about parts of an output
    assert look(with_method("sample", one_row)).doubts == ()


def test_a_mistake_at_smaller_sizes_says_at_which():
    def too_many(self, inputs, rng):
        return self.rows_at(inputs, rng.choice(len(inputs["x"]), 100, replace=False))

    with pytest.raises(AuthoringError, match=r"larger sample than population .*, at rows\(rows=62, cols=64\)$"):
        look(with_method("sample", too_many))


def test_what_the_baseline_has_room_for_shows_against_the_whole_call():
    class Rounded(Rows):
        """In a sample's call the sum is another one, by less than the baseline may be wrong."""

        def expected(self, inputs):
            right = super().expected(inputs)
            off = 2 * super().tolerance(inputs, right)["out"] if len(inputs["x"]) == SAMPLED else 0
            return right | {"out": right["out"] + off}

    with pytest.raises(
        AuthoringError, match=r"of rows\(rows=1000, cols=64\), expected gives other results for a sample"
    ):
        look(Rounded())


def test_a_tolerance_that_depends_on_how_much_is_sampled_is_found():
    class Roomy(Rows):
        def tolerance(self, inputs, expected):
            return super().tolerance(inputs, expected) | {"out": np.full(inputs["x"].shape, 1e-5 * len(inputs["x"]))}

    with pytest.raises(AuthoringError, match=r"tolerance allows out 0\.04 times as much for a sample's inputs"):
        look(Roomy())


def test_the_whole_is_computed_where_that_is_quick(monkeypatch):
    sizes = []

    class Watched(Rows):
        def expected(self, inputs):
            sizes.append(len(inputs["x"]))
            return super().expected(inputs)

    assert look(Watched()).doubts == ()
    assert 1000 in sizes
    sizes.clear()
    monkeypatch.setattr(raced_problem, "WHOLE_SECONDS", 0)
    (doubt,) = look(Watched(), checked=({"rows": 30, "cols": 5}, {"rows": 60, "cols": 5})).doubts
    assert "was held against the whole call nowhere" in doubt
    assert set(sizes) == {SAMPLED}


def test_sizes_of_checks_serve_where_smaller_gives_none(monkeypatch):
    sizes = []

    class Watched(Rows):
        smaller = Problem.smaller

        def sample(self, inputs, rng):
            return None if len(inputs["x"]) == 1000 and sizes.append("raced") else super().sample(inputs, rng)

        def expected(self, inputs):
            sizes.append(len(inputs["x"]))
            return super().expected(inputs)

    real = raced_problem._hold
    monkeypatch.setattr(raced_problem, "_hold", lambda p, s, *more: s["rows"] < 1000 and real(p, s, *more))
    assert look(Watched(), checked=({"rows": 30, "cols": 5}, {"rows": 60, "cols": 5})).doubts == ()
    assert 60 in sizes


@pytest.mark.parametrize("sample", [Rows.sample, Problem.sample])
def test_a_look_that_takes_long_is_said(monkeypatch, sample):
    monkeypatch.setattr(raced_problem, "SLOW_LOOK_SECONDS", 0)
    (doubt,) = look(with_method("sample", sample)).doubts
    assert "to look at one run takes" in doubt


def a_little_off(self, inputs):
    right = Rows.baseline(self, inputs)
    return right | {"out": right["out"] + np.float32(0.01)}


def only_one(self, inputs):
    return {"out": Rows.baseline(self, inputs)["out"]}


def in_float64(self, inputs):
    return Rows.expected(self, inputs)


def in_float16(self, inputs):
    x = inputs["x"].astype(np.float16)
    return {"out": (x + x.sum(axis=1, keepdims=True)).astype(np.float32), "out_largest": inputs["x"].max(axis=1)}


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        (a_little_off, "by sample and expected of rows, its baseline is wrong"),
        (in_float16, "its baseline is wrong"),
        (only_one, "gives out; expected out, out_largest"),
        (in_float64, "gives out as float64 of shape"),
    ],
)
def test_a_wrong_baseline_is_found(baseline, said):
    with pytest.raises(AuthoringError, match=said):
        look(with_method("baseline", baseline))


def test_a_baseline_may_round_a_little_worse_than_kernels():
    def rounded(self, inputs):
        out = Rows.expected(self, inputs)["out"]
        room = Rows.tolerance(self, inputs, {})["out"]
        return Rows.baseline(self, inputs) | {"out": (out + 3.5 * room).astype(np.float32)}

    assert look(with_method("baseline", rounded)).doubts == ()


@pytest.mark.parametrize("work", [lambda self, inputs: Work(float("nan"), 1), lambda self, inputs: None])
def test_a_wrong_work_is_found(work):
    with pytest.raises(AuthoringError, match="work of rows gives"):
        look(with_method("work", work))


@pytest.mark.parametrize(
    ("smaller", "said"),
    [
        (lambda self, sizes: {"rows": sizes["rows"] // 2}, "smaller of rows gives"),
        (lambda self, sizes: {**sizes, "rows": sizes["rows"] / 2}, "smaller of rows gives"),
        (lambda self, sizes: {**sizes, "rows": sizes["rows"] // 2} if sizes["rows"] else None, "bytes=0"),
        (lambda self, sizes: {**sizes, "rows": sizes["rows"] - 1}, "takes more than 64 steps"),
        (lambda self, sizes: {"rows": 4 * sizes["rows"], "cols": sizes["cols"] // 16 - 90}, "smaller of rows gives"),
        (lambda self, sizes: {"rows": 900, "cols": 80}, "expected less than 516,000"),
    ],
)
def test_smaller_sizes_that_lead_nowhere_are_found(smaller, said):
    with pytest.raises(AuthoringError, match=said):
        look(with_method("smaller", smaller))


def test_smaller_sizes_are_calls_of_the_same_arguments():
    class Doubled(Rows):
        def make_inputs(self, rng, rows, cols):
            inputs = super().make_inputs(rng, rows, cols)
            return inputs if rows == 1000 else inputs | {"x": inputs["x"].astype(np.float64)}

    with pytest.raises(AuthoringError, match=r"x: float64, 2 axes.*expected less than .* \(x: float32, 2 axes"):
        look(Doubled())


def test_inputs_that_change_more_than_values_are_found():
    class Moody(Rows):
        def make_inputs(self, rng, rows, cols):
            return super().make_inputs(rng, rows + int(rng.integers(1 << 20)), cols)

    with pytest.raises(AuthoringError, match="only values may be random"):
        look(Moody(), {"rows": 10, "cols": 1})


def test_outputs_of_one_number_and_of_records_are_looked_at():
    point = np.dtype([("x", np.float32), ("hits", np.int32)])

    class Points(Problem):
        entry = "points"

        def make_inputs(self, rng, n):
            x = rng.standard_normal(n).astype(np.float32)
            return {"x": x, "out": Output((n,), point), "out_n": Output((), np.int32)}

        def _points(self, inputs, dtype):
            out = np.zeros(inputs["x"].size, dtype)
            out["x"], out["hits"] = inputs["x"], inputs["x"] > 0
            return out

        def expected(self, inputs):
            wide = np.dtype([("x", np.float64), ("hits", np.int64)])
            return {"out": self._points(inputs, wide), "out_n": np.array(7)}

        def baseline(self, inputs):
            return {"out": self._points(inputs, point), "out_n": np.int32(7)}

        def tolerance(self, inputs, expected):
            return {"out": {"x": 1e-7, "hits": 0}, "out_n": np.zeros(())}

        def work(self, inputs):
            return Work(12 * inputs["x"].size, 0)

        def sample(self, inputs, rng):
            chosen = rng.choice(inputs["x"].size, 50, replace=False)
            few = {"x": inputs["x"][chosen], "out": Output((50,), point)}
            return Sample({**inputs, **few}, {"out": chosen, "out_n": ...})

    assert look(Points(), {"n": 5000}) == Looked(5001, 51, 0)
    with pytest.raises(AuthoringError, match=r"elements of out\.x are wrong"):
        look(
            with_method(
                "baseline",
                lambda self, i: (
                    Points.expected(self, i) | {"out": self._points({"x": -i["x"]}, point), "out_n": np.int32(7)}
                ),
                Points,
            ),
            {"n": 5000},
        )


@pytest.mark.parametrize(
    ("entry", "sizes"),
    [
        ("saxpy", {"n": 1 << 20}),
        ("grayscale", {"height": 1024, "width": 1024}),
        ("reduce_sum", {"n": 1 << 20}),
        ("matmul", {"m": 512, "k": 256, "n": 512}),
        ("attention", {"heads": 2, "n": 512, "d": 64, "causal": False}),
    ],
)
def test_the_courses_problems_leave_no_doubt(monkeypatch, entry, sizes):
    for seconds in ("WHOLE_SECONDS", "SLOW_LOOK_SECONDS"):  # of a machine that is not the tests' alone
        monkeypatch.setattr(raced_problem, seconds, 60.0)
    assert look(PROBLEMS[entry], sizes).doubts == ()
