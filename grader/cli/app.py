"""What the commands of ``grader`` share: the typer application, options, the course, printing. Trusted process.

In: the current folder, the terminal. Out: a Course, text on standard output.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader import __version__
from grader.device_names import DeviceName
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.course import Course

app = typer.Typer(
    help="Judge Numba CUDA kernels: is it right, does it use the technique, is it fast enough, and why not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Number = Annotated[str, typer.Argument(metavar="NN", help="The assignment, say 03.")]
Numbers = Annotated[list[str] | None, typer.Argument(metavar="[NN]...", help="Assignments; default: all.")]
OnDevice = Annotated[
    DeviceName, typer.Option(help="Where kernels run; auto is the simulator, and a GPU for races if there is one.")
]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes; default: one per CPU core.")]
CORES = os.cpu_count() or 1


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"warpgrade {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
    traceback: Annotated[bool, typer.Option("--traceback", help="Show where an error comes from.")] = False,
) -> None:
    pass


def course_here(asked: Path | None = None) -> Course:
    """The course that the current folder belongs to. Raises UsageError where it belongs to none, CourseError.

    Not the one of the folder ``asked`` for, which may be a stranger's: checks are Python that runs. But it is named.
    """
    from grader.course import FILE_NAME, find_course, load_course

    path = find_course(Path.cwd())
    if path is None:
        theirs = find_course(asked) if asked is not None else None
        if theirs is not None:
            raise UsageError(
                f"no {FILE_NAME} here or in a folder above; that of {theirs.parent} counts for who is there: if you "
                f"trust its checks, cd {shlex.quote(str(theirs.parent))}"
            )
        raise UsageError(f"no {FILE_NAME} here or in a folder above; go to the course's folder or an assignment's")
    return load_course(path)


def solutions_folder(course: Course, name: str) -> Path:
    """solutions/NN of an assignment. Raises UsageError where there is none."""
    from grader.release import solution_folder

    try:
        return solution_folder(course, name)
    except UsageError as error:
        raise UsageError(f"{error}; this command needs the course's solutions") from None


def width() -> int:
    """The terminal's, in columns."""
    return shutil.get_terminal_size().columns


def say(report: Callable[..., str], *arguments: object) -> None:
    """Print a report as wide as the terminal, in colours if it is one."""
    typer.echo(report(*arguments, width=width(), colour=sys.stdout.isatty()), nl=False)


# Of what is looked at; None: neither. Lint's is for a later look, the doctor's is fine, and could give more.
MARKS: dict[bool | None, str] = {True: "ok", False: "PROBLEM", None: "open"}
DOCTORS_MARKS = MARKS | {None: "note"}
