"""The CPU baseline's time: the fastest of a machine, whatever disturbs it now."""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from grader import baseline
from grader.baseline import ANOTHER_MACHINE, Baseline, baseline_time
from grader.errors import AuthoringError
from grader.problem import Output, Problem, Work

MS = 1_000_000
INPUTS = {"x": np.arange(10.0, dtype=np.float32), "out": Output((10,), np.float32)}


class Twice(Problem):
    """out = 2 x."""

    entry = "twice"

    def make_inputs(self, rng, n):
        return INPUTS

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"]}

    def baseline(self, inputs):
        return {"out": 2 * inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}

    def work(self, inputs):
        return Work(1, 1)


@pytest.fixture
def race(tmp_path, monkeypatch):
    """``race(times)``: a race's baseline where runs take these milliseconds, in turns; counts them in ``race.runs``."""
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path)

    def ask(times, call="twice(n=10)", threads=4):
        turns = itertools.cycle(times)
        ask.runs = 0

        def run(problem, inputs):
            ask.runs += 1
            return int(next(turns) * MS)

        return baseline_time(Twice(), call, INPUTS, threads, run)

    ask.file = tmp_path / "baselines.json"
    return ask


def fixed(ms, now_ms=None):
    return Baseline(ms * MS, (now_ms or ms) * MS)


@pytest.mark.parametrize(
    "times",
    [
        [100] * 10,
        [100, 101, 99.5, 140, 100] * 5,
        [100] * 30 + [140] * 1000,  # something else begins to run
        [140] * 30 + [100] * 1000,  # or ends
        ([140] * 20 + [100] * 5 + [170] * 20) * 10,  # in phases
        [100 + number for number in range(600)],  # ever slower
    ],
)
def test_the_time_is_that_of_runs_that_nothing_disturbs(race, times):
    assert race(times).ns == pytest.approx(100 * MS, rel=0.02)


def test_a_quiet_machine_takes_ten_seconds_once_and_half_a_second_in_later_races(race):
    race([100])
    assert race.runs == 100
    race([100])
    assert race.runs == 5


def test_a_machine_that_is_never_quiet_takes_half_a_minute(race):
    assert race([100, 120, 120]).ns == 100 * MS
    assert 260 <= race.runs <= 270


def test_all_races_count_the_same_whatever_phase_they_fall_into(race):
    phases = [[100, 101], [140], [250], [101], [170, 130]]
    assert {race(phase).ns for phase in phases} == {100 * MS}
    assert race([140]) == fixed(100, 140)


def test_a_faster_time_is_kept_from_then_on(race):
    race([140])
    assert race([100]) == fixed(100)
    assert race([140]) == fixed(100, 140)


def test_a_time_that_is_little_faster_moves_nobodys_score(race):
    race([100])
    assert race([98.5]) == fixed(100, 98.5)


def test_two_fast_runs_are_an_accident(race):
    accident = [70, 60] + [100] * 2000
    assert race(accident) == fixed(100)
    assert race(accident) == fixed(100)
    assert race([100]) == fixed(100)
    assert race([90, 101]) == fixed(90)


def test_where_no_two_runs_are_alike_there_is_a_time_as_well(race):
    assert race([100 * 1.02**number for number in range(400)]).ns == pytest.approx(104 * MS, rel=0.01)


def test_a_machine_that_is_another_one_now_is_measured_anew(race):
    race([100])
    slower = 100 * ANOTHER_MACHINE + 10
    assert race([slower]) == fixed(slower)
    assert race([slower]) == fixed(slower)


def test_a_baseline_of_no_size_is_run_no_more_than_2000_times(race):
    race([0.001, 0.002, 0.002])
    assert race.runs == 2000
    race([0.001, 0.002, 0.002])
    assert race.runs == 2000


@pytest.mark.parametrize(("ms", "runs"), [(2000, 6), (5000, 6), (9000, 4), (20_000, 3)])
def test_slow_baselines_run_three_to_six_times(race, ms, runs):
    assert race([ms]).ns == ms * MS
    assert race.runs == runs


@pytest.mark.parametrize("other", [{"call": "twice(n=20)"}, {"threads": 1}])
def test_each_call_and_number_of_threads_has_a_time_of_its_own(race, other):
    race([100])
    assert race([140], **other) == fixed(140)
    assert race([100]) == fixed(100)


def test_another_problem_py_has_a_time_of_its_own(race, monkeypatch, tmp_path):
    race([100])
    text = f"def baseline(self, inputs):\n    return {{'out': 2 * inputs['x']}}  # {tmp_path}"
    (tmp_path / "problem.py").write_text(text)
    defined = {}
    exec(compile(text, tmp_path / "problem.py", "exec"), defined)
    monkeypatch.setattr(Twice, "baseline", defined["baseline"])
    assert race([140]) == fixed(140)


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "-1", "NaN", "0", "1e999", '"fast"', "true"])
def test_a_file_that_is_none_of_ours_is_measured_again(race, content):
    race([140])
    (key,) = json.loads(race.file.read_text())
    race.file.write_text(content)
    assert race([140]) == fixed(140)
    race.file.write_text(f'{{"{key}": {content or "null"}, "other": 5}}')
    assert race([140]) == fixed(140)


def test_a_cache_that_cannot_be_written_costs_only_time(race, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path / "file")
    assert race([100]) == race([100]) == fixed(100)
    assert race.runs == 100


def test_the_baseline_runs_with_the_threads_of_the_course_and_leaves_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path)
    monkeypatch.setattr(baseline, "LEAST_SECONDS", 0.0)
    seen = set()

    class Counting(Twice):
        def baseline(self, inputs):
            seen.update(one["num_threads"] for one in threadpool_info())
            return super().baseline(inputs)

    before = [one["num_threads"] for one in threadpool_info()]
    assert baseline_time(Counting(), "twice(n=10)", INPUTS, 1).ns >= 1
    assert seen == {1}
    assert [one["num_threads"] for one in threadpool_info()] == before


def test_a_baseline_that_fails_or_has_another_form_is_the_authors(race, monkeypatch):
    with pytest.raises(AuthoringError, match="ZeroDivisionError"):
        baseline_time(Twice(), "twice(n=10)", INPUTS, 1, lambda problem, inputs: 1 // 0)
    monkeypatch.setattr(Twice, "baseline", lambda self, inputs: {"out": inputs["x"].astype(np.float64)})
    with pytest.raises(AuthoringError, match="float64 of shape"):
        race([100])
