"""A class's verdicts as files: results/NN.json (everything) and results/NN.csv (points). Trusted process.

In: verdicts. Out: two files, each written beside its place and swapped in whole, so that a run that is killed
leaves the files of the run before. A score that waits to be judged is blank, never 0.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.records import PARTS, Verdict
from grader.reports.json import from_json, to_json
from grader.reports.text import one_line

# A spreadsheet runs a cell that begins with one of these as a formula (OWASP, "CSV Injection").
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
MAX_CELL = 500


def write_results(folder: Path, assignment: str, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """Write ``<folder>/<assignment>.json`` and ``.csv``; returns their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    json_file, csv_file = folder / f"{assignment}.json", folder / f"{assignment}.csv"
    write_atomically(json_file, to_json(tuple(verdicts)))
    write_atomically(csv_file, to_csv(verdicts))
    return json_file, csv_file


def read_results(file: Path) -> tuple[Verdict, ...]:
    """The verdicts of a results file. Raises OSError, pydantic.ValidationError."""
    return from_json(file.read_text(encoding="utf-8"))


def to_csv(verdicts: Sequence[Verdict]) -> str:
    """One row per student: points of each part, total, points judged, why."""
    parts = [part for part in PARTS if any(p.part == part for v in verdicts for p in v.parts)]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["student", "assignment", *parts, "total", "points", "points_judged", "device", "why"])
    for verdict in verdicts:
        earned = {p.part: p.earned for p in verdict.parts if p.judged == p.points}
        rows.writerow(
            [
                cell(verdict.student),
                cell(verdict.assignment),
                *(earned.get(part, "") for part in parts),
                "" if verdict.total is None else verdict.total,
                verdict.points,
                verdict.points_judged,
                cell(verdict.device),
                cell(verdict.summary),
            ]
        )
    return text.getvalue()


def cell(text: str) -> str:
    """Text that a spreadsheet shows and does not run."""
    shown = one_line(text, MAX_CELL)
    return f"'{shown}" if shown.startswith(FORMULA_STARTS) or text.startswith(FORMULA_STARTS) else shown


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
