"""Exports: the keys that each system documents, blank where nothing was judged, no formula, nothing hidden."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.course import Assignment, Late
from grader.export import NBGRADER_COLUMNS, WRITERS, Row, rows_of, with_checks
from grader.export_notes import MAX_LINES, notes, of_other_points, shortened
from grader.gradebook import FORMULA_STARTS
from grader.records import CheckResult, Failure, PartScore, State, Verdict

ASSIGNMENT = Assignment.model_validate(
    {
        "name": "03",
        "title": "Tiled matmul",
        "due": "2027-03-01T23:59:00+01:00",
        "parts": {"correctness": 60, "speed": 40},
        "limits": {"check": 5, "memory": "1 GiB", "timeouts": 5},
        "speed": {"min_speedup": 2, "full_at": 0.5},
    }
)
NOW = datetime(2027, 4, 1, tzinfo=UTC)  # when it was due
LATE = Late.model_validate({"per_day": 10})
PASSED = CheckResult("test_sizes[n=1]", "correctness", 1, "Each element is right.", False, True, credit=1, seconds=0.25)
HIDDEN = CheckResult(
    "test_secret_sizes[n=4099]",
    "correctness",
    1,
    "Odd sizes work too.",
    True,
    False,
    failure=Failure("wrong-values", "out[4098] is wrong", "4711", "0"),
)
NO_GPU = CheckResult(
    "test_speed", "speed", 1, "It is fast.", False, None, State.NOT_MEASURED, reason="no GPU", needs_gpu=True
)
BROKEN = replace(NO_GPU, name="test_fault", state=State.NOT_JUDGED, reason="the GPU fell off the bus")
DONE = Verdict(
    "ada",
    "03",
    "",
    "cuda",
    (PartScore("correctness", 60, 60, 30), PartScore("speed", 40, 40, 20)),
    (PASSED, HIDDEN),
    50.0,
    100,
    100,
    "half of it",
    seed=123456789,
    handed_in_at="2027-03-02T10:00:00+00:00",
    late_seconds=40000,
)
WAITING = replace(
    DONE,
    student="bob",
    parts=(PartScore("correctness", 60, 60, 30), PartScore("speed", 40, 0, 0)),
    checks=(PASSED, HIDDEN, NO_GPU, BROKEN),
    total=None,
    points_judged=60,
    summary="speed not measured: no GPU",
    handed_in_at="2027-03-01T10:00:00+00:00",
    late_seconds=0,
)
ABSENT = replace(DONE, student="cy", checks=(), total=0.0, handed_in=False, late_seconds=0, handed_in_at="")


@pytest.fixture
def rows() -> tuple[Row, ...]:
    return rows_of((DONE, WAITING, ABSENT), ASSIGNMENT, LATE, NOW)


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_a_csv_has_nbgraders_columns_first_and_blanks_for_what_waits(rows: tuple[Row, ...]) -> None:
    (text,) = WRITERS["csv"](rows).values()
    head, *lines = table(text)
    assert tuple(head) == (*NBGRADER_COLUMNS, "correctness", "speed", "why")
    scores = [dict(zip(head, line, strict=True)) for line in lines]
    figures = ("raw_score", "late_submission_penalty", "score", "max_score", "correctness", "speed")
    assert [[line[name] for name in figures] for line in scores] == [
        ["50.0", "5.0", "45.0", "100.0", "30.0", "20.0"],
        ["", "", "", "100.0", "30.0", ""],
        ["0.0", "0.0", "0.0", "100.0", "0.0", "0.0"],
    ]
    assert scores[0]["timestamp"] == "2027-03-02T10:00:00+00:00"
    assert datetime.fromisoformat(scores[0]["duedate"]) == datetime(2027, 3, 1, 22, 59, tzinfo=UTC)
    assert scores[1]["why"] == "speed not measured: no GPU"


def test_what_is_not_due_is_blank_and_points_off_follow_the_due_date_of_today() -> None:
    before = datetime(2027, 3, 1, 22, 58, tzinfo=UTC)
    absent, at_midnight = replace(ABSENT, late_note=""), replace(DONE, handed_in_at="2027-03-02T22:59:01+00:00")
    for now, score in ((before, None), (NOW, 0.0)):
        (row,) = rows_of([absent], ASSIGNMENT, LATE, now)
        assert (row.score, row.raw, row.penalty) == (score,) * 3
    (row,) = rows_of([absent], ASSIGNMENT, LATE, before)
    assert row.why == row.waits == "nothing handed in, not due until 2027-03-01 23:59+01:00"
    assert set(row.parts.values()) == {None}
    for days, off in ((0, 10), (1, 5), (2, 0)):
        assert ASSIGNMENT.due is not None
        moved = ASSIGNMENT.model_copy(update={"due": ASSIGNMENT.due + timedelta(days=days)})
        (row,) = rows_of([at_midnight], moved, LATE, NOW)
        assert (row.penalty, row.score, f"{off} points off" in row.why) == (off, 50 - off, off > 0)
    extended = replace(at_midnight, extension_seconds=86400.0)
    assert rows_of([extended], ASSIGNMENT, LATE, NOW)[0].penalty == 5


def test_who_has_a_score_by_hand_from_before_the_last_run_is_named(rows: tuple[Row, ...]) -> None:
    ada, bob, cy = rows
    waits = "03: no score yet for bob: speed not judged: the GPU fell off the bus; speed not measured: no GPU"
    assert notes(rows) == [waits]
    found = notes([replace(ada, to_look_at=("speed",)), bob, replace(cy, to_look_at=("correctness", "speed"))])
    assert found[0] == waits
    assert found[1].startswith("03: a score by hand counts for 2 students (ada, cy) that was given before the last run")
    assert len(found) == 2


def test_whose_score_is_above_the_points_of_today_is_told_and_counted() -> None:
    less = ASSIGNMENT.model_copy(update={"parts": {"correctness": 29.0, "speed": 20.0}})
    bonus = replace(DONE, student="dan", parts=(PartScore("correctness", 60, 60, 29), *DONE.parts[1:]), bonus=5.0)
    found = rows_of((DONE, bonus, WAITING, ABSENT), less, LATE, NOW)
    assert {row.student: row.above for row in found} == {
        "ada": ("correctness",),
        "dan": (),
        "bob": ("correctness",),
        "cy": (),
    }
    told = [line for line in notes(found) if "above" in line]
    assert told == [
        "03: scores above the points that there are now (correctness): 2 students (ada, bob); judged when a part "
        "had more, and exported as they are"
    ]
    assert not [line for line in notes(rows_of((DONE, bonus), ASSIGNMENT, LATE, NOW)) if "above" in line]


def test_of_many_lines_the_first_are_told_and_the_others_counted() -> None:
    lines = [f"line {number}" for number in range(MAX_LINES + 3)]
    assert shortened(lines, "files") == [*lines[:MAX_LINES], "and 3 more files"]
    assert shortened(lines[:MAX_LINES], "files") == lines[:MAX_LINES]


def test_other_points_are_those_of_who_was_judged_and_has_others() -> None:
    less = replace(DONE, student="dan", parts=(PartScore("correctness", 50, 50, 30), PartScore("speed", 40, 40, 20)))
    fewer = replace(DONE, student="eve", parts=DONE.parts[:1])
    absent = replace(ABSENT, parts=less.parts)  # of whom nothing was judged by any points
    assert of_other_points([DONE, WAITING, less, fewer, absent], ASSIGNMENT) == ["dan", "eve"]


def test_what_a_score_waits_for_is_alike_for_all_who_wait_for_it() -> None:
    other = replace(WAITING, student="dan", summary="1 of 2 checks failed; speed not measured: no GPU.")
    found = rows_of((DONE, WAITING, other), ASSIGNMENT, LATE, NOW)
    assert [row.waits for row in found] == [
        "",
        *["speed not judged: the GPU fell off the bus; speed not measured: no GPU"] * 2,
    ]


def test_canvas_has_points_possible_first_and_finds_students_by_login(rows: tuple[Row, ...]) -> None:
    more = (replace(rows[0], assignment="04", score=7.0, max_score=10.0, first_name="Ada", last_name="King, of L"),)
    (text,) = WRITERS["canvas"]((*more, *rows)).values()
    assert table(text) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "04", "03"],
        ["    Points Possible", "", "", "", "", "10.0", "100.0"],
        ["King, of L, Ada", "", "", "ada", "", "7.0", "45.0"],
        ["bob", "", "", "bob", "", "", ""],
        ["cy", "", "", "cy", "", "", "0.0"],
    ]


def test_canvass_own_number_of_a_student_is_its_id(rows: tuple[Row, ...]) -> None:
    numbered = [replace(row, lms_user_id="12345" if row.student == "ada" else "") for row in rows]
    (text,) = WRITERS["canvas"](numbered).values()
    assert [line[:4] for line in table(text)[2:4]] == [["ada", "12345", "", "ada"], ["bob", "", "", "bob"]]


def test_moodle_has_a_score_and_feedback_for_each_assignment(rows: tuple[Row, ...]) -> None:
    (text,) = WRITERS["moodle"](rows).values()
    assert table(text) == [
        ["Username", "First name", "Last name", "Email address", "03", "03 (feedback)"],
        ["ada", "", "", "", "45.0", "half of it; 1 day late: 5 points off, which leaves 45"],
        ["bob", "", "", "", "", "speed not measured: no GPU"],
        ["cy", "", "", "", "0.0", "nothing handed in"],
    ]


def test_gradescope_has_documented_keys_and_levels_and_no_file_without_a_score(rows: tuple[Row, ...]) -> None:
    files = WRITERS["gradescope"](rows)
    assert list(files) == ["03/ada/results.json", "03/cy/results.json"]
    document = json.loads(files["03/ada/results.json"])
    # gradescope-autograders.readthedocs.io, "Autograder Specifications", "Output format".
    assert set(document) <= {
        *("score", "execution_time", "output", "output_format", "test_output_format", "test_name_format"),
        *("visibility", "stdout_visibility", "extra_data", "tests", "leaderboard"),
    }
    assert document["score"] == 45.0
    assert document["stdout_visibility"] == "hidden"
    for test in (*document["tests"], *json.loads(files["03/cy/results.json"])["tests"]):
        assert set(test) <= {
            *("score", "max_score", "status", "name", "name_format", "number", "output", "output_format"),
            *("tags", "visibility", "extra_data"),
        }
        assert test["visibility"] in ("hidden", "after_due_date", "after_published", "visible")
    assert [(test["status"], test["visibility"]) for test in document["tests"]] == [
        ("passed", "visible"),
        ("failed", "after_published"),
    ]
    assert [(test["score"], test["max_score"]) for test in json.loads(files["03/cy/results.json"])["tests"]] == [
        (0, 60),
        (0, 40),
    ]


def test_gradescope_tells_the_cases_of_one_check_apart() -> None:
    cases = [replace(PASSED, name=f"test_sizes[{n}]") for n in (1, 33)]
    hidden = [replace(check, hidden=True, sentence="Odd sizes work too.") for check in cases]
    checks = (*cases, *hidden, replace(PASSED, sentence="Alone."))
    (row,) = rows_of([replace(DONE, checks=checks)], ASSIGNMENT, LATE, NOW)
    (text,) = WRITERS["gradescope"]([row]).values()
    assert [test["name"] for test in json.loads(text)["tests"]] == [
        f"{PASSED.sentence} [1]",
        f"{PASSED.sentence} [33]",
        "Odd sizes work too. (1 of 2)",
        "Odd sizes work too. (2 of 2)",
        "Alone.",
    ]


def test_junit_counts_failed_broken_and_skipped_apart(rows: tuple[Row, ...]) -> None:
    (text,) = WRITERS["junit"](rows).values()
    suites = {suite.get("name"): suite for suite in ET.fromstring(text).iter("testsuite")}
    assert list(suites) == ["03/ada", "03/bob", "03/cy"]
    counted = [suites["03/bob"].get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counted == ["4", "1", "1", "1"]
    score = {p.get("name"): p.get("value") for p in suites["03/bob"].iter("property")}
    assert (score["score"], score["why"]) == ("", "speed not measured: no GPU")


@pytest.mark.parametrize("to", ["gradescope", "junit"])
@pytest.mark.parametrize("folder", ["/srv/course/submitted/ada/03", "C:\\course\\submitted\\ada\\03"])
def test_where_a_class_is_graded_is_not_exported(to: str, folder: str) -> None:
    missing = Failure("no-kernels-file", "There is no kernels.py.", where=folder, advice="put it there")
    checks = (replace(PASSED, passed=False, credit=0.0, failure=missing),)
    (row,) = rows_of([replace(DONE, checks=checks)], ASSIGNMENT, LATE, NOW)
    (text,) = WRITERS[to]([row]).values()
    assert "There is no kernels.py." in text
    assert "course" not in text


@pytest.mark.parametrize("to", WRITERS)
def test_nothing_hidden_is_exported(rows: tuple[Row, ...], to: str) -> None:
    gradebook = tuple(replace(row, checks=()) for row in rows)
    for some in (rows, with_checks(gradebook, (DONE, WAITING))):
        text = "".join(WRITERS[to](some).values())
        for secret in ("test_secret_sizes", "4099", "4098", "4711", "123456789"):
            assert secret not in text
        assert ("Odd sizes work too." in text) == (to in ("gradescope", "junit"))


@pytest.mark.parametrize("to", ["csv", "canvas", "moodle"])
@given(text=st.text(max_size=30), start=st.sampled_from(["", *FORMULA_STARTS, " =", "\n=", "\uff1d", " \uff0b"]))
def test_no_cell_is_a_formula_or_reaches_another_column(to: str, text: str, start: str) -> None:
    strange = start + text
    plain = Row("03", "ada", {"correctness": 1.0}, 1.0, 0.0, 1.0, 2.0)
    names = {"student": strange, "first_name": strange, "last_name": strange, "email": strange, "lms_user_id": strange}
    row = replace(plain, **names, why=strange)
    row = replace(row, assignment=strange)
    (written,) = WRITERS[to]([row]).values()
    written.encode("utf-8")
    lines = table(written)
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == (3 if to == "canvas" else 2)
    for value in (value for line in lines for value in line):
        assert not unicodedata.normalize("NFKC", value).lstrip().startswith(FORMULA_STARTS)


@pytest.mark.parametrize("to", WRITERS)
@example(text="\ufffe\uffff\x00\x0b\ud800\x7f]]>")
@given(text=st.text(max_size=30))
def test_any_name_gives_files_that_can_be_written_and_read(to: str, text: str) -> None:
    checks = (replace(PASSED, passed=False, printed=text, failure=Failure("x", text, text, text)),)
    row = Row("03", text, {"correctness": 1.0}, 1.0, 0.0, 1.0, 2.0, why=text, checks=checks)
    for name, written in WRITERS[to]([row, replace(row, checks=())]).items():
        written.encode("utf-8")
        path = PurePosixPath(name)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert len(path.parts) == (3 if to == "gradescope" else 1)
        if to == "junit":
            assert ET.fromstring(written).tag == "testsuites"
        elif to == "gradescope":
            assert json.loads(written)["score"] == 1.0


@given(st.text(max_size=8), st.text(max_size=8))
def test_two_students_never_share_a_file(one: str, other: str) -> None:
    rows = [Row("03", name, {}, 1.0, 0.0, 1.0, 2.0) for name in {one, other}]
    assert len(WRITERS["gradescope"](rows)) == len(rows)
