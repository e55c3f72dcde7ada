"""A notebook for the tiny course: two questions, and a grade cell for each part. As source, and as a student has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.quiz_keys import without_key

NAME = "doubling.ipynb"
POINTS = {"correctness": 50, "technique": 20, "speed": 20, "quiz": 10}
PARTS_BEFORE, PARTS = "parts: {correctness: 60, technique: 20, speed: 20}", f"parts: {json.dumps(POINTS)}"
OPENING = """\
# 01 Doubling

**Questions:** Who owns which element?

**Objectives:** You can compute a thread's index.

**Time:** 30 minutes.

**Prerequisites:** NumPy.

**Reading:** Kirk & Hwu, chapter 2.
"""
ANSWER_1 = """\
answer_1 = ...  # "a", "b" or "c"
### BEGIN SOLUTION
answer_1 = "b"
why_1 = {"a": "A warp has 32 threads.", "c": "That is a grid."}
### END SOLUTION
"""
ANSWER_2 = """\
answer_2 = ...  # a number
### BEGIN SOLUTION
answer_2 = 261
why_2 = {133: "That counts blocks from 1."}
### END SOLUTION
"""
RIGHT = {"answer_1": 'answer_1 = "b"', "answer_2": "answer_2 = 261"}

Json = dict[str, Any]


def markdown(cell_id: str, source: str) -> Json:
    return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": source.splitlines(keepends=True)}


def code(cell_id: str, source: str, **nbgrader: Any) -> Json:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": cell_id,
        "metadata": {"nbgrader": {"schema_version": 3, **nbgrader}} if nbgrader else {},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }


def answer_cell(number: int, source: str) -> Json:
    name = f"answer_{number}"
    return code(f"answer-{number}", source, grade=False, solution=True, locked=False, task=False, grade_id=name)


def grade_cell(part: str, points: float) -> Json:
    flags = {"grade": True, "solution": False, "locked": True, "task": False}
    return code(part, f"%check {part}", **flags, grade_id=part, points=points)


def notebook(cells: Sequence[Json]) -> Json:
    """A notebook of these cells."""
    return {
        "cells": list(cells),
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def text_of(made: Json) -> str:
    """A notebook as nbformat writes it."""
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def document() -> Json:
    """The source notebook, to be changed."""
    return notebook(
        [
            markdown("title", OPENING),
            code("load", "%load_ext grader"),
            markdown("question-1", "What shares an instruction?"),
            answer_cell(1, ANSWER_1),
            markdown("question-2", "Which element does thread 5 of block 2 own?"),
            answer_cell(2, ANSWER_2),
            *(grade_cell(part, points) for part, points in POINTS.items()),
        ]
    )


def answered(answers: Mapping[str, str]) -> Json:
    """As a student has it, with the cells of ``answers`` filled in."""
    made = document()
    for cell in made["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name.startswith("answer_"):
            cell["source"] = [answers.get(name, without_key("".join(cell["source"])))]
    return made


def write(folder: Path, made: Json, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text_of(made), encoding="utf-8")
    return folder


def write_quiz_course(root: Path) -> Path:
    """The tiny course of ``tiny_course`` below ``root``, with a quiz and its notebook."""
    import tiny_course

    tiny_course.write_course(root, course=tiny_course.COURSE.replace(PARTS_BEFORE, PARTS))
    write(root / "solutions/01", document())
    return root
