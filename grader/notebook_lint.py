"""``grader lint`` of an assignment's notebook: what nbgrader needs, and what a quiz promises. Trusted process.

In: solutions/NN with its notebook, and the assignment's policy. Out: rows of lint's table, each with its first problem,
by the cell's name or number. Nothing is run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.course import Assignment
from grader.errors import AuthoringError
from grader.intake import ordinary_bytes
from grader.lint_rows import Row
from grader.notebook import MAJOR, MAX_NOTEBOOK_BYTES, NotebookError, read_cells, read_document, sources
from grader.quiz import judge
from grader.quiz_folder import notebooks
from grader.quiz_keys import Question, questions, without_key
from grader.records import QUIZ, Failure

# nbgrader's schema 3 (nbgrader/nbgraderformat/v3.json), with whether a cell must have the key.
SCHEMA_VERSION = 3
_FLAGS = ("grade", "solution", "locked", "task")
_KEYS = frozenset((*_FLAGS, "schema_version", "grade_id", "points", "cell_type", "checksum"))
_METADATA = frozenset(("nbgrader", "deletable", "editable", "tags", "warpgrade"))
_GRADE_ID = re.compile(r"[A-Za-z0-9_\-]+")
_CELL_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")
FEW_KEYS = 4  # of fewer, the same key says nothing
# What editors make: a UUID, or its first digits. Eight letters alone may be a word.
_RANDOM_ID = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?")
MINOR = 5  # the first nbformat 4 whose cells have ids
# What a lesson opens with, as patterns and as words.
OPENING = {
    r"\bquestions?\b": "questions",
    r"\bobjectives?\b": "objectives",
    r"\bminutes?\b": "minutes",
    r"\bprerequisites?\b": "prerequisites",
    r"Kirk\b.*\bHwu\b": "the chapters of Kirk & Hwu",
}


def notebook_rows(source: Path, assignment: Assignment, wanted: int) -> Iterator[Row]:
    """Rows about the notebook in ``source``, none where there is none and no quiz; ``wanted`` questions are enough."""
    found = notebooks(source)
    if not found and not assignment.parts.get(QUIZ):
        return
    if len(found) != 1:
        yield Row("notebook", False, f"expected one notebook in {source}, found {len(found)}")
        return
    (path,) = found
    content = ordinary_bytes(path, MAX_NOTEBOOK_BYTES)
    try:
        if isinstance(content, Failure):
            raise NotebookError(content.what)
        document = read_document(content)
    except NotebookError as error:
        yield Row("notebook", False, f"{path.name}: {error}")
        return
    yield _row("notebook", path, _form(document, content), "as it is written, without outputs, with telling ids")
    yield _row("notebook's points", path, _points(document["cells"], assignment), "each part is a grade cell")
    yield _row("notebook's opening", path, _opening(content), ", ".join(OPENING.values()))
    yield _quiz(path, content, wanted if assignment.parts.get(QUIZ) else 0)


def _row(what: str, path: Path, problems: Iterator[str], note: str) -> Row:
    problem = next(problems, None)
    return Row(what, problem is None, note if problem is None else f"{path.name}: {problem}")


def _name(number: int, cell: Mapping[str, Any]) -> str:
    """What a person calls a cell."""
    marks = _nbgrader(cell)
    named = marks.get("grade_id") if isinstance(marks, dict) else None
    named = named or cell.get("id")
    return f"cell {number} ({named})" if isinstance(named, str) else f"cell {number}"


def _nbgrader(cell: Mapping[str, Any]) -> object:
    metadata = cell.get("metadata")
    return metadata.get("nbgrader") if isinstance(metadata, dict) else None


def _form(document: Mapping[str, Any], content: bytes) -> Iterator[str]:
    """A notebook as nbformat writes it, with nothing in it that running it adds or changes."""
    major, minor = document.get("nbformat"), document.get("nbformat_minor")
    if major != MAJOR or not isinstance(minor, int) or minor < MINOR:
        yield f"expected nbformat {MAJOR}.{MINOR} or newer, found {major}.{minor}"
    ids: dict[str, str] = {}
    names: dict[str, str] = {}
    for number, cell in enumerate(document["cells"], 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("metadata"), dict):
            yield f"cell {number}: expected an object with metadata"
            continue
        here = _name(number, cell)
        cell_id = cell.get("id")
        if not isinstance(cell_id, str) or not _CELL_ID.fullmatch(cell_id):
            yield f"{here}: expected an id of letters, digits, '-' and '_', found {cell_id!r}"
        elif _RANDOM_ID.fullmatch(cell_id):
            yield f"{here}: expected an id that says what the cell is, say 'figure-grid'; found one that an editor made"
        elif ids.setdefault(cell_id, here) != here:
            yield f"{here}: its id {cell_id!r} is that of {ids[cell_id]}, too"
        if cell.get("cell_type") == "code":
            if cell.get("outputs") != []:
                yield f"{here}: expected no outputs; clear all outputs and save"
            if cell.get("execution_count", 0) is not None:
                yield f"{here}: expected no execution_count; clear all outputs and save"
        strange = sorted(set(cell["metadata"]) - _METADATA)
        if strange:
            yield f"{here}: expected no metadata {strange[0]!r}, which an editor adds"
        if not isinstance(cell.get("source"), list):
            yield f"{here}: expected its source as a list of lines, which differences can be read of"
        marks = _nbgrader(cell)
        if marks is not None:
            yield from _schema(here, marks)
            grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
            if isinstance(grade_id, str) and names.setdefault(grade_id, here) != here:
                yield f"{here}: its grade_id {grade_id!r} is that of {names[grade_id]}, too"
    if json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n" != content.decode("utf-8-sig"):
        yield "expected the JSON that nbformat writes (indent 1, sorted keys, a line end): save it with nbformat.write"


def _schema(here: str, marks: object) -> Iterator[str]:
    if not isinstance(marks, dict):
        yield f"{here}: expected nbgrader's metadata as an object"
        return
    if marks.get("schema_version") != SCHEMA_VERSION:
        yield f"{here}: expected nbgrader's schema_version {SCHEMA_VERSION}, found {marks.get('schema_version')!r}"
    strange = sorted(set(marks) - _KEYS)
    if strange:
        yield f"{here}: nbgrader's schema knows no key {strange[0]!r}"
    missing = [flag for flag in _FLAGS if not isinstance(marks.get(flag), bool)]
    if missing:
        yield f"{here}: expected {missing[0]!r} to be true or false, found {marks.get(missing[0])!r}"
    grade_id = marks.get("grade_id")
    if not isinstance(grade_id, str) or not _GRADE_ID.fullmatch(grade_id):
        yield f"{here}: expected a grade_id of letters, digits, '-' and '_', found {grade_id!r}"
    if marks.get("grade") is True and "points" not in marks:
        yield f"{here}: expected points in a grade cell, found none"
    if marks.get("grade") is False and "points" in marks:
        yield f"{here}: points count in grade cells alone, and this is none"


def _points(cells: list[Any], assignment: Assignment) -> Iterator[str]:
    """Each part of course.yml is the one grade cell of its name, with its points; no other cell has any."""
    found: dict[str, tuple[str, Mapping[str, Any], str]] = {}
    for number, cell in enumerate(cells, 1):
        marks = _nbgrader(cell) if isinstance(cell, dict) else None
        if not isinstance(marks, dict) or not (marks.get("grade") or marks.get("task") or "points" in marks):
            continue
        here, grade_id = _name(number, cell), str(marks.get("grade_id"))
        if grade_id not in assignment.ordered_parts():
            yield f"{here}: has points, and course.yml has no part {grade_id!r}"
        elif grade_id in found:
            yield f"{here}: a second grade cell of part {grade_id!r}"
        else:
            lines = cell.get("source")
            text = "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
            found[grade_id] = (here, marks, text if cell.get("cell_type") == "code" else "")
    for part, points in assignment.ordered_parts().items():
        if part not in found:
            yield f"expected a grade cell with grade_id {part!r} and {points:g} points, found none"
            continue
        here, marks, text = found[part]
        if (marks.get("grade"), marks.get("solution"), marks.get("locked"), marks.get("task")) != (
            *(True, False, True),
            False,
        ):
            yield f"{here}: expected grade and locked, and neither solution nor task"
        if isinstance(marks.get("points"), bool) or marks.get("points") != points:
            found_points = marks.get("points")
            yield f"{here}: expected the {points:g} points of course.yml, found {found_points}; release writes them"
        if text.strip() != f"%check {part}":
            yield f"{here}: expected the line '%check {part}' and no other"


def _opening(content: bytes) -> Iterator[str]:
    """The text before the first code says what the lesson is about."""
    opening = []
    for cell in read_cells(content):
        if cell.cell_type == "code":
            break
        opening.append(cell.source)
    text = "\n".join(opening)
    missing = [word for pattern, word in OPENING.items() if not re.search(pattern, text, re.IGNORECASE)]
    if missing:
        yield f"expected before the first code cell: {', '.join(missing)}"


def _quiz(path: Path, content: bytes, wanted: int) -> Row:
    try:
        found = questions(read_cells(content))
    except AuthoringError as error:
        return Row("quiz", False, f"{path.name}: {error}")
    problem = next(_quiz_problems(found, content, wanted), None)
    noted = f"{len(found)} questions, each with a key, its wrong choices explained"
    return Row("quiz", problem is None, noted if problem is None else f"{path.name}: {problem}")


def _quiz_problems(found: tuple[Question, ...], content: bytes, wanted: int) -> Iterator[str]:
    if len(found) < wanted:
        yield f"expected at least {wanted} questions, found {len(found)}"
    cells = read_cells(content)
    asked: dict[str, str] = {}
    for question in found:
        if question.sentence == question.name or asked.setdefault(question.sentence, question.name) != question.name:
            yield f"{question.name}: expected a markdown cell of its own before it, which asks"
        yield from _unexplained(question)
    for check in judge(found, {question.name: question.right_line for question in found}):
        if not check.passed:
            yield f"{check.name}: the key itself is not right: {check.failure}"
    yield from _guessable(found)
    for check in judge(found, {name: without_key(text) for name, text in sources(cells).items()}):
        if check.passed:
            yield f"{check.name}: the notebook gives the answer away outside of the solution region"


def _guessable(found: tuple[Question, ...]) -> Iterator[str]:
    """One letter for everything would earn most of what questions with one right choice are worth."""
    keys = Counter(question.key for question in found if isinstance(question.key, str))
    if keys.total() < FEW_KEYS:
        return
    letter, count = keys.most_common(1)[0]
    if 2 * count > keys.total():
        yield (
            f"{letter!r} is the key of {count} of the {keys.total()} questions with one right choice: reorder their "
            "choices, so that the keys are spread over the letters"
        )


def _unexplained(question: Question) -> Iterator[str]:
    if isinstance(question.key, str | frozenset):
        right = {question.key} if isinstance(question.key, str) else question.key
        silent = [choice for choice in question.choices if choice not in right and choice not in question.why]
        if silent:
            yield f"{question.name}: expected why_{question.name[7:]} to explain the wrong choice {silent[0]!r}"
        if len(question.choices) < 2:
            yield f"{question.name}: expected at least two choices in the comment behind the dots"
    elif not question.why:
        yield f"{question.name}: expected why_{question.name[7:]} to explain a typical wrong number"
