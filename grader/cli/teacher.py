"""The commands for whoever gives a course: ``grade``, ``release``, ``lint``, ``demo``. Trusted process.

In: what typer has read from the command line. Out: text, files, and an exit code through ``typer.Exit``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.app import CORES, MARKS, Number, Numbers, OnDevice, Workers, app, course_here, say
from grader.errors import GraderError, UsageError

if TYPE_CHECKING:
    from grader.course import Course
    from grader.records import Verdict
    from grader.release import MakeNotebooks, Released


@app.command()
def grade(
    assignment: Number,
    submitted: Annotated[Path, typer.Option(help="Folder with <student>/NN/kernels.py.")] = Path("submitted"),
    results: Annotated[Path, typer.Option(help="Where NN.json and NN.csv go.")] = Path("results"),
    device: OnDevice = "auto",
    workers: Workers = CORES,
) -> None:
    """Grade a class: all of submitted/*/NN. Prints a table, writes results/NN.json and results/NN.csv.

    Exit code 1 if the grader failed to judge one; such a submission has no score, not zero. Totals that are open
    because something was not measured, say speed without a GPU, leave it 0. What a run that is ended before has judged
    is in results/NN.partial.json and results/NN.partial.csv.
    """
    from grader.class_folder import submissions, timestamp_of
    from grader.classroom import NOTHING_HANDED_IN, Task, by_student, not_judged, nothing_handed_in
    from grader.classroom import grade as grade_class
    from grader.gradebook import PartialResults, write_results
    from grader.judging import judge_task, require_device_once
    from grader.late import with_penalty
    from grader.progress import progress_bar
    from grader.reports.terminal import class_table
    from grader.reports.text import clean

    course = course_here()
    policy = course.assignment(assignment)
    checks = _solutions(course, policy.name)
    if course.grading.sandbox == "strict":
        raise UsageError(f"{course.file} demands the sandbox level 'strict'; this version reaches 'limits'")
    if not submitted.is_dir():
        raise UsageError(f"expected a folder {submitted} with <student>/{policy.name}, found none")
    handed_in, absent = submissions(submitted, policy.name)
    if not handed_in:
        raise UsageError(f"expected submissions {submitted}/<student>/{policy.name}, found none")
    require_device_once(device)
    tasks = [Task(checks, folder, student, device) for student, folder in handed_in.items()]
    without = [nothing_handed_in(student, policy) for student in absent]
    moments = {student: timestamp_of(folder) for student, folder in handed_in.items()}
    waiting = [not_judged(task, policy, "the run was ended before this submission was judged") for task in tasks]
    partial = PartialResults(results, policy.name, by_student(waiting, without))

    def with_late(verdict: Verdict) -> Verdict:
        return with_penalty(verdict, course.grading.late, policy.due, moments[verdict.student])

    try:
        with partial, progress_bar(f"grading {policy.name}") as show:

            def progress(done: int, of: int, verdict: Verdict) -> None:
                partial.add(with_late(verdict))
                show(done, of, verdict)

            judged = grade_class(
                tasks,
                policy,
                judge_task,
                workers=min(workers, len(tasks)),
                progress=progress,
                without_gpu=course.grading.without_gpu,
            )
            verdicts = by_student([with_late(verdict) for verdict in judged], without)
            files = write_results(results, policy.name, verdicts)
    except KeyboardInterrupt:
        kept = f"; {partial.judged} of {len(tasks)} verdicts are in {partial.json_file}" if partial.judged else ""
        raise GraderError(f"interrupted{kept}") from None
    partial.remove()
    say(class_table, verdicts)
    if absent:
        typer.echo(clean(f"\n{NOTHING_HANDED_IN}: {len(absent)} of {len(absent) + len(handed_in)} in {submitted}"))
    for file in files:
        typer.echo(clean(f"wrote {file}"))
    waiting = [verdict for verdict in verdicts if verdict.total is None and not _has_lost(verdict)]
    if waiting:
        typer.echo(f"{len(waiting)} of {len(verdicts)} totals are open; the table says what they wait for")
    _exit_for_not_judged(verdicts)


@app.command()
def release(
    assignments: Numbers = None,
    bundle: Annotated[bool, typer.Option(help="Also write a zip for students, without solutions.")] = False,
) -> None:
    """Make assignments/NN from solutions/NN. Refuses if anything hidden would be shown."""
    from grader.release import release as make_release
    from grader.student_archive import bundle as make_archive

    course = course_here()
    notebooks = _notebooks(course)
    for name in assignments or course.assignments:
        done = make_release(course, name, None if notebooks is None else notebooks(name))
        typer.echo(f"{done.folder.relative_to(course.file.parent)}: {_what_was_done(done)}")
    if bundle:
        made = None if notebooks is None else {name: notebooks(name) for name in course.assignments}
        typer.echo(f"wrote {make_archive(course, made)}")


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
        _solutions(course, title)
        with progress_bar(f"lint {title}") as progress:
            rows = lint_assignment(
                course, name, judge_task, workers=workers, device=device, progress=progress, notebooks=notebooks
            )
        typer.echo(f"{title} {course.assignment(name).title}")
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
    folder = _solutions(course, policy.name)
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


@app.command()
def demo(
    assignments: Annotated[list[str] | None, typer.Option("--assignment", help="Only this one; may repeat.")] = None,
    workers: Workers = CORES,
    device: OnDevice = "auto",
    keep: Annotated[Path | None, typer.Option(help="Put the sample class here and keep it.")] = None,
) -> None:
    """Make a sample class with everything that goes wrong, grade it and print the table."""
    from grader.demo import grade_samples, make_samples
    from grader.judging import judge_task, require_device_once
    from grader.progress import progress_bar
    from grader.reports.terminal import class_table

    course = course_here()
    names = [course.assignment(name).name for name in assignments or course.assignments]
    require_device_once(device)
    everyone: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="warpgrade-demo-") as temporary:
        if keep is not None and keep.exists():
            raise UsageError(f"{keep} exists; give a new folder")
        samples = make_samples(course, keep or Path(temporary) / "course")
        for name in names:
            with progress_bar(f"grading {name}") as progress:
                verdicts = grade_samples(samples, name, judge_task, workers=workers, device=device, progress=progress)
            typer.echo(f"{name} {course.assignment(name).title}: {len(verdicts)} submissions")
            say(class_table, verdicts)
            typer.echo("")
            everyone += verdicts
    _exit_for_not_judged(everyone)


def _exit_for_not_judged(verdicts: Sequence[Verdict]) -> None:
    lost = [verdict for verdict in verdicts if _has_lost(verdict)]
    if lost:
        typer.echo(f"{len(lost)} of {len(verdicts)} were not fully judged; the table says why", err=True)
        raise typer.Exit(1)


def _has_lost(verdict: Verdict) -> bool:
    """Whether the grader failed to judge something of it."""
    from grader.records import State

    checks = verdict.checks
    return verdict.handed_in and (not checks or any(check.state is State.NOT_JUDGED for check in checks))


def _solutions(course: Course, name: str) -> Path:
    from grader.release import SOLUTIONS

    folder = course.file.parent / SOLUTIONS / name
    if not folder.is_dir():
        raise UsageError(f"expected a folder {folder}, found none; this command needs the course's solutions")
    return folder
