"""The command ``export``: scores for other systems. Trusted process.

In: nbgrader's gradebook where there is one, else the results of ``grader grade``. Out: files.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.cli.app import Numbers, app, course_here
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.course import Course
    from grader.export_row import Row
    from grader.records import Verdict

To = Literal["csv", "canvas", "moodle", "gradescope", "junit"]
GRADEBOOK = "gradebook.db"
MAX_TOLD = 20  # files, students


@app.command()
def export(
    assignments: Numbers = None,
    to: Annotated[To, typer.Option(help="For which system.")] = "csv",
    output: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("exported"),
    results: Annotated[Path, typer.Option(help="Folder with the NN.json of grader grade.")] = Path("results"),
    submitted: Annotated[Path, typer.Option(help="Folder with <student>/NN.")] = Path("submitted"),
    gradebook: Annotated[
        str | None, typer.Option(metavar="URL", help=f"nbgrader's database; default: {GRADEBOOK}, if there is one.")
    ] = None,
) -> None:
    """Write scores for another system: csv, canvas, moodle, gradescope (results.json) or junit.

    From nbgrader's gradebook if there is one, with scores by hand, else from results/NN.json. What has not been
    judged is blank, never 0; gradescope gets no file for it.
    """
    from grader.export import WRITERS, with_checks
    from grader.gradebook import write_atomically
    from grader.reports.text import clean

    course = course_here()
    names = [course.assignment(name).name for name in assignments or course.assignments]
    verdicts = {name: _verdicts(results / f"{name}.json") for name in names}
    rows, source = _gradebook_rows(course, names, gradebook, submitted)
    known = {row.assignment for row in rows}
    rows = [*with_checks(rows, [verdict for name in names for verdict in verdicts[name] or ()])]
    missing = [name for name in names if name not in known and verdicts[name] is None]
    rows += _rows_of_results(course, {name: verdicts[name] or () for name in names if name not in known})
    if missing and (assignments or not rows):
        raise UsageError(
            f"no scores of {', '.join(missing)}: run `grader grade {missing[0]}`, or autograde by nbgrader"
        )
    files = WRITERS[to](rows)
    for name, text in files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output / name, text)
    _tell([f"wrote {clean(str(output / name))}" for name in files], "files")
    if source:
        typer.echo(clean(f"scores of {', '.join(name for name in names if name in known)} are those of {source}"))
    waiting = [row for row in rows if row.score is None]
    _tell([clean(f"no score yet: {row.student}, {row.assignment}: {row.why}") for row in waiting], "without a score")


def _tell(lines: Sequence[str], what: str) -> None:
    for line in lines[:MAX_TOLD]:
        typer.echo(line)
    if len(lines) > MAX_TOLD:
        typer.echo(f"and {len(lines) - MAX_TOLD} more {what}")


def _verdicts(file: Path) -> tuple[Verdict, ...] | None:
    """The verdicts of a results file; None if there is none."""
    from pydantic import ValidationError

    from grader.gradebook import read_results

    try:
        return read_results(file)
    except FileNotFoundError:
        return None
    except (ValidationError, UnicodeDecodeError):
        raise UsageError(f"{file} holds no results of `grader grade`; run it again") from None


def _rows_of_results(course: Course, verdicts: dict[str, tuple[Verdict, ...]]) -> list[Row]:
    from grader.export import rows_of

    late = course.grading.late
    return [row for name, found in verdicts.items() for row in rows_of(found, course.assignment(name), late)]


def _gradebook_rows(
    course: Course, names: Sequence[str], url: str | None, submitted: Path
) -> tuple[Sequence[Row], str]:
    """The rows of nbgrader's gradebook and what to call it; none and "" where there is no gradebook."""
    file = course.file.parent / GRADEBOOK
    installed = importlib.util.find_spec("nbgrader") is not None
    if url is None and file.is_file() and not installed:
        typer.echo(f"{file} is not read, since nbgrader is not installed", err=True)
    if url is None and not (file.is_file() and installed):
        return (), ""
    if not installed:
        raise UsageError("a gradebook is read by nbgrader, which is not installed: pip install 'warpgrade[classroom]'")
    url = url or f"sqlite:///{file}"
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).is_file():
        raise UsageError(f"expected a gradebook at {url}, found none")

    from grader.nbgrader_plugin.export_plugins import rows_of_database

    return rows_of_database(url, course, submitted, names), url.rpartition("@")[2] if "@" in url else url
