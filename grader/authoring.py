"""``grader lint``: an assignment holds what it promises. Trusted process.

In: an assignment's name. Out: rows of a table, one per thing looked at. The reference earns everything that
can be judged here, and so does the fast one, if there is one; the stub, an empty kernel and a copied constant earn
nothing; each mutant fails exactly the checks that it names; checks and entry points say what they are for; the
release is up to date and shows nothing hidden.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.assignment_folder import WRONG_FOLDER, open_folder
from grader.classroom import Judge, MakeExecutor, Progress, Task, grade, process_pool
from grader.course import Assignment, Course
from grader.device_names import DeviceName
from grader.errors import AuthoringError, GraderError, ReleaseError
from grader.mutants import Mutant, check_functions, copied_constant, empty_kernel, parameters, read_mutant
from grader.promises import imports_of_grader, missing_docstrings
from grader.records import KERNELS_FILE, State, Verdict
from grader.release import ASSIGNMENTS, FAST_FILE, HIDDEN, SOLUTIONS, build, leaks, out_of_date
from grader.reports.text import one_line

# A submission that computes nothing may still race; these are the parts that it must not earn.
STUB = "stub"
REFERENCE, FAST = "reference", "fast reference"
NOTHING = (STUB, "empty kernel", "copied constant")
EARNED_PARTS = ("correctness", "technique")
# Failures of code that does not run. A stub is to run and to leave the output as it was.
BROKEN = frozenset(("syntax-error", "import-error", "exception", "recursion", "exit", "crash", "kernel-rejected"))
MAX_REASON = 300


@dataclass(frozen=True)
class Row:
    """One thing that lint looked at. ``ok`` None: a known gap, said but not counted as a problem."""

    what: str
    ok: bool | None
    note: str


def lint(
    course: Course,
    name: str,
    judge: Judge,
    *,
    workers: int = 1,
    device: DeviceName = "simulated",
    progress: Progress = lambda done, of, verdict: None,
    make_executor: MakeExecutor = process_pool,
) -> tuple[Row, ...]:
    """Everything that lint says of one assignment. Raises CourseError, UsageError; the rest are rows."""
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
        # The reference comes first, so that mutants find the outcomes of what they share with it.
        tasks = [Task(source, folder, sample, device, lint=seed) for sample, folder in samples.items()]
        graded = grade(tasks, assignment, judge, workers=workers, progress=progress, make_executor=make_executor)
    verdicts = dict(zip(samples, graded, strict=True))
    rows = [_reference(sample, verdicts[sample]) for sample in (REFERENCE, FAST) if sample in samples]
    rows += [_earns_nothing(sample, verdicts[sample]) for sample in samples if sample in NOTHING]
    rows += [_caught(mutant, verdicts[mutant.name]) for mutant in mutants]
    rows.append(_enough(mutants, course.authoring.mutants))
    rows += _written(source)
    rows += _release(course, assignment, source)
    return tuple(rows)


def _write_samples(course: Course, assignment: Assignment, source: Path, temporary: Path) -> dict[str, Path]:
    entries = parameters(source / KERNELS_FILE, open_folder(source).problems)
    texts: Mapping[str, str] = dict(
        zip(
            NOTHING,
            (build(course, assignment.name)[KERNELS_FILE], empty_kernel(entries), copied_constant(entries)),
            strict=True,
        )
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


def _not_judged(verdict: Verdict) -> str:
    """Why a verdict has checks without an outcome, if it has."""
    if not verdict.checks:
        return one_line(verdict.summary, MAX_REASON)
    reasons = [f"{c.name}: {c.reason}" for c in verdict.checks if c.state is State.NOT_JUDGED]
    return one_line(f"not judged: {reasons[0]}", MAX_REASON) if reasons else ""


def _failed(verdict: Verdict) -> dict[str, str]:
    """Check functions that failed, with the first failure's sentence."""
    failed: dict[str, str] = {}
    for check in verdict.checks:
        if check.passed is False:
            failed.setdefault(check.name.split("[")[0], check.failure.what if check.failure is not None else "")
    return failed


def _reference(name: str, verdict: Verdict) -> Row:
    problem = _not_judged(verdict)
    failed = [c for c in verdict.checks if c.passed is False or (c.passed and c.credit < 1)]
    if not problem and failed:
        why = failed[0].failure.what if failed[0].failure is not None else f"credit {failed[0].credit:g}"
        problem = one_line(f"{failed[0].name}: {why}", MAX_REASON)
    if problem:
        return Row(name, False, problem)
    passed = sum(1 for c in verdict.checks if c.passed)
    open_checks = len(verdict.checks) - passed
    gap = f", {open_checks} not measured" if open_checks else ""
    return Row(name, True, f"full marks: {passed} checks passed{gap}")


def _earns_nothing(sample: str, verdict: Verdict) -> Row:
    problem = _not_judged(verdict)
    passed = [c.name for c in verdict.checks if c.passed and c.part in EARNED_PARTS]
    if problem or passed:
        return Row(sample, False, problem or f"expected no point, but passed: {', '.join(passed[:3])}")
    broken = [c.failure.what for c in verdict.checks if c.failure is not None and c.failure.kind in BROKEN]
    if sample == STUB and broken:
        return Row(
            sample, False, one_line(f"expected a stub that runs and writes nothing, found: {broken[0]}", MAX_REASON)
        )
    what = next(iter(_failed(verdict).values()), "")
    return Row(sample, True, one_line(f"no point: {what}", MAX_REASON))


def _caught(mutant: Mutant, verdict: Verdict) -> Row:
    problem = _not_judged(verdict)
    if problem:
        return Row(mutant.name, False, problem)
    failed = _failed(verdict)
    if mutant.needs and not failed:
        return Row(mutant.name, None, f"not yet caught: needs {mutant.needs}")
    if set(failed) == mutant.caught_by:
        if mutant.needs:
            return Row(mutant.name, False, "now caught: remove Needs from its docstring")
        return Row(mutant.name, True, f"caught by {', '.join(sorted(failed))}")
    missing, extra = sorted(mutant.caught_by - set(failed)), sorted(set(failed) - mutant.caught_by)
    notes = [f"not caught by {', '.join(missing)}"] if missing else []
    notes += [f"also fails {check} ({failed[check]})" for check in extra]
    return Row(mutant.name, False, one_line("; ".join(notes), MAX_REASON))


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


def _release(course: Course, assignment: Assignment, source: Path) -> Iterator[Row]:
    target = course.file.parent / ASSIGNMENTS / assignment.name
    try:
        old = out_of_date(course, assignment.name)
        files = build(course, assignment.name)
    except GraderError as error:
        yield Row("release", False, str(error))
        return
    if old:
        yield Row("release", False, f"{', '.join(old)} out of date: run `grader release {assignment.name}`")
        return
    there = {str(p.relative_to(target)): p for p in sorted(target.rglob("*.py")) if p.is_file()}
    edited = (target / KERNELS_FILE).read_text("utf-8").splitlines() != files[KERNELS_FILE].splitlines()
    texts = {name: p.read_text("utf-8") for name, p in there.items() if not (edited and name == KERNELS_FILE)}
    shown = [f"{target / name} must not be there" for name in HIDDEN if (target / name).exists()]
    problems = [*shown, *leaks(source, texts)]
    note = "up to date, shows nothing hidden" + ("; kernels.py has been edited since" if edited else "")
    yield Row("release", not problems, problems[0] if problems else note)
