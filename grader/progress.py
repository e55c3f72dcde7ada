"""A progress bar for the command line. Trusted process.

In: a title, and a call for each submission that is judged. Out: a bar on stderr, nothing where that is no terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.records import Verdict


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, Verdict], None]]:
    """Show a bar while the context lasts; what is yielded is ``classroom.grade``'s ``progress``."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def advance(done: int, of: int, verdict: Verdict) -> None:
            bar.update(task, completed=done, total=of)

        yield advance
