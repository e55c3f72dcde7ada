"""course.yml: what is accepted, and that each mistake is one sentence with file, line, expected and found."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from grader.course import find_course, load_course, part_text, students_text
from grader.errors import CourseError, UsageError
from grader.release import solution_folder

TEXT = """\
course: {id: gpu101, title: GPU programming}
grading: {without_gpu: scale, late: {per_day: 10, grace: 1h, cap: 50}, attempts: best, baseline_threads: 4}
assignments:
  "02":
    title: Reduction
    parts: {correctness: 100}
    limits: {check: 1500 ms, memory: 512 MiB, timeouts: 2 min}
  "03":
    title: Tiled matmul
    due: 2027-03-01T23:59:00+01:00
    parts: {correctness: 40, technique: 20.5, speed: 30}
    limits: {check: 20 s, memory: 4 GiB, timeouts: 40 s}
    speed: {min_speedup: 3, full_at: 0.5}
"""


def course_file(folder: Path, old: str = "", new: str = "") -> Path:
    assert old in TEXT
    path = folder / "course.yml"
    path.write_text(TEXT.replace(old, new, 1) if old else TEXT, encoding="utf-8")
    return path


def test_units_dates_and_points_are_read(tmp_path: Path) -> None:
    course = load_course(course_file(tmp_path))
    assignment = course.assignment("03")
    assert assignment.limits.memory == 4 * 2**30
    assert course.assignment("02").limits.check == 1.5
    assert course.assignment("02").limits.timeouts == 120
    assert course.grading.late.grace == 3600
    assert assignment.due is not None
    assert assignment.due.utcoffset() == timedelta(hours=1)
    assert assignment.ordered_parts() == {"correctness": 40, "technique": 20.5, "speed": 30}
    assert assignment.points == 90.5


def test_an_assignment_is_found_without_its_leading_zero(tmp_path: Path) -> None:
    assert load_course(course_file(tmp_path)).assignment("3").title == "Tiled matmul"


def test_an_unquoted_number_is_no_octal_number(tmp_path: Path) -> None:
    assert load_course(course_file(tmp_path, '"03":', "010:")).assignment("10").name == "010"


def test_an_unknown_assignment_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^unknown assignment '5'; there are 02, 03$"):
        load_course(course_file(tmp_path)).assignment("5")


def test_policy_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_course(course_file(tmp_path)).assignment("03").title = "Easy"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("correctness: 40", "corectness: 40", ":11: unknown key 'corectness' (did you mean 'correctness'?); expected"),
        ("without_gpu", "without_gpus", ":2: unknown key 'without_gpus' (did you mean 'without_gpu'?); expected one"),
        ("title: Tiled matmul", "title: Tiled\n    name: x", ":10: unknown key 'name'"),
        ("course: {id", "file: x\ncourse: {id", ":1: unknown key 'file'"),
        (
            "correctness: 40",
            "correctness: -1",
            ":11: assignments.03.parts.correctness: expected a number of points, 0 or",
        ),
        ("correctness: 40", "correctness: .nan", "expected a number of points, 0 or more, found nan"),
        ("correctness: 40", "correctness: yes", "expected a number of points, 0 or more, found True"),
        ("correctness: 40", "correctness: 0.001", "expected points with at most two decimals"),
        ("correctness: 100", "correctness: 0", ":4: assignments.02: expected parts with more than 0 points in total"),
        ("check: 20 s", "check: 20 parsecs", ":12: assignments.03.limits.check: expected a number with a unit (ms, s,"),
        ("check: 20 s", "check: 0 s", ":12: assignments.03.limits.check: expected at least 1 s, found '0 s'"),
        ("check: 20 s", "check: 1 ms", ":12: assignments.03.limits.check: expected at least 1 s, found '1 ms'"),
        ("check: 20 s", "check: 0.999", ":12: assignments.03.limits.check: expected at least 1 s, found 0.999"),
        ("check: 20 s", "check: -1", ":12: assignments.03.limits.check: expected "),
        ("check: 20 s", "check: .nan", ":12: assignments.03.limits.check: expected "),
        ("check: 20 s", "check: 31 d", ":12: assignments.03.limits.check: expected at most "),
        ("timeouts: 40 s", "timeouts: 0 s", ":12: assignments.03.limits.timeouts: expected more than 0, found '0 s'"),
        ("memory: 4 GiB", "memory: 63 MiB", ":12: assignments.03.limits.memory: expected at least 64 MiB, found '63 M"),
        ("memory: 4 GiB", "memory: 4", ":12: assignments.03.limits.memory: expected at least 64 MiB, found 4"),
        ("memory: 4 GiB", f"memory: {'9' * 5000} GiB", "assignments.03.limits.memory: expected "),
        ("memory: 4 GiB", f"memory: {'9' * 30} GiB", "assignments.03.limits.memory: expected "),
        ("memory: 4 GiB", "memory: 4 Gb", "memory: expected a number with a unit (B, kB, MB, GB, KiB, MiB, GiB)"),
        (
            "full_at: 0.5",
            "full_at: 5",
            ":13: assignments.03.speed.full_at: expected a fraction of the reference's spee",
        ),
        (
            "full_at: 0.5",
            "full_at: 1.01",
            "full_at: expected a fraction of the reference's speed, above 0 and at most 1",
        ),
        ("full_at: 0.5", "full_at: 0.5, bonus: 5", ":13: assignments.03.speed: expected both 'bonus', in points, and"),
        ("full_at: 0.5", "full_at: 0.5, bonus_at: 2", "expected both 'bonus', in points, and 'bonus_at'"),
        ("full_at: 0.5", "full_at: 0.5, bonus: 5, bonus_at: 0.5", "expected a 'bonus_at' above full_at, which is 0.5"),
        ("full_at: 0.5", "full_at: 0.5, bonus: 5, bonus_at: .inf", "expected a finite number, found inf"),
        ("full_at: 0.5", "full_at: 0", "above 0 and at most 1, say 0.5, found 0"),
        ("full_at: 0.5", "full_at: -0.5", "above 0 and at most 1, say 0.5, found -0.5"),
        ("full_at: 0.5", "full_at: .nan", "above 0 and at most 1, say 0.5, found nan"),
        ("full_at: 0.5", "full_at: half", "above 0 and at most 1, say 0.5, found 'half'"),
        ("full_at: 0.5", "full_at: true", "above 0 and at most 1, say 0.5, found True"),
        (
            "id: gpu101",
            "id: gpu 101",
            ":1: course.id: expected letters, digits, '.', '_' and '-', as it names files, found 'g",
        ),
        (
            "id: gpu101",
            "id: .gpu",
            "course.id: expected letters, digits, '.', '_' and '-', as it names files, found '.gpu'",
        ),
        (
            "title: Reduction",
            "title: R\n    stub_sha256: 12",
            ":6: assignments.02.stub_sha256: expected 64 digits and le",
        ),
        (
            "grace: 1h",
            "grace: 15",
            ":2: grading.late.grace: expected a number with a unit (ms, s, min, h, d), say 1h, f",
        ),
        ("grace: 1h", "grace: 0.5", "grading.late.grace: expected a number with a unit"),
        (
            "    due:",
            "    extensions: {ada: 2}\n    due:",
            ":10: assignments.03.extensions.ada: expected a number with a unit (ms, s, min, h, d), say 2 d, found 2",
        ),
        ("    due:", "    extensions: {ada: 400 d}\n    due:", ":10: assignments.03.extensions.ada: expected "),
        (
            "title: Reduction",
            "title: R\n    extensions: {ada: 2 d}",
            "expected a key 'due', since there are extensions",
        ),
        ("grading: {", "grading: {sandbox: limit, ", ":2: grading.sandbox: expected one of 'limits', 'restricted', 'i"),
        ("without_gpu: scale", "without_gpu: guess", "without_gpu: expected 'wait' or 'scale', found 'guess'"),
        ("baseline_threads: 4", "baseline_threads: many", "baseline_threads: expected a whole number, found 'many'"),
        ("min_speedup: 3", "min_speedup: .inf", "min_speedup: expected a finite number, found inf"),
        ("min_speedup: 3", "min_speedup: true", "min_speedup: expected a number, found True"),
        ("min_speedup: 3", "min_speedup: '3'", "min_speedup: expected a number, found '3'"),
        ("baseline_threads: 4", "baseline_threads: true", "baseline_threads: expected a whole number, found True"),
        ("baseline_threads: 4", "baseline_threads: '4'", "baseline_threads: expected a whole number, found '4'"),
        ("baseline_threads: 4", "baseline_threads: 2.5", "baseline_threads: expected a whole number, found 2.5"),
        ("full_at: 0.5", "full_at: '0.5'", "above 0 and at most 1, say 0.5, found '0.5'"),
        ("check: 20 s", "check: true", ":12: assignments.03.limits.check: expected a number with a unit"),
        ("correctness: 40", "correctness: '40'", "expected a number of points, 0 or more, found '40'"),
        ("    speed: {min", "    #", ":8: assignments.03: expected a key 'speed' with min_speedup and full_at"),
        ("title: Reduction", "", ":4: expected a key 'title' in assignments.02, found none"),
        ('"03"', '"02"', ":8: key '02' appears twice, first in line 4"),
        ('"03"', '"2"', ":8: assignment '2' is the same number as '02'"),
        ("grading: {", "grading: [", ":2: expected YAML, found: "),
        ("title: Reduction", "title: &a [*a]", "expected"),
        ("parts: {correctness: 100}", "parts: {[1]: 100}", ":6: expected a name as key, found a list or a section"),
    ],
)
def test_a_mistake_is_one_sentence_with_line_expected_and_found(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = course_file(tmp_path, old, new)
    with pytest.raises(CourseError) as caught:
        load_course(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


DUE = "2027-03-01T23:59:00+01:00"


@pytest.mark.parametrize(
    ("due", "found"),
    [
        ("2027-03-01", "'2027-03-01'"),
        ("2027-03-01T23:59:00", "'2027-03-01T23:59:00'"),
        ("2027-03-01 23:59", "'2027-03-01 23:59'"),
        ("23:59:00+01:00", "'23:59:00+01:00'"),
        ("next monday", "'next monday'"),
        ("1803942000", "1803942000"),
        ("'1803942000'", "'1803942000'"),
        ("20.5", "20.5"),
        (".nan", "nan"),
        ("true", "True"),
        ("''", "''"),
        ("[2027, 3, 1]", "[2027, 3, 1]"),
        ("{year: 2027}", "a section"),
    ],
)
def test_a_malformed_due_date_says_which_form_it_wants(tmp_path: Path, due: str, found: str) -> None:
    path = course_file(tmp_path, DUE, due)
    with pytest.raises(CourseError) as caught:
        load_course(path)
    wanted = "a date with time and time zone, say 2027-03-01T23:59:00+01:00"
    assert str(caught.value) == f"{path}:10: assignments.03.due: expected {wanted}, found {found}"


@pytest.mark.parametrize(
    "due", ["2027-02-30T23:59:00+01:00", "2027-13-01 23:59+01:00", "2027-03-01T24:59:00Z", "2027-03-01T23:59:61"]
)
def test_a_day_or_time_that_does_not_exist_is_told_as_such(tmp_path: Path, due: str) -> None:
    path = course_file(tmp_path, DUE, due)
    with pytest.raises(CourseError) as caught:
        load_course(path)
    assert str(caught.value) == f"{path}:10: assignments.03.due: expected a day and a time that exist, found {due!r}"


def test_an_extension_is_one_students_and_no_release_names_anybody(tmp_path: Path) -> None:
    extended = "    extensions: {greenfay: 2 d, Lee Lou: 36 h, '007': 0}\n    due:"
    course = load_course(course_file(tmp_path, "    due:", extended))
    assignment = course.assignment("03")
    assert assignment.due is not None
    added = {"greenfay": timedelta(days=2), "Lee Lou": timedelta(hours=36), "007": timedelta(), "ada": timedelta()}
    assert {name: assignment.due_for(name) for name in added} == {n: assignment.due + more for n, more in added.items()}
    assert course.assignment("02").due_for("greenfay") is None
    for text in (part_text(course, "03", "0" * 64), students_text(course, ["02", "03"])):
        assert "Tiled matmul" in text
        assert not [word for word in ("extensions", "greenfay", "Lee", "007") if word in text]


def test_no_grace_needs_no_unit(tmp_path: Path) -> None:
    assert load_course(course_file(tmp_path, "grace: 1h", "grace: 0")).grading.late.grace == 0


@pytest.mark.parametrize(("key", "folder"), [('"2"', "02"), ("2", "02"), ('"04"', "4")])
def test_an_assignment_without_its_folder_is_told_with_its_line_and_the_folder_that_may_be_meant(
    tmp_path: Path, key: str, folder: str
) -> None:
    course = load_course(course_file(tmp_path, '"02"', key))
    (tmp_path / "solutions" / folder).mkdir(parents=True)
    name = key.strip('"')
    wanted = tmp_path / "solutions" / name
    said = f"{tmp_path / 'course.yml'}:4: assignment {name!r}: expected a folder {wanted}, found "
    with pytest.raises(UsageError) as caught:
        solution_folder(course, name)
    assert str(caught.value) == f"{said}{tmp_path / 'solutions' / folder}: name both alike"
    (tmp_path / "solutions" / folder).rename(wanted)
    assert solution_folder(course, name) == wanted
    wanted.rmdir()
    with pytest.raises(UsageError, match=r"found none$"):
        solution_folder(course, name)


@pytest.mark.parametrize("due", [DUE, "2027-03-01 22:59:00Z", "2027-03-01T23:59+01:00", f"'{DUE}'"])
def test_a_due_date_may_be_written_in_the_usual_ways(tmp_path: Path, due: str) -> None:
    found = load_course(course_file(tmp_path, DUE, due)).assignment("03").due
    assert found is not None
    assert found.timestamp() == 1803941940


@pytest.mark.parametrize("full_at", ["1", "1.0", "0.01"])
def test_full_marks_may_ask_for_up_to_the_references_speed(tmp_path: Path, full_at: str) -> None:
    speed = load_course(course_file(tmp_path, "full_at: 0.5", f"full_at: {full_at}")).assignment("03").speed
    assert speed is not None
    assert speed.full_at == float(full_at)


@pytest.mark.parametrize(("section", "wanted"), [("", 1), ("authoring: {mutants: 12}\n", 12), ("authoring: {}\n", 1)])
def test_an_assignment_needs_one_mutant_unless_the_course_asks_for_more(
    tmp_path: Path, section: str, wanted: int
) -> None:
    course = load_course(course_file(tmp_path, "assignments:\n", f"{section}assignments:\n"))
    assert course.authoring.mutants == wanted


@pytest.mark.parametrize("mutants", ["-1", "many", "1.5", ".inf", "true", "'12'"])
def test_a_number_of_mutants_is_a_whole_number(tmp_path: Path, mutants: str) -> None:
    path = course_file(tmp_path, "assignments:\n", f"authoring: {{mutants: {mutants}}}\nassignments:\n")
    with pytest.raises(CourseError, match=r":3: authoring.mutants: expected .*, found "):
        load_course(path)


def test_what_concerns_authors_alone_is_not_released(tmp_path: Path) -> None:
    path = course_file(tmp_path, "assignments:\n", "authoring: {mutants: 12}\nassignments:\n")
    part = part_text(load_course(path), "03", "0" * 64)
    assert "mutants" not in part


@pytest.mark.parametrize("depth", [41, 150, 400, 3000, 100_000])
@pytest.mark.parametrize("nested", ["[", "{a: ", "[{a: ", "- ", "? ", "a:\n"])
def test_whatever_is_nested_too_deep_is_a_mistake_in_the_file(tmp_path: Path, depth: int, nested: str) -> None:
    value = nested * depth
    if nested == "a:\n":
        value = "\n" + "".join(f"{' ' * (7 + n)}a:\n" for n in range(min(depth, 1000)))
    elif nested in ("- ", "? "):
        value = f"\n      {value}"
    else:
        closing = "".join({"[": "]", "{": "}"}.get(c, "") for c in reversed(nested))
        value = f"{value}1{closing * depth}"
    path = course_file(tmp_path, "title: Reduction", f"title: {value}")
    with pytest.raises(CourseError) as caught:
        load_course(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 300


@pytest.mark.parametrize(
    ("content", "said"), [(b"", ":1: expected keys"), (b"- 1\n", ":1: expected keys"), (b"a: \xff", "expected UTF-8")]
)
def test_a_file_that_is_no_course_says_so(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "course.yml"
    path.write_bytes(content)
    with pytest.raises(CourseError, match=said):
        load_course(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="expected a readable file, found: No such file"):
        load_course(tmp_path / "course.yml")


def test_an_endless_alias_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "course.yml"
    path.write_text("course: &a\n  id: *a\n", encoding="utf-8")
    with pytest.raises(CourseError, match="alias"):
        load_course(path)


def test_the_nearest_course_above_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "solutions" / "03"
    inner.mkdir(parents=True)
    assert find_course(inner) is None or tmp_path not in find_course(inner).parents  # type: ignore[union-attr]
    outer_file = course_file(tmp_path)
    assert find_course(inner) == outer_file.resolve()
    inner_file = course_file(inner)
    assert find_course(inner) == inner_file.resolve()


def test_a_released_part_works_in_a_folder_of_any_name(tmp_path: Path) -> None:
    course = load_course(course_file(tmp_path))
    folder = tmp_path / "my matmul"
    folder.mkdir()
    (folder / "course.yml").write_text(part_text(course, "03", "0" * 64), encoding="utf-8")
    part = load_course(folder / "course.yml")
    assert list(part.assignments) == ["03"]
    assert part.assignment_of(folder).parts == course.assignment("03").parts
    assert part.assignment_of(folder).limits == course.assignment("03").limits
    assert part.assignment_of(folder).stub_sha256 == "0" * 64
    assert part.grading == course.grading


def test_the_committed_course_is_valid() -> None:
    course = load_course(Path(__file__).parents[1] / "course.yml")
    assert list(course.assignments) == ["01", "02", "03", "04"]
