"""The commands for whoever gives a course: ``grade``, ``demo``. Trusted process.

In: what typer has read from the command line. Out: text, files, and an exit code through ``typer.Exit``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.app import CORES, Number, OnDevice, Workers, app, course_here, say, solutions_folder
from grader.cli.gradebook_here import extensions_there
from grader.errors import GraderError, UsageError

if TYPE_CHECKING:
    from grader.records import Verdict


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
    from grader.class_baselines import differing_baselines
    from grader.class_folder import linked, submissions, timestamp_of
    from grader.class_sandbox import require_sandbox
    from grader.classroom import Task, by_student, not_judged, nothing_handed_in
    from grader.classroom import grade as grade_class
    from grader.export_notes import unknown_extensions
    from grader.gradebook import PartialResults, write_results
    from grader.intake import student_name_problem
    from grader.judging import judge_task, require_device_once
    from grader.late import with_penalty
    from grader.progress import progress_bar
    from grader.records import NOTHING_HANDED_IN
    from grader.reports.terminal import class_table
    from grader.reports.text import clean

    course = course_here()
    policy = course.assignment(assignment)
    checks = solutions_folder(course, policy.name)
    weaker = require_sandbox(course)
    if not submitted.is_dir():
        raise UsageError(f"expected a folder {submitted} with <student>/{policy.name}, found none")
    found, absent = submissions(submitted, policy.name)
    refused = {student: why for student in (*found, *absent) if (why := linked(submitted, student)) is not None}
    handed_in = {student: folder for student, folder in found.items() if student not in refused}
    absent = tuple(student for student in absent if student not in refused)
    if not handed_in:
        raise UsageError(f"expected submissions {submitted}/<student>/{policy.name}, found none")
    require_device_once(device)
    demanded = course.grading.sandbox
    tasks = [Task(checks, folder, student, device, sandbox=demanded) for student, folder in handed_in.items()]
    now = datetime.now(UTC)
    without = [nothing_handed_in(student, policy, now) for student in absent]
    without += [
        not_judged(Task(checks, submitted / student / policy.name, student, device), policy, why)
        for student, why in refused.items()
    ]
    moments = {student: timestamp_of(folder) for student, folder in handed_in.items()}
    extended, told = extensions_there(course, policy)
    for line in (*filter(None, [weaker, told]), *unknown_extensions(policy, (*found, *absent, *refused))):
        typer.echo(line, err=True)
    waiting = [not_judged(task, policy, "the run was ended before this submission was judged") for task in tasks]
    partial = PartialResults(results, policy.name, by_student(waiting, without))

    def with_late(verdict: Verdict) -> Verdict:
        student = verdict.student
        more = extended.get(student, timedelta())
        return with_penalty(verdict, course.grading.late, policy.due_for(student), moments[student], more)

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
    for problem in filter(None, map(student_name_problem, handed_in)):
        typer.echo(clean(f"{problem}; judged here, but nbgrader would refuse it"))
    for file in files:
        typer.echo(clean(f"wrote {file}"))
    waiting = [verdict for verdict in verdicts if verdict.total is None and not _has_lost(verdict)]
    for line in differing_baselines(verdicts):
        typer.echo(line, err=True)
    if waiting:
        typer.echo(f"{len(waiting)} of {len(verdicts)} totals are open; the table says what they wait for")
    _exit_for_not_judged(verdicts)


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
