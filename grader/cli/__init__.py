"""The command ``grader``. Trusted process; the only package that knows typer, and the only one that exits.

In: the command line. Out: text and an exit code: 0 fine, 1 something was not passed, 2 it could not be done. Every
error is one sentence; ``--traceback`` shows more.

``app`` is what commands share, ``learner`` has those for whoever writes kernels, ``teacher`` those for a class,
``author`` those for a course, ``exporting`` brings scores elsewhere.
"""

from __future__ import annotations

import os
import platform
import sys

import typer

# isort: off
from grader.cli import learner, teacher, author, exporting  # noqa: F401  (they register, in the order of --help)

# isort: on
from grader.cli.app import app
from grader.errors import GraderError


def main() -> None:
    """Entry point of the command."""
    if platform.system() == "Windows":
        typer.echo(
            "grader: native Windows is not supported; use WSL2, https://learn.microsoft.com/windows/wsl", err=True
        )
        sys.exit(2)
    # An instructor's habits for other projects (-x, -k …) must not change what is judged.
    os.environ.pop("PYTEST_ADDOPTS", None)
    given = sys.argv[1:]
    # What follows a script's name is the script's.
    ours = given.index("simulate") + 1 if "simulate" in given else len(given)
    traceback = "--traceback" in given[:ours]
    try:
        app(args=[argument for argument in given[:ours] if argument != "--traceback"] + given[ours:])
    except (Exception, KeyboardInterrupt) as error:
        if traceback:
            raise
        _fail(error)


def _fail(error: BaseException) -> None:
    """One sentence on stderr, exit code 2."""
    from grader.reports.text import clean

    if isinstance(error, GraderError):
        sentence = str(error)
    elif isinstance(error, KeyboardInterrupt):
        sentence = "interrupted"
    elif isinstance(error, OSError):
        sentence = f"{error.filename or 'the system'}: {error.strerror or error}"
    else:
        sentence = f"{type(error).__name__}: {error} (a mistake in grader; --traceback shows where)"
    typer.echo(f"grader: {clean(sentence)}", err=True)
    sys.exit(2)


__all__ = ["main"]
