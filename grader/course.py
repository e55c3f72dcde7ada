"""course.yml as frozen, validated objects: every number of course policy lives there and nowhere else.

Runs in the trusted process. In: a course.yml, the whole course's or the part that lies in a released
assignment. Out: ``Course``. A mistake in the file is ``errors.CourseError``: file, line, expected, found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from grader.course_file import Lines, explain, read_yaml
from grader.course_values import (
    CheckBytes,
    CheckSeconds,
    Due,
    Duration,
    Extension,
    Fraction,
    Identifier,
    ModuleName,
    Number,
    Percent,
    Points,
    Sandbox,
    Seconds,
    Sha256,
)
from grader.errors import CourseError, UsageError
from grader.records import PARTS, PartName

FILE_NAME = "course.yml"

Name = Annotated[str, Field(min_length=1, max_length=200)]


class Policy(BaseModel):
    """Base of every section of course.yml: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Identity(Policy):
    """The course's id (for file names and gradebooks) and its title."""

    id: Identifier
    title: Name


class Late(Policy):
    """Percent of the points lost for each day begun after the grace time, up to a cap in percent."""

    per_day: Percent = 0
    grace: Duration = 0
    cap: Percent = 100


class Grading(Policy):
    """What holds for the whole course.

    ``without_gpu`` says what happens to points that need a GPU where there is none: ``wait`` leaves the total
    open, ``scale`` scales it to the points that were judged. ``sandbox`` is the least level that grading a
    class needs; ``limits`` is a process boundary with resource limits. ``host_in_reach``: whether races of submissions
    are run on a GPU whose kernels can reach the host's memory.
    """

    without_gpu: Literal["wait", "scale"] = "wait"
    sandbox: Sandbox = "limits"
    late: Late = Late()
    attempts: Literal["best", "last"] = "best"
    baseline_threads: Annotated[int, Number, Field(ge=1, le=1024)] = 1
    host_in_reach: Literal["refuse", "allow"] = "refuse"


class Authoring(Policy):
    """What ``grader lint`` asks of every assignment: at least so many mutants in wrong/, and questions in a quiz."""

    mutants: Annotated[int, Number, Field(ge=0, le=1000)] = 1
    questions: Annotated[int, Number, Field(ge=0, le=1000)] = 1


class CheckLimits(Policy):
    """Per check the seconds and bytes of each child process, and a bound on time-outs.

    When the checks that ran out of time have used ``timeouts`` seconds together, the submission's remaining
    checks are not started. A submission that never runs out of time is never cut short.
    """

    check: CheckSeconds
    memory: CheckBytes
    timeouts: Seconds


class Speed(Policy):
    """``min_speedup`` over the CPU baseline; ``full_at``, a fraction of the reference's speed, earns all.

    ``bonus`` are points beyond all, whole at ``bonus_at`` of the reference's speed, which may be more than 1.
    """

    min_speedup: Annotated[float, Number, Field(gt=0, allow_inf_nan=False)]
    full_at: Fraction
    bonus: Points = 0
    bonus_at: Annotated[float, Number, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Speed:
        if (self.bonus > 0) != (self.bonus_at is not None):
            raise ValueError("both 'bonus', in points, and 'bonus_at', in the reference's speed, or neither")
        if self.bonus_at is not None and self.bonus_at <= self.full_at:
            raise ValueError(f"a 'bonus_at' above full_at, which is {self.full_at:g}")
        return self


class Assignment(Policy):
    """One assignment's policy. ``parts`` maps a part to its points; ``name`` is its key, say "03".

    ``extensions`` maps students to seconds by which ``due`` is later for them; no release has it. ``imports`` are
    modules that kernels.py may import besides those that any may (``grader.imports``).

    A release notes the hashes of the stub and of each notebook: what still has them has not been edited.
    """

    name: Name
    title: Name
    due: Due | None = None
    extensions: Mapping[Name, Extension] = {}
    parts: Annotated[Mapping[PartName, Points], Field(min_length=1)]
    limits: CheckLimits
    speed: Speed | None = None
    imports: tuple[ModuleName, ...] = ()
    stub_sha256: Sha256 | None = None
    notebook_sha256: Mapping[Name, Sha256] | None = None

    @model_validator(mode="after")
    def _agree(self) -> Assignment:
        if sum(self.parts.values()) <= 0:
            raise ValueError("parts with more than 0 points in total")
        if "speed" in self.parts and self.speed is None:
            raise ValueError("a key 'speed' with min_speedup and full_at, since a part 'speed' has points")
        if self.extensions and self.due is None:
            raise ValueError("a key 'due', since there are extensions of it")
        return self

    @property
    def points(self) -> float:
        """All parts' points together."""
        return round(sum(self.parts.values()), 2)

    @property
    def bonus(self) -> float:
        """The most points beyond ``points``."""
        return self.speed.bonus if self.speed is not None else 0.0

    def due_for(self, student: str) -> datetime | None:
        """When it is due for a student, by course.yml's extensions."""
        return None if self.due is None else self.due + timedelta(seconds=self.extensions.get(student, 0.0))

    def ordered_parts(self) -> dict[str, float]:
        """The parts with their points, in the order in which they are judged."""
        return {part: points for part in PARTS for key, points in self.parts.items() if key == part}


class Course(Policy):
    """A whole course.yml, or the part of it that a released assignment carries."""

    file: Path
    course: Identity
    grading: Grading = Grading()
    authoring: Authoring = Authoring()
    assignments: Annotated[Mapping[Name, Assignment], Field(min_length=1)]

    def assignment(self, name: str) -> Assignment:
        """The assignment of that name; ``3`` is taken for ``03``. Raises UsageError if there is none."""
        for key, found in self.assignments.items():
            if key == name or (key.isdecimal() and name.isdecimal() and int(key) == int(name)):
                return found
        raise UsageError(f"unknown assignment {name!r}; there are {', '.join(self.assignments)}")

    def where(self, name: str) -> str:
        """File and line of an assignment's section, as far as the file can still be read. Raises CourseError."""
        return f"{self.file}:{read_yaml(self.file)[1].of(('assignments', name))}"

    def assignment_of(self, folder: Path) -> Assignment:
        """The assignment that a folder holds: the only one of its own course.yml, else by its name."""
        if self.file.parent.resolve() == folder.resolve() and len(self.assignments) == 1:
            return next(iter(self.assignments.values()))
        return self.assignment(folder.resolve().name)


def load_course(path: Path) -> Course:
    """Read and validate a course.yml. Raises CourseError, also if the file cannot be read."""
    data, lines = read_yaml(path)
    assignments = data.get("assignments") if isinstance(data, dict) else None
    if isinstance(data, dict):
        if "file" in data:
            raise CourseError(f"{path}:{lines.of(('file',))}: unknown key 'file'")
        data = {**data, "file": path}
    if isinstance(assignments, dict):
        data["assignments"] = {k: _named(k, v, path, lines) for k, v in assignments.items()}
    try:
        course = Course.model_validate(data)
    except ValidationError as error:
        raise CourseError(explain(error, path, lines, Course)) from None
    _refuse_equal_numbers(course, lines)
    return course


def _named(key: str, section: object, path: Path, lines: Lines) -> object:
    if not isinstance(section, dict):
        return section
    if "name" in section:
        raise CourseError(f"{path}:{lines.of(('assignments', key, 'name'))}: unknown key 'name'")
    return {**section, "name": key}


def _refuse_equal_numbers(course: Course, lines: Lines) -> None:
    seen: dict[int, str] = {}
    for key in course.assignments:
        if key.isdecimal() and seen.setdefault(int(key), key) != key:
            line = lines.of(("assignments", key))
            raise CourseError(f"{course.file}:{line}: assignment {key!r} is the same number as {seen[int(key)]!r}")


def find_course(start: Path) -> Path | None:
    """The nearest course.yml in ``start`` or above it; None if there is none."""
    here = start.resolve()
    for folder in (here, *here.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def course_of(folder: Path) -> tuple[Course, Assignment]:
    """The course and assignment that a folder of checks belongs to. Raises CourseError, UsageError."""
    path = find_course(folder)
    if path is None:
        raise UsageError(f"no {FILE_NAME} in {folder} or above it")
    course = load_course(path)
    return course, course.assignment_of(folder)


# Keys of an assignment that name students.
NOT_FOR_STUDENTS = frozenset(("extensions",))
PART_COMMENT = """\
# This assignment's part of the course's course.yml, made by `grader release`: what each part of the score is
# worth, and what one check may use. With this file beside problem.py and test_public.py the folder works
# anywhere: `pytest` in it judges kernels.py. stub_sha256 tells an untouched kernels.py from one you began.
"""
NOTEBOOK_COMMENT = "# notebook_sha256 does so for notebooks.\n"


COURSE_COMMENT = """\
# What a student needs of the course's course.yml, made by `grader release --bundle`.
"""


def part_text(course: Course, name: str, stub_sha256: str, notebook_sha256: Mapping[str, str] | None = None) -> str:
    """The text of the course.yml of a released assignment: ``name`` only, with the hashes of stub and notebooks."""
    notes: dict[str, object] = {"stub_sha256": stub_sha256}
    if notebook_sha256:
        notes["notebook_sha256"] = dict(notebook_sha256)
    return PART_COMMENT + (NOTEBOOK_COMMENT if notebook_sha256 else "") + _as_text(course, {name: notes})


def students_text(course: Course, names: Iterable[str]) -> str:
    """The text of a course.yml around the released assignments ``names``."""
    return COURSE_COMMENT + _as_text(course, {name: {} for name in names})


def _as_text(course: Course, notes: Mapping[str, Mapping[str, object]]) -> str:
    """course.yml with the assignments of ``notes``, which are added to them, without what concerns authors alone."""
    # From the file, not from the objects: units and dates stay as the instructor wrote them.
    raw, _ = read_yaml(course.file)
    part = {key: raw[key] for key in ("course", "grading") if key in raw}
    part["assignments"] = {
        name: {key: value for key, value in raw["assignments"][name].items() if key not in NOT_FOR_STUDENTS}
        | dict(more)
        for name, more in notes.items()
    }
    text: str = yaml.safe_dump(part, sort_keys=False, allow_unicode=True, width=110)
    return text
