"""The records that pass from stage to stage, one per stage; frozen. Any process may import them.

In and out: data alone; nothing here reads, judges or prints.

folder → Submission → LaunchPlan (plan.py) → Outcome → CheckResult → Verdict
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, get_args

import numpy.typing as npt

# What a field of a Failure may hold when it comes out of a child: a paragraph, in characters.
MAX_FIELD = 4000
# Kinds of findings that are seen more or less often as the simulator happens to run threads and blocks.
NOT_COUNTED = frozenset(
    (
        *("race", "same-value-writes", "mixed-atomic", "divergent-barrier", "incomplete-warp", "early-return"),
        "endless-wait",
    )
)
# Of what ``str()`` makes of records.
STR_COLUMNS = 80
# What is kept of what kernels print in one run of a plan: more than anybody reads.
MAX_PRINTED_LINES = 100
MAX_PRINTED_LINE = 200  # characters
# The one file of a submission that is judged.
KERNELS_FILE = "kernels.py"
PartName = Literal["correctness", "technique", "speed", "quiz"]
PARTS: tuple[PartName, ...] = get_args(PartName)
NOTHING_HANDED_IN = "nothing handed in"  # all that is to be said of a student without a submission
QUIZ: PartName = "quiz"  # its checks are the questions of a notebook


class Severity(StrEnum):
    """How bad a finding is. Only errors cost points; warnings and advice teach."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True)
class Place:
    """Where in a file of source: 1-based line, its text, the function, and the expression in the line if known.

    ``file`` is what Python calls the file: kernels.py for a submission, a path for anybody else's script.
    """

    line: int
    text: str = ""
    function: str = ""
    file: str = KERNELS_FILE
    expression: str = ""

    @property
    def whole_line(self) -> Place:
        """The same place without its expression."""
        return replace(self, expression="") if self.expression else self

    @property
    def short_file(self) -> str:
        """The file's name without its folder; Jupyter's names for cells are numbers that tell nobody anything."""
        folder, _, name = self.file.replace("\\", "/").rpartition("/")
        return "notebook cell" if "ipykernel_" in folder else name

    def __str__(self) -> str:
        where = f"{self.short_file}:{self.line}"
        line = f"{where}  {self.text.strip()}" if self.text else where
        return f"{line}  (in {self.expression})" if self.expression and self.expression != self.text else line


@dataclass(frozen=True)
class Finding:
    """Something a device saw during a launch.

    ``kind`` is a short stable word ("out-of-bounds"); ``what`` says what happened, ``advice`` what to try;
    ``threads`` are examples as (block, thread) index triples; ``count`` is how often it happened there.
    """

    kind: str
    severity: Severity
    place: Place
    what: str
    advice: str = ""
    array: str = ""
    threads: tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...] = ()
    count: int = 1

    @property
    def times(self) -> str:
        """`` (8 times)``, where that is a property of the launch; of the kinds of ``NOT_COUNTED`` nothing."""
        return f" ({self.count:,} times)" if self.count > 1 and self.kind not in NOT_COUNTED else ""

    def __str__(self) -> str:
        """In lines of 80 columns, for whoever prints a finding in a test or a notebook."""
        rows = (
            ("", f"{self.severity.value}: {self.what}{self.times}"),
            ("  at ", str(self.place)),
            ("  try: ", self.advice),
        )
        return "\n".join(_wrapped(head, text) for head, text in rows if text)

    def __repr__(self) -> str:
        """Short, and the sentence early in it: pytest shows the beginning of what an assertion is about."""
        return f"<{self.severity.value} at {self.place.short_file}:{self.place.line}: {self.what}>"


def _wrapped(head: str, text: str) -> str:
    later = " " * (len(head) or 2)
    return textwrap.fill(
        text, STR_COLUMNS, initial_indent=head, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )


@dataclass(frozen=True)
class LaunchRecord:
    """One launch as a device carried it out: geometry, counters (sums over all threads) and time if measured."""

    kernel: str
    line: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    counters: Mapping[str, int] = field(default_factory=dict)
    elapsed_ns: int | None = None


@dataclass(frozen=True)
class LineCounters:
    """What the launches of a call counted at one line of kernels.py: sums over all threads."""

    place: Place
    counters: Mapping[str, int]


@dataclass(frozen=True)
class Failure:
    """Why a check was not passed, for a student: what was expected, found, where, and what to try.

    ``kind`` is a short stable word: "no-kernels-file", "syntax-error", "wrong-values", "time-out", …
    """

    kind: str
    what: str
    expected: str = ""
    found: str = ""
    where: str = ""
    advice: str = ""

    def __str__(self) -> str:
        rows = (
            ("expected", self.expected),
            ("found", self.found),
            ("where", self.where),
            ("try", self.advice),
        )
        return "\n".join([self.what, *(f"  {label:9}{text}" for label, text in rows if text)])


@dataclass(frozen=True)
class KernelPrints:
    """What kernels printed: the first lines, a stranger's text, at most so long; and how many more there were."""

    lines: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a runner brought back for one plan: raw outputs by name, findings, launches, changed inputs, lines.

    ``problem`` is set when the plan could not be carried out through the student's fault; the rest is then empty, but
    for what kernels had ``printed`` and what had been found before.
    """

    outputs: Mapping[str, npt.NDArray[Any]]
    findings: tuple[Finding, ...] = ()
    launches: tuple[LaunchRecord, ...] = ()
    changed_inputs: tuple[str, ...] = ()
    problem: Failure | None = None
    lines: tuple[LineCounters, ...] = ()
    printed: KernelPrints = KernelPrints()


class State(StrEnum):
    """Why a check has no yes or no."""

    JUDGED = "judged"
    NOT_JUDGED = "not judged"  # the grader's or the machine's fault
    NOT_MEASURED = "not measured"  # needs a device that is not here, or one that can be timed


@dataclass(frozen=True)
class CheckResult:
    """One check of one submission. ``passed`` is None exactly when ``state`` is not JUDGED.

    ``sentence`` is what the check promises (its docstring's first line): all that a student sees of a hidden one.
    ``needs_gpu`` is set where it was not measured for want of a GPU, and for nothing that a submission does.
    ``credit`` is the fraction of the check's points that was earned, 0 to 1 (a speed check may give part).
    ``printed`` is the end of what host code printed in a public check, ``kernels_printed`` the beginning of what
    kernels did, as text to show: it changes nothing.

    ``missed`` names what of the technique was missed, entry point and counter, by an exact count where the check
    failed, by an estimate where it was not measured: then ``doubt`` is the failure that it may be (scoring.settled).
    """

    name: str
    part: str
    weight: float
    sentence: str
    hidden: bool
    passed: bool | None
    state: State = State.JUDGED
    credit: float = 0.0
    failure: Failure | None = None
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    printed: str = ""
    kernels_printed: str = ""
    needs_gpu: bool = False
    missed: str = ""
    doubt: Failure | None = None


@dataclass(frozen=True)
class PartScore:
    """A part's points: ``earned`` of ``judged`` points, out of ``points`` that course.yml gives it."""

    part: str
    points: float
    judged: float
    earned: float


def date_now() -> str:
    """A Verdict's date: this second in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Verdict:
    """All checks of one submission with their score.

    ``total`` is None while points wait to be judged; ``summary`` is one sentence that says why the score is as it is.
    ``seed`` drew the inputs, None where nothing was judged: the instructor's, never a student's. ``date`` is when it
    was judged, in UTC (ISO 8601). ``handed_in`` is False for a student without a submission: no check.
    ``handed_in_at`` is when that was, in UTC (ISO 8601), "" if unknown; ``late_seconds`` is since the due date, and
    ``penalty`` the points off for it; ``extension_seconds`` is by how much the student's due date is later
    than course.yml has it, in nbgrader's gradebook, ``late_note`` what ``summary`` ends with about all this. ``bonus``
    are points beyond ``points``, for speed; None where there are none to be had, or where nothing was measured.
    """

    student: str
    assignment: str
    sha256: str
    device: str
    parts: tuple[PartScore, ...]
    checks: tuple[CheckResult, ...]
    total: float | None
    points: float
    points_judged: float
    summary: str
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    date: str = ""
    handed_in: bool = True
    handed_in_at: str = ""
    late_seconds: float = 0.0
    penalty: float = 0.0
    bonus: float | None = None
    extension_seconds: float = 0.0
    late_note: str = ""

    @property
    def earned(self) -> float | None:
        """The total with the bonus; None while points wait to be judged."""
        return None if self.total is None else round(self.total + (self.bonus or 0.0), 2)

    @property
    def final(self) -> float | None:
        """What was earned, without what is off for being late; None while points wait to be judged."""
        return None if self.earned is None else round(max(0.0, self.earned - self.penalty), 2)
