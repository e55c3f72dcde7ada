"""The tiny course with a notebook: a question, and a grade cell for each part. For tests of nbgrader."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import tiny_course as tiny
import tiny_notebook

ROOT = Path(__file__).parents[1]
NOTEBOOK = "doubling.ipynb"
POINTS = {"correctness": 60, "technique": 20, "speed": 20}
WHY = "Block 1 begins after the threads of block 0."
QUESTION = f"""\
answer_1 = ...  # a number
### BEGIN SOLUTION
answer_1 = 133
why_1 = {{5: "{WHY}"}}
### END SOLUTION
"""


def cell(cell_id: str, source: str, kind: str = "code", **nbgrader: Any) -> dict[str, Any]:
    """A cell of a source notebook; ``nbgrader`` is its metadata, if it has any."""
    made = tiny_notebook.code(cell_id, source) if kind == "code" else tiny_notebook.markdown(cell_id, source)
    if nbgrader:
        flags = {"grade": False, "solution": False, "locked": False, "task": False}
        made["metadata"]["nbgrader"] = {"schema_version": 3, **flags, "grade_id": cell_id, **nbgrader}
    return made


def cells() -> list[dict[str, Any]]:
    """The cells of the source notebook."""
    return [
        cell("title", "# Doubling\n\nWhat a thread does.", "markdown"),
        cell("load", "%load_ext grader"),
        cell("question-1", "Which element does thread 5 of block 1 own, with 128 threads a block?", "markdown"),
        cell("answer_1", QUESTION, solution=True),
        *(cell(part, f"%check {part}", grade=True, locked=True, points=points) for part, points in POINTS.items()),
    ]


def notebook_text(made: list[dict[str, Any]]) -> str:
    """The text of a notebook of these cells."""
    return tiny_notebook.text_of(tiny_notebook.notebook(made))


def write_notebook_course(root: Path, **changed: str) -> Path:
    """The tiny course below ``root``, with the notebook, everything hidden, and this project's nbgrader_config.py."""
    tiny.write_course(root, **changed)
    source = root / "solutions/01"
    (source / NOTEBOOK).write_text(notebook_text(cells()), encoding="utf-8")
    (source / "fast.py").write_text("# the fast one\n", encoding="utf-8")
    (source / "wrong").mkdir()
    (source / "wrong/forgotten_guard.py").write_text("# a mutant\n", encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    return root
