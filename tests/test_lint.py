"""``grader lint``: each broken promise of an assignment is seen, and the course's four assignments break none."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import class_judges
import pytest
import tiny_course as tiny
import tiny_notebook

from grader.authoring import Row, lint
from grader.classroom import Task
from grader.course import Course, load_course
from grader.errors import AuthoringError
from grader.judging import judge_task
from grader.lint_rows import COPIES
from grader.mutants import copied_constant, copied_input, empty_kernel, read_mutant
from grader.records import Failure, State, Verdict
from grader.release import release

ROOT = Path(__file__).parents[1]


def mutant(caught_by: str, fails: str, needs: str = "") -> str:
    return f'"""A mistake.\n\nCaught by: {caught_by}\n{needs}"""\n# fails: {fails}\n'


GOOD = mutant("test_doubles, test_odd_sizes", "test_doubles test_odd_sizes")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    course = load_course(tiny.write_course(tmp_path) / "course.yml")
    (tmp_path / "solutions/01/wrong").mkdir()
    write_mutants(course, {f"mistake_{number}": GOOD for number in range(2)})
    release(course, "01")
    return course


def write_mutants(course: Course, mutants: Mapping[str, str]) -> None:
    for name, text in mutants.items():
        (course.file.parent / f"solutions/01/wrong/{name}.py").write_text(text)


def rows_of(course: Course) -> dict[str, Row]:
    rows = lint(course, "01", class_judges.by_text, workers=1, make_executor=ThreadPoolExecutor)
    return {row.what: row for row in rows}


def test_an_assignment_that_holds_its_promises_has_no_problem(course: Course) -> None:
    rows = rows_of(course)
    assert [row for row in rows.values() if row.ok is not True] == []
    assert rows["reference"].note == "full marks: 4 checks passed, 1 not measured"
    looked = "test_minimum_speedup: looks at all outputs of each run; no smaller sizes"
    assert rows["dry run of reference"].note == looked
    assert set(rows) >= {"reference", "stub", "empty kernel", "copied constant", "mistake_1", "mutants", "release"}


@pytest.mark.parametrize(
    ("text", "ok", "said"),
    [
        (
            mutant("test_doubles", "test_doubles test_reads_once"),
            False,
            "also fails test_reads_once (out[0] is",
        ),
        (mutant("test_doubles, test_reads_once", "test_doubles"), False, "not caught by test_reads_once"),
        (mutant("test_doubles", "test_doubles[33]"), True, "caught by test_doubles"),
        (mutant("test_doubles", "", "Needs: a real GPU\n"), None, "not yet caught: needs a real GPU"),
        (mutant("test_doubles", "test_doubles", "Needs: a real GPU\n"), False, "now caught: remove Needs"),
        (mutant("test_doubles", "test_reads_once", "Needs: a real GPU\n"), False, "also fails test_reads_once"),
        (mutant("test_doubles", "fault"), False, "not judged: test_doubles[1]: the GPU died"),
    ],
)
def test_a_mutant_fails_exactly_where_it_says(course: Course, text: str, ok: bool | None, said: str) -> None:
    write_mutants(course, {"odd_one": text})
    row = rows_of(course)["odd_one"]
    assert row.ok is ok
    assert said in row.note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"""No promise."""\n', "expected a line 'Caught by: test_…'"),
        (mutant("test_doubels", "test_doubles"), "there is no check test_doubels"),
        ("def broken(:\n", "expected a Python file with a docstring"),
    ],
)
def test_a_mutant_without_a_valid_promise_is_a_problem(course: Course, text: str, said: str) -> None:
    write_mutants(course, {"odd_one": text})
    (row,) = rows_of(course).values()
    assert row.ok is False
    assert "odd_one.py" in row.note
    assert said in row.note


def test_a_promise_may_span_lines(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text('"""Wrong.\n\nCaught by: test_a,\n    test_b\nNeeds: a real GPU\n"""\n')
    assert (read_mutant(path).caught_by, read_mutant(path).needs) == ({"test_a", "test_b"}, "a real GPU")


def test_an_assignment_without_a_mutant_is_a_problem(course: Course) -> None:
    for path in (course.file.parent / "solutions/01/wrong").iterdir():
        path.unlink()
    assert rows_of(course)["mutants"] == Row("mutants", False, "0, at least 1 is expected")


def test_a_mistake_that_stops_several_samples_is_told_once(course: Course) -> None:
    def broken(task: Task) -> Verdict:
        verdict = class_judges.by_text(task)
        if "mistake_1" in task.student:
            return verdict
        why = "problem.py:18: KeyError: 'y'"
        stopped = replace(verdict.checks[2], passed=None, state=State.NOT_JUDGED, reason=why)
        return replace(verdict, checks=tuple(stopped if c.name == stopped.name else c for c in verdict.checks))

    rows = lint(course, "01", broken, workers=1, make_executor=ThreadPoolExecutor)
    assert [row for row in rows if row.ok is False] == [
        Row("not judged", False, "problem.py:18: KeyError: 'y' (this stopped 8 of 9 samples)")
    ]
    assert "mistake_1" in {row.what for row in rows}
    assert not {"reference", "stub", "mistake_0"} & {row.what for row in rows}


def test_an_authors_mistake_in_every_race_is_one_row_of_the_dry_run(course: Course) -> None:
    def broken(task: Task) -> Verdict:
        verdict = class_judges.by_text(task)
        if not task.dry_run:
            return verdict
        speed = replace(verdict.checks[-1], passed=None, state=State.NOT_JUDGED, reason="work gives nan")
        return replace(verdict, checks=(*verdict.checks[:-1], speed, replace(speed, name="test_speed_again")))

    (row,) = [r for r in lint(course, "01", broken, make_executor=ThreadPoolExecutor) if r.ok is False]
    assert row == Row("dry run of reference", False, "test_minimum_speedup, test_speed_again: work gives nan")


@pytest.mark.parametrize(("wanted", "ok"), [(0, True), (2, True), (3, False)])
def test_how_many_mutants_are_enough_is_course_policy(course: Course, wanted: int, ok: bool) -> None:
    course.file.write_text(f"authoring: {{mutants: {wanted}}}\n{tiny.COURSE}")
    row = rows_of(load_course(course.file))["mutants"]
    assert row == Row("mutants", ok, f"2, at least {wanted} are expected")


@pytest.mark.parametrize(
    ("file", "docstring", "said"),
    [
        (
            "test_public.py",
            '    """Each element is read from global memory once."""\n',
            "expected a docstring in test_reads_once",
        ),
        (
            "test_hidden.py",
            '    """Sizes that are no multiple of a block work too."""\n',
            "test_hidden.py:6: expected a docstring in test_odd_sizes, whose first line says what the check promises",
        ),
        (
            "kernels.py",
            '    """x, out: float32 (n,); out starts with garbage."""\n',
            "expected a docstring in double with the shapes and dtypes of its arguments",
        ),
    ],
)
@pytest.mark.parametrize("instead", ["", '    """  """\n'])
def test_a_check_or_entry_point_without_a_docstring_is_a_problem(
    course: Course, file: str, docstring: str, said: str, instead: str
) -> None:
    path = course.file.parent / "solutions/01" / file
    assert docstring in path.read_text()
    path.write_text(path.read_text().replace(docstring, instead))
    release(course, "01")
    row = rows_of(course)["docstrings"]
    assert row.ok is False
    assert said in row.note
    assert f"solutions/01/{file}:" in row.note


@pytest.mark.parametrize("line", ["from grader.judge import Candidate", "import grader", "    import grader.plan"])
def test_a_check_that_imports_the_grader_is_a_problem(course: Course, line: str) -> None:
    path = course.file.parent / "solutions/01/test_hidden.py"
    path.write_text(path.read_text() + f"\n\ndef helper():\n    pass\n{line}\n")
    row = rows_of(course)["checks"]
    assert row.ok is False
    assert "expected checks without imports from grader" in row.note


def test_a_stub_that_does_not_run_is_a_problem(course: Course) -> None:
    def crashes(task: Task) -> Verdict:
        verdict = class_judges.by_text(task)
        if "YOUR CODE HERE" not in (task.submission / "kernels.py").read_text():
            return verdict
        broken = Failure("exception", "kernels.py raised an exception when double was called.")
        return replace(verdict, checks=tuple(replace(c, failure=c.failure and broken) for c in verdict.checks))

    rows = {r.what: r for r in lint(course, "01", crashes, workers=1, make_executor=ThreadPoolExecutor)}
    assert rows["stub"].ok is False
    assert "expected a stub that runs and writes nothing, found: kernels.py raised an exception" in rows["stub"].note


def test_a_reference_that_fails_is_a_problem(course: Course) -> None:
    path = course.file.parent / "solutions/01/kernels.py"
    path.write_text(path.read_text() + "# fails: test_reads_once\n")
    row = rows_of(course)["reference"]
    assert (row.ok, row.note) == (False, "test_reads_once: out[0] is wrong.")


def test_a_fast_reference_is_judged_like_any_submission(course: Course) -> None:
    path = course.file.parent / "solutions/01/fast.py"
    path.write_text(tiny.KERNELS)
    rows = rows_of(course)
    row = rows["fast reference"]
    assert (row.ok, row.note) == (True, "full marks: 4 checks passed, 1 not measured")
    row = rows["dry run of fast reference"]
    assert (row.ok, row.note) == (True, "test_minimum_speedup: what it asks for besides holds")
    path.write_text(tiny.KERNELS + "# fails: test_reads_once\n")
    row = rows_of(course)["fast reference"]
    assert (row.ok, row.note) == (False, "test_reads_once: out[0] is wrong.")


def test_a_stub_that_earns_points_is_a_problem(course: Course) -> None:
    def lenient(task: Task) -> Verdict:
        text = (task.submission / "kernels.py").read_text()
        verdict = class_judges.by_text(task)
        if "YOUR CODE HERE" not in text:
            return verdict
        passed = class_judges.check_of("test_doubles[1]", "correctness", set())
        return replace(verdict, checks=(passed, *verdict.checks[1:]))

    rows = {r.what: r for r in lint(course, "01", lenient, workers=1, make_executor=ThreadPoolExecutor)}
    assert rows["stub"] == Row("stub", False, "expected no point, but passed: test_doubles[1]")


def test_a_release_that_is_out_of_date_is_a_problem(course: Course) -> None:
    path = course.file.parent / "solutions/01/test_public.py"
    path.write_text(path.read_text().replace("[1, 33]", "[1, 35]"))
    row = rows_of(course)["release"]
    assert (row.ok, row.note) == (False, "test_public.py out of date: run `grader release 01`")


def test_an_assignment_that_was_never_released_is_told_as_such(course: Course) -> None:
    shutil.rmtree(course.file.parent / "assignments/01")
    assert rows_of(course)["release"] == Row("release", False, "not released yet: run `grader release 01`")


@pytest.mark.parametrize("name", ["wrong", "fast.py", "test_hidden.py"])
def test_something_hidden_in_the_release_is_a_problem(course: Course, name: str) -> None:
    (course.file.parent / "assignments/01" / name).mkdir()
    assert "must not lie in a released folder" in rows_of(course)["release"].note


def test_a_solution_line_in_another_released_file_is_a_problem(course: Course) -> None:
    (course.file.parent / "assignments/01/notes.py").write_text("\nout[i] = 2 * x[i]\n")
    row = rows_of(course)["release"]
    assert row.ok is False
    assert row.note.startswith("notes.py:2: holds the solution's line")


def test_an_edited_stub_is_taken_for_what_it_is(course: Course) -> None:
    (course.file.parent / "assignments/01/kernels.py").write_text(tiny.KERNELS)
    row = rows_of(course)["release"]
    assert (row.ok, row.note) == (True, "up to date, shows nothing hidden; kernels.py has been edited since")


def test_one_check_name_in_two_files_is_a_problem(course: Course) -> None:
    path = course.file.parent / "solutions/01/test_hidden.py"
    path.write_text(path.read_text().replace("test_odd_sizes", "test_doubles"))
    (row,) = rows_of(course).values()
    assert "test_doubles is in test_hidden.py, too" in row.note


def test_an_entry_point_that_the_reference_lacks_is_a_problem(course: Course) -> None:
    path = course.file.parent / "solutions/01/problem.py"
    path.write_text(path.read_text().replace('entry = "double"', 'entry = "triple"'))
    (row,) = rows_of(course).values()
    assert "expected a function triple with a parameter that begins with 'out'" in row.note


def test_a_notebook_is_looked_at_with_the_rest(tmp_path: Path) -> None:
    course = load_course(tiny_notebook.write_quiz_course(tmp_path) / "course.yml")
    release(course, "01")
    rows = rows_of(course)
    assert {what: rows[what].ok for what in ("notebook", "notebook's points", "notebook's opening", "quiz")} == {
        "notebook": True,
        "notebook's points": True,
        "notebook's opening": True,
        "quiz": True,
    }
    course.file.write_text(f"authoring: {{questions: 6}}\n{course.file.read_text()}")
    row = rows_of(load_course(course.file))["quiz"]
    assert (row.ok, row.note) == (False, "doubling.ipynb: expected at least 6 questions, found 2")


def test_worthless_submissions_are_python_with_every_entry_point() -> None:
    entries = {"double": ("x", "out"), "sums": ("x", "out_sum", "out_max")}
    copies = [copied_input(entries, form) for form in COPIES.values()]
    for text in (empty_kernel(entries), copied_constant(entries), *copies):
        compile(text, "kernels.py", "exec")
        assert "def double(x, out):" in text
        assert "def sums(x, out_sum, out_max):" in text
    assert "out_max.copy_to_device" in copied_constant(entries)


TURNED = {
    "course.yml": """\
course: {id: turned, title: Turned}
assignments:
  "01": {title: Turning, parts: {correctness: 60}, limits: {check: 5 s, memory: 1 GiB, timeouts: 5 s}}
""",
    "solutions/01/problem.py": """\
import numpy as np
from grader.problem import Output, Problem, Work

class Turn(Problem):
    entry = "turn"
    def make_inputs(self, rng, m, n):
        return {"x": rng.normal(size=(m, n)).astype(np.float32), "out": Output((n, m), np.float32)}
    def expected(self, inputs):
        return {"out": inputs["x"].T}
    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}
    def baseline(self, inputs):
        return {"out": inputs["x"].T.copy()}
    def work(self, inputs):
        return Work(8 * inputs["x"].size, 0)
""",
    "solutions/01/kernels.py": """\
from numba import cuda

@cuda.jit
def kernel(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = x[i, j]

def turn(x, out):
    \"\"\"Turns x.\"\"\"
    ### BEGIN SOLUTION
    kernel[(x.shape[0] // 8 + 1, x.shape[1] // 8 + 1), (8, 8)](x, out)
    ### END SOLUTION
""",
    "solutions/01/test_public.py": "",
    "solutions/01/test_hidden.py": """\
import pytest

@pytest.mark.part("correctness")
def test_turns(submission):
    \"\"\"Rows become columns.\"\"\"
    {check}
""",
}


@pytest.mark.parametrize(
    ("check", "caught"),
    [
        ("submission.check(m=33, n=17)", False),
        ('submission.simulate(m=33, n=17).require("stores_of_out", at_least=33 * 17)', True),
    ],
)
def test_a_result_that_host_copies_can_make_is_a_problem_until_kernels_must_store_it(
    tmp_path: Path, check: str, caught: bool
) -> None:
    for name, text in TURNED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.replace("{check}", check))
    (tmp_path / "solutions/01/wrong").mkdir()
    course = load_course(tmp_path / "course.yml")
    rows = {row.what: row for row in lint(course, "01", judge_task, workers=1, make_executor=ThreadPoolExecutor)}
    assert rows["reference"].ok, rows["reference"].note
    assert rows["transposed input"].ok is caught, rows["transposed input"].note
    assert caught or "require stores_of_out" in rows["transposed input"].note
    for form in ("copied input", "reversed input"):
        assert rows[form].ok, rows[form].note


def test_an_author_may_not_leave_a_mutant_unreadable(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="No such file"):
        read_mutant(tmp_path / "none.py")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ["01", "02", "03", "04"])
def test_an_assignment_of_the_course_holds_its_promises(name: str) -> None:
    """The real judge on the simulator: reference, stub, empty kernel, copied constant, every mutant."""
    course = load_course(ROOT / "course.yml")
    rows = lint(course, name, judge_task, workers=1)
    assert [row for row in rows if row.ok is False] == []
    assert len(rows) >= course.authoring.mutants + 8
    assert course.authoring.mutants >= 10
