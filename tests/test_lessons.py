"""The notebooks of the course: every experiment runs in a real kernel and shows the numbers that the text has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from grader.course import load_course
from grader.notebook import read_cells
from grader.quiz_keys import questions
from grader.records import PARTS, QUIZ

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "solutions").glob("*/*.ipynb"))
# What the lessons say of their experiments: of each cell, by its id, texts that are in what it displays.
SHOWN: dict[str, dict[str, list[str]]] = {
    "01": {
        "experiment-who": [
            "3 blocks of 8 threads",
            "40 elements",
            "block  [0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2]",
            "thread [0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 0 1 2 3]",
        ],
        "experiment-guard": [
            "4 blocks; the result is right: True",
            "Read of x[1000]",
            "Write to y[1000]",
            "(24 times)",
        ],
        "experiment-every-fourth": ["16r+4w"],
        "experiment-chunks": ["4r+4w", "32r+32w", "32.8 kB moved", "262 kB moved", "all are 4: True"],
        "experiment-two": ["512 sectors", "4,096 sectors", "advice: A warp's write here moves 32 sectors"],
        "experiment-integers": ["NumPy: 40   kernel: 15400"],
    },
    "02": {
        "experiment-race": ["out[0] = 1.0", "error: Race on out"],
        "experiment-atomic": ["out[0] = 4096.0", "advice: 4,096 atomic operations change one address"],
        "experiment-no-barrier": ["[63. 62. 61. 60. 59. 58. 57. 56.] …", "error: Race on tile"],
        "experiment-barrier-in-if": [
            "x[0] = 64.0",
            "error: Thread 32 of block 0 (and 31 more of that block) never comes",
        ],
        "experiment-trees": [
            *("2,176 by warps, 768 divergent", "5.43"),
            *("2,176 by warps, 96 divergent", "3.92r", "21.2", "1,120\n  bank conflicts"),
        ],
        "experiment-yours": ["sum: 100000.0", "256 operations", "0 bank conflicts"],
        "experiment-rounding": ["one after the other: 100958.34"],
    },
    "03": {
        "experiment-easy": ["4,194,304 elements", "8.45 MB moved", "0.5 operations per byte"],
        "experiment-pairs": [
            *("2,097,152 elements", "9,216 elements", "1,048,576 elements", "the same result: True"),
            *("0.4 operations per byte", "51 operations per byte"),
        ],
        "experiment-one-barrier": [
            "error: Race on tile",
            "notebook cell:10  tile[t] = x[start + t]",
            "read at\n  line 13",
        ],
        "experiment-banks": ["takes 8 turns here instead of one", "total += tile[tx, j]"],
        "experiment-yours": ["262,144 elements", "1.11 MB moved", "right: True"],
    },
    "04": {
        "experiment-overflow": ["plain: [inf inf] by inf is [nan nan]", "subtracted: [0.731"],
        "experiment-twice": ["error: Race on tile", "tile[0] = value"],
        "experiment-three-kernels": ["4.78 MB moved", "2.1 MB moved", "1.06 MB moved"],
        "experiment-rows": ["takes 16 turns here instead of one", "total += even[tx, c]"],
        "experiment-yours": ["147 kB moved", "as in section 3: True"],
    },
}
RUN = """\
import json, sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
# What %check does is tested elsewhere, and takes longer than all the rest.
notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code" and not cell.source.startswith("%check")]
# Somebody who has written nothing yet runs that cell, too.
for cell in [cell for cell in notebook.cells if cell.id == "experiment-yours"]:
    swap = "import shutil; shutil.copyfile('stub.py', 'kernels.py');"
    notebook.cells.append(nbformat.v4.new_code_cell(swap, id="stub"))
    notebook.cells.append(nbformat.v4.new_code_cell(cell.source, id="experiment-stub"))
nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
print(json.dumps({cell.id: cell.outputs for cell in notebook.cells}))
"""


def _cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def _source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _shown(outputs: list[dict[str, Any]]) -> str:
    return "\n".join(output.get("text") or output["data"]["text/plain"] for output in outputs)


def _printed(outputs: list[dict[str, Any]]) -> str:
    return "".join(output["text"] for output in outputs if output["output_type"] == "stream")


@pytest.mark.skipif(
    find_spec("nbclient") is None, reason="nbclient is not installed: pip install 'warpgrade[classroom]'"
)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_every_experiment_of_a_lesson_runs_and_shows_what_the_text_says(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "solutions" / path.parent.name
    shutil.copytree(path.parent, folder)
    shutil.copyfile(ROOT / "course.yml", tmp_path / "course.yml")
    shutil.copyfile(ROOT / "assignments" / path.parent.name / "kernels.py", folder / "stub.py")
    home = {name: str(tmp_path / name.lower()) for name in ("HOME", "IPYTHONDIR", "MPLCONFIGDIR", "JUPYTER_CONFIG_DIR")}
    command = [sys.executable, "-c", RUN, path.name]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | home, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    outputs = json.loads(done.stdout)
    assert [output for each in outputs.values() for output in each if output.get("name") == "stderr"] == []
    for name, texts in SHOWN[path.parent.name].items():
        page = _shown(outputs[name])
        assert [text for text in texts if text not in page] == [], page
    if "experiment-stub" in outputs:
        assert _printed(outputs["experiment-stub"]) != _printed(outputs["experiment-yours"])
    figures = [name for name in outputs if name.startswith("figure-")]
    assert figures
    assert all("image/png" in outputs[name][-1]["data"] for name in figures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_students_get_the_same_lesson_and_can_answer_nothing_by_it(path: Path) -> None:
    """So that a source notebook that runs is a released one that runs."""
    released = {cell["id"]: _source(cell) for cell in _cells(ROOT / "assignments" / path.parent.name / path.name)}
    source = {cell["id"]: _source(cell) for cell in _cells(path)}
    assert list(released) == list(source)
    changed = [name for name in source if released[name] != source[name]]
    assert changed == [name for name in source if name.startswith("answer-")]
    assert all(released[name].partition("  #")[0].endswith("= ...") for name in changed)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.parent.name)
def test_every_check_of_a_lesson_is_about_something(path: Path) -> None:
    asked = [
        _source(cell).removeprefix("%check").strip() for cell in _cells(path) if _source(cell).startswith("%check")
    ]
    public = (path.parent / "test_public.py").read_text(encoding="utf-8")
    words = [word for word in asked if word not in PARTS]
    assert words
    assert all(f"def test_{word}_" in public for word in words)
    assert [word for word in asked if word in PARTS] == list(PARTS)


def test_keys_are_spread_over_the_letters() -> None:
    """Who answers one letter throughout earns no more than a third of the questions with one right choice."""
    found = [question for path in NOTEBOOKS for question in questions(read_cells(path.read_bytes()))]
    keys = Counter(question.key for question in found if isinstance(question.key, str))
    assert len(keys) == 4
    assert 3 * max(keys.values()) <= keys.total(), keys


def test_a_lesson_and_a_quiz_are_there_together() -> None:
    course = load_course(ROOT / "course.yml")
    with_quiz = [name for name, assignment in course.assignments.items() if QUIZ in assignment.parts]
    assert [path.parent.name for path in NOTEBOOKS] == with_quiz == list(SHOWN)


def test_every_assignment_has_a_hundred_points() -> None:
    """So that points are percent, quiz or not."""
    assert {assignment.points for assignment in load_course(ROOT / "course.yml").assignments.values()} == {100}
