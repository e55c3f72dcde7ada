"""The points of a notebook's grade cells, which are course.yml's: a number lives once. Trusted process.

In: the text of a source notebook, the points of each part. Out: the same text with these points, and a sentence for
each that was another. nbgrader wants the numbers in cells, so they are written there; nobody has to keep them equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from grader.notebook import MAX_NOTEBOOK_BYTES, NotebookError, read_document


def with_points(text: str, points: Mapping[str, float]) -> tuple[str, tuple[str, ...]]:
    """``text`` with ``points``, by part, in the grade cells of these names, and what was changed, "speed: 27 to 30".

    As it is where nothing is to be changed, or where it is no notebook: whoever converts it says what is wrong.
    """
    try:
        document = read_document(text)
    except NotebookError:
        return text, ()
    changed = []
    for cell in document["cells"]:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        if not isinstance(marks, dict) or marks.get("grade") is not True:
            continue
        part, before = marks.get("grade_id"), marks.get("points")
        wanted = points.get(part) if isinstance(part, str) else None
        if wanted is not None and (isinstance(before, bool) or before != wanted):
            marks["points"] = int(wanted) if wanted == int(wanted) else wanted
            changed.append(f"{part}: {before if before is not None else 'none'} to {wanted:g}")
    if not changed:
        return text, ()
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n", tuple(changed)


def write_points(path: Path, points: Mapping[str, float]) -> tuple[str, ...]:
    """Let a source notebook follow; what was changed. Whole or not at all. Raises OSError."""
    if path.stat().st_size > MAX_NOTEBOOK_BYTES:
        return ()
    try:
        text, changed = with_points(path.read_text(encoding="utf-8"), points)
    except UnicodeDecodeError:
        return ()
    if changed:
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.chmod(path.stat().st_mode)
        unfinished.replace(path)
    return changed
