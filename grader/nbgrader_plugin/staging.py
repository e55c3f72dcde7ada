"""A submission as nbgrader may see it: our notebook with the student's answers, and ordinary files. Trusted process.

In: a stranger's folder, the released notebooks as text. Out: a new folder with kernels.py, a notebook for each released
one, and nbgrader's two text files, as far as each is what it should be.

A notebook of a student's is never passed on. Its answers, by the names of their cells, are put into ours: cells that
were deleted, copied, retyped or added, forged outputs, broken JSON and no notebook at all are one and the same case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader import utils

from grader.intake import CARRIED, MAX_CARRIED, NO_FILE, ordinary_bytes
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.notebook import MAX_NOTEBOOK_BYTES, NotebookError, read_cells, sources
from grader.records import KERNELS_FILE, Failure
from grader.reports.text import clean
from grader.submission import MAX_BYTES

NOTEBOOK_FORMAT = 4
# Of one answer, what a person reads of it; an answer that is judged is far shorter.
MAX_ANSWER = 20_000


@dataclass(frozen=True)
class Staged:
    """What became of a submission: the hash of its kernels.py, "" without one, and sentences for the log."""

    sha256: str
    told: tuple[str, ...]


def limits_of(notebooks: Iterable[str]) -> dict[str, int]:
    """The names of all that is taken from a submission, with the most bytes of each."""
    names = {KERNELS_FILE: MAX_BYTES, **dict.fromkeys(CARRIED, MAX_CARRIED)}
    return names | dict.fromkeys(notebooks, MAX_NOTEBOOK_BYTES)


def stage_submission(folder: Path, dest: Path, templates: Mapping[str, str]) -> Staged:
    """Stage the submission in ``folder`` as ``dest``, a new folder. ``templates``: the released notebooks, name → text.

    Raises OSError where ``dest`` cannot be written, nothing for whatever lies in ``folder``.
    """
    dest.mkdir(parents=True)
    work, told = work_of(folder, templates)
    for name, content in work.items():
        (dest / name).write_bytes(content)
    return Staged(hashlib.sha256(work[KERNELS_FILE]).hexdigest() if KERNELS_FILE in work else "", tuple(told))


def work_of(folder: Path, templates: Mapping[str, str]) -> tuple[dict[str, bytes], list[str]]:
    """The files of a submission as they are staged, by name, and sentences for the log. Raises nothing."""
    told: list[str] = []
    work: dict[str, bytes] = {}
    for name, limit in limits_of(templates).items():
        content = ordinary_bytes(folder / name, limit)
        if isinstance(content, Failure):
            if content.kind != NO_FILE:
                told.append(content.what)
            content = b""
        if name in templates:
            text, sentences = _answered(name, templates[name], content)
            told += sentences
            work[name] = text.encode()
        elif name == TIMESTAMP_FILE and content and read_timestamp(content.decode("utf-8", "replace")) is None:
            told.append(f"{name} names no date and time, so it counts as not there")
        elif content:
            work[name] = content  # of a timestamp the very text: students' nbgrader finds their feedback by it
    return work, told


def _answered(name: str, template: str, content: bytes) -> tuple[str, list[str]]:
    """The notebook ``template`` with the answers of the notebook ``content``, and what there is to say of it."""
    notebook = nbformat.reads(template, as_version=NOTEBOOK_FORMAT)
    told = []
    answers: dict[str, str] = {}
    try:
        cells = read_cells(content) if content else ()
    except NotebookError as error:
        told.append(f"{name}: {error}")
    else:
        answers = sources(cells)
        known = {cell.get("id") for cell in notebook.cells}
        more = sum(bool(cell.source.strip()) and not cell.grade_id and cell.cell_id not in known for cell in cells)
        if more:
            told.append(f"{name}: {more} {'cell' if more == 1 else 'cells'} of the student's own left out")
    for cell in notebook.cells:
        if utils.is_solution(cell) or utils.is_task(cell):
            put_answer(cell, answers.get(cell.metadata.nbgrader.grade_id))
    return nbformat.writes(notebook, NOTEBOOK_FORMAT) + "\n", told


def put_answer(cell: Any, answer: str | None) -> None:
    """Put a student's ``answer`` into a cell of ours; None, or what is as it was released, leaves it alone.

    In a markdown cell nothing of it is markup: nbgrader's pages would show it on the instructor's origin.
    """
    if answer is None or answer == cell.source:
        return
    shown = clean(answer, MAX_ANSWER)
    cell.source = shown if cell.cell_type == "code" else fenced(shown)


def fenced(text: str) -> str:
    """``text`` as a block of code in markdown, whatever fences it holds itself."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
