"""A bonus for speed is that of the hand-in that was judged last, and what a person has given stays."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbgrader_class as handed_in
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
GRADES = """\
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    print(json.dumps({
        student: (grade.auto_score, grade.extra_credit)
        for student in ("ada", "bob") for grade in [book.find_grade("speed", "doubling", "01", student)]
    }))
"""
A_PERSONS = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as book:
    book.find_grade("speed", "doubling", "01", "bob").extra_credit = 3.5
    book.db.commit()
"""
# As `grader grade` does, whose races have ended a little differently.
OTHER_RESULTS = """\
from pathlib import Path
file = Path("results/01.json")
text = file.read_text()
assert '"bonus": 2.0' in text
file.write_text(text.replace('"bonus": 2.0', '"bonus": 1.9'))
"""
KILLED = """\
import os
from nbgrader.preprocessors import SaveAutoGrades
SaveAutoGrades.preprocess = lambda *arguments: os._exit(137)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course in which two students have handed in."""
    folder = tmp_path / "course"
    folder.mkdir()
    handed_in.write_class_course(folder)
    for student in ("ada", "bob"):
        handed_in.hand_in(folder, student)
    return folder


@pytest.mark.usefixtures("gradebook_file")
@pytest.mark.parametrize("between", ["", OTHER_RESULTS, "import os; os.remove('results/01.json')", KILLED])
def test_a_bonus_is_that_of_the_last_run_whatever_has_become_of_results(
    root: Path, nbgrader_command: Run, python: Run, between: str
) -> None:
    def autograde(before: str = "", **gpu: str) -> dict[str, Any]:
        done = nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS + before, **gpu)
        assert done.returncode in (0, 137), done.stderr
        found: dict[str, Any] = json.loads(python(GRADES).stdout)
        return found

    assert autograde(FAKE_GPU="1") == {"ada": [20.0, 2.0], "bob": [20.0, 2.0]}
    assert python(A_PERSONS).returncode == 0
    if between == KILLED:
        autograde(KILLED, FAKE_GPU="0.8")
    else:
        assert python(between).returncode == 0
    assert autograde(FAKE_GPU="0.5") == {"ada": [10.0, 1.0], "bob": [10.0, 3.5]}
    # What waits for a GPU has no bonus of an older hand-in, and neither has a course that gives none any more.
    assert autograde() == {"ada": [None, None], "bob": [None, 3.5]}
    autograde(FAKE_GPU="1")
    course = root / "course.yml"
    course.write_text(course.read_text().replace(", bonus: 4, bonus_at: 1.5", ""))
    assert autograde(FAKE_GPU="1") == {"ada": [20.0, None], "bob": [20.0, 3.5]}
