"""nbgrader's autograde of a class in which everything is handed in: nothing of it runs, nobody loses or gains by it.

The judge is a fake that obeys kernels.py; everything else is real. First a command on a fresh clone, then the buttons.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clean_process
import nbgrader_class as handed_in
import pytest
from live_markup import Markup
from nbgrader_commands import COMMAND, user_environment

# What the gradebook has: student → cell → [score of the judge, of a person, extra credit, needs a person].
GRADES = """\
import json
from datetime import timedelta
from pathlib import Path
from nbgrader.api import Gradebook
def grades():
    with Gradebook("sqlite:///gradebook.db", "tiny") as book:
        return {
            submission.student.id: {
                "late": submission.total_seconds_late,
                "penalty": submission.late_submission_penalty,
                "names": [submission.student.first_name, submission.student.last_name],
                **{g.name: [g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade]
                   for n in submission.notebooks for g in n.grades},
            }
            for submission in book.assignment_submissions("01")
        }
"""
# Formgrader's buttons, and what people do between them.
BUTTONS = """\
import os
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbformat.v4 import new_markdown_cell
from grader.nbgrader_plugin.staging import put_answer
from nbgrader.apps import NbGrader, NbGraderAPI
app = NbGrader(); app.initialize([], root=os.getcwd())
api = NbGraderAPI(app.coursedir, config=app.config)
done = {"first": grades(), "page": HTMLExporter(template_name="basic").from_filename(
    "autograded/quy/01/doubling.ipynb")[0]}
written = new_markdown_cell("Your thoughts.")
put_answer(written, os.environ["WRITTEN"])
done["written"] = markdown2html(written.source)
kernels = {path: path.stat().st_mtime_ns for path in Path("autograded").rglob("*.*")}
done["listed"] = {row["student"]: row["timestamp"] for row in api.get_submissions("01")}
done["skipped"] = api.autograde("01", "*", force=False)
done["untouched"] = kernels == {path: path.stat().st_mtime_ns for path in Path("autograded").rglob("*.*")}
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    book.update_or_create_student("ada", first_name="<img src=x onerror=alert(1)>", last_name="Lovelace")
    book.find_grade("speed", "doubling", "01", "bob").manual_score = 12.5
    book.find_grade("speed", "doubling", "01", "cy").extra_credit = 3.0
    book.db.commit()
done["waiting"] = api.autograde("01", "bob")
done["still"] = grades()["bob"]
os.environ["FAKE_GPU"] = "0.75"
Path("submitted/ned/01/kernels.py").write_text(Path("submitted/ada/01/kernels.py").read_text())
Path("submitted/mia/01/timestamp.txt").unlink()
Path("submitted/lea/01/timestamp.txt").write_text("2027-03-03 12:00:00.000000 UTC")
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    book.find_submission("01", "lea").extension = timedelta(days=1)
    book.db.commit()
done["again"] = api.autograde("01", "*", force=False)
for student in ("[abcmnr]*", "o<b>", "nobody"):
    done[student] = api.autograde("01", student)
done["second"] = grades()
os.environ["FAKE_GPU"] = "1"
api.autograde("01", "ada")
done["third"] = grades()["ada"]
os.environ["CRASHES"] = "eve"
done["eve"] = api.autograde("01", "eve")
done["crashed"] = grades()["eve"]
done["left"] = [str(path) for path in Path().glob(".staged*")]
Path("done.json").write_text(json.dumps(done))
"""


# What a student writes into a cell of text that a person grades.
WRITTEN = f"```\n{handed_in.EVIL}\n`````\n\n{handed_in.EVIL}\n~~~\n$${handed_in.EVIL}$$"


@dataclass(frozen=True)
class Class:
    """The course's folder after all of it, and what there was to see on the way."""

    root: Path
    log: str
    done: dict[str, Any]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Class:
    """The class, autograded once for all of pytest's workers."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "autograded-class"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            _autograde(shared)
    return Class(shared, (shared / "log").read_text(), json.loads((shared / "done.json").read_text()))


def _autograde(root: Path) -> None:
    root.mkdir()
    handed_in.write_submissions(handed_in.write_class_course(root))
    out = root.with_suffix(".out")
    out.mkdir()
    environment = user_environment(root.with_suffix(".home"))
    first = clean_process.run(handed_in.FAKE_CLASS + COMMAND, "autograde", "1", cwd=root, env=environment, out=out)
    assert first.returncode == 1, first.stderr  # of the students that are named there
    for folder in ("autograded", "results"):
        shutil.copytree(root / folder, root / f"first-{folder}")
    environment["WRITTEN"] = WRITTEN
    second = clean_process.run(handed_in.FAKE_CLASS + GRADES + BUTTONS, cwd=root, env=environment, out=out)
    assert second.returncode == 0, second.stderr
    (root / "log").write_text(first.stderr)


def scores(grades: dict[str, Any], student: str) -> dict[str, Any]:
    """The judge's scores by part."""
    return {part: grades[student][part][0] for part in ("correctness", "technique", "speed", "quiz")}


FULL = {"correctness": 50.0, "technique": 20.0, "speed": None, "quiz": 10.0}


def cells_of(graded: Class, student: str, when: str = "first-autograded") -> list[dict[str, Any]]:
    """The cells of an autograded notebook."""
    text = (graded.root / when / student / "01" / handed_in.NAME).read_text(encoding="utf-8")
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return cells


def test_the_first_autograde_on_a_fresh_clone_grades_the_class(graded: Class) -> None:
    first = graded.done["first"]
    assert scores(first, "ada") == FULL
    assert scores(first, "bob") == FULL | {"correctness": 16.67, "quiz": 0.0}
    assert scores(first, "Zoë Müller-3") == FULL
    assert not (graded.root / "assignments").exists()


def test_no_cell_of_a_notebook_runs_and_no_forged_output_counts(graded: Class) -> None:
    assert not (graded.root / "sentinel").exists()
    for cell in cells_of(graded, "ada"):
        if cell["metadata"].get("nbgrader", {}).get("grade"):
            (output,) = cell["outputs"]
            assert cell["source"] == [f"%check {cell['id']}"]
            assert output["output_type"] == ("display_data" if cell["id"] == "speed" else "execute_result")
        assert "stderr" not in json.dumps(cell)
        assert "sentinel" not in json.dumps(cell["outputs"] if cell["cell_type"] == "code" else cell)


def test_whatever_became_of_a_notebook_its_answers_count_and_no_point_is_lost_for_the_rest(graded: Class) -> None:
    first = graded.done["first"]
    for student in ("eve", "fay", "gus"):  # deleted cells, copied ones, retyped ones
        assert scores(first, student) == FULL, student
    for student in ("cy", "dan"):  # no notebook, a broken one
        assert scores(first, student) == FULL | {"quiz": 0.0}, student
    assert scores(first, "hal") == {"correctness": 0.0, "technique": 0.0, "speed": 0.0, "quiz": 10.0}
    ids = [cell["id"] for cell in cells_of(graded, "ada")]
    for student in ("eve", "fay", "gus", "cy", "dan", "hal"):
        assert [cell["id"] for cell in cells_of(graded, student)] == ids[: None if student != "hal" else -1]
    assert "1 cell of the student's own left out" in graded.log


def test_the_students_kernels_py_is_judged_and_nothing_of_the_courses_is_beside_it(graded: Class) -> None:
    found = {str(path.relative_to(graded.root / "first-autograded/mia")) for path in _files(graded, "mia")}
    assert found == {f"01/{name}" for name in ("kernels.py", handed_in.NAME, "timestamp.txt", "submission_secret.txt")}
    for student in ("ada", "bob"):
        theirs = (graded.root / "submitted" / student / "01/kernels.py").read_text()
        assert (graded.root / "first-autograded" / student / "01/kernels.py").read_text() == theirs
        shown = "".join(cells_of(graded, student)[-1]["outputs"][0]["data"]["text/html"])
        assert "blocks_needed = " in re.sub("<[^>]*>", "", shown)


def _files(graded: Class, student: str) -> list[Path]:
    return [path for path in (graded.root / "first-autograded" / student).rglob("*") if not path.is_dir()]


def test_links_and_pipes_are_read_by_nobody(graded: Class) -> None:
    first = graded.done["first"]
    for student in ("ida", "jon", "kim"):
        assert scores(first, student) == {"correctness": 0.0, "technique": 0.0, "speed": 0.0, "quiz": 0.0}, student
        assert [path.name for path in _files(graded, student)] == [handed_in.NAME]
    for path in (graded.root / "first-autograded").rglob("*"):
        assert not path.is_symlink()
        if path.is_file():
            assert "BEGIN SOLUTION" not in path.read_text()
    assert "ida: kernels.py is a link" in graded.log


def test_strange_names_and_linked_students_are_refused_and_the_others_graded(graded: Class) -> None:
    first = graded.done["first"]
    assert "o<b>" not in first
    assert "pia" not in first
    assert "'o<b>' holds '<'" in graded.log
    assert "the student's folder 'pia' is a link" in graded.log
    assert not (graded.root / "autograded/pia").exists()
    pressed = graded.done["o<b>"]
    assert (pressed["success"], "'o<b>' holds '<'" in pressed["log"]) == (False, True)
    assert "expected submissions" in graded.done["nobody"]["log"]


def test_what_was_not_judged_needs_a_person_and_a_later_run_fills_it(graded: Class) -> None:
    first, second = graded.done["first"], graded.done["second"]
    assert first["ada"]["speed"] == [None, None, None, True]
    assert first["ned"]["correctness"] == [None, None, None, True]  # a fault of the grader's
    (output,) = next(cell for cell in cells_of(graded, "ned") if cell["id"] == "correctness")["outputs"]
    assert output["output_type"] == "display_data"
    assert output["data"]["text/plain"] == ["not judged: the GPU died"]
    assert graded.done["waiting"]["success"]
    assert second["ada"]["speed"] == [15.0, None, 1.5, False]
    assert scores(second, "ned") == FULL | {"speed": 15.0}


def test_a_score_and_extra_credit_by_a_person_stay(graded: Class) -> None:
    assert graded.done["still"]["speed"] == [None, 12.5, None, True]
    second = graded.done["second"]
    assert second["bob"]["speed"] == [15.0, 12.5, None, True]
    assert second["cy"]["speed"] == [15.0, None, 3.0, False]


def test_a_bonus_for_speed_is_extra_credit_and_that_of_the_last_run(graded: Class) -> None:
    assert graded.done["third"]["speed"] == [20.0, None, 2.0, False]
    verdicts = json.loads((graded.root / "results/01.json").read_text())["verdicts"]
    (ada,) = [verdict for verdict in verdicts if verdict["student"] == "ada"]
    assert (ada["total"], ada["bonus"]) == (100.0, 2.0)
    assert "a bonus of 2 points for speed" in ada["summary"]


def test_a_crash_of_ours_leaves_no_zero(graded: Class) -> None:
    for when in ("first", "second"):
        for part in FULL:
            assert graded.done[when]["rex"][part] == [None, None, None, True]
    assert not (graded.root / "autograded/rex/01").exists()
    assert graded.done["[abcmnr]*"]["success"] is False
    assert "a bug of ours" in graded.done["[abcmnr]*"]["log"]
    assert graded.done["eve"]["success"] is False
    for part in FULL:  # who had a score before has none of an older run
        assert graded.done["crashed"][part] == [None, None, None, True]


def test_without_force_only_what_is_another_hand_in_is_autograded_again_and_what_waits_is_told(graded: Class) -> None:
    skipped = graded.done["skipped"]
    assert graded.done["untouched"]
    graded_before = len(graded.done["first"]) - 1
    assert re.search(rf"01: 0 autograded; .*{graded_before} skipped", skipped["log"].replace("\n", " "))
    all_of_them = r"wait for a score \(Zoë Müller-3, ada, bob, cy, dan, [^…]*\): --force"
    assert re.search(all_of_them, skipped["log"].replace("\n", " "))
    again = graded.done["again"]["log"]
    # rex has never been; of lea and mia the timestamp is another, of ned, who has none, kernels.py.
    assert sorted(re.findall(r"judged \d of \d: (\w+)", again)) == ["lea", "mia", "ned", "rex"]


def test_autograde_ends_with_one_line_that_counts_and_names_no_staged_folder(graded: Class) -> None:
    lines = graded.log.splitlines()
    (told,) = [line for line in lines if re.search(r"01: \d+ autograded", line)]
    count = len(graded.done["first"])
    assert re.search(
        rf"01: {count - 1} autograded; \d+ of them wait for a score \([^…]*\); 1 failed \(rex\); "
        r"2 refused \(o<b>, pia\)$",
        told,
    ), told
    # What nbgrader itself says in passing stands between it and the lines on who was judged no more.
    assert not [line for line in lines if ".staged-" in line and "rex" not in line and "ERROR" not in line]
    assert not [line for line in lines if "/tmp" in line and "Converting" in line]


def test_points_off_for_being_late_follow_the_hand_in(graded: Class) -> None:
    first, second = graded.done["first"], graded.done["second"]
    assert (first["mia"]["late"], first["mia"]["penalty"]) == (129660, 16.0)
    assert (second["mia"]["late"], second["mia"]["penalty"]) == (0, 0)
    assert "timestamp.txt names no date" in graded.log
    assert "mia: 2 days late\n" in graded.log  # nothing is off an open total
    assert "seconds late" not in graded.log  # by a date that knows no grace
    assert first["lea"]["late"] == 0
    assert (second["lea"]["late"], second["lea"]["penalty"]) == (43260, 9.65)  # with a day of extension


def test_formgraders_list_shows_the_class_whatever_is_in_a_timestamp(graded: Class) -> None:
    listed = graded.done["listed"]
    assert {"ada", "lea", "mia", "tim"} <= set(listed)
    assert (listed["lea"], listed["tim"]) == (None, None)
    assert listed["mia"].startswith("2027-03-03T12:00:00")


def test_results_have_the_class_with_their_seeds_and_late_points(graded: Class) -> None:
    with (graded.root / "results/01.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert list(rows) == sorted(rows)
    assert {"ada", "bob", "hal", "jon", "rex", "Zoë Müller-3"} <= set(rows)
    assert (rows["ada"]["speed"], rows["fay"]["speed"]) == ("20.0", "")
    lea = [rows["lea"][name] for name in ("total", "bonus", "late_seconds", "penalty", "final")]
    assert lea == ["95.0", "1.5", "43260.0", "9.65", "86.85"]
    document = json.loads((graded.root / "results/01.json").read_text())
    assert {verdict["seed"] for verdict in document["verdicts"]} == {7}


def test_names_in_the_gradebook_lose_their_markup(graded: Class) -> None:
    assert graded.done["second"]["ada"]["names"] == ["‹img src=x onerror=alert(1)›", "Lovelace"]


def test_nothing_of_a_students_is_alive_in_an_autograded_notebook(graded: Class) -> None:
    for page in (graded.done["page"], graded.done["written"]):
        assert Markup(page).live == []
        assert "alert(1)" in page  # shown as text
        assert "\x1b" not in page


def test_nothing_is_left_over(graded: Class) -> None:
    assert graded.done["left"] == []
