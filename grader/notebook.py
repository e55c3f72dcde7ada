"""Notebooks as plain cells: an .ipynb in, what the course needs of its cells out. Trusted process; pure.

In: the text of a notebook, an author's or a stranger's. Out: ``Cell`` records. Nothing is run, and nbformat is not
needed: a stranger's notebook need not be a valid one to have its answers read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# A lesson without outputs is a hundredth of it; the rest is for figures that somebody left in it.
MAX_NOTEBOOK_BYTES = 16 << 20
SUFFIX = ".ipynb"
# A lesson has some fifty cells. What each of a million empty ones takes is memory and seconds, not bytes of the file.
MAX_CELLS = 10_000
MAX_BRACKETS = 2_000_000
# nbgrader's, in kernels.py and in the cells of notebooks.
SOLUTION_BEGIN, SOLUTION_END = "### BEGIN SOLUTION", "### END SOLUTION"
# A cell of comments and of dots in the place of an answer.
_UNANSWERED = re.compile(r"(?:[ \t]*(?:\w+[ \t]*=[ \t]*\.\.\.[ \t]*)?(?:#[^\r\n]*)?(?:\r?\n|$))*")
MAJOR = 4  # nbformat's; earlier ones keep their cells elsewhere
CLEAR_OUTPUTS = "clear all outputs, save the notebook, and hand it in again"


class NotebookError(ValueError):
    """A text is no notebook. ``str()`` is one sentence."""


@dataclass(frozen=True)
class Cell:
    """One cell. ``grade_id`` is nbgrader's name of it, "" if it has none; ``points`` are a grade cell's, if it has any.

    ``cell_type`` is ``code``, ``markdown`` or ``raw``, or whatever a stranger wrote; ``cell_id`` is nbformat's.
    ``has_outputs``: what they are is not read.
    """

    grade_id: str
    cell_type: str
    source: str
    is_grade: bool
    is_solution: bool
    points: float | None
    cell_id: str
    has_outputs: bool = False


def read_document(text: bytes | str) -> dict[str, Any]:
    """A notebook as JSON has it: its ``cells`` are a list, of anything. Raises NotebookError with a sentence."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        brackets = text.count("{") + text.count("[")
        if brackets > MAX_BRACKETS:
            raise NotebookError(f"expected a notebook, found JSON of {brackets:,} lists and objects: {CLEAR_OUTPUTS}")
        document = json.loads(text)
    except UnicodeDecodeError as error:
        raise NotebookError(f"expected a notebook in UTF-8, found byte 0x{error.object[error.start]:02x}") from None
    except json.JSONDecodeError as error:
        raise NotebookError(f"expected a notebook, which is JSON, found in line {error.lineno}: {error.msg}") from None
    except NotebookError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:  # a number of a million digits, a million brackets
        raise NotebookError(f"expected a notebook, found JSON that cannot be read: {_said(error)}") from None
    if not isinstance(document, dict):
        raise NotebookError(f"expected a notebook, found JSON that is {_kind(document)}")
    if not isinstance(document.get("cells"), list):
        version = document.get("nbformat")
        older = isinstance(version, int) and not isinstance(version, bool) and version < MAJOR
        found = f"one of format {version}: open and save it in JupyterLab" if older else "none"
        raise NotebookError(f"expected a notebook with a list of cells, found {found}")
    if len(document["cells"]) > MAX_CELLS:
        found = f"{len(document['cells']):,}"
        raise NotebookError(f"expected a notebook of at most {MAX_CELLS:,} cells, found {found}")
    return document


def read_cells(text: bytes | str) -> tuple[Cell, ...]:
    """The cells of a notebook in their order; what is no cell is left out. Raises NotebookError with a sentence."""
    return tuple(_cell(raw) for raw in read_document(text)["cells"] if isinstance(raw, dict))


def sources(cells: Iterable[Cell]) -> dict[str, str]:
    """Source by grade_id. The first cell of a name counts: a copy below it changes nothing.

    But one that is left as it was handed out is no answer where a copy of it has one.
    """
    found: dict[str, str] = {}
    for cell in cells:
        if cell.grade_id and (cell.grade_id not in found or _UNANSWERED.fullmatch(found[cell.grade_id])):
            found[cell.grade_id] = cell.source
    return found


def _cell(raw: Mapping[str, Any]) -> Cell:
    metadata = raw.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if not isinstance(nbgrader, dict):
        nbgrader = {}
    return Cell(
        grade_id=_text(nbgrader.get("grade_id")),
        cell_type=_text(raw.get("cell_type")),
        source=_text(raw.get("source")),
        is_grade=nbgrader.get("grade") is True,
        is_solution=nbgrader.get("solution") is True,
        points=_points(nbgrader.get("points")),
        cell_id=_text(raw.get("id")),
        has_outputs=bool(raw.get("outputs")),
    )


def _text(value: object) -> str:
    """A string, or a list of them joined; anything else is "". Half a surrogate pair, in no file, becomes "?"."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _points(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
