"""assignments/NN from solutions/NN: what a student may have, and nothing else. Trusted process.

In: solutions/NN, course.yml, and the notebooks that nbgrader has made of its notebooks. Out: a folder with the stub,
problem.py, the public checks, the notebooks and the assignment's part of course.yml. It is built beside its place,
searched for anything hidden, and swapped in whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.assignment_folder import PUBLIC_FILE
from grader.course import FILE_NAME, Assignment, Course, load_course, part_text
from grader.errors import CourseError, ReleaseError, UsageError
from grader.notebook_leaks import read
from grader.notebook_points import write_points
from grader.problem import PROBLEM_FILE
from grader.quiz_folder import notebooks as notebooks_in
from grader.records import KERNELS_FILE
from grader.release_leaks import hidden_in, leaks, read_source
from grader.stub import make_stub
from grader.swap import differs, put_back, swap_in

SOLUTIONS, ASSIGNMENTS = "solutions", "assignments"
COPIED = (PROBLEM_FILE, PUBLIC_FILE)
HANDED_OUT = (*COPIED, FILE_NAME)  # besides what students write: who hands these in does not mean them
MakeNotebooks = Callable[[str], Mapping[str, str]]  # of an assignment's name: the released ones, name → text
State = Literal["new", "unchanged", "replaced", "kept"]


@dataclass(frozen=True)
class Released:
    """What a release did. ``changed`` names files; ``kept`` those that a learner has edited, so that they stay.

    ``kernels`` is ``kept`` where that holds for kernels.py. ``removed`` are notebooks that the course no longer has.
    ``points`` says what became of the points in source notebooks, which follow course.yml.
    """

    folder: Path
    kernels: State
    changed: tuple[str, ...]
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    points: tuple[str, ...] = ()


def sha256_of(text: str) -> str:
    """Hash of a text file whatever its line ends, so that a checkout on another system is no edit."""
    return hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()


def solution_folder(course: Course, name: str) -> Path:
    """solutions/NN of an assignment by its name in course.yml. Raises UsageError where there is none."""
    folder = course.file.parent / SOLUTIONS / name
    if not folder.is_dir():
        meant = [
            other
            for other in sorted(folder.parent.glob("*"))
            if name.isdecimal() and other.name.isdecimal() and int(other.name) == int(name)
        ]
        found = f"{meant[0]}: name both alike" if meant else "none"
        raise UsageError(f"{course.where(name)}: assignment {name!r}: expected a folder {folder}, found {found}")
    return folder


def build(course: Course, name: str, notebooks: Mapping[str, str] | None = None) -> dict[str, str]:
    """The files of a release as name → text. Raises ReleaseError if anything hidden would be in them.

    ``notebooks`` are the released ones, name → text; None where there is no nbgrader to make them.
    """
    return _build(course, name, notebooks, {})


def _build(course: Course, name: str, notebooks: Mapping[str, str] | None, noted: Mapping[str, str]) -> dict[str, str]:
    """``noted``: the hashes of the notebooks that stay as they are, where ``notebooks`` is None."""
    assignment = course.assignment(name)
    name = assignment.name
    source = solution_folder(course, name)
    stub = make_stub(read_source(source / KERNELS_FILE), str(source / KERNELS_FILE))
    files = {KERNELS_FILE: stub, **{file: read_source(source / file) for file in COPIED}}
    made = {file: text.rstrip("\n") + "\n" for file, text in (notebooks or {}).items()}
    problem = "\n".join(_points_problems(assignment, source, made)) if made else ""
    hashes = noted if notebooks is None else {file: sha256_of(text) for file, text in made.items()}
    files[FILE_NAME] = part_text(course, name, sha256_of(stub), hashes)
    files |= made
    problem = problem or next(leaks(source, files), "")
    if problem:
        raise ReleaseError(problem)
    return files


def _points_problems(assignment: Assignment, source: Path, made: Mapping[str, str]) -> Iterator[str]:
    """Where the grade cells are not course.yml's parts, or have other points: all of it, for it is mended together."""
    found: dict[str, str] = {}
    for file, text in made.items():
        for cell in read(str(source / file), text):
            if not cell.is_grade and cell.points is None:
                continue
            where = f"{source / file}: cell {cell.grade_id!r}"
            points = next((points for part, points in assignment.parts.items() if part == cell.grade_id), None)
            if points is None:
                yield f"{where} has points, but course.yml has no such part of {assignment.name}"
            elif cell.points != points:
                yield f"{where}: expected course.yml's {points:g} points, found {cell.points or 0:g}"
            if cell.grade_id in found:
                yield f"{where}: expected one cell for the part, found another in {found[cell.grade_id]}"
            found[cell.grade_id] = file
    for part, points in assignment.parts.items():
        if points and part not in found:
            yield f"{source}: expected a cell with grade_id {part!r} and {points:g} points in a notebook, found none"


def release(course: Course, name: str, notebooks: Mapping[str, str] | None = None) -> Released:
    """Write assignments/NN. An untouched older stub or notebook is replaced, one that a learner has begun is kept.

    ``notebooks``: see ``build``; None leaves those that are there as they are. Raises ReleaseError if something hidden
    would be shown, or lies in the folder; then nothing has changed. The source notebooks' points become course.yml's.
    """
    target = course.file.parent / ASSIGNMENTS / course.assignment(name).name
    put_back(target)
    problem = next(hidden_in(target), None)
    if problem is not None:
        raise ReleaseError(f"{problem}; remove it, then release again")
    files, states, removed = _planned(course, name, target, notebooks)
    changed = tuple(file for file, text in files.items() if differs(target / file, text))
    if changed or removed:
        swap_in(target, files, removed)
    kept = tuple(file for file, state in states.items() if state == "kept")
    return Released(target, states[KERNELS_FILE], changed, kept, removed, _source_follows(course, name))


def _source_follows(course: Course, name: str) -> tuple[str, ...]:
    """Write course.yml's points into the source notebooks; a sentence for each that had others. Raises OSError."""
    assignment = course.assignment(name)
    told = []
    for path in notebooks_in(course.file.parent / SOLUTIONS / assignment.name):
        changed = write_points(path, assignment.ordered_parts())
        if changed:
            told.append(f"{path.relative_to(course.file.parent)}: points as in {FILE_NAME}: {', '.join(changed)}")
    return tuple(told)


def _planned(
    course: Course, name: str, target: Path, notebooks: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, State], tuple[str, ...]]:
    """The files as they shall lie in ``target``, what is done about those that learners edit, and what goes."""
    noted = _noted(target)
    old = {} if noted is None or noted.notebook_sha256 is None else noted.notebook_sha256
    files = _build(course, name, notebooks, old)
    stub = None if noted is None else noted.stub_sha256
    states = {KERNELS_FILE: _state(target / KERNELS_FILE, files[KERNELS_FILE], stub)}
    for file in notebooks or ():
        states[file] = _state(target / file, files[file], old.get(file))
    for file, state in states.items():
        if state == "kept":
            files[file] = read_source(target / file)
    gone = {} if notebooks is None else {file: sha for file, sha in old.items() if file not in notebooks}
    removed = tuple(file for file, sha in gone.items() if _hash_there(target / file) == sha)
    return files, states, removed


def _state(path: Path, text: str, noted: str | None) -> State:
    """What is to be done about a learner's file. Its release noted its hash in the course.yml beside it."""
    if not path.exists():
        return "new"
    there = _hash_there(path)
    if there == sha256_of(text):
        return "unchanged"
    return "replaced" if there == noted else "kept"


def _hash_there(path: Path) -> str | None:
    return sha256_of(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None


def _noted(target: Path) -> Assignment | None:
    try:
        return load_course(target / FILE_NAME).assignment_of(target)
    except (CourseError, UsageError):
        return None  # the note is lost: take the files for edited, which loses nothing


def out_of_date(course: Course, name: str, notebooks: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The released files that a release would change; an edited stub or notebook is taken for what it is."""
    target = course.file.parent / ASSIGNMENTS / course.assignment(name).name
    files, _, removed = _planned(course, name, target, notebooks)
    return (*(file for file, text in files.items() if differs(target / file, text)), *removed)
