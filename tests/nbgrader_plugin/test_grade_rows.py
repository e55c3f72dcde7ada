"""nbgrader's gradebook, exported: blank for what was not judged, 0 for who handed in nothing, late by today's score."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import tiny_course as tiny

from grader.course import Late

if TYPE_CHECKING:
    # In tests, not here, since it takes three seconds in each of pytest's workers, which collect all tests.
    from nbgrader.api import Gradebook

# nbgrader 0.9.6 declares its tables in a way that SQLAlchemy 2.1 warns of.
pytestmark = pytest.mark.filterwarnings("ignore")
LATE = Late.model_validate({"per_day": 10, "grace": "1h", "cap": 50})
NOW = datetime(2027, 4, 1, tzinfo=UTC)  # when all of it was due
COURSE = "grading: {late: {per_day: 10, grace: 1h, cap: 50}}\n" + tiny.COURSE


@pytest.fixture
def gradebook(tmp_path: Path) -> Iterator[Gradebook]:
    """Assignment 01 with parts correctness and speed; ada, bob and cy."""
    from nbgrader.api import Base, Gradebook
    from sqlalchemy import create_engine

    url = f"sqlite:///{tmp_path}/gradebook.db"
    engine = create_engine(url)
    Base.metadata.create_all(engine)  # and no alembic, which takes seconds
    engine.dispose()
    with Gradebook(url) as found:
        found.add_assignment("01", duedate="2027-03-01T22:59:00+00:00")
        found.add_notebook("matmul", "01")
        for part, points in (("correctness", 60), ("speed", 40)):
            found.add_grade_cell(part, "matmul", "01", max_score=points, cell_type="code")
        for student in ("ada", "bob", "cy"):
            found.add_student(student)
        yield found


def autograded(gradebook: Gradebook, student: str, timestamp: str | None = None, **scores: float | None) -> Any:
    """As SaveJudgedGrades leaves a submission: None for what waits."""
    gradebook.add_submission("01", student, **({"timestamp": timestamp} if timestamp else {}))
    for part, points in scores.items():
        grade = gradebook.find_grade(part, "matmul", "01", student)
        grade.auto_score, grade.needs_manual_grade = points, points is None
    gradebook.db.commit()
    return gradebook.find_submission("01", student)


def by_student(gradebook: Gradebook, **more: Any) -> dict[str, tuple[float | None, float | None, float | None]]:
    from grader.nbgrader_plugin.grade_rows import rows

    found = rows(gradebook, LATE, **{"now": NOW, **more})
    return {row.student: (row.raw, row.penalty, row.score) for row in found}


def test_what_waits_is_blank_and_nothing_handed_in_is_zero(gradebook: Gradebook) -> None:
    autograded(gradebook, "ada", correctness=60.0, speed=20.0)
    autograded(gradebook, "bob", correctness=60.0, speed=None)
    assert by_student(gradebook) == {"ada": (80, 0, 80), "bob": (None, None, None), "cy": (0, 0, 0)}
    from grader.nbgrader_plugin.grade_rows import rows

    found = {row.student: row for row in rows(gradebook, LATE, now=NOW)}
    assert found["bob"].parts == {"correctness": 60.0, "speed": None}
    assert (found["bob"].why, found["cy"].why) == ("waits for a score: speed", "nothing handed in")
    assert found["ada"].max_score == 100


def test_nothing_handed_in_is_blank_until_it_is_due(gradebook: Gradebook) -> None:
    from grader.nbgrader_plugin.grade_rows import rows

    autograded(gradebook, "ada", correctness=60.0, speed=20.0)
    due = datetime(2027, 3, 1, 23, 59, tzinfo=timezone(timedelta(hours=1)))  # as the gradebook's
    before, after = due - timedelta(seconds=1), due + timedelta(seconds=1)
    for known in ({}, {"01": due}):
        assert by_student(gradebook, now=before, due=known) == {
            "ada": (80, 0, 80),
            "bob": (None,) * 3,
            "cy": (None,) * 3,
        }
        assert by_student(gradebook, now=after, due=known)["cy"] == (0, 0, 0)
    assert by_student(gradebook, now=before, due={"01": None})["cy"] == (0, 0, 0)  # due at no time in course.yml
    cy = next(row for row in rows(gradebook, LATE, now=before, due={"01": due}) if row.student == "cy")
    assert (cy.why, cy.waits, cy.parts) == (
        "nothing handed in, not due until 2027-03-01 23:59+01:00",
        cy.why,
        {"correctness": None, "speed": None},
    )


def test_late_is_counted_from_the_due_date_of_course_yml(gradebook: Gradebook) -> None:
    autograded(gradebook, "ada", "2027-03-03T10:00:00+00:00", correctness=60.0, speed=20.0)
    later = datetime(2027, 3, 2, 22, 59, tzinfo=UTC)
    assert by_student(gradebook, due={"01": later})["ada"] == (80, 8, 72)
    assert by_student(gradebook, due={"01": None})["ada"] == (80, 0, 80)
    gradebook.grant_extension("01", "ada", days=1)
    assert by_student(gradebook, due={"01": later})["ada"] == (80, 0, 80)
    from grader.nbgrader_plugin.grade_rows import rows

    ada = next(
        row for row in rows(gradebook, LATE, now=NOW, due={"01": later.astimezone(timezone(timedelta(hours=2)))})
    )
    assert (ada.due, ada.timestamp) == ("2027-03-03T00:59:00+02:00", "2027-03-03T10:00:00+00:00")


def test_an_extension_of_course_yml_counts_before_the_gradebooks(gradebook: Gradebook) -> None:
    for student in ("ada", "bob"):
        autograded(gradebook, student, "2027-03-03T10:00:00+00:00", correctness=60.0, speed=20.0)
        gradebook.grant_extension("01", student, days=1)
    due = datetime(2027, 3, 1, 22, 59, tzinfo=UTC)
    known = {"due": {"01": due}, "extensions": {"01": {"ada": 0.0, "cy": 10 * 86400.0}}}
    assert by_student(gradebook, **known, now=due + timedelta(days=9)) == {
        "ada": (80, 16, 64),
        "bob": (80, 8, 72),
        "cy": (None,) * 3,
    }
    assert by_student(gradebook, **known, now=due + timedelta(days=11))["cy"] == (0, 0, 0)


def test_an_assignment_without_cells_has_no_rows(gradebook: Gradebook) -> None:
    gradebook.add_assignment("05", duedate="2027-03-01T22:59:00+00:00")
    from grader.nbgrader_plugin.grade_rows import rows

    assert {row.assignment for row in rows(gradebook, LATE, now=NOW)} == {"01"}
    assert rows(gradebook, LATE, now=NOW, assignments=["05"]) == ()


def test_what_the_gradebook_knows_of_a_student_goes_along(gradebook: Gradebook) -> None:
    from grader.nbgrader_plugin.grade_rows import rows

    known = {"first_name": "Ada", "last_name": "King", "email": "a@uni.example", "lms_user_id": "12345"}
    gradebook.update_or_create_student("ada", **known)
    found = {row.student: row for row in rows(gradebook, LATE, now=NOW, handed_in_by=lambda name: ("dan",))}
    assert {key: getattr(found["ada"], key) for key in known} == known
    assert {getattr(found[who], key) for who in ("bob", "dan") for key in known} == {""}


def test_a_score_by_hand_ends_the_waiting_also_after_a_later_run(gradebook: Gradebook) -> None:
    autograded(gradebook, "bob", correctness=60.0, speed=None)
    grade = gradebook.find_grade("speed", "matmul", "01", "bob")
    grade.manual_score, grade.needs_manual_grade = 12.5, True  # nbgrader's "look at it again"
    grade.extra_credit = 3.0
    gradebook.db.commit()
    assert by_student(gradebook)["bob"] == (75.5, 0, 75.5)
    from grader.nbgrader_plugin.grade_rows import rows

    looked_at = {row.student: row.to_look_at for row in rows(gradebook, LATE, now=NOW)}
    assert looked_at == {"ada": (), "bob": ("speed",), "cy": ()}


def test_a_score_by_hand_above_the_points_of_its_part_is_no_score_and_is_named(gradebook: Gradebook) -> None:
    """Formgrader takes none; the part has lost points since, and a total above the maximum is worse than a blank."""
    from grader.nbgrader_plugin.grade_rows import rows

    for student, by_hand, extra in (("ada", 60.0, None), ("bob", 60.01, None), ("cy", 55.0, 9.0)):
        autograded(gradebook, student, correctness=30.0, speed=20.0)
        grade = gradebook.find_grade("correctness", "matmul", "01", student)
        grade.manual_score, grade.extra_credit = by_hand, extra
    gradebook.db.commit()
    assert by_student(gradebook) == {"ada": (80, 0, 80), "bob": (None,) * 3, "cy": (84, 0, 84)}
    found = {row.student: row for row in rows(gradebook, LATE, now=NOW)}
    assert found["bob"].parts == {"correctness": None, "speed": 20.0}
    assert found["bob"].why == (
        "waits for a score: correctness (60.01 by hand are above its 60 points: give others in Manual Grading)"
    )
    assert {row.above for row in found.values()} == {()}


@pytest.mark.parametrize(("points", "above"), [(60, ()), (59, ("correctness",)), (29, ("correctness", "speed"))])
def test_a_part_whose_score_is_above_its_points_is_named(
    gradebook: Gradebook, points: float, above: tuple[str, ...]
) -> None:
    """The judge's own score of earlier points counts on. A bonus is beyond the points by right."""
    from grader.nbgrader_plugin.grade_rows import rows

    autograded(gradebook, "ada", correctness=60.0, speed=30.0)
    gradebook.find_grade("speed", "matmul", "01", "ada").extra_credit = 50.0
    for cell in gradebook.find_notebook("matmul", "01").grade_cells:
        cell.max_score = points
    gradebook.db.commit()
    ada = next(row for row in rows(gradebook, LATE, now=NOW) if row.student == "ada")
    assert (ada.score, ada.above) == (140, above)


def test_points_off_follow_the_score_of_today(gradebook: Gradebook) -> None:
    submission = autograded(gradebook, "ada", "2027-03-03T10:00:00+00:00", correctness=60.0, speed=20.0)
    submission.notebooks[0].late_submission_penalty = 1.0  # of a score from before
    gradebook.db.commit()
    assert by_student(gradebook)["ada"] == (80, 16, 64)
    gradebook.find_grade("speed", "matmul", "01", "ada").manual_score = 40
    gradebook.db.commit()
    assert by_student(gradebook)["ada"] == (100, 20, 80)
    gradebook.grant_extension("01", "ada", days=1)
    assert by_student(gradebook)["ada"] == (100, 10, 90)


def test_handed_in_and_not_autograded_is_blank(gradebook: Gradebook, tmp_path: Path) -> None:
    from grader.nbgrader_plugin.export_plugins import submitted_in

    autograded(gradebook, "ada", "2027-03-01T10:00:00+00:00", correctness=60.0, speed=20.0)
    autograded(gradebook, "bob", "2027-03-01T10:00:00+00:00", correctness=60.0, speed=20.0)
    for student, text in (("ada", "2027-03-01 10:00:00.000000 UTC"), ("bob", "2027-03-01T11:00:00+00:00")):
        folder = tiny.write_kernels(tmp_path / "submitted" / student / "01")
        (folder / "timestamp.txt").write_text(text)
    tiny.write_kernels(tmp_path / "submitted/cy/01")
    known = submitted_in(tmp_path / "submitted")
    assert by_student(gradebook, handed_in_at=known) == {
        "ada": (80, 0, 80),
        "bob": (None, None, None),
        "cy": (None, None, None),
    }
    assert by_student(gradebook, handed_in_at=known, students=["ada"], assignments=["01"]) == {"ada": (80, 0, 80)}
    assert by_student(gradebook, handed_in_at=known, assignments=["02"]) == {}


def test_who_has_handed_in_and_is_in_no_gradebook_has_a_blank_row(gradebook: Gradebook, tmp_path: Path) -> None:
    from grader.nbgrader_plugin.export_plugins import students_in, submitted_in

    autograded(gradebook, "ada", correctness=60.0, speed=20.0)
    for student in ("ada", "zoe", "o<b>"):
        tiny.write_kernels(tmp_path / "submitted" / student / "01")
    (tmp_path / "submitted/eve/02").mkdir(parents=True)
    submitted = tmp_path / "submitted"
    known: dict[str, Any] = {"handed_in_at": submitted_in(submitted), "handed_in_by": students_in(submitted)}
    assert list(by_student(gradebook, **known).items())[-2:] == [("o<b>", (None,) * 3), ("zoe", (None,) * 3)]
    assert "eve" not in by_student(gradebook, **known)
    assert by_student(gradebook, **known, students=["zoe"]) == {"zoe": (None,) * 3}
    from grader.nbgrader_plugin.grade_rows import rows

    (zoe,) = rows(gradebook, LATE, **known, students=["zoe"], now=NOW)
    assert (zoe.why, zoe.parts, zoe.max_score) == (
        "handed in, not autograded yet",
        {"correctness": None, "speed": None},
        100,
    )


def test_the_late_plugin_takes_percent_of_the_points_earned(tmp_path: Path) -> None:
    from nbgrader.preprocessors import AssignLatePenalties
    from traitlets.config import LoggingConfigurable

    from grader.nbgrader_plugin.late_penalty import LatePenalty

    class Converter(LoggingConfigurable):  # type: ignore[misc]
        coursedir = SimpleNamespace(root=str(tiny.write_course(tmp_path, course=COURSE)))

    exporter = LoggingConfigurable(parent=Converter())
    plugin = LatePenalty(parent=AssignLatePenalties(parent=exporter))
    assert plugin.late_submission_penalty("ada", 44.44, 3600 + 1) == 4.44
    assert plugin.late_submission_penalty("ada", 44.44, 3600) == 0
    assert plugin.late_submission_penalty("ada", 0.0, 1e6) == 0


def test_what_was_handed_in_and_not_collected_is_blank_until_somebody_scores_it(gradebook: Gradebook) -> None:
    from grader.nbgrader_plugin.grade_rows import rows

    why = "handed in, but not collected: work.zip: cannot be read"
    autograded(gradebook, "bob", correctness=None, speed=None)
    autograded(gradebook, "cy", correctness=None, speed=None)
    for part in ("correctness", "speed"):
        gradebook.find_grade(part, "matmul", "01", "cy").manual_score = 7.0
    gradebook.db.commit()
    found = {row.student: row for row in rows(gradebook, LATE, lambda assignment, student: why, now=NOW)}
    for student in ("ada", "bob"):  # before and after autograding
        assert (found[student].score, found[student].why, found[student].waits) == (None, why, why)
        assert set(found[student].parts.values()) <= {None}
    assert (found["cy"].score, found["cy"].why) == (14.0, "")


@pytest.mark.parametrize(("files", "expected"), [((), None), (("x.pdf",), True), (("not-collected.txt",), "handed in")])
def test_an_empty_folder_is_nothing_and_a_note_says_why_there_is_no_work(
    tmp_path: Path, files: tuple[str, ...], expected: bool | str | None
) -> None:
    from grader.nbgrader_plugin.export_plugins import submitted_in

    (tmp_path / "ada/01").mkdir(parents=True)
    for name in files:
        (tmp_path / "ada/01" / name).write_text("work.zip: cannot be read")
    found = submitted_in(tmp_path)("01", "ada")
    assert found == (
        f"{expected}, but not collected: work.zip: cannot be read" if expected == "handed in" else expected
    )
