"""The commands for whoever writes a course: ``release``, ``lint``, ``calibrate``. Trusted process.

In: what typer has read from the command line. Out: text, files, and an exit code through ``typer.Exit``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.app import CORES, MARKS, Number, Numbers, OnDevice, Workers, app, course_here, say, solutions_folder

if TYPE_CHECKING:
    from grader.course import Course
    from grader.records import Verdict
    from grader.release import MakeNotebooks, Released


@app.command()
def release(
    assignments: Numbers = None,
    bundle: Annotated[bool, typer.Option(help="Also write a zip of these for students, without solutions.")] = False,
) -> None:
    """Make assignments/NN from solutions/NN. Refuses if anything hidden would be shown."""
    from grader.release import release as make_release
    from grader.student_archive import bundle as make_archive

    course = course_here()
    notebooks = _notebooks(course)
    for name in assignments or course.assignments:
        done = make_release(course, name, None if notebooks is None else notebooks(name))
        typer.echo(f"{done.folder.relative_to(course.file.parent)}: {_what_was_done(done)}")
        for sentence in done.points:
            typer.echo(sentence)
    if bundle:
        names = [course.assignment(name).name for name in assignments or course.assignments]
        made = None if notebooks is None else {name: notebooks(name) for name in names}
        typer.echo(f"wrote {make_archive(course, made, names)}: {', '.join(names)}")


def _what_was_done(done: Released) -> str:
    from grader.records import KERNELS_FILE

    did = [f"wrote {', '.join(done.changed)}"] if done.changed else []
    did += [f"removed {file}, which the course no longer has" for file in done.removed]
    kept = [
        f"kept {file}, which has been edited (remove it to get the {'stub' if file == KERNELS_FILE else 'new one'})"
        for file in done.kept
    ]
    if kept and not did:
        kept.append("all else was up to date")
    return "; ".join(did + kept) or "nothing changed"


def _notebooks(course: Course) -> MakeNotebooks | None:
    """What makes an assignment's released notebooks; None, and a sentence, where nbgrader is missing for it."""
    from grader.release import SOLUTIONS

    if not any((course.file.parent / SOLUTIONS).glob("*/*.ipynb")):
        return lambda name: {}  # nothing that nbgrader, which takes seconds to start, would be needed for
    if find_spec("nbgrader") is None:
        typer.echo(
            "notebooks are left as they are: nbgrader makes them, and `pip install warpgrade[classroom]` installs it",
            err=True,
        )
        return None
    from grader.nbgrader_plugin.generate import notebooks

    return cache(partial(notebooks, course))


@app.command()
def lint(assignments: Numbers = None, workers: Workers = CORES, device: OnDevice = "simulated") -> None:
    """Is an assignment what it promises? Judges reference, stub, mutants; runs races dry; looks at the release."""
    from grader.authoring import lint as lint_assignment
    from grader.judging import judge_task, require_device_once
    from grader.progress import progress_bar
    from grader.reports.terminal import plain_table

    course = course_here()
    require_device_once(device)
    notebooks = _notebooks(course)
    problems = 0
    for name in assignments or course.assignments:
        title = course.assignment(name).name
        solutions_folder(course, title)
        typer.echo(f"{title} {course.assignment(name).title}")  # what comes now may take minutes
        with progress_bar(f"lint {title}") as progress:
            rows = lint_assignment(
                course, name, judge_task, workers=workers, device=device, progress=progress, notebooks=notebooks
            )
        say(plain_table, [(MARKS[row.ok], row.what, row.note) for row in rows])
        typer.echo("")
        problems += sum(row.ok is False for row in rows)
    if problems:
        typer.echo(f"{problems} problem{'s' if problems != 1 else ''}")
        raise typer.Exit(1)


@app.command()
def calibrate(
    assignment: Number,
    repeats: Annotated[int, typer.Option(min=1, help="So many races of each.")] = 3,
    wrong: Annotated[bool, typer.Option(help="Race the wrong solutions, too.")] = True,
) -> None:
    """Race an assignment's solutions on this GPU; prints times, spreads, and numbers for course.yml."""
    from grader.assignment_folder import open_folder
    from grader.calibrate import FAST, REFERENCE, proposal, solutions_of
    from grader.calibrate import calibrate as race_all
    from grader.judging import judge_submission, need_gpu_once
    from grader.progress import progress_bar
    from grader.reports.terminal import plain_table
    from grader.written_checks import read_checks

    course = course_here()
    policy = course.assignment(assignment)
    folder = solutions_folder(course, policy.name)
    need_gpu_once("calibrate")
    checks = read_checks(folder, open_folder(folder).problems)
    solutions = [one for one in solutions_of(folder, checks) if wrong or one.who in (REFERENCE, FAST)]

    def judge(path: Path, only: Collection[str] | None) -> Verdict:
        return judge_submission(folder, path, device="cuda", part="speed", only=only, any_speed=True)

    with progress_bar(f"calibrate {policy.name}") as progress:
        raced = race_all(solutions, checks, judge, repeats, progress)
    head = ("check", "who", "time", "spread", "speed-up", "")
    say(plain_table, [head, *(one.row() for one in raced)])
    proposed = proposal(raced)
    if proposed is None:
        typer.echo("no proposal: the reference has no time in some check")
        raise typer.Exit(1)
    typer.echo(f"\nspeed: {{min_speedup: {proposed.min_speedup:g}, full_at: {proposed.full_at:g}}}")
    say(plain_table, [(proposed.reason,)])
