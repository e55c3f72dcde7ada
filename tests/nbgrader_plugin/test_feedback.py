"""Feedback: what waits is open, findings are at their lines, nothing hidden and nothing of a stranger's gets in."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autograded_course import FINDING, HIDDEN, STUDENTS
from live_markup import EVIL, Markup
from notebook_course import NOTEBOOK, WHY

Run = Callable[..., subprocess.CompletedProcess[str]]
Api = Callable[..., list[dict[str, Any]]]
WRITE = "import autograded_course; autograded_course.write()\n"
WRITE_EVIL = "import autograded_course, json, sys; autograded_course.write_evil(json.loads(sys.argv[1]))"
PAGE = Path(NOTEBOOK).with_suffix(".html").name
LATE = "grading: {late: {per_day: 10, grace: 1h, cap: 50}}\n"
DUE = "due: 2027-03-01T23:59:00+01:00"  # as the gradebook of autograded_course

pytestmark = pytest.mark.usefixtures("gradebook_file")


def page(root: Path, student: str) -> Markup:
    """A student's page; it has a stylesheet of its own."""
    return Markup(
        (root / "feedback" / student / "01" / PAGE).read_text(encoding="utf-8"), own=frozenset(("meta", "style"))
    )


def words(found: Markup) -> str:
    """Its text without its stylesheet, in single spaces."""
    return " ".join(found.text.split("Doubling", 2)[2].split())


@pytest.fixture
def autograded(root: Path, python: Run) -> Path:
    """The course's root, with autograded submissions, and points off for being late."""
    course = (root / "course.yml").read_text().replace("title: Doubling", f"title: Doubling\n    {DUE}")
    (root / "course.yml").write_text(LATE + course)
    done = python(WRITE)
    assert done.returncode == 0, done.stderr
    return root


def test_feedback_shows_score_and_findings_and_holds_its_page_only(autograded: Path, nbgrader_command: Run) -> None:
    for student in STUDENTS:
        folder = autograded / "autograded" / student / "01"
        (folder / "test_hidden.py").write_text("SECRET")
        (folder / "wrong").mkdir()
        (folder / "wrong/mutant.py").write_text("SECRET")
        (folder / "grades.csv").symlink_to(autograded / "gradebook.db")
    done = nbgrader_command("generate_feedback", "1")
    assert done.returncode == 0, done.stderr
    assert "01: 3 given feedback; 0 had theirs before" in done.stderr
    assert ".staged-" not in done.stderr
    carried = {"timestamp.txt", "submission_secret.txt"}
    for student in STUDENTS:
        held = {p.name for p in (autograded / "feedback" / student / "01").iterdir()}
        assert held == {PAGE} | (carried if student != "cy" else set())
    assert not list(autograded.glob(".staged-*"))

    ada = page(autograded, "ada")
    text = words(ada)
    # What waits is open, and so is the total.
    assert "open, 100 points in all" in text
    # In one time zone, the course's.
    assert "handed in 2027-03-03 11:00+01:00 · due 2027-03-01 23:59+01:00 and 1 h of grace" in text
    assert "So far 44 of the 80 points that have been judged; 100 in all. Handed in 2 days late: 20% of" in text
    assert "speed open, 20 points not measured: no GPU here" in text
    assert not re.search(r"(?<![\d.])0(\.0+)? of", text)
    # What failed, and why, is at the top and at its line of kernels.py.
    assert "correctness 24 of 60 not passed: test_doubles, hidden check" in text
    above, below = text.split("Your kernels.py")
    for found in (above, below):
        assert FINDING.what in found
    assert re.search(r"9 out\[i\] = 2 \* x\[i\] ?error: out was written past its end", below)
    # A hidden check says its sentence and nothing else.
    assert HIDDEN.sentence in text
    assert "SECRET" not in ada.text
    assert "odd_sizes" not in ada.text
    # Answers get their explanations.
    assert text.endswith(f"with 128 threads a block? answer_1 = 5 ✗ not right your answer 5{WHY}")
    assert "133" not in below.replace(FINDING.what, "")

    bob = words(page(autograded, "bob"))
    assert "45.2 of 100 points" in bob
    assert "56.5 points earned, 11.3 off for being 2 days late; a day that has begun counts." in bob
    assert "speed 12.5 of 20 by hand" in bob
    # A person's points stand above the judge's, which are others.
    assert "speed: 12.5 of 20 points, by hand. The judge's own report: speed: open, 20 points" in bob
    assert "points in all" not in bob
    assert "The judge's own report" not in text

    cy = words(page(autograded, "cy"))  # of whom nobody knows when
    assert "So far 44 of the 80 points that have been judged; 100 in all." in cy
    assert not re.search("late|off the total", cy)


def test_a_part_that_was_scaled_says_why_in_the_table_and_has_one_heading(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    done = python(WRITE.replace("write()", "write(scaled=('ada',))"))
    assert done.returncode == 0, done.stderr
    assert nbgrader_command("generate_feedback", "01", "--student=ada").returncode == 0
    found = page(root, "ada")
    text = words(found)
    assert "55 of 100 points" in text
    assert "speed 11 of 20 scaled from what was judged: no GPU" in text
    assert "speed: 11 of 20 points, scaled from what was judged: no GPU" in text
    assert "open" not in text
    # Points that nobody has lost are not red.
    assert [attributes["class"] for tag, attributes in found.tags if tag == "tr"] == ["lost", "full", "scaled"]
    assert text.index("correctness: 24 of 60") < text.index("speed: 11 of 20")


LOST_AND_SCALED = """\
from dataclasses import replace
from types import SimpleNamespace
from autograded_course import SLOW, verdict
from grader.nbgrader_plugin.feedback_page import lines
from grader.records import State
lost = replace(SLOW, name="test_race", state=State.JUDGED, passed=False, reason="")
made = verdict("ada")
made = replace(made, checks=(*made.checks, lost), total=49.0)
grade = SimpleNamespace(name="speed", max_score=20.0, auto_score=5.0, score=5.0, manual_score=None, extra_credit=None)
grade.needs_manual_grade = False
line = lines([grade], made)["speed"]
print((line.score, line.state, line.note))
"""


def test_a_part_that_was_scaled_and_has_a_failed_check_is_lost_and_says_both(python: Run) -> None:
    done = python(LOST_AND_SCALED)
    told = ("5", "lost", "not passed: test_race; scaled from what was judged: no GPU")
    assert (done.returncode, done.stdout) == (0, f"{told}\n"), done.stderr


NOT_ANSWERED = """\
import json
from dataclasses import replace
from types import SimpleNamespace
from nbformat.v4 import new_code_cell, new_notebook
from autograded_course import verdict
from grader.nbgrader_plugin.feedback_page import answers
from grader.quiz import judge
from grader.quiz_keys import Question
def cell(name):
    mark = {"grade_id": name, "grade": True, "solution": True, "locked": False, "task": False, "points": 1}
    return new_code_cell(f"{name} = ...", metadata={"nbgrader": mark})
names = ("asked", "free", "told")
made = verdict("ada")
made = replace(made, checks=judge([Question("asked", "Asked?", key=3.0), Question("told", "Told?", key=3.0)], {}))
said = {"asked": "No response.", "free": "No response.", "told": "Look again."}
print(json.dumps([one.comment_html for one in answers(new_notebook(cells=[*map(cell, names)]), {}, said, made)]))
"""


def test_that_nothing_was_answered_is_said_once(python: Run) -> None:
    done = python(NOT_ANSWERED)
    assert done.returncode == 0, done.stderr
    asked, free, told = json.loads(done.stdout)
    assert asked == ""
    assert "No response." in free
    assert "Look again." in told


def test_feedback_before_autograde_says_what_to_do(root: Path, nbgrader_command: Run) -> None:
    done = nbgrader_command("generate_feedback", "01")
    assert done.returncode == 1
    assert "there is nothing to give feedback on: autograde first" in done.stderr
    assert not (root / "feedback").exists()


def test_formgraders_button_makes_the_same_page_anew(
    autograded: Path, nbgrader_command: Run, nbgrader_api: Api
) -> None:
    assert nbgrader_command("generate_feedback", "01", "--student=ada").returncode == 0
    folder = autograded / "feedback/ada/01"
    before = (folder / PAGE).read_bytes()
    (folder / "test_hidden.py").write_text("from before this course's converter")
    kept = nbgrader_command("generate_feedback", "01")
    assert "holds what is no feedback: test_hidden.py" in kept.stderr
    (done,) = nbgrader_api(["generate_feedback", "01", "ada"])
    assert done["success"], done
    assert (folder / PAGE).read_bytes() == before
    assert not (folder / "test_hidden.py").exists()


def test_findings_of_another_kernels_py_are_not_shown(autograded: Path, nbgrader_command: Run) -> None:
    file = autograded / "autograded/ada/01/kernels.py"
    file.write_text(f"# handed in again\n{file.read_text()}")
    (autograded / "results/01.json").chmod(0o644)
    done = nbgrader_command("generate_feedback", "01")
    assert "ada: results is of another kernels.py than the one that was autograded" in done.stderr
    below = words(page(autograded, "ada")).split("Your kernels.py")[1]
    assert "What was found is not marked here" in below
    assert FINDING.what not in below
    assert FINDING.what in words(page(autograded, "bob")).split("Your kernels.py")[1]

    (autograded / "results/01.json").write_text("{}")
    done = nbgrader_command("generate_feedback", "01", "--force")
    assert (done.returncode, done.stderr.count("it is no file of results")) == (0, 1)


def test_a_link_is_read_by_nobody_and_the_others_have_their_feedback(autograded: Path, nbgrader_command: Run) -> None:
    ada = autograded / "autograded/ada/01"
    (ada / NOTEBOOK).unlink()
    (ada / NOTEBOOK).symlink_to(autograded / "solutions/01" / NOTEBOOK)
    bob = autograded / "autograded/bob/01"
    (bob / "kernels.py").unlink()
    (bob / "kernels.py").symlink_to(autograded / "solutions/01/kernels.py")
    (bob / "timestamp.txt").write_text("\x1b[2J yesterday")
    (bob / "submission_secret.txt").unlink()
    (bob / "submission_secret.txt").symlink_to("/etc/hostname")
    (autograded / "autograded/cy/01" / NOTEBOOK).unlink()
    done = nbgrader_command("generate_feedback", "01")
    assert done.returncode == 1
    assert f"{NOTEBOOK} is a link." in done.stderr
    assert "autograded/cy/01: there is no notebook to give feedback on: autograde it again" in done.stderr
    assert not (autograded / "feedback/ada").exists()
    assert "There was none in what you handed in." in words(page(autograded, "bob"))
    assert {p.name for p in (autograded / "feedback/bob/01").iterdir()} == {PAGE}


SANITIZED = """\
import json, sys
from autograded_course import evil_verdict
from nbconvert.filters.strings import clean_html
from tiny_course import MEASURED
from grader.reports.html import kernels_html, verdict_html
from grader.reports.view import findings_for_student
from dataclasses import replace
for text in json.loads(sys.argv[1]):
    made = evil_verdict("ada", text)
    raced = replace(made, checks=(replace(made.checks[2], measured=MEASURED),))
    for fragment in (verdict_html(made), verdict_html(raced), kernels_html(text, findings_for_student(made))):
        print(json.dumps([fragment, clean_html(fragment)]))
"""


def test_formgrader_shows_reports_as_they_are(python: Run) -> None:
    """nbconvert's ``clean_html``, which Formgrader uses here, escapes tags that it does not know.

    A table gets a tbody from it, and has it escaped.
    """
    done = python(SANITIZED, json.dumps([*EVIL[:3], "out[i] is 1 < 2"]))
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        before, after = (Markup(fragment) for fragment in json.loads(line))
        assert (after.tags, after.text) == (before.tags, before.text)


def test_nothing_of_a_stranger_is_alive_in_feedback(root: Path, python: Run, nbgrader_command: Run) -> None:
    """Names, answers, kernels.py, printed text, checks, comments; and cells and outputs that nobody has staged."""
    texts = [text.replace("\x00", "") for text in EVIL]
    assert (done := python(WRITE_EVIL, json.dumps(texts))).returncode == 0, done.stderr
    done = nbgrader_command("generate_feedback", "01")
    assert done.returncode == 0, done.stderr
    for number, text in enumerate(texts):
        found = page(root, f"s{number}")
        assert found.live == [], text
        assert "font-family" in found.text.split("</style>")[0]
        assert "http" not in "".join(str(attributes) for _, attributes in found.tags)
        # All of it is there to be read.
        visible = text.split("\x1b")[0][:20]
        assert found.text.count(visible) >= 10, text


def test_releasing_feedback_makes_no_gradebook(root: Path, gradebook_file: Path, nbgrader_command: Run) -> None:
    gradebook_file.unlink()
    with (root / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.Exchange.root = {str(root.parent / 'exchange')!r}\n")
    nbgrader_command("release_feedback", "01")
    assert not gradebook_file.exists()


CHANGES = {
    "a score by hand": "found.find_grade('correctness', notebook, '01', 'ada').manual_score = 60.0",
    "a comment": "found.find_comment('answer_1', notebook, '01', 'ada').manual_comment = 'Well done.'",
    "extra credit": "found.find_grade('correctness', notebook, '01', 'ada').extra_credit = 1.0",
    "an extension": "found.grant_extension('01', 'ada', days=1)",
    "a name": "found.update_or_create_student('ada', first_name='Ada')",
    "another kernels.py": "book.with_name('kernels.py').write_text('# another')",
    "a second autograde": "book.write_text(book.read_text().replace('doubling 33', 'doubling 34'))",
}
CHANGE = """\
import sys
from pathlib import Path
from nbgrader.api import Gradebook
from notebook_course import NOTEBOOK
notebook, book = Path(NOTEBOOK).stem, Path("autograded/ada/01") / NOTEBOOK
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    exec(sys.argv[1])
    found.db.commit()
"""


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_page_that_is_older_than_what_it_tells_is_named_until_it_is_made_anew(
    autograded: Path, python: Run, nbgrader_command: Run, change: str
) -> None:
    exchange = autograded.parent / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    with (autograded / "nbgrader_config.py").open("a") as file:
        file.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    older = "1 of the pages of feedback are older than scores, dates, comments or reports (ada)"
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    assert "are older" not in nbgrader_command("generate_feedback", "01").stderr
    before = (autograded / "feedback/ada/01" / PAGE).read_bytes()
    assert (done := python(CHANGE, change)).returncode == 0, done.stderr
    kept = nbgrader_command("generate_feedback", "01")
    assert (kept.returncode, kept.stderr.count(older)) == (0, 1)
    assert "01: 0 given feedback; 3 had theirs before" in kept.stderr
    assert "--force makes" in kept.stderr
    assert (autograded / "feedback/ada/01" / PAGE).read_bytes() == before
    released = nbgrader_command("release_feedback", "01")
    assert (released.returncode, released.stderr.count(older)) == (0, 1)
    assert "are older" not in nbgrader_command("generate_feedback", "01", "--force").stderr
    assert (autograded / "feedback/ada/01" / PAGE).read_bytes() != before
    assert "are older" not in nbgrader_command("release_feedback", "01").stderr


POLICIES = {
    "a due date": (DUE, "due: 2027-03-02T23:59:00+01:00", "50.85 of 100 points"),
    "no due date": (DUE, "", "56.5 of 100 points"),
    "points off": ("per_day: 10", "per_day: 20", "33.9 of 100 points"),
    "a time of grace": ("grace: 1h", "grace: 2 d", "56.5 of 100 points"),
}


@pytest.mark.parametrize(("old", "new", "score"), POLICIES.values(), ids=POLICIES)
def test_course_ymls_dates_of_today_are_those_of_feedback_and_make_older_pages_old(
    autograded: Path, nbgrader_command: Run, old: str, new: str, score: str
) -> None:
    """As in exports: without an autograde, and though the gradebook has another due date."""
    (exchange := autograded.parent / "exchange").mkdir()
    exchange.chmod(0o777)
    with (autograded / "nbgrader_config.py").open("a") as settings:
        settings.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    assert "45.2 of 100 points" in words(page(autograded, "bob"))
    course = autograded / "course.yml"
    assert old in course.read_text()
    course.write_text(course.read_text().replace(old, new))
    for command in ("generate_feedback", "release_feedback"):
        done = nbgrader_command(command, "01")
        assert (done.returncode, "of the pages of feedback are older than" in done.stderr) == (0, True), done.stderr
        assert re.search(r"\(ada, bob(, cy)?\)", done.stderr), done.stderr
    assert nbgrader_command("generate_feedback", "01", "--force").returncode == 0
    assert score in words(page(autograded, "bob"))
    assert "are older" not in nbgrader_command("release_feedback", "01").stderr
    assert nbgrader_command("export").returncode == 0
    rows = {row["student_id"]: row for row in csv.DictReader((autograded / "grades.csv").read_text().splitlines())}
    assert f"{float(rows['bob']['score']):g} of 100 points" == score


def test_a_page_of_an_earlier_release_is_old_and_who_is_excluded_or_has_no_page_is_not_named(
    autograded: Path, nbgrader_command: Run
) -> None:
    (exchange := autograded.parent / "exchange").mkdir()
    exchange.chmod(0o777)
    with (autograded / "nbgrader_config.py").open("a") as settings:
        settings.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    for student in ("ada", "cy"):
        file = autograded / "feedback" / student / "01" / PAGE
        text, digests = re.subn(r'<meta [^>]*name="state"[^>]*>', "", file.read_text())
        assert digests == 1
        file.write_text(text)
    shutil.rmtree(autograded / "feedback/bob")
    done = nbgrader_command("release_feedback", "01", "--CourseDirectory.student_id_exclude=cy")
    assert (done.returncode, done.stderr.count("are older than")) == (0, 1), done.stderr
    assert (
        "1 of the pages of feedback are older than scores, dates, comments or reports (ada), and go out" in done.stderr
    )


RELEASE = """\
c.Exchange.root = {exchange!r}
c.CourseDirectory.student_id_exclude = "eve"
"""


def test_feedback_is_released_to_all_who_have_a_secret(
    autograded: Path, nbgrader_command: Run, nbgrader_api: Api
) -> None:
    exchange = autograded.parent / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    with (autograded / "nbgrader_config.py").open("a") as file:
        file.write(RELEASE.format(exchange=str(exchange)))
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    (autograded / "feedback/ada/01/submission_secret.txt").write_text(" \n")  # nbgrader asserts that there is one
    for number in range(8):  # of an LMS, too
        shutil.copytree(autograded / "feedback/cy", autograded / f"feedback/lms {number}")
    done = nbgrader_command("release_feedback", "1")
    assert done.returncode == 0, done.stderr
    assert "no feedback is released for 1 ('ada'): there is no submission_secret.txt of" in done.stderr
    of_the_lms = ", ".join(["'cy'", *(f"'lms {number}'" for number in range(8))])
    assert f"no feedback is released for 9 ({of_the_lms}): there is no timestamp.txt and no sub" in done.stderr
    assert done.stderr.count("no feedback is released") == 2
    assert done.stderr.strip().splitlines()[-1].endswith("01: feedback of 1 released, of 10 not")
    (out,) = (exchange / "tiny/feedback").iterdir()
    assert out.read_bytes() == (autograded / "feedback/bob/01" / PAGE).read_bytes()
    out.unlink()
    (again,) = nbgrader_api(["release_feedback", "01"])
    assert again["success"], again
    assert out.exists()
