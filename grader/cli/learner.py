"""The commands for whoever writes kernels: ``check``, ``simulate``, ``doctor``. Trusted process.

In: what typer has read from the command line. Out: text, and an exit code through ``typer.Exit``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from grader.cli.app import DOCTORS_MARKS, Number, OnDevice, app, course_here, say, width
from grader.errors import UsageError
from grader.records import PartName


@app.command()
def check(
    assignment: Number,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Folder with kernels.py.")] = None,
    device: OnDevice = "auto",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the inputs; default: a new secret one.")] = None,
    part: Annotated[PartName | None, typer.Option(help="Only this part of the score.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the student's verdict as JSON.")] = False,
    sanitize: Annotated[
        bool,
        typer.Option(
            help="Then show what NVIDIA's compute-sanitizer and the simulator say of each call; needs a GPU. For "
            "instructors: it shows calls of hidden checks, too."
        ),
    ] = False,
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
    from grader.scoring import of_parts

    course = course_here(folder)
    name = course.assignment(assignment).name
    root = course.file.parent
    places = [p for p in (root / SOLUTIONS / name, root / ASSIGNMENTS / name, root) if (p / "problem.py").is_file()]
    if not places:
        raise UsageError(f"expected {SOLUTIONS}/{name} or {ASSIGNMENTS}/{name} in {root}, found neither")
    own = root / ASSIGNMENTS / name if (root / ASSIGNMENTS / name).exists() else root
    judged = own if folder is None else _submission_folder(folder)
    if note := _other_checks(root, name, places[0]):
        typer.echo(note, err=True)
    if sanitize and as_json:
        raise UsageError("--sanitize prints a page for people; leave out --json")
    if sanitize:
        from grader.cli.examine import Examiner
    examiner = Examiner(course.assignment(assignment)) if sanitize else None
    seen = examiner.calls.append if examiner is not None else None
    if part is not None and part not in course.assignment(assignment).parts:
        raise UsageError(
            f"expected a part of {name}: {', '.join(course.assignment(assignment).ordered_parts())}; found {part}"
        )
    verdict = judge_submission(places[0], judged, device=device, seed=seed, seen=seen, part=part)
    if part is not None:
        verdict = of_parts(verdict, [part])
    if as_json:
        typer.echo(to_json((for_student(verdict),)), nl=False)
    else:
        say(student_report, verdict)
    if examiner is not None:
        examiner.examine()
    if any(c.passed is False or c.state is State.NOT_JUDGED for c in verdict.checks):
        raise typer.Exit(1)


def _other_checks(root: Path, name: str, taken: Path) -> str:
    """A note where a course around this folder has checks, with points, that are not among those of ``taken``."""
    from grader.course import find_course
    from grader.release import SOLUTIONS

    around = find_course(root.parent) if taken == root else None
    if around is None or not (around.parent / SOLUTIONS / name / "problem.py").is_file():
        return ""
    return f"grader: these are the checks of this folder; {around.parent} has hidden ones, and points, beside them"


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


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def simulate(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A Python script that uses numba.cuda.")],
    args: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="The script's arguments.")] = None,
    gpu: Annotated[str, typer.Option(help="The GPU to simulate: t4, a100, rtx3060, l4, rtx4090, h100.")] = "t4",
    limit: Annotated[
        float, typer.Option(help="CPU seconds after which a launch ends as one that does not end by itself.")
    ] = 600.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print launches as JSON; what the script prints goes to standard error.")
    ] = False,
) -> None:
    """Run an unchanged Numba CUDA script without a GPU and say what its launches did.

    Options come before SCRIPT. Prints, for each launch, mistakes with their line and what to try, then what was
    counted; at the end each kernel with what its lines cost. Exit code: the script's if it fails, 1 if a launch showed
    an error.
    """
    from grader.gpu_models import MODELS
    from grader.reports.simulation import has_errors, simulation_page
    from grader.reports.terminal import page
    from grader.simulating import simulate as run_simulated

    if limit <= 0:
        raise UsageError(f"expected a time limit of more than 0 seconds, found {limit:g}")
    if script.name.startswith("-"):
        raise UsageError(f"expected a Python script, found the option {script}; grader simulate --help has all options")
    if script.suffix == ".ipynb":
        raise UsageError(
            f"expected a Python script, found the notebook {script}; in its first cell, "
            "import grader.simulator as simulator and simulator.install() put the simulator in the place of a GPU, "
            f"or turn it into a script: jupyter nbconvert --to script {script}"
        )
    ours = [each for each in args or [] if each.partition("=")[0] in {"--gpu", "--limit", "--json"}]
    if ours:
        typer.echo(f"grader: {', '.join(ours)} went to the script; options of grader come before {script}", err=True)
    os.environ.pop("NUMBA_ENABLE_CUDASIM", None)  # Numba's own simulator is asked for by those who have no GPU
    found = run_simulated(script, args or [], gpu=gpu, launch_seconds=limit, output_to_stderr=as_json)
    if as_json:
        typer.echo(found.document, nl=False)
    elif found.document:
        say(page, [("", ""), *simulation_page(found.groups, script.name, MODELS[gpu], width(), found.texts)])
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
    say(plain_table, [(DOCTORS_MARKS[row.ok], row.what, row.note) for row in rows])
    if any(row.ok is False for row in rows):
        raise typer.Exit(1)
