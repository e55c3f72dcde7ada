"""Lint's dry run of races: what only a GPU would carry out goes wrong on the author's machine, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest
import two_exercises

from grader.authoring import lint
from grader.dry_run import DryRun, DryRunOf
from grader.judging import judge_submission, judge_task
from grader.lint_rows import Row, dry_run_rows

SPEED = '''\
import pytest


@pytest.mark.part("speed")
def test_speed(submission):
    """On a GPU, at least course.yml's minimum speed-up."""
    raced = submission.race("halve", n=1 << 20)
    run = submission.simulate("halve", **raced, blocks=4)
    run.require("global_loads", at_most=raced["n"])
'''
CHECKS = two_exercises.PUBLIC.partition('@pytest.mark.part("speed")')[0]
SAMPLE = """
    def sample(self, inputs, rng):
        chosen = rng.choice(inputs["x"].size, 1000, replace=False)
        few = {"x": inputs["x"][chosen], "out": Output((1000,), np.float32)}
        return Sample(few, {"out": chosen})

    def smaller(self, sizes):
        return {"n": sizes["n"] // 4} if sizes["n"] >= 4000 else None
"""
PROBLEM = two_exercises.PROBLEM.replace("Problem, Work", "Problem, Sample, Work") + SAMPLE
LARGE = '''

@cuda.jit
def large_kernel(x, out):
    """The same for many elements."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = times(x[i], float32(0.5))
'''
LARGE_CALL = "    (large_kernel if out.size > 1000 else halve_kernel)[blocks, THREADS](x, out)\n"


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    """solutions/01 of a course whose speed check goes on after its race."""
    two_exercises.write(tmp_path)
    folder = tmp_path / "solutions/01"
    (folder / "test_public.py").write_text(CHECKS + SPEED.partition("\n\n\n")[2])
    (folder / "problem.py").write_text(PROBLEM)
    return folder


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))


def rows_of(folder: Path, of: DryRunOf = "problem") -> list[Row]:
    return dry_run_rows("dry run", judge_submission(folder, folder, seed=5, dry_run=DryRun(of)), ())


def test_a_race_that_is_sound_is_said_to_be(solutions: Path) -> None:
    looked = "test_speed: looks at 1,000 of 1,048,576 outputs of each run; 5 smaller sizes"
    assert rows_of(solutions) == [Row("dry run", True, looked)]
    assert rows_of(solutions, "kernels") == [Row("dry run", True, "test_speed: what it asks for besides holds")]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("problem.py", '{"out": chosen}', '{"out": chosen - 1}', "its baseline is wrong"),
        ("problem.py", "rng.choice(inputs", "np.random.default_rng(1).choice(inputs", "the same places of out"),
        ("problem.py", "1000, replace", "len(few), replace", "problem.py:37: UnboundLocalError: "),
        ("problem.py", '"n": sizes["n"] // 4', '"m": sizes["n"] // 4', "smaller of halve gives {'m': 262144}"),
        ("problem.py", 'inputs["x"] / 2', '0.49 * inputs["x"]', "its baseline is wrong"),
        ("problem.py", 'bytes=8 * inputs["x"].size', "bytes=None", "work of halve gives bytes=None"),
        ("test_public.py", '"global_loads", at_most=raced', '"loads", at_most=raced', "no counter 'loads'"),
        ("test_public.py", 'at_most=raced["n"]', "at_most=n", "NameError: name 'n' is not defined"),
        ("test_public.py", '"global_loads", at_most=raced["n"]', '"threads", at_most=64', "there are too many threads"),
        ("test_public.py", 'race("halve", n=', 'race("halve", m=', "make_inputs() got an unexpected keyword argument"),
    ],
)
def test_a_mistake_that_only_a_race_would_meet_is_found(solutions, file, old, new, said):
    change(solutions / file, old, new)
    (row,) = rows_of(solutions)
    assert row.ok is False
    assert row.note.startswith("test_speed: ")
    assert said in row.note


def test_what_some_blocks_leave_in_doubt_is_a_note(solutions: Path) -> None:
    change(solutions / "test_public.py", 'at_most=raced["n"]', 'at_most=raced["n"] / 2')
    (row,) = rows_of(solutions)
    assert row.ok is None
    assert "there are too many reads" in row.note


def test_a_kernel_that_is_raced_and_checked_nowhere_is_said(solutions: Path) -> None:
    kernels = solutions / "kernels.py"
    change(kernels, "    halve_kernel[blocks, THREADS](x, out)\n", LARGE_CALL)
    kernels.write_text(kernels.read_text() + LARGE)
    for of in ("problem", "kernels"):
        (row,) = rows_of(solutions, of)
        assert row.ok is None
        assert row.note.startswith("test_speed: large_kernel is raced, and launched by no check of results")
    change(solutions / "test_hidden.py", '{"entry": "double", "n": 2}', '{"entry": "halve", "n": 1025}')
    assert [row.ok for row in rows_of(solutions)] == [True]


def test_a_kernel_whose_results_a_technique_check_looks_at_is_checked(solutions: Path) -> None:
    kernels = solutions / "kernels.py"
    change(kernels, "    halve_kernel[blocks, THREADS](x, out)\n", LARGE_CALL)
    kernels.write_text(kernels.read_text() + LARGE)
    change(
        solutions / "test_public.py",
        'simulate("halve", n=64).require("loads_of_x", at_most=64)',
        'simulate("halve", n=1001)',
    )
    assert [row.ok for row in rows_of(solutions)] == [True]


def test_a_speed_check_that_races_nothing_is_said(solutions: Path) -> None:
    change(solutions / "test_public.py", 'submission.race("halve", n=1 << 20)', '{"n": 1024}')
    assert rows_of(solutions) == [Row("dry run", None, "test_speed: races nothing")]


def test_lint_has_the_dry_runs_of_both_references(solutions: Path) -> None:
    course = two_exercises.load_course(solutions.parents[1] / "course.yml")
    two_exercises.release(course, "01")
    (solutions / "fast.py").write_text((solutions / "kernels.py").read_text())
    change(solutions / "problem.py", '{"out": chosen}', '{"out": chosen - 1}')
    two_exercises.release(course, "01")
    rows = {row.what: row for row in lint(course, "01", judge_task, workers=1)}
    assert rows["dry run of reference"].ok is False
    assert rows["dry run of fast reference"].ok is True
    assert [row.what for row in rows.values() if row.ok is False] == ["dry run of reference"]


def test_what_stops_every_sample_is_told_once(solutions: Path) -> None:
    course = two_exercises.load_course(solutions.parents[1] / "course.yml")
    change(solutions / "problem.py", '0.5 * inputs["x"]', '0.5 * inputs["y"]')
    two_exercises.release(course, "01")
    (row,) = [row for row in lint(course, "01", judge_task, workers=1) if row.ok is False]
    # All but the one that copies a constant, and launches nothing that could be compared.
    samples = 7 + len(two_exercises.MUTANTS)
    assert row.what == "not judged"
    assert row.note == f"problem.py:31: KeyError: 'y' (this stopped {samples - 1} of {samples} samples)"
