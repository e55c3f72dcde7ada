"""The command ``grader``. Trusted process; the only module that knows typer, and the only one that exits.

In: the command line. Out: text and an exit code: 0 fine, 1 something was not passed, 2 it could not be done. Every
error is one sentence; ``--traceback`` shows more.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader import __version__
from grader.device_names import DeviceName
from grader.errors import GraderError, UsageError

if TYPE_CHECKING:
    from grader.course import Course
    from grader.records import Verdict

app = typer.Typer(
    help="Judge Numba CUDA kernels: is it right, does it use the technique, is it fast enough, and why not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Number = Annotated[str, typer.Argument(metavar="NN", help="The assignment, say 03.")]
Numbers = Annotated[list[str] | None, typer.Argument(metavar="[NN]...", help="Assignments; default: all.")]
OnDevice = Annotated[DeviceName, typer.Option(help="Where kernels run; auto is a GPU if there is one.")]
Workers = Annotated[int, typer.Option(min=1, help="Worker processes; default: one per CPU core.")]
CORES = os.cpu_count() or 1


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


def _course() -> Course:
    from grader.course import FILE_NAME, find_course, load_course

    path = find_course(Path.cwd())
    if path is None:
        raise UsageError(f"no {FILE_NAME} here or in a folder above; go to the course's folder or an assignment's")
    return load_course(path)


def _width() -> int:
    return shutil.get_terminal_size().columns


def _print(report: Callable[..., str], *arguments: object) -> None:
    typer.echo(report(*arguments, width=_width(), colour=sys.stdout.isatty()), nl=False)


def _solutions(course: Course, name: str) -> Path:
    from grader.release import SOLUTIONS

    folder = course.file.parent / SOLUTIONS / name
    if not folder.is_dir():
        raise UsageError(f"expected a folder {folder}, found none; this command needs the course's solutions")
    return folder


@app.command()
def check(
    assignment: Number,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Folder with kernels.py.")] = None,
    device: OnDevice = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the inputs; default: a new secret one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the student's verdict as JSON.")] = False,
) -> None:
    """Judge one kernels.py and print the student's report. Exit code 0 if nothing failed.

    DIR is assignments/NN unless given. The checks come from solutions/NN where there is one (then the hidden ones
    run, too, and show one sentence each), else from assignments/NN.
    """
    from grader.judging import judge_submission
    from grader.records import State
    from grader.release import ASSIGNMENTS, SOLUTIONS
    from grader.reports.json import to_json
    from grader.reports.terminal import student_report
    from grader.reports.view import for_student

    course = _course()
    name = course.assignment(assignment).name
    root = course.file.parent
    places = [p for p in (root / SOLUTIONS / name, root / ASSIGNMENTS / name, root) if (p / "problem.py").is_file()]
    if not places:
        raise UsageError(f"expected {SOLUTIONS}/{name} or {ASSIGNMENTS}/{name} in {root}, found neither")
    own = root / ASSIGNMENTS / name if (root / ASSIGNMENTS / name).exists() else root
    judged = own if folder is None else _submission_folder(folder)
    verdict = judge_submission(places[0], judged, device=device, seed=seed)
    if as_json:
        typer.echo(to_json((for_student(verdict),)), nl=False)
    else:
        _print(student_report, verdict)
    if any(c.passed is False or c.state is State.NOT_JUDGED for c in verdict.checks):
        raise typer.Exit(1)


def _submission_folder(path: Path) -> Path:
    """The folder that was asked for, also where its kernels.py was named. Raises UsageError for anything else.

    A class may hand in what it likes, and gets a verdict; somebody who names a path means what is there.
    """
    from grader.records import KERNELS_FILE

    if path.name == KERNELS_FILE and path.is_file():
        return path.parent
    if not path.exists():
        raise UsageError(f"expected a folder with {KERNELS_FILE}, found no {path}")
    if not path.is_dir():
        raise UsageError(f"expected a folder with {KERNELS_FILE}, found the file {path}")
    inside = sorted(found.parent for found in path.glob(f"*/{KERNELS_FILE}"))
    if not (path / KERNELS_FILE).exists() and inside:
        raise UsageError(f"expected {KERNELS_FILE} in {path}, found none; did you mean {inside[0]}?")
    return path


@app.command()
def grade(
    assignment: Number,
    submitted: Annotated[Path, typer.Option(help="Folder with <student>/NN/kernels.py.")] = Path("submitted"),
    results: Annotated[Path, typer.Option(help="Where NN.json and NN.csv go.")] = Path("results"),
    device: OnDevice = "auto",
    workers: Workers = CORES,
) -> None:
    """Grade a class: all of submitted/*/NN. Prints a table, writes results/NN.json and results/NN.csv.

    Exit code 1 if the grader failed to judge one; such a submission has no score, not zero. What a run that is
    ended before has judged is in results/NN.partial.json and results/NN.partial.csv.
    """
    from grader.classroom import NOTHING_HANDED_IN, Task, by_student, not_judged, nothing_handed_in, submissions
    from grader.classroom import grade as grade_class
    from grader.gradebook import PartialResults, write_results
    from grader.judging import judge_task, require_device_once
    from grader.progress import progress_bar
    from grader.reports.terminal import class_table
    from grader.reports.text import clean

    course = _course()
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
    waiting = [not_judged(task, policy, "the run was ended before this submission was judged") for task in tasks]
    partial = PartialResults(results, policy.name, by_student(waiting, without))

    try:
        with partial, progress_bar(f"grading {policy.name}") as show:

            def progress(done: int, of: int, verdict: Verdict) -> None:
                partial.add(verdict)
                show(done, of, verdict)

            judged = grade_class(tasks, policy, judge_task, workers=min(workers, len(tasks)), progress=progress)
            verdicts = by_student(judged, without)
            files = write_results(results, policy.name, verdicts)
    except KeyboardInterrupt:
        kept = f"; {partial.judged} of {len(tasks)} verdicts are in {partial.json_file}" if partial.judged else ""
        raise GraderError(f"interrupted{kept}") from None
    partial.remove()
    _print(class_table, verdicts)
    if absent:
        typer.echo(clean(f"\n{NOTHING_HANDED_IN}: {len(absent)} of {len(absent) + len(handed_in)} in {submitted}"))
    for file in files:
        typer.echo(clean(f"wrote {file}"))
    _exit_for_not_judged(verdicts)


def _exit_for_not_judged(verdicts: Sequence[Verdict]) -> None:
    from grader.records import State

    lost = [v for v in verdicts if v.handed_in and (not v.checks or any(c.state is State.NOT_JUDGED for c in v.checks))]
    if lost:
        typer.echo(f"{len(lost)} of {len(verdicts)} were not fully judged; the table says why", err=True)
        raise typer.Exit(1)


@app.command()
def release(
    assignments: Numbers = None,
    bundle: Annotated[bool, typer.Option(help="Also write a zip for students, without solutions.")] = False,
) -> None:
    """Make assignments/NN from solutions/NN. Refuses if anything hidden would be shown."""
    from grader import release as releasing

    course = _course()
    for name in assignments or course.assignments:
        done = releasing.release(course, name)
        what = ", ".join(done.changed) or "nothing changed"
        typer.echo(f"{done.folder}: {what}")
        if done.kernels == "kept":
            typer.echo(f"{done.folder}: kept kernels.py, which has been edited; remove it to get the new stub")
    if bundle:
        typer.echo(f"wrote {releasing.bundle(course)}")


@app.command()
def lint(assignments: Numbers = None, workers: Workers = CORES, device: OnDevice = "simulated") -> None:
    """Is an assignment what it promises? Judges reference, stub, mutants; looks at the release."""
    from grader.authoring import lint as lint_assignment
    from grader.judging import judge_task, require_device_once
    from grader.progress import progress_bar
    from grader.reports.terminal import plain_table

    course = _course()
    require_device_once(device)
    problems = 0
    for name in assignments or course.assignments:
        title = course.assignment(name).name
        _solutions(course, title)
        with progress_bar(f"lint {title}") as progress:
            rows = lint_assignment(course, name, judge_task, workers=workers, device=device, progress=progress)
        typer.echo(f"{title} {course.assignment(name).title}")
        _print(plain_table, [(_MARKS[row.ok], row.what, row.note) for row in rows])
        typer.echo("")
        problems += sum(row.ok is False for row in rows)
    if problems:
        typer.echo(f"{problems} problem{'s' if problems != 1 else ''}")
        raise typer.Exit(1)


_MARKS: dict[bool | None, str] = {True: "ok", False: "PROBLEM", None: "open"}


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

    course = _course()
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
            _print(class_table, verdicts)
            typer.echo("")
            everyone += verdicts
    _exit_for_not_judged(everyone)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def simulate(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A Python script that uses numba.cuda.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="The script's arguments.")] = None,
    gpu: Annotated[str, typer.Option(help="The GPU: t4, a100, rtx3060, l4, rtx4090, h100.")] = "t4",
    limit: Annotated[float, typer.Option(min=0, help="CPU seconds that one launch may take.")] = 600.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print launches as JSON, what the script prints as errors.")
    ] = False,
) -> None:
    """Run an unchanged Numba CUDA script without a GPU and say what its launches did.

    Options come before SCRIPT. Prints, for each launch, mistakes with their line and what to try, then what was
    counted. Exit code: the script's if it fails, 1 if a launch showed an error.
    """
    from grader.gpu_models import MODELS
    from grader.reports.simulation import has_errors, simulation_page
    from grader.reports.terminal import page
    from grader.simulating import simulate as run_simulated

    os.environ.pop("NUMBA_ENABLE_CUDASIM", None)  # Numba's own simulator is asked for by those who have no GPU
    found = run_simulated(script, args or [], gpu=gpu, launch_seconds=limit, output_to_stderr=as_json)
    if as_json:
        typer.echo(found.document, nl=False)
    elif found.document:
        _print(page, [("", ""), *simulation_page(found.groups, script.name, MODELS[gpu], _width(), found.texts)])
    if not found.document:
        typer.echo("grader: the script ended its process itself; its launches are lost", err=True)
    if found.exit_code or has_errors(found.groups):
        raise typer.Exit(found.exit_code or 1)


@app.command()
def doctor() -> None:
    """What this machine offers: Python, Numba, GPU, driver, sandbox; what is missing and how to get it."""
    from grader.doctor import examine
    from grader.reports.terminal import plain_table

    rows = examine()
    _print(plain_table, [(_MARKS[row.ok], row.what, row.note) for row in rows])
    if any(row.ok is False for row in rows):
        raise typer.Exit(1)
