"""What of a source notebook a released one still shows. Trusted process; pure.

In: the texts of both. Out: sentences with file and cell. A notebook is JSON, so a search of its text for lines would
find nothing (line ends and quotes are escaped): what is searched are the strings in it, wherever they stand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from grader.errors import ReleaseError
from grader.notebook import Cell, NotebookError, read_cells, read_document
from grader.stub import BEGIN, regions, squeezed, telling_lines

CELL_KEYS = frozenset({"id", "cell_type", "metadata", "source", "outputs", "execution_count", "attachments"})
CELL_METADATA = frozenset({"nbgrader", "deletable", "editable", "tags", "warpgrade"})
NOTEBOOK_METADATA = frozenset({"kernelspec", "language_info", "accelerator", "colab", "warpgrade"})
# nbgrader's other regions, which it takes out of what it releases.
REGIONS = ("HIDDEN TESTS", "MARK SCHEME")
# The names of a question's key beside the answer itself: why_1, within_1.
KEY_NAME = re.compile(r"\b(?:why|within)_\d+\b")
ANSWER = re.compile(r"\s*answer_\d+\b")
# An explanation of fewer characters than this, white space aside, may stand anywhere.
TELLING_CHARACTERS = 12


def shown_lines(file: str, text: str) -> Iterator[tuple[str, str]]:
    """Each line of each string of the notebook ``text``, with its place. Raises ReleaseError if it is none."""
    for place, shown in _strings(file, _parsed(file, text)):
        for number, line in enumerate(shown.splitlines(), 1):
            yield f"{place}:{number}", line


def traces(file: str, text: str) -> Iterator[str]:
    """What a released notebook may not hold, whatever its source: outputs, unknown keys, regions of nbgrader's."""
    notebook = _parsed(file, text)
    for key in sorted(_keys(notebook.get("metadata")) - NOTEBOOK_METADATA):
        yield f"{file}: the notebook has metadata {key!r}"
    for cell in notebook["cells"]:
        if not isinstance(cell, dict):
            yield f"{file}: holds {cell!r}, which is no cell"
            continue
        where = f"{file}: cell {cell.get('id')!r}"
        if cell.get("outputs"):
            yield f"{where} has outputs"
        if cell.get("execution_count") is not None:
            yield f"{where} has an execution count"
        for key in sorted(cell.keys() - CELL_KEYS):
            yield f"{where} has a key {key!r}"
        for key in sorted(_keys(cell.get("metadata")) - CELL_METADATA):
            yield f"{where} has metadata {key!r}"
    for place, line in shown_lines(file, text):
        if any(f"{marker} {region}" in line for region in REGIONS for marker in ("BEGIN", "END")):
            yield f"{place}: a marker of nbgrader's is left: {line.strip()}"


def _keys(value: object) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def key_leaks(source: str, released: str, file: str) -> Iterator[str]:
    """What of the keys of the notebook ``source`` stands in ``released``: answers, tolerances, explanations."""
    keys = [(cell.grade_id, region) for cell in read(file, source) for region in _regions(file, cell.source)]
    lines = {squeezed(line): cell.grade_id for cell in read(file, source) for line in _telling(file, cell.source)}
    texts = {text: grade_id for grade_id, code in keys for text in _explanations(code)}
    for place, shown in _strings(file, _parsed(file, released)):
        for number, line in enumerate(shown.splitlines(), 1):
            if KEY_NAME.search(line):
                yield f"{place}:{number}: holds a name of a question's key: {line.strip()}"
                continue
            grade_id = next((grade_id for secret, grade_id in lines.items() if secret in squeezed(line)), None)
            if grade_id is not None:
                yield f"{place}:{number}: holds a line of the key of {grade_id!r}: {line.strip()}"
        for text, grade_id in texts.items():
            if text in squeezed(shown):
                yield f"{place}: holds an explanation of {grade_id!r}"


def _regions(file: str, source: str) -> Iterator[str]:
    if BEGIN in source:
        for region in regions(source, file):
            yield "\n".join(region.lines)


def _telling(file: str, source: str) -> Iterator[str]:
    """The lines of a cell's solution regions that give it away: answers, and lines with enough tokens."""
    if BEGIN in source:
        yield from (line for _, line in telling_lines(source, file))
        code = "\n".join(_regions(file, source)).splitlines()
        yield from (line for line in code if ANSWER.match(line))


def _explanations(code: str) -> Iterator[str]:
    """The key's strings that are long enough to tell something, squeezed."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return  # it is compared line by line
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = squeezed(node.value)
            if len(text) >= TELLING_CHARACTERS:
                yield text


def read(file: str, text: str) -> tuple[Cell, ...]:
    """The cells of the notebook called ``file``. Raises ReleaseError if it is none."""
    try:
        return read_cells(text)
    except NotebookError as error:
        raise ReleaseError(f"{file}: {error}") from None


def _parsed(file: str, text: str) -> Any:
    try:
        return read_document(text)
    except NotebookError as error:
        raise ReleaseError(f"{file}: {error}") from None


def _strings(place: str, value: object) -> Iterator[tuple[str, str]]:
    """The strings in a JSON value with the way to them; a list of strings is one text, as in a cell's source."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        yield place, "".join(value)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            named = item.get("id") if isinstance(item, dict) else None
            yield from _strings(f"{place}: cell {named!r}" if named else f"{place}[{number}]", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield f"{place}: key", str(key)
            yield from _strings(place if key in {"cells", "source"} else f"{place} {key}", item)
