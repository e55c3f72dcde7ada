"""nbgrader's releases of a course: whichever command or button, nothing hidden gets out, and nothing is lost."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_course import NOTEBOOK, POINTS, WHY, cell, cells, notebook_text

Run = Callable[..., subprocess.CompletedProcess[str]]
Api = Callable[..., list[dict[str, Any]]]
GRADER = "import sys; from grader.cli import main; sys.argv[0] = 'grader'; main()"
RELEASED = {"course.yml", NOTEBOOK, "kernels.py", "problem.py", "test_public.py"}
PLAIN = """\
c = get_config()
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "assignments"
c.CourseDirectory.course_id = "tiny"
"""


def files_of(folder: Path) -> dict[str, bytes]:
    """All files below a folder with their content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows(root: Path, query: str) -> list[Any]:
    """What the course's gradebook answers."""
    with sqlite3.connect(root / "gradebook.db") as database:
        return database.execute(query).fetchall()


def rewrite(root: Path, made: list[dict[str, Any]]) -> None:
    """Another source notebook."""
    (root / "solutions/01" / NOTEBOOK).write_text(notebook_text(made), encoding="utf-8")


def left_over(root: Path) -> list[Path]:
    """Staging folders that have not been removed."""
    return [*root.glob(".staged-*"), *(root / "assignments").glob(".*")]


@pytest.mark.usefixtures("gradebook_file")
def test_plain_nbgrader_hands_out_the_solution(root: Path, nbgrader_command: Run) -> None:
    """Why all of this is needed: should this fail one day, nbgrader has changed."""
    (root / "nbgrader_config.py").write_text(PLAIN)
    done = nbgrader_command("generate_assignment", "01")
    assert done.returncode == 0, done.stderr
    out = files_of(root / "assignments/01")
    assert {"test_hidden.py", "fast.py", "wrong/forgotten_guard.py"} <= set(out)
    assert b"BEGIN SOLUTION" in out["kernels.py"]


def test_no_hidden_file_after_the_command_on_a_fresh_clone_and_no_environment_has_been_activated(
    root: Path, nbgrader_process: Run
) -> None:
    """For a new gradebook nbgrader starts the bare command alembic."""
    done = nbgrader_process("generate_assignment", "01", PATH="/usr/bin:/bin")
    assert "No such file or directory: 'alembic'" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert_released(root)


@pytest.mark.usefixtures("gradebook_file")
def test_no_hidden_file_after_formgraders_button(root: Path, nbgrader_api: Api) -> None:
    (done,) = nbgrader_api(["generate_assignment", "01"])
    assert done["success"], done
    assert_released(root)


def assert_released(root: Path) -> None:
    out = files_of(root / "assignments/01")
    assert set(out) == RELEASED
    text = b"\n".join(out.values()).decode()
    for secret in ("BEGIN SOLUTION", "test_odd_sizes", "forgotten_guard", WHY, "133", "out[i] = 2 * x[i]\n"):
        assert secret not in text, secret
    assert left_over(root) == []
    assert rows(root, "select name from assignment") == [("01",)]
    found = rows(root, "select name, max_score from grade_cells join base_cell using (id)")
    assert dict(found) == POINTS


def test_a_committed_release_is_not_skipped_and_stays_as_it_is(
    root: Path, gradebook_file: Path, python: Run, nbgrader_command: Run
) -> None:
    assert python(GRADER, "release").returncode == 0
    before = files_of(root / "assignments")
    done = nbgrader_command("generate_assignment", "01")
    assert done.returncode == 0, done.stderr
    assert "assignments/01: nothing changed" in done.stderr
    assert not any(word in done.stderr for word in (".staged-", "grader-notebooks-"))  # folders that are gone
    assert files_of(root / "assignments") == before
    assert_released(root)


BROKEN = {
    "no notebook": lambda: "{broken",
    "no schema of nbgrader's": lambda: notebook_text([*cells(), cell("more", "", hint="x")]),
    "two cells of one id": lambda: notebook_text([*cells(), cells()[-1]]),
    "a marker without its end": lambda: notebook_text([*cells(), cell("x", "### BEGIN SOLUTION\n", solution=True)]),
    "the answer in its text": lambda: notebook_text([*cells(), cell("hint", "Try `answer_1 = 133`.", "markdown")]),
    "points of its own": lambda: notebook_text([*cells(), cell("x", "1", grade=True, locked=True, points=5)]),
}


# A button of Formgrader's, with another source notebook each time.
REWRITE = """\
from pathlib import Path
from nbgrader.apps import NbGraderAPI
def generate_from(self, text):
    Path({path!r}).write_text(text)
    return self.generate_assignment("01")
NbGraderAPI.generate_from = generate_from
"""


@pytest.mark.usefixtures("gradebook_file")
def test_a_failed_generation_leaves_release_and_gradebook_as_they_were(
    root: Path, nbgrader_command: Run, nbgrader_api: Api
) -> None:
    source = root / "solutions/01" / NOTEBOOK
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    (root / "assignments/01/kernels.py").write_text("# a learner's\n")
    before, known = files_of(root / "assignments"), rows(root, "select * from base_cell order by id")
    calls = [["generate_from", make()] for make in BROKEN.values()]
    answers = nbgrader_api(*calls, before=REWRITE.format(path=str(source)))
    for kind, pressed in zip(BROKEN, answers, strict=True):
        assert pressed["success"] is False, kind
        assert NOTEBOOK in pressed["log"], kind
        assert "Traceback" not in f"{pressed['log']}{pressed['error']}", kind
    source.write_text(BROKEN["no notebook"](), encoding="utf-8")
    done = nbgrader_command("generate_assignment", "01", "--force")
    assert done.returncode == 1, done.stderr
    assert NOTEBOOK in done.stderr
    assert "raceback" not in done.stderr
    assert files_of(root / "assignments") == before
    assert rows(root, "select * from base_cell order by id") == known
    assert left_over(root) == []


@pytest.mark.usefixtures("gradebook_file")
def test_what_nbgrader_could_never_grade_is_not_registered_and_not_released(
    root: Path, nbgrader_api: Api, nbgrader_command: Run, tmp_path: Path
) -> None:
    """Without a notebook there are no cells in the gradebook; what Formgrader adds is not in course.yml."""
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    (root / "solutions/01" / NOTEBOOK).unlink()
    (root / "solutions/06").mkdir()
    calls = [[name, of] for name in ("generate_assignment", "release_assignment", "autograde") for of in ("01", "06")]
    (root / "submitted/ada/01").mkdir(parents=True)
    (root / "submitted/ada/01/kernels.py").touch()
    answers = nbgrader_api(*([*call, "ada"] if call[0] == "autograde" else call for call in calls))
    for (name, of), pressed in zip(calls, answers, strict=True):
        assert (pressed["success"], pressed["error"]) == (False, None), (name, of)
        said = (
            "`grader release` and `grader grade` need none" if of == "01" else "unknown assignment '06'; there are 01"
        )
        assert said in pressed["log"], (name, of)
        assert "Traceback" not in pressed["log"]
    assert f"a section '06' in {root / 'course.yml'}" in answers[1]["log"]
    assert rows(root, "select name from assignment") == []
    assert not (root / "assignments").exists()
    assert files_of(tmp_path / "exchange") == {}
    done = nbgrader_command("generate_assignment", "01", "--no-db")
    assert (done.returncode, "`grader release` and `grader grade` need none" in done.stderr) == (1, True), done.stderr
    assert not (root / "assignments").exists()
    for command in (("generate_assignment", "06"), ("zip_collect", "06")):
        (root / "downloaded/06/archive").mkdir(parents=True, exist_ok=True)
        done = nbgrader_command(*command)
        assert done.returncode == 1
        assert "unknown assignment '06'" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("gradebook_file")
def test_what_nobody_foresaw_has_its_traceback(root: Path, nbgrader_api: Api) -> None:
    spoil = "from grader.nbgrader_plugin import generate\ngenerate.release = lambda *given: 1 / 0\n"
    (done,) = nbgrader_api(["generate_assignment", "01"], before=spoil)
    assert not done["success"]
    assert "ZeroDivisionError" in done["error"]


@pytest.mark.usefixtures("gradebook_file")
def test_a_server_goes_on_after_a_failed_generation(root: Path, nbgrader_api: Api) -> None:
    """nbgrader's own way to set a folder for a while never sets it back after an exception."""
    spoil = f"from pathlib import Path; p = Path({str(root / 'solutions/01' / NOTEBOOK)!r}); good = p.read_text()\n"
    mend = "\n".join(
        [
            "from nbgrader.apps import NbGraderAPI",
            "plain = NbGraderAPI.generate_assignment",
            "def twice(self, name):",
            "    p.write_text('{broken'); assert not plain(self, name)['success']",
            "    p.write_text(good); return plain(self, name)",
            "NbGraderAPI.generate_assignment = twice",
            "",
        ]
    )
    (done,) = nbgrader_api(["generate_assignment", "01"], before=spoil + mend)
    assert done["success"], done
    assert_released(root)


def points_in(notebook: Path) -> dict[str, Any]:
    """The points of a notebook's grade cells."""
    marks = [cell["metadata"].get("nbgrader", {}) for cell in json.loads(notebook.read_text())["cells"]]
    return {one["grade_id"]: one["points"] for one in marks if one.get("grade")}


@pytest.mark.usefixtures("gradebook_file")
def test_points_follow_course_yml_in_release_gradebook_and_source(
    root: Path, nbgrader_command: Run, python: Run
) -> None:
    text = (root / "course.yml").read_text()
    wanted = {"correctness": 70, "technique": 17.5, "speed": 12.5}
    (root / "course.yml").write_text(
        text.replace("{correctness: 60, technique: 20, speed: 20}", json.dumps(wanted).replace('"', ""))
    )
    source = root / "solutions/01" / NOTEBOOK
    done = nbgrader_command("generate_assignment", "01")
    assert done.returncode == 0, done.stderr
    assert "correctness: 60 to 70, technique: 20 to 17.5, speed: 20 to 12.5" in done.stderr
    assert points_in(root / "assignments/01" / NOTEBOOK) == points_in(source) == wanted
    query = "select name, max_score from base_cell join grade_cells using (id)"
    assert dict(rows(root, query)) == wanted
    assert json.loads(source.read_text())["cells"][:4] == cells()[:4]  # and nothing else is another
    assert [path.name for path in (root / "solutions/01").glob(".*")] == []
    again = source.stat().st_mtime_ns
    assert "points as in" not in nbgrader_command("generate_assignment", "01").stderr
    assert source.stat().st_mtime_ns == again
    (root / "course.yml").write_text(text)
    told = f"solutions/01/{NOTEBOOK}: points as in course.yml: correctness: 70 to 60, technique: 17.5 to 20, speed: 12"
    assert told in python(GRADER, "release").stdout
    assert points_in(root / "assignments/01" / NOTEBOOK) == points_in(source) == POINTS


def test_all_grade_cells_that_are_no_part_are_told_at_once(root: Path, python: Run) -> None:
    rewrite(root, [*cells()[:-1], cell("extra", "1", grade=True, locked=True, points=5)])
    done = python(GRADER, "release")
    assert done.returncode == 2
    assert "cell 'extra' has points, but course.yml has no such part of 01" in done.stderr
    assert "expected a cell with grade_id 'speed' and 20 points in a notebook, found none" in done.stderr
    assert not (root / "assignments").exists()


@pytest.mark.usefixtures("gradebook_file")
def test_the_due_date_is_course_ymls(root: Path, nbgrader_command: Run) -> None:
    text = (root / "course.yml").read_text()
    (root / "course.yml").write_text(text.replace("title: Doubling", "title: D\n    due: 2027-02-01T23:59:00+01:00"))
    done = nbgrader_command("generate_assignment", "1")
    assert (done.returncode, "due date" in done.stderr) == (0, False), done.stderr  # the first one replaces none
    assert rows(root, "select name, duedate from assignment") == [("01", "2027-02-01 22:59:00.000000")]


@pytest.mark.usefixtures("gradebook_file")
def test_a_cell_more_with_submissions_in_the_gradebook_says_what_to_do(
    root: Path, nbgrader_command: Run, python: Run
) -> None:
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    before = files_of(root / "assignments")
    hand_in = "from nbgrader.api import Gradebook as G\nwith G('sqlite:///gradebook.db') as g: g.add_student('ada'); "
    assert python(hand_in + "g.add_submission('01', 'ada')").returncode == 0
    (root / "course.yml").write_text((root / "course.yml").read_text().replace("speed: 20}", "speed: 20, quiz: 5}"))
    rewrite(root, [*cells(), cell("quiz", "%check quiz", grade=True, locked=True, points=5)])
    done = nbgrader_command("generate_assignment", "01")
    assert done.returncode == 1
    assert "nbgrader db assignment remove 01" in done.stderr
    assert "raceback" not in done.stderr
    assert files_of(root / "assignments") == before


LOCKED = """\
import sqlite3
from nbgrader.api import Gradebook
import nbgrader.api as api
engine = api.create_engine
api.create_engine = lambda *arguments, **options: engine(*arguments, connect_args={"timeout": 0.1})
held = sqlite3.connect("gradebook.db", isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
"""


@pytest.mark.usefixtures("gradebook_file")
@pytest.mark.parametrize(
    ("before", "said"),
    [(LOCKED, "database is locked"), ("open('gradebook.db', 'wb').write(b'x' * 5000)\n", "not a database")],
)
def test_a_gradebook_that_cannot_be_used_is_told_and_nobody_is_told_to_forget_grades(
    root: Path, nbgrader_command: Run, before: str, said: str
) -> None:
    for command in ("generate_assignment", "autograde"):
        (root / "submitted/ada/01").mkdir(parents=True, exist_ok=True)
        (root / "submitted/ada/01/kernels.py").touch()
        done = nbgrader_command(command, "01", before=before)
        assert done.returncode == 1
        assert "raceback" not in done.stderr
        assert "the gradebook cannot be used, and is as it was: " in done.stderr
        assert said in done.stderr.split("the gradebook cannot be used")[1]
        assert "remove" not in done.stderr.split("the gradebook cannot be used")[1]


# Tells which of nbgrader's own converters refused; the log tells why.
THEIRS = """\
import json
from nbgrader import converters
from nbgrader.apps import NbGrader
app = NbGrader(); app.initialize([]); app.coursedir.assignment_id = "01"
refused = []
for kind, taken, written in (
    ("GenerateAssignment", "source", "release"),
    ("Autograde", "submitted", "autograded"),
    ("GenerateFeedback", "autograded", "feedback"),
    ("GenerateSolution", "source", "solution"),
):
    setattr(app.coursedir, taken + "_directory", "in")
    setattr(app.coursedir, written + "_directory", "out")
    try:
        getattr(converters, kind)(coursedir=app.coursedir, parent=app, force=True).start()
    except converters.NbGraderException:
        refused.append(kind)
print(json.dumps(refused))
"""


@pytest.mark.usefixtures("gradebook_file")
def test_nbgraders_own_converters_are_refused(root: Path, python: Run, nbgrader_command: Run) -> None:
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    for folder in (root / "in/ada/01", root / "in/01"):
        folder.mkdir(parents=True)
        (folder / NOTEBOOK).write_text(notebook_text(cells()))
    done = python(THEIRS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["GenerateAssignment", "Autograde", "GenerateFeedback", "GenerateSolution"]
    assert done.stderr.count("NotOurs") >= 4
    assert files_of(root / "out") == {}


def test_the_exchange_gets_a_fresh_release_whatever_lies_in_assignments(
    root: Path, tmp_path: Path, nbgrader_api: Api, nbgrader_command: Run
) -> None:
    exchange = tmp_path / "exchange"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    (root / "assignments/01").mkdir(parents=True)
    for file in ("test_hidden.py", "kernels.py", NOTEBOOK):
        (root / "assignments/01" / file).write_bytes((root / "solutions/01" / file).read_bytes())
    (done,) = nbgrader_api(["release_assignment", "01"])
    assert done["success"], done
    out = files_of(exchange / "tiny/outbound/01")
    assert set(out) == RELEASED
    assert b"BEGIN SOLUTION" not in b"".join(out.values())
    again = nbgrader_command("release_assignment", "1", "--force")
    assert again.returncode == 0, again.stderr
    assert files_of(exchange / "tiny/outbound") == {f"01/{file}": text for file, text in out.items()}


def test_generate_assignment_names_no_folder_that_is_gone_afterwards(root: Path, nbgrader_command: Run) -> None:
    done = nbgrader_command("generate_assignment", "01")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "Converting" in line or "staged" in line] == []
    assert done.stderr.count(NOTEBOOK) == 1
    debugged = nbgrader_command("generate_assignment", "01", "--debug")
    assert "Converting notebook" in debugged.stderr


WARNS = """\
from nbgrader.preprocessors import ClearSolutions
clear = ClearSolutions.preprocess
def preprocess(self, nb, resources):
    self.log.warning("a cell to look at")
    return clear(self, nb, resources)
ClearSolutions.preprocess = preprocess
"""


@pytest.mark.usefixtures("gradebook_file")
def test_a_warning_of_nbgraders_is_told_once(root: Path, nbgrader_command: Run) -> None:
    """Notebooks are converted twice: to be searched, then into the gradebook."""
    done = nbgrader_command("generate_assignment", "01", before=WARNS)
    assert (done.returncode, done.stderr.count("WARNING] a cell to look at")) == (0, 1), done.stderr


def test_nothing_leaks_into_the_exchange(root: Path, tmp_path: Path, nbgrader_command: Run) -> None:
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    rewrite(root, [*cells(), cell("hint", "See test_odd_sizes.", "markdown")])
    done = nbgrader_command("release_assignment", "01")
    assert done.returncode == 1
    assert "'test_odd_sizes' is a hidden check" in done.stderr
    assert not files_of(tmp_path / "exchange")


@pytest.mark.parametrize("command", [("generate_assignment", "01"), ("autograde", "01"), ("export",)])
def test_a_broken_config_ends_nbgrader_before_it_does_anything(
    root: Path, nbgrader_command: Run, command: tuple[str, ...]
) -> None:
    (root / "course.yml").write_text((root / "course.yml").read_text().replace("title: Doubling", "titel: Doubling"))
    before = files_of(root)
    done = nbgrader_command(*command)
    assert done.returncode == 1
    assert "unknown key 'titel'" in done.stderr
    assert files_of(root) == before


@pytest.mark.usefixtures("gradebook_file")
def test_a_server_outlives_a_course_yml_that_is_being_edited(root: Path, nbgrader_api: Api) -> None:
    """Formgrader reads nbgrader_config.py at every request: with the settings from before it goes on."""
    spoil = (
        "from pathlib import Path\nfrom nbgrader.apps import NbGrader\n"
        f"first = NbGrader(); first.initialize([], root={str(root)!r})\n"
        f"p = Path({str(root / 'course.yml')!r}); good = p.read_text(); p.write_text('course: [')\n"
        "from nbgrader.apps import NbGraderAPI\nplain = NbGraderAPI.generate_assignment\n"
        "def mended(self, name):\n    p.write_text(good); return plain(self, name)\n"
        "NbGraderAPI.generate_assignment = mended\n"
    )
    (done,) = nbgrader_api(["generate_assignment", "01"], before=spoil)
    assert done["success"], done
    assert_released(root)


@pytest.mark.usefixtures("gradebook_file")
def test_a_learners_notebook_is_kept_and_an_untouched_one_follows(root: Path, nbgrader_command: Run) -> None:
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    path = root / "assignments/01" / NOTEBOOK
    rewrite(root, [*cells(), cell("more", "More text.", "markdown")])
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    assert "More text." in path.read_text()
    path.write_text(path.read_text().replace("answer_1 = ...", "answer_1 = 5"))
    mine = path.read_text()
    rewrite(root, [*cells(), cell("more", "Other text.", "markdown")])
    done = nbgrader_command("generate_assignment", "01")
    assert (done.returncode, path.read_text()) == (0, mine)
    assert f"kept {NOTEBOOK}" in done.stderr


def test_a_source_that_nbgrader_cannot_convert_is_told_in_one_sentence(root: Path, python: Run) -> None:
    (root / "solutions/01" / NOTEBOOK).write_text("{broken")
    done = python(GRADER, "release")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"nbgrader could not convert its notebooks: {NOTEBOOK}: " in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_grader_release_makes_what_nbgrader_makes(
    root: Path, empty_gradebook: bytes, python: Run, nbgrader_command: Run
) -> None:
    done = python(GRADER, "release", "--bundle")
    assert done.returncode == 0, done.stderr
    made = files_of(root / "assignments/01")
    assert set(made) == RELEASED
    assert not (root / "gradebook.db").exists()
    (root / "gradebook.db").write_bytes(empty_gradebook)
    with zipfile.ZipFile(root / "dist/tiny-student.zip") as zipped:
        assert zipped.read(f"tiny/assignments/01/{NOTEBOOK}") == made[NOTEBOOK]
    assert nbgrader_command("generate_assignment", "01").returncode == 0
    assert files_of(root / "assignments/01") == made


def test_grader_release_without_nbgrader_leaves_notebooks_and_says_so(root: Path, python: Run) -> None:
    assert python(GRADER, "release").returncode == 0
    before = files_of(root / "assignments/01")
    public = root / "solutions/01/test_public.py"
    public.write_text(public.read_text().replace("[1, 33]", "[1, 34]"))
    done = python("import sys; sys.modules['nbgrader'] = None\n" + GRADER, "release", "01")
    assert done.returncode == 0, done.stderr
    assert "notebooks are left as they are" in done.stderr
    after = files_of(root / "assignments/01")
    assert {file for file in after if after[file] != before[file]} == {"test_public.py"}
