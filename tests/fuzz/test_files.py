"""Files that are almost right: a sentence, never a traceback of ours, and never a mark."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import tiny_course as tiny
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutated import ODD, changed

from grader.course import load_course
from grader.errors import CourseError
from grader.notebook import NotebookError, read_cells
from grader.records import Failure
from grader.submission import Submission, read_submission

COURSE = yaml.safe_load(tiny.COURSE) | {
    "grading": {"sandbox": "limits", "without_gpu": "wait", "late": {"per_day": 10, "grace": "15 min", "cap": 50}},
    "authoring": {"mutants": 1, "questions": 1},
}
COURSE["assignments"]["01"] |= {"due": "2027-03-01T23:59:00+01:00", "imports": ["scipy"]}
QUIETLY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def _refusal(read: Callable[[], object], kind: type[Exception]) -> str | None:
    """What is said of why something cannot be read; None if it can. Raises what is no sentence."""
    try:
        read()
    except kind as error:
        return str(error)
    return None


@given(document=changed(COURSE))
@QUIETLY
def test_a_course_yml_is_read_or_refused_in_a_sentence(document: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "course.yml"
        try:
            file.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
        except (UnicodeEncodeError, yaml.YAMLError):
            return
        said = _refusal(lambda: load_course(file), CourseError)
        assert said is None or (str(file) in said and "Traceback" not in said)


@given(data=st.binary(max_size=200))
@QUIETLY
def test_bytes_are_no_course(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "course.yml"
        file.write_bytes(data)
        with pytest.raises(CourseError):
            load_course(file)


NAMES = st.sampled_from(
    ["kernels.py", "kernels.PY", "Kernels.py", "lesson.ipynb", "a\nb", "-rf", " ", "..x", "é", "\x1b[31m", "x" * 200]
)
KINDS = st.sampled_from(["file", "empty", "folder", "link", "dead link", "fifo", "hard link", "unreadable", "large"])


@given(entries=st.lists(st.tuples(NAMES, KINDS), max_size=6), data=st.binary(max_size=60))
@QUIETLY
def test_a_folder_is_a_submission_or_a_failure(entries: list[tuple[str, str]], data: bytes) -> None:
    with tempfile.TemporaryDirectory() as top:
        secret, folder = Path(top) / "secret", Path(top) / "01"
        secret.write_text("secret")
        folder.mkdir()
        for name, kind in entries:
            path = folder / name
            if path.is_symlink() or path.exists():
                continue
            match kind:
                case "folder":
                    path.mkdir()
                case "link":
                    path.symlink_to(secret)
                case "dead link":
                    path.symlink_to("nowhere")
                case "fifo":
                    os.mkfifo(path)
                case "hard link":
                    path.hardlink_to(secret)
                case "large":
                    with path.open("wb") as file:
                        file.truncate(200 << 20)
                case _:
                    path.write_bytes(b"" if kind == "empty" else data)
                    path.chmod(0 if kind == "unreadable" else 0o600)
        found = read_submission(folder)
        assert isinstance(found, Failure | Submission)
        if isinstance(found, Submission):
            # A hard link is a file like any other: who may make one may read what it is to.
            assert found.source != b"secret" or ("kernels.py", "hard link") in entries
        else:
            assert found.what
            assert "\x1b" not in found.what + found.found


NOTEBOOK = json.loads(
    nbformat.writes(
        nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_markdown_cell("Text", id="text"),
                nbformat.v4.new_code_cell(
                    "answer_1 = 3", id="q1", metadata={"nbgrader": {"grade_id": "answer_1", "solution": True}}
                ),
            ]
        )
    )
)


@given(document=changed(NOTEBOOK), odd=ODD)
@QUIETLY
def test_a_notebook_is_cells_or_a_sentence(document: object, odd: object) -> None:
    for value in (document, odd, copy.deepcopy(NOTEBOOK)):
        try:
            data = json.dumps(value).encode("utf-8", "surrogatepass")
        except ValueError:
            continue
        said = _refusal(lambda data=data: read_cells(data), NotebookError)
        assert said is None or "expected a notebook" in said
