"""``grader lint``: an assignment holds what it promises. Trusted process.

In: an assignment's name. Out: rows of a table, one per thing looked at. The reference earns everything that
can be judged here, and so does the fast one, if there is one; the stub, an empty kernel, a copied constant and copies
of the input earn nothing; each mutant fails exactly the checks that it names; checks and entry points say what they
are for; a notebook has course.yml's points and a quiz with its key; the release is up to date and shows nothing
hidden. And a dry run of each race finds no mistake in what needs no GPU.

One mistake of an author's that stops several samples is one row.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from grader.assignment_folder import FAST_FILE, WRONG_FOLDER, open_folder
from grader.classroom import Judge, MakeExecutor, Progress, Task, grade
from grader.course import Assignment, Course
from grader.device_names import DeviceName
from grader.dry_run import DryRunOf
from grader.errors import AuthoringError, GraderError, ReleaseError
from grader.lint_rows import (
    COPIES,
    FAST,
    NOTHING,
    REFERENCE,
    Row,
    common_reasons,
    common_rows,
    dry_run_rows,
    mutant_row,
    nothing_row,
    reference_row,
)
from grader.mutants import Mutant, check_functions, copied_constant, copied_input, empty_kernel, parameters, read_mutant
from grader.notebook_lint import notebook_rows
from grader.promises import imports_of_grader, missing_docstrings
from grader.records import KERNELS_FILE
from grader.release import ASSIGNMENTS, SOLUTIONS, MakeNotebooks, build, out_of_date
from grader.release_leaks import hidden_in, leaks
from grader.worker_pool import WorkerPool

# What a dry run of each looks at, besides what its checks ask of the kernels that are raced.
DRY_RUNS: Mapping[str, DryRunOf] = {REFERENCE: "problem", FAST: "kernels"}


def lint(
    course: Course,
    name: str,
    judge: Judge,
    *,
    workers: int = 1,
    device: DeviceName = "simulated",
    progress: Progress = lambda done, of, verdict: None,
    make_executor: MakeExecutor = WorkerPool,
    notebooks: MakeNotebooks | None = None,
) -> tuple[Row, ...]:
    """Everything that lint says of one assignment. Raises CourseError, UsageError; the rest are rows.

    ``notebooks`` makes an assignment's released notebooks of its name; None where there is no nbgrader to do so.
    """
    assignment = course.assignment(name)
    source = course.file.parent / SOLUTIONS / assignment.name
    with tempfile.TemporaryDirectory(prefix="warpgrade-lint-") as temporary:
        try:
            mutants = _mutants(source)
            samples = _write_samples(course, assignment, source, Path(temporary))
        except (AuthoringError, ReleaseError) as error:
            return (Row("assignment", False, str(error)),)
        for mutant in mutants:
            samples[mutant.name] = _write(Path(temporary) / "wrong" / mutant.name, mutant.path.read_text("utf-8"))
        seed = secrets.randbits(63)
        tasks = [Task(source, folder, sample, device, lint=seed) for sample, folder in samples.items()]
        # The references come first, so that what follows finds the outcomes of what it shares with them.
        dry = [_dry_run(task) for task in tasks if task.student in DRY_RUNS]
        tasks[len(dry) : len(dry)] = dry
        graded = grade(tasks, assignment, judge, workers=workers, progress=progress, make_executor=make_executor)
    everything = dict(zip((task.student for task in tasks), graded, strict=True))
    verdicts = {sample: everything[sample] for sample in samples}
    common = common_reasons(verdicts)
    rows = common_rows(common, len(samples))
    stopped = {sample for told in common.values() for sample in told}
    judged = [sample for sample in samples if sample not in stopped]
    rows += [reference_row(sample, verdicts[sample]) for sample in judged if sample in DRY_RUNS]
    rows += [row for task in dry for row in dry_run_rows(task.student, everything[task.student], common)]
    rows += [nothing_row(sample, verdicts[sample]) for sample in judged if sample in NOTHING]
    rows += [mutant_row(mutant, verdicts[mutant.name]) for mutant in mutants if mutant.name not in stopped]
    rows.append(_enough(mutants, course.authoring.mutants))
    rows += _written(source)
    rows += notebook_rows(source, assignment, course.authoring.questions)
    rows += _release(course, assignment, source, notebooks)
    return tuple(rows)


def _dry_run(task: Task) -> Task:
    """The dry run of a reference; of problem.py one is enough."""
    return replace(task, student=f"dry run of {task.student}", device="simulated", dry_run=DRY_RUNS[task.student])


def _write_samples(course: Course, assignment: Assignment, source: Path, temporary: Path) -> dict[str, Path]:
    entries = parameters(source / KERNELS_FILE, open_folder(source).problems)
    stub = build(course, assignment.name)[KERNELS_FILE]
    copies = (copied_input(entries, form) for form in COPIES.values())
    texts: Mapping[str, str] = dict(
        zip(NOTHING, (stub, empty_kernel(entries), copied_constant(entries), *copies), strict=True)
    )
    if (source / FAST_FILE).is_file():
        texts = {FAST: (source / FAST_FILE).read_text("utf-8"), **texts}
    return {REFERENCE: source} | {name: _write(temporary / name, text) for name, text in texts.items()}


def _write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / KERNELS_FILE).write_text(text, encoding="utf-8")
    return folder


def _mutants(source: Path) -> list[Mutant]:
    known = set(check_functions(source))
    mutants = [read_mutant(path) for path in sorted((source / WRONG_FOLDER).glob("*.py"))]
    for mutant in mutants:
        unknown = sorted(mutant.caught_by - known)
        if unknown:
            raise AuthoringError(f"{mutant.path}: Caught by: there is no check {', '.join(unknown)}")
    return mutants


def _enough(mutants: list[Mutant], wanted: int) -> Row:
    return Row(
        "mutants",
        len(mutants) >= wanted,
        f"{len(mutants)}, at least {wanted} {'is' if wanted == 1 else 'are'} expected",
    )


def _written(source: Path) -> Iterator[Row]:
    missing = list(missing_docstrings(source, open_folder(source).problems))
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    yield Row("docstrings", not missing, f"{missing[0]}{more}" if missing else "each check and entry point has one")
    imports = list(imports_of_grader(source))
    yield Row("checks", not imports, imports[0] if imports else "use the fixture `submission` alone")


def _release(course: Course, assignment: Assignment, source: Path, notebooks: MakeNotebooks | None) -> Iterator[Row]:
    target = course.file.parent / ASSIGNMENTS / assignment.name
    try:
        made = None if notebooks is None else notebooks(assignment.name)
        old = out_of_date(course, assignment.name, made)
        files = build(course, assignment.name, made)
    except GraderError as error:
        yield Row("release", False, str(error))
        return
    if not target.is_dir():
        yield Row("release", False, f"not released yet: run `grader release {assignment.name}`")
        return
    if old:
        yield Row("release", False, f"{', '.join(old)} out of date: run `grader release {assignment.name}`")
        return
    there = {str(p.relative_to(target)): p for p in sorted(target.rglob("*.py")) if p.is_file()}
    edited = (target / KERNELS_FILE).read_text("utf-8").splitlines() != files[KERNELS_FILE].splitlines()
    texts = {name: p.read_text("utf-8") for name, p in there.items() if not (edited and name == KERNELS_FILE)}
    problems = [*hidden_in(target), *leaks(source, texts)]
    note = "up to date, shows nothing hidden" + ("; kernels.py has been edited since" if edited else "")
    yield Row("release", not problems, problems[0] if problems else note)
