"""Whether what was handed in has been autograded: submitted/ against autograded/. nbgrader's process (trusted).

In: a submission's folder, that of autograded/, the released notebooks. Out: why it is due, in words for the log.

nbgrader compares timestamps alone, and asks no more than that there is a folder: a hand-in from an LMS, which has none,
would be judged once and never again, and what a killed run has begun would be left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grader.intake import ordinary_bytes
from grader.nbgrader_plugin.staging import limits_of, work_of
from grader.notebook import MAX_NOTEBOOK_BYTES, Cell, NotebookError, read_cells
from grader.records import Failure

MAX_WITH_REPORTS = 8 * MAX_NOTEBOOK_BYTES  # of a notebook that autograde has written


def why_due(folder: Path, there: Path, templates: Mapping[str, str]) -> str:
    """Why the submission in ``folder`` has to be autograded into ``there``; "" if it has been."""
    if not there.exists():
        return "not autograded yet"
    cells = {name: _cells(there / name) for name in templates}
    if not all(map(_is_judged, cells.values())):
        return "a run that was ended has left it half done"
    work, _ = work_of(folder, templates)
    for name, limit in limits_of(()).items():
        content = ordinary_bytes(there / name, limit)
        if (b"" if isinstance(content, Failure) else content) != work.get(name, b""):
            return f"handed in again, with another {name}"
    for name, found in cells.items():
        if _answers(found) != _answers(read_cells(work[name])):
            return f"handed in again, with other answers in {name}"
    return ""


def has_other_points(there: Path, templates: Mapping[str, str]) -> bool:
    """Whether what has been autograded into ``there`` was judged by other points than the released notebooks have."""
    wanted = {name: _points(read_cells(text)) for name, text in templates.items()}
    return {name: _points(_cells(there / name)) for name in templates} != wanted


def _points(cells: Iterable[Cell]) -> dict[str, float | None]:
    return {cell.grade_id: cell.points for cell in cells if _is_part(cell)}


def _cells(path: Path) -> tuple[Cell, ...]:
    """The cells of a notebook that autograde has written: none where it has not."""
    content = ordinary_bytes(path, MAX_WITH_REPORTS)
    try:
        return () if isinstance(content, Failure) else read_cells(content)
    except NotebookError:
        return ()


def _is_judged(cells: Sequence[Cell]) -> bool:
    """Whether the judge's steps have been there: each cell with a part's points has an output then."""
    return bool(cells) and all(cell.has_outputs for cell in cells if _is_part(cell))


def _answers(cells: Iterable[Cell]) -> dict[str, str]:
    """What is in the cells that a student fills in, by name."""
    return {cell.grade_id: cell.source for cell in cells if cell.grade_id and not _is_part(cell)}


def _is_part(cell: Cell) -> bool:
    return cell.is_grade and not cell.is_solution and cell.cell_type == "code"
