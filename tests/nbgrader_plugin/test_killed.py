"""Steps of nbgrader's that are killed half-way: begun again, each ends as if it had never been killed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import nbgrader_class as handed_in
import pytest
import tiny_notebook as notebook

Run = Callable[..., subprocess.CompletedProcess[str]]
KILLED = 137
# Ends the process, as SIGKILL does, after the call number AT of a function: nothing is cleaned up.
DYING = """\
import importlib, os
module, kind, name = {where!r}
owner = getattr(importlib.import_module(module), kind)
function = getattr(owner, name)
calls = iter(range({at}))
def dying(*arguments, **options):
    result = function(*arguments, **options)
    if next(calls, None) is None:
        os._exit({killed})
    return result
setattr(owner, name, dying)
"""
WRITTEN = ("nbgrader.converters.base", "BaseConverter", "write_single_notebook")
BEGUN = ("nbgrader.converters.base", "BaseConverter", "init_assignment")
SCORED = ("nbgrader.preprocessors", "SaveAutoGrades", "_add_score")
FILE_WRITTEN = ("pathlib", "Path", "write_bytes")
GRADES = """\
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    print(json.dumps(sorted(
        (submission.student.id, grade.name, grade.auto_score, grade.needs_manual_grade, grade.extra_credit)
        for submission in book.assignment_submissions("01")
        for found in submission.notebooks for grade in found.grades
    )))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course in which two students have handed in."""
    folder = tmp_path / "course"
    folder.mkdir()
    handed_in.write_class_course(folder)
    for student in ("ada", "bob"):
        files = {"timestamp": handed_in.LATE, "submission_secret": student}
        handed_in.hand_in(folder, student, book=notebook.answered(notebook.RIGHT), **files)
    return folder


def dying(where: tuple[str, str, str], at: int) -> str:
    return DYING.format(where=where, at=at, killed=KILLED)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("gradebook_file")
def test_an_autograde_that_was_killed_is_done_by_the_next(root: Path, nbgrader_command: Run, python: Run) -> None:
    empty = (root / "gradebook.db").read_bytes()

    def grades() -> list[object]:
        found: list[object] = json.loads(python(GRADES).stdout)
        return found

    def autograde(before: str = "") -> int:
        return nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS + before, FAKE_GPU="1").returncode

    assert autograde() == 0
    expected = grades(), files_of(root / "autograded")
    assert len(expected[0]) == 8
    assert all(score is not None for _, _, score, _, _ in expected[0])  # type: ignore[misc]
    # Two notebooks come first, those of the gradebook; then each student's is written twice.
    for where, at in ((BEGUN, 1), (WRITTEN, 2), (SCORED, 1), (SCORED, 3), (WRITTEN, 3), (SCORED, 5)):
        for folder in ("autograded", "results"):
            shutil.rmtree(root / folder, ignore_errors=True)
        (root / "gradebook.db").write_bytes(empty)
        assert autograde(dying(where, at)) == KILLED, (where, at)
        assert autograde() == 0
        assert (grades(), files_of(root / "autograded")) == expected, (where, at)
    assert list(root.glob(".staged*")) == []


@pytest.mark.usefixtures("gradebook_file")
def test_a_hand_in_without_a_timestamp_is_autograded_again_if_it_is_another(root: Path, nbgrader_command: Run) -> None:
    for file in root.glob("submitted/*/01/*.txt"):
        file.unlink()
    command = ("autograde", "01", "--log-level=INFO")
    assert nbgrader_command(*command, before=handed_in.FAKE_CLASS).returncode == 0
    kernels = root / "submitted/ada/01/kernels.py"
    kernels.write_text(kernels.read_text() + "\n# better\n")
    handed_in.hand_in(root, "cy")
    done = nbgrader_command(*command, before=handed_in.FAKE_CLASS)
    assert "handed in again, with another kernels.py" in done.stderr
    assert "judged 2 of 2" in done.stderr
    answered = root / "submitted/bob/01" / notebook.NAME
    answered.write_text(json.dumps(notebook.answered({"answer_1": "answer_1 = 'a'"})))
    done = nbgrader_command(*command, before=handed_in.FAKE_CLASS)
    assert f"handed in again, with other answers in {notebook.NAME}" in done.stderr
    assert "judged 1 of 1: bob" in done.stderr
    done = nbgrader_command(*command, before=handed_in.FAKE_CLASS)
    assert "judged" not in done.stderr


@pytest.mark.usefixtures("gradebook_file")
def test_feedback_that_was_killed_is_made_by_the_next(root: Path, nbgrader_command: Run) -> None:
    assert nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS).returncode == 0
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    expected = files_of(root / "feedback")
    assert len(expected) == 6
    for where, at in ((BEGUN, 0), (WRITTEN, 0), (BEGUN, 1)):
        shutil.rmtree(root / "feedback")
        assert nbgrader_command("generate_feedback", "01", before=dying(where, at)).returncode == KILLED
        assert nbgrader_command("generate_feedback", "01").returncode == 0
        assert files_of(root / "feedback") == expected, (where, at)
    # What a full disk has cut, too.
    page = root / "feedback/ada/01" / Path(notebook.NAME).with_suffix(".html").name
    page.chmod(0o644)
    page.write_bytes(page.read_bytes()[:-200])
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    assert files_of(root / "feedback") == expected


def test_a_collection_that_was_killed_loses_no_file(root: Path, tmp_path: Path, nbgrader_command: Run) -> None:
    exchange = tmp_path / "exchange"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    for student in ("ada", "bob"):
        shutil.copytree(root / "submitted" / student / "01", exchange / f"tiny/inbound/{student}+01+{handed_in.LATE}+x")
    expected = files_of(root / "submitted")
    assert len(expected) == 8
    for at in (0, 2, 5):
        shutil.rmtree(root / "submitted")
        assert nbgrader_command("collect", "01", before=dying(FILE_WRITTEN, at)).returncode == KILLED
        done = nbgrader_command("collect", "01")
        assert done.returncode == 0, done.stderr
        assert files_of(root / "submitted") == expected, at
