"""Which extra credit in nbgrader's gradebook is the judge's bonus for speed, and which a person's. nbgrader's process.

In and out: results/NN.bonus.json, the values that autograde has given to each student's cell. The gradebook has no
place for who gave extra credit, and results/NN.json is written by `grader grade`, too, whose races end a little
differently.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from grader.gradebook import write_atomically

SPEED = "speed"  # the cell that has the bonus as its extra credit

Given = Mapping[str, frozenset[float]]  # by student


def given(folder: Path, assignment: str) -> Given:
    """What autograde may have given: nothing where there is no such file, or none of ours. Raises OSError."""
    try:
        document = json.loads(_file(folder, assignment).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        return {}
    if not isinstance(document, dict):
        return {}
    return {student: frozenset(_numbers(values)) for student, values in document.items()}


def note(folder: Path, assignment: str, values: Given) -> None:
    """Write down what autograde is about to give, before it does. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {student: sorted(numbers) for student, numbers in sorted(values.items()) if numbers}
    write_atomically(_file(folder, assignment), json.dumps(document, indent=1) + "\n")


def is_ours(grade: object, values: Iterable[float]) -> bool:
    """Whether a grade's extra credit is among the ``values`` that were given, or there is none.

    A person who has given a score has seen what there was, so that it stays.
    """
    credit = getattr(grade, "extra_credit", None)
    return getattr(grade, "manual_score", None) is None and (not credit or credit in values)


def _file(folder: Path, assignment: str) -> Path:
    return folder / f"{assignment}.bonus.json"


def _numbers(values: object) -> list[float]:
    found = values if isinstance(values, list) else []
    return [float(v) for v in found if isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)]
