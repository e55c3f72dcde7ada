"""nbgrader's autograde with the real judge, as `grader grade`; and where something else was set up, refused."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import nbgrader_class as handed_in
import pytest
import tiny_notebook as notebook

from grader.sandbox.walls import VARIABLE, offer

Run = Callable[..., subprocess.CompletedProcess[str]]
# `grader grade`, then `nbgrader autograde`, both judging in this very process: its children are started once.
BOTH = """\
import contextlib, sys
from concurrent.futures import Executor, Future
from pathlib import Path
from grader import classroom, cli
from nbgrader.apps.nbgraderapp import main
class Here(Executor):
    def __init__(self, workers):
        pass
    def submit(self, function, task):
        done = Future()
        done.set_result(function(task))
        return done
classroom.grade.__kwdefaults__["make_executor"] = Here
with contextlib.suppress(SystemExit):
    sys.argv = ["grader", "grade", "1", "--device", "simulated"]
    cli.main()
Path("results").rename("expected")
sys.argv = ["nbgrader", "autograde", "01", "--CourseAutograde.device=simulated"]
main()
"""


def points(folder: Path) -> dict[str, dict[str, str]]:
    """Scores by student, of a folder of results."""
    with (folder / "01.csv").open(newline="") as file:
        columns = ("correctness", "technique", "speed", "quiz", "total", "points_judged", "why")
        return {row["student"]: {name: row[name] for name in columns} for row in csv.DictReader(file)}


SCORES = """\
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    print(json.dumps({s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
                      for s in book.assignment_submissions("01")}))
"""


@pytest.mark.usefixtures("gradebook_file")
def test_the_real_judge_gives_the_same_scores_as_grader_grade_and_twice_the_same(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    notebook.write(root / "solutions/01", notebook.document())
    (root / "course.yml").write_text(handed_in.COURSE.replace("timeouts: 500 ms", "timeouts: 5 s"))
    handed_in.hand_in(root, "ada", book=notebook.answered(notebook.RIGHT))
    wrong = handed_in.hand_in(root, "bob", book=notebook.answered({}))
    (wrong / "kernels.py").write_text(handed_in.KERNELS.replace("= 2 *", "= (3 if i > 1000 else 2) *"))
    first = python(BOTH)
    assert first.returncode == 0, first.stderr
    expected = points(root / "expected")
    assert points(root / "results") == expected
    for turn in range(2):
        scores = json.loads(python(SCORES).stdout)
        for student, row in expected.items():
            parts = ("correctness", "technique", "speed", "quiz")
            assert scores[student] == {part: float(row[part]) if row[part] else None for part in parts}
        if turn == 0:
            again = nbgrader_command("autograde", "01", "--force", "--CourseAutograde.workers=1")
            assert again.returncode == 0, again.stderr
            assert points(root / "results") == expected
    assert 0 < scores["bob"]["correctness"] < scores["ada"]["correctness"] == 50
    assert scores["ada"]["speed"] is None


# Starts converters with other steps; prints what is said.
WRONG = """\
import json, os
from nbgrader import preprocessors as theirs
from nbgrader.apps import NbGrader
from nbgrader.converters import NbGraderException
from grader.nbgrader_plugin.autograde import CourseAutograde
from grader.nbgrader_plugin.guard import Guard
from grader.nbgrader_plugin.judge_submission import JudgeSubmission
from grader.nbgrader_plugin.save_grades import SaveJudgedGrades
app = NbGrader(); app.initialize([]); app.coursedir.assignment_id = "01"
print(json.dumps([]), flush=True)
for steps in (
    [], [Guard, JudgeSubmission], [Guard, SaveJudgedGrades, JudgeSubmission], [JudgeSubmission, SaveJudgedGrades],
    [Guard, JudgeSubmission, SaveJudgedGrades, theirs.SaveAutoGrades], [Guard, theirs.Execute],
    [Guard, "nbgrader.preprocessors.Execute", JudgeSubmission, SaveJudgedGrades],
):
    try:
        CourseAutograde(coursedir=app.coursedir, parent=app, autograde_preprocessors=steps).start()
        print("started", steps)
    except NbGraderException as error:
        assert "JudgeSubmission before SaveJudgedGrades and no Execute" in str(error), error
from grader.nbgrader_plugin.save_grades import NotJudged
from nbformat.v4 import new_notebook
try:
    SaveJudgedGrades().preprocess(new_notebook(), {"nbgrader": {}})
    print("saved")
except NotJudged:
    pass
"""


@pytest.mark.usefixtures("gradebook_file")
def test_settings_without_the_judge_are_refused_and_nothing_is_saved_that_was_not_judged(
    root: Path, python: Run
) -> None:
    handed_in.hand_in(root, "ada")
    done = python(WRONG)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
    assert not (root / "autograded").exists()


@pytest.mark.usefixtures("gradebook_file")
def test_who_is_refused_is_counted_and_said_again_below_the_lines_on_the_others(
    root: Path, nbgrader_command: Run
) -> None:
    notebook.write(root / "solutions/01", notebook.document())
    (root / "course.yml").write_text(handed_in.COURSE)
    handed_in.hand_in(root, "ada", book=notebook.answered(notebook.RIGHT))
    (root / "submitted/pia").symlink_to(root / "submitted/ada")
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert done.returncode == 1, done.stderr
    first, judged, counted, again = (
        done.stderr.index(said)
        for said in (
            "submitted/pia: not graded: the student's folder 'pia' is a link",
            "judged 1 of 1: ada",
            "01: 1 autograded; 1 of them wait for a score (ada); 1 refused (pia)\n",
            "1 not graded, see the sentences above: ",
        )
    )
    assert first < judged < counted < again
    assert "the student's folder 'pia' is a link" in done.stderr[again:]


# Verdicts as grade cells have them.
VERDICTS = """\
from dataclasses import replace
from pathlib import Path
import class_judges
from grader.classroom import Task
from grader.course import load_course
from grader.nbgrader_plugin.autograde import of_these_bytes
from grader.nbgrader_plugin.judge_submission import _output, points_of
from grader.nbgrader_plugin.staging import Staged
from grader.records import State
from grader.scoring import score
verdict = class_judges.scored(Task(Path("solutions/01").resolve(), Path("submitted/ada/01"), "ada", "auto"))
policy = load_course(Path("course.yml")).assignment("1")
assert of_these_bytes(verdict, Staged(verdict.sha256, ()), policy) is verdict
other = of_these_bytes(verdict, Staged("0" * 64, ()), policy)
assert points_of(other, "correctness") == (None, "not judged: kernels.py was exchanged while it was being judged")
assert points_of(verdict, "speed") == (None, "not measured: no GPU")
assert points_of(verdict, "essay") == (None, "course.yml of 01 has no part 'essay'")
scaled = score(verdict.checks, policy.ordered_parts(), "scale")
half = replace(verdict, parts=scaled.parts, total=scaled.total)
found = {part: points_of(half, part)[0] for part in policy.parts}
assert found == {"correctness": 40.0, "technique": 20.0, "speed": 15.0}, found
assert sum(found.values()) == scaled.total == 75
why = {part: points_of(half, part)[1] for part in policy.parts}
assert why == {"correctness": "", "technique": "", "speed": "scaled from what was judged: no GPU"}, why
# What Formgrader and feedback show has one heading, of the score's points.
shown = _output(15.0, "", half, "speed").data["text/html"]
assert shown.startswith("<b>speed: 15 of 20 points, scaled from what was judged: no GPU</b><ul>"), shown
secret = replace(verdict.checks[0], hidden=True, state=State.NOT_JUDGED, passed=None, reason="n=1023 broke")
parts = score([secret, *verdict.checks[1:]], policy.ordered_parts(), "wait").parts
hidden = replace(verdict, checks=(secret, *verdict.checks[1:]), parts=parts)
assert points_of(hidden, "correctness") == (None, "not judged: see your instructor")
"""


def test_points_of_a_cell_are_those_of_its_part_scaled_or_open_and_of_the_very_file(root: Path, python: Run) -> None:
    handed_in.hand_in(root, "ada", "test_odd_sizes")
    done = python(VERDICTS)
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("gradebook_file")
def test_collect_follows_no_link_and_one_strange_folder_ends_it_for_nobody(
    root: Path, tmp_path: Path, nbgrader_command: Run
) -> None:
    inbound = tmp_path / "exchange/tiny/inbound"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    moment = "2027-03-01 10:00:00.000000 UTC"
    files = ("kernels.py", handed_in.NAME, "timestamp.txt", "submission_secret.txt")
    for name in (
        f"ada+01+{moment}+x1",
        f"bob+01+{moment}",
        f"o<b>+01+{moment}+x2",
        "eve+01+whenever",
        "+01+",
        "a+01+1",
    ):
        (inbound / name).mkdir(parents=True)
        for file in (*files, "other.txt", ".ipynb_checkpoints"):
            (inbound / name / file).write_text(moment)
    secret = tmp_path / "secret"
    secret.write_text("the instructor's")
    for name in ("kernels.py", "submission_secret.txt"):
        (inbound / f"bob+01+{moment}" / name).unlink()
        (inbound / f"bob+01+{moment}" / name).symlink_to(secret)
    (inbound / f"cy+01+{moment}").symlink_to(root / "solutions/01")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/theirs.py").write_text("")
    (inbound / f"fay+01+{moment}").symlink_to(tmp_path / "elsewhere")
    (inbound / "dan+01+2027-03-05 10:00:00.250000 UTC").mkdir()
    (inbound / "dan+01+2027-03-05 10:00:00.250000 UTC/timestamp.txt").write_text("long ago")
    done = nbgrader_command("collect", "1")
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(root / "submitted")) for path in (root / "submitted").rglob("*") if path.is_file()}
    assert found == {f"ada/01/{file}" for file in files} | {
        f"bob/01/{file}" for file in (handed_in.NAME, "timestamp.txt")
    } | {f"a/01/{file}" for file in files} | {f"{student}/01/timestamp.txt" for student in ("cy", "dan", "fay")}
    assert (root / "submitted/dan/01/timestamp.txt").read_text() == "2027-03-05 10:00:00.250000 UTC"
    for sentence in ("kernels.py is a link", "holds '<'", "eve+01+whenever", "The folder of kernels.py is a link"):
        assert sentence in done.stderr
    assert "theirs.py" not in done.stderr


@pytest.mark.parametrize(
    ("there", "taken", "said"),
    [
        (
            ("kernels (1).py", "doubling-Copy1.ipynb"),
            {"kernels.py": 0, "doubling.ipynb": 1},
            "'kernels (1).py' is taken",
        ),
        (("kernels (2).py", "kernels (10).py"), {"kernels.py": 1}, "'kernels (10).py' is taken for kernels.py"),
        (
            ("kernels.py", "kernels (1).py", "my.ipynb"),
            {"kernels.py": 0, "doubling.ipynb": 2},
            "'my.ipynb' is taken for",
        ),
        (("mine.py", "problem.py", "test_public.py"), {"kernels.py": 0}, "'mine.py' is taken for kernels.py"),
        (("mine.py", "._mine.py"), {"kernels.py": 0}, "'mine.py' is taken for kernels.py"),
        (("a.py", "b.py"), {}, "no kernels.py; found 'a.py', 'b.py'"),
        (("kernels.py", "a.ipynb", "b.ipynb"), {"kernels.py": 0}, "no doubling.ipynb; found 'a.ipynb', 'b.ipynb'"),
    ],
)
@pytest.mark.usefixtures("gradebook_file")
def test_renamed_files_in_the_exchange_are_recognised_or_told(
    root: Path, tmp_path: Path, nbgrader_command: Run, there: tuple[str, ...], taken: dict[str, int], said: str
) -> None:
    folder = tmp_path / "exchange/tiny/inbound/ada+01+2027-03-01 10:00:00.000000 UTC+x1"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    folder.mkdir(parents=True)
    for number, name in enumerate(there):
        (folder / name).write_text(str(number))
    done = nbgrader_command("collect", "01")
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_text() for path in (root / "submitted/ada/01").iterdir()}
    del found["timestamp.txt"]
    assert found == {name: str(number) for name, number in taken.items()}
    assert said in done.stderr


OWNER_OF = """\
import os, pwd
from pathlib import Path
from types import SimpleNamespace
from grader.nbgrader_plugin import exchange
me = pwd.getpwuid(os.getuid()).pw_name
Path("mine").mkdir()
os.symlink("/", "link")
if os.getuid() == 0:
    os.lchown("link", pwd.getpwnam("nobody").pw_uid, -1)
whose = [exchange.owner_of(place) for place in ("mine", "link", "gone")]
assert whose == [me, me if os.getuid() else "nobody", ""], whose
exchange.pwd = SimpleNamespace(getpwuid={}.__getitem__)  # a user who has been removed from the machine
assert exchange.owner_of("mine") == ""
"""


def test_the_owner_of_a_folder_is_its_own_and_never_that_of_what_a_link_leads_to(python: Run) -> None:
    done = python(OWNER_OF)
    assert done.returncode == 0, done.stderr


OWNERS = """\
from grader.nbgrader_plugin import exchange
exchange.owner_of = lambda path: path.rpartition("-")[2]
"""


@pytest.mark.usefixtures("gradebook_file")
def test_a_folder_that_another_user_has_named_after_a_student_replaces_nothing(
    root: Path, tmp_path: Path, nbgrader_command: Run
) -> None:
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(tmp_path / 'exchange')!r}\n")
    first, later = "2027-03-01 10:00:00.000000 UTC", "2027-03-02 10:00:00.000000 UTC"
    # bob's are all of one user of the machine, as where a hub has made them.
    folders = (f"ada+01+{first}+x-ada", f"ada+01+{later}+x-eve", f"bob+01+{first}+x-hub", f"bob+01+{later}+x-hub")
    for name in folders:
        (tmp_path / "exchange/tiny/inbound" / name).mkdir(parents=True)
        (tmp_path / "exchange/tiny/inbound" / name / "kernels.py").write_text(name)
    done = nbgrader_command("collect", "01", before=OWNERS)
    assert done.returncode == 0, done.stderr
    got = {student: (root / "submitted" / student / "01/kernels.py").read_text() for student in ("ada", "bob")}
    assert got == {"ada": folders[0], "bob": folders[3]}
    assert "x-eve': not collected: it belongs to another user" in done.stderr
    unchecked = ("--update", "--ExchangeCollect.check_owner=False")
    assert nbgrader_command("collect", "01", *unchecked, before=OWNERS).returncode == 0
    assert (root / "submitted/ada/01/kernels.py").read_text() == folders[1]


TOLD_THE_LEVEL = "import class_judges, grader.judging; grader.judging.judge_task = class_judges.told_the_level\n"


@pytest.mark.usefixtures("gradebook_file")
def test_the_judge_is_told_the_level_that_is_demanded_and_the_log_what_is_missing(
    root: Path, nbgrader_command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "restricted")
    if offer().level != "restricted":
        pytest.skip(f"not run: {'; '.join(offer().missing)}")
    course = root / "course.yml"
    course.write_text(f"grading: {{sandbox: restricted}}\n{course.read_text()}")
    handed_in.hand_in(root, "ada")
    done = nbgrader_command("autograde", "01", before=TOLD_THE_LEVEL, WARPGRADE_SANDBOX="restricted")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"WARNING.*at the sandbox level 'restricted', not 'isolated' \(", done.stderr)) == 1
    assert "judged at the level 'restricted' or a stronger one" in done.stderr
