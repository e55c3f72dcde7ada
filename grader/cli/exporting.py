"""The command ``export``: scores for other systems. Trusted process.

In: nbgrader's gradebook where it has an assignment's scores, else the results of ``grader grade``. Out: files.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.cli.app import Numbers, app, course_here
from grader.cli.gradebook_here import NBGRADER_SETTINGS, gradebook_url
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.course import Course
    from grader.export_row import Row
    from grader.records import Verdict

To = Literal["csv", "canvas", "moodle", "gradescope", "junit"]


@app.command()
def export(
    assignments: Numbers = None,
    to: Annotated[To, typer.Option(help="For which system.")] = "csv",
    output: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("exported"),
    results: Annotated[
        Path | None,
        typer.Option(help="Folder with NN.json: scores from there; with --gradebook, checks only. Default: results."),
    ] = None,
    submitted: Annotated[Path, typer.Option(help="Folder with <student>/NN.")] = Path("submitted"),
    gradebook: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help=f"nbgrader's database; default: that of {NBGRADER_SETTINGS}, if there is one."
        ),
    ] = None,
) -> None:
    """Write scores for another system: csv, canvas, moodle, gradescope (results.json) or junit.

    From nbgrader's gradebook where it has them, with scores by hand, else from results/NN.json; from there alone with
    --results. What has not been judged, or is not due yet, is blank, never 0; gradescope gets no file for it.
    """
    from grader.export import WRITERS, rows_of, with_checks
    from grader.export_notes import notes, of_other_points, other_points_note, shortened, unknown_extensions
    from grader.gradebook import RESULTS, write_atomically
    from grader.reports.text import clean

    course = course_here()
    names = [course.assignment(name).name for name in assignments or course.assignments]
    folder = Path(RESULTS) if results is None else results
    verdicts = {name: _verdicts(folder / f"{name}.json") for name in names}
    source = ""
    told: list[str] = []
    rows: list[Row] = []
    if results is None or gradebook is not None:
        found, told, source = _gradebook_rows(course, names, gradebook, submitted)
        rows += with_checks(found, [verdict for name in names for verdict in verdicts[name] or ()])
    known = {row.assignment for row in rows}
    missing = [name for name in names if name not in known and verdicts[name] is None]
    now = datetime.now(UTC)
    for name in names:
        if name not in known:
            rows += rows_of(verdicts[name] or (), course.assignment(name), course.grading.late, now)
    if missing and (assignments or not rows):
        raise UsageError(
            f"no scores of {', '.join(missing)}: run `grader grade {missing[0]}`, or autograde by nbgrader"
        )
    files = WRITERS[to](rows)
    for name, text in files.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output / name, text)
    for line in shortened([f"wrote {clean(str(output / name))}" for name in files], "files"):
        typer.echo(line)
    for where, of in ((source, known), (str(folder), {row.assignment for row in rows} - known)):
        if of and source:
            typer.echo(clean(f"scores of {', '.join(name for name in names if name in of)} are those of {where}"))
    by_other = {name: of_other_points(verdicts[name] or (), course.assignment(name)) for name in names}
    told += [other_points_note(name, students) for name, students in by_other.items() if students]
    for name in dict.fromkeys(row.assignment for row in rows):
        told += unknown_extensions(course.assignment(name), {row.student for row in rows if row.assignment == name})
    for line in shortened([*told, *notes(rows)], "lines like these"):
        typer.echo(line)


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


def _gradebook_rows(
    course: Course, names: Sequence[str], url: str | None, submitted: Path
) -> tuple[Sequence[Row], list[str], str]:
    """The rows of nbgrader's gradebook, what is to be told of it, and what to call it; "" where there is none."""
    wanted = gradebook_url(course, url)
    if not wanted:
        return (), [], ""

    from grader.nbgrader_plugin.database import without_password
    from grader.nbgrader_plugin.export_plugins import rows_of_database

    rows, told = rows_of_database(wanted, course, submitted, names)
    return rows, told, without_password(wanted)
