"""A class's verdicts as files: results/NN.json (everything) and results/NN.csv (points). Trusted process.

In: verdicts. Out: two files, each written beside its place and swapped in whole, so that a run that is killed
leaves the files of the run before. What it had judged is in results/NN.partial.json and .csv, which a run keeps
up to date and removes at its end. A score that waits to be judged is blank, never 0.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.errors import UsageError
from grader.records import PARTS, Verdict
from grader.reports.json import from_json, to_json
from grader.reports.text import one_line

RESULTS = "results"  # the folder, where nobody asks for another one
# A spreadsheet runs a cell that begins with one of these as a formula (OWASP, "CSV Injection").
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
MAX_CELL = 500
# Of the time of a run, what keeping its partial results up to date may take: they are written whole each time.
SHARE_FOR_PARTIAL = 0.05


class PartialResults:
    """The results of a run under way, as a context: what is judged is on disk at once, or a little later.

    ``waiting`` is a verdict for each submission that says that it was not judged: all that the files have until
    the submission's own comes. They stay if the run is ended, by an exception or by SIGKILL, and are removed by
    ``remove``. Entering raises UsageError if the folder cannot take results, before anything has been judged.
    """

    def __init__(self, folder: Path, assignment: str, waiting: Sequence[Verdict]) -> None:
        self.folder, self.assignment = folder, assignment
        self._judged: set[str] = set()
        self._verdicts = {verdict.student: verdict for verdict in waiting}
        self._next_write = 0.0

    @property
    def judged(self) -> int:
        """How many submissions have a verdict."""
        return len(self._judged)

    @property
    def json_file(self) -> Path:
        """Where everything is."""
        return self.folder / f"{self.assignment}.partial.json"

    def __enter__(self) -> Self:
        for name in (self.assignment, self.json_file.stem):
            for file in (self.folder / f"{name}.json", self.folder / f"{name}.csv"):
                if file.is_dir():
                    raise UsageError(f"expected a place for a file of results at {file}, found a folder")
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"expected a folder for results at {self.folder}, found a file")
        try:
            self._write()
        except OSError as error:
            raise UsageError(f"no results can be written to {self.folder}: {error.strerror or error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.judged:
            self._write()
        elif error is not None:
            self.remove()

    def add(self, verdict: Verdict) -> None:
        """One more submission is judged, or one is told of again, with its races."""
        self._judged.add(verdict.student)
        self._verdicts[verdict.student] = verdict
        if time.monotonic() >= self._next_write:
            # A disk that fills up must not end a run that may well be the instructor's night.
            with contextlib.suppress(OSError):
                self._write()

    def remove(self) -> None:
        """Remove the files. Raises OSError."""
        for file in (self.json_file, self.json_file.with_suffix(".csv")):
            file.unlink(missing_ok=True)

    def _write(self) -> None:
        began = time.monotonic()
        write_results(self.folder, self.json_file.stem, tuple(self._verdicts.values()))
        ended = time.monotonic()
        self._next_write = ended + (ended - began) / SHARE_FOR_PARTIAL


def write_results(folder: Path, assignment: str, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """Write ``<folder>/<assignment>.json`` and ``.csv``; returns their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    json_file, csv_file = folder / f"{assignment}.json", folder / f"{assignment}.csv"
    write_atomically(json_file, to_json(tuple(verdicts)))
    write_atomically(csv_file, to_csv(verdicts))
    return json_file, csv_file


def merge_results(folder: Path, assignment: str, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """As ``write_results``, but the verdicts of other students in the files stay, in the students' order.

    A file that is none of ours is kept as ``<assignment>.unreadable.json``. Raises OSError.
    """
    known = known_results(folder, assignment)
    json_file = folder / f"{assignment}.json"
    if known is None:
        json_file.replace(json_file.with_suffix(".unreadable.json"))
    merged = (known or {}) | {verdict.student: verdict for verdict in verdicts}
    return write_results(folder, assignment, [merged[student] for student in sorted(merged)])


def known_results(folder: Path, assignment: str) -> dict[str, Verdict] | None:
    """The verdicts of results/NN.json by student: none where there is no such file, None where it is not one of ours.

    Raises OSError.
    """
    try:
        return {verdict.student: verdict for verdict in read_results(folder / f"{assignment}.json")}
    except FileNotFoundError:
        return {}
    except ValueError:  # pydantic's and UnicodeDecodeError are
        return None


def read_results(file: Path) -> tuple[Verdict, ...]:
    """The verdicts of a results file. Raises OSError, pydantic.ValidationError."""
    return from_json(file.read_text(encoding="utf-8"))


def to_csv(verdicts: Sequence[Verdict]) -> str:
    """One row per student: points of each part, total, points judged, why, when, if handed in at all, how late."""
    parts = [part for part in PARTS if any(p.part == part for v in verdicts for p in v.parts)]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    head = ["student", "assignment", *parts, "total", "points", "points_judged", "device", "why", "date", "handed_in"]
    head += ["late_seconds", "bonus", "penalty", "final"]
    rows.writerow(head)
    for verdict in verdicts:
        earned = {p.part: p.earned for p in verdict.parts if p.judged == p.points}
        rows.writerow(
            [
                cell(verdict.student, len(verdict.student)),  # a name is never cut: it may be a key
                cell(verdict.assignment),
                *(earned.get(part, "") for part in parts),
                "" if verdict.total is None else verdict.total,
                verdict.points,
                verdict.points_judged,
                cell(verdict.device),
                cell(verdict.summary),
                cell(verdict.date),
                "yes" if verdict.handed_in else "no",
                verdict.late_seconds,
                "" if verdict.bonus is None else verdict.bonus,
                "" if verdict.total is None else verdict.penalty,
                "" if verdict.final is None else verdict.final,
            ]
        )
    return text.getvalue()


def cell(text: str, limit: int = MAX_CELL) -> str:
    """Text that a spreadsheet shows and does not run."""
    shown = one_line(text, limit)
    # Some take full-width characters for the same ones.
    begins = (shown[:1], text[:1], unicodedata.normalize("NFKC", shown[:1]))
    return f"'{shown}" if any(start.startswith(FORMULA_STARTS) for start in begins) else shown


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
