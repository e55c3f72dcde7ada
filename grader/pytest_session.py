"""What one pytest run knows: options, assignment folders, submissions, children, results. Trusted process.

In: the command line's options, or those of ``judging.judge_submission``. Out: a Candidate per check, and at
the end one Verdict per folder of checks.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Literal

from grader import gpu_models, scoring
from grader.assignment_folder import HIDDEN_FILE, AssignmentFolder, open_folder
from grader.children import Children, need_gpu
from grader.course import Assignment
from grader.device_names import DeviceName
from grader.dry_run import DryCandidate, DryRun
from grader.errors import ChildFault, Fault
from grader.judge import Candidate, Settings
from grader.judged_race import Terms
from grader.known_outcomes import KnowingCandidate, KnownOutcomes
from grader.quiz_folder import quiz_checks
from grader.records import QUIZ, CheckResult, Failure, State, Verdict, date_now
from grader.sandbox.launch import START_SECONDS
from grader.sandbox.limits import WALL_PER_CPU_SECOND, Limits
from grader.sanitizing import SeenCall
from grader.submission import Submission, authors_own, read_submission

# A check may use both children for several calls. Only a hang of the grader's own gets this far.
BACKSTOP_JOBS = 20
OUT_OF_TIME = ("time-out", "stalled")
NOT_STARTED = "not-started"
SIMULATED: Literal["simulated"] = "simulated"
DISTRIBUTIONS = ("warpgrade", "numba", "numba-cuda", "numpy", "pytest")


def require_device(device: DeviceName, children: Children) -> None:
    """Raise UsageError where ``device`` is ``cuda`` and the machine has no GPU that works."""
    if device == "cuda":
        need_gpu(children, "--device cuda")


def limits_of(assignment: Assignment) -> Limits:
    """course.yml's limits for a check of an assignment, as those of one child process."""
    policy = assignment.limits
    return Limits(
        cpu_seconds=policy.check,
        wall_seconds=policy.check * WALL_PER_CPU_SECOND,
        memory_bytes=policy.memory,
    )


@dataclass
class CheckSession:
    """State of one run. ``submission`` None: each folder's own kernels.py. ``children``, ``known``: the caller's.

    ``seen`` is told of calls and ``races_later`` leaves races out, as ``judge.Settings`` says. ``quiz``: whether a
    verdict has the notebook's questions, too, which are no checks of pytest.
    """

    submission: Path | None
    device: DeviceName
    seed: int
    children: Children
    student: str = ""
    known: KnownOutcomes | None = None  # of a lint
    seen: Callable[[SeenCall], None] | None = None
    races_later: bool = False
    dry_run: DryRun | None = None  # of a lint, too
    quiz: bool = True
    folders: dict[Path, AssignmentFolder] = field(default_factory=dict)
    submissions: dict[Path, Submission | Failure] = field(default_factory=dict)
    # Apart from submissions: a submission that is a link to one is none, and must not be found here.
    references: dict[Path, Submission | Failure] = field(default_factory=dict)
    results: dict[Path, list[CheckResult]] = field(default_factory=dict)
    misses: dict[Path, list[CheckResult]] = field(default_factory=dict)  # of the technique, by exact counts
    seconds_timed_out: dict[Path, float] = field(default_factory=dict)
    seconds_not_judged: dict[Path, float] = field(default_factory=dict)
    blocks: dict[tuple[object, ...], str] = field(default_factory=dict)

    def folder(self, path: Path) -> AssignmentFolder:
        """The folder's policy and problems. Raises CourseError, UsageError, AuthoringError."""
        path = path.resolve()
        if path not in self.folders:
            self.folders[path] = open_folder(path)
        return self.folders[path]

    def judged_folder(self, path: Path) -> Path:
        """The folder whose kernels.py the checks in ``path`` judge."""
        return path if self.submission is None else self.submission

    def read(self, path: Path) -> Submission | Failure:
        """The submission that the checks in ``path`` judge, read once: all checks see the same text."""
        where = self.judged_folder(path).resolve()
        if where not in self.submissions:
            its_own = authors_own(where, path.resolve())
            self.submissions[where] = its_own or read_submission(self.judged_folder(path), self.student)
        return self.submissions[where]

    def limits(self, folder: AssignmentFolder) -> Limits:
        """course.yml's limits as those of one child process."""
        return limits_of(folder.assignment)

    def backstop_seconds(self, folder: AssignmentFolder) -> float:
        """When pytest gives up a check: later than all that the check may use, the start of both children included."""
        return self.limits(folder).wall_seconds * BACKSTOP_JOBS + 2 * START_SECONDS

    def candidate(self, path: Path) -> Candidate:
        """The ``submission`` of one check in ``path``."""
        folder = self.folder(path)
        speed = folder.assignment.speed
        limits = self.limits(folder)
        terms = Terms(
            min_speedup=(speed.min_speedup or 0.0) if speed is not None else 0.0,
            full_at=(speed.full_at or 0.0) if speed is not None else 0.0,
            bonus_at=speed.bonus_at if speed is not None else None,
            baseline_threads=folder.course.grading.baseline_threads,
            reference=(reference := self._reference(folder)),
            # A learner's own kernels have nothing to gain.
            host_in_reach=reference is None or folder.course.grading.host_in_reach == "allow",
            limits=limits,
            gpu=gpu_models.DEFAULT,
        )
        settings = Settings(
            device=self.device,
            limits=limits,
            seed=self.seed,
            gpu=gpu_models.DEFAULT,
            race=terms,
            races_later=self.races_later,
            imports=folder.assignment.imports,
            seen=self.seen,
        )
        given = self.read(path), folder.problems, self.children, settings
        if self.dry_run is not None:
            return DryCandidate(*given, self.known or KnownOutcomes(), self.dry_run)
        return Candidate(*given) if self.known is None else KnowingCandidate(*given, self.known)

    def _reference(self, folder: AssignmentFolder) -> Submission | None:
        """The author's solution, beside the hidden checks. A released folder has none: its kernels.py is a stub."""
        if not (folder.path / HIDDEN_FILE).exists():
            return None
        if folder.path not in self.references:
            self.references[folder.path] = read_submission(folder.path)
        found = self.references[folder.path]
        return found if isinstance(found, Submission) else None

    def out_of_time(self, path: Path) -> Failure | None:
        """A failure if earlier checks of this submission have used up course.yml's time for time-outs.

        Raises ChildFault if they did so only together with checks that were not judged: what is left is not
        judged either, since it may be the machine that has no time. Speed checks without a GPU are no exception:
        they run kernels.py, too, to record its launches.
        """
        folder = self.folder(path)
        spent = self.seconds_timed_out.get(folder.path, 0.0)
        allowed = folder.assignment.limits.timeouts
        if spent < allowed <= spent + self.seconds_not_judged.get(folder.path, 0.0):
            raise ChildFault("this check was not started, because earlier ones took too long and were not judged")
        if spent < allowed:
            return None
        return Failure(
            NOT_STARTED,
            "This check was not started, because earlier ones ran out of time.",
            expected=f"at most {allowed:g} s in checks that run out of time",
            found=f"{spent:.3g} s",
            advice="make the first check that runs out of time pass, then run all of them again",
        )

    def note_time(self, path: Path, check: CheckResult) -> None:
        """Count the time of a check that ran out of time, or that took as long and then was not judged.

        In a race that is no more than a child may take: the rest was waiting for the GPU, the baseline, the reference.
        """
        path = path.resolve()
        if check.failure is not None and check.failure.kind in OUT_OF_TIME:
            most = self.limits(self.folder(path)).wall_seconds if check.part == "speed" else None
            seconds = check.seconds if most is None else min(check.seconds, most)
            self.seconds_timed_out[path] = self.seconds_timed_out.get(path, 0.0) + seconds
        elif check.state is State.NOT_JUDGED and check.seconds >= self.folder(path).assignment.limits.check:
            self.seconds_not_judged[path] = self.seconds_not_judged.get(path, 0.0) + check.seconds

    def same_block(self, alike: tuple[object, ...], check: str) -> str:
        """The check whose block ``alike`` describes as well, or ``check`` itself if it is the first."""
        return self.blocks.setdefault(alike, check)

    def settled(self, path: Path, check: CheckResult) -> CheckResult:
        """``check`` as the checks before it settle it: see scoring.settled."""
        if check.passed is False and check.missed:
            self.misses.setdefault(path.resolve(), []).append(check)
        return scoring.settled([*self.misses.get(path.resolve(), ()), check])[-1]

    def keep(self, path: Path, check: CheckResult) -> None:
        """Keep one check's result for the verdict."""
        self.results.setdefault(path.resolve(), []).append(check)

    def device_name(self) -> str:
        """``simulated``, ``cuda`` with the GPU's name, or both, where the GPU is for races alone."""
        if self.device == SIMULATED:
            return SIMULATED
        try:
            name = self.children.gpu_name()
        except Fault as fault:
            gpu = f"unknown: {fault}"
        else:
            if name is None:
                return SIMULATED
            gpu = f"cuda ({name})"
        return gpu if self.device == "cuda" else f"{SIMULATED}; races on {gpu}"

    def verdicts(self) -> tuple[Verdict, ...]:
        """One verdict per folder of checks that ran."""
        return tuple(self._verdict(path, checks) for path, checks in self.results.items())

    def _verdict(self, path: Path, checks: Sequence[CheckResult]) -> Verdict:
        folder = self.folder(path)
        submission = self.read(path)
        assignment = folder.assignment
        checks = scoring.settled(checks)
        # A lint judges kernels.py alone, many of them: it looks at the notebook by itself.
        if self.quiz and self.known is None and QUIZ in assignment.parts:
            checks = (*checks, *quiz_checks(path, self.judged_folder(path)))
        without_gpu = folder.course.grading.without_gpu
        result = scoring.score(checks, assignment.ordered_parts(), without_gpu, assignment.bonus)
        return Verdict(
            student=self.student,
            assignment=assignment.name,
            sha256=submission.sha256 if isinstance(submission, Submission) else "",
            device=self.device_name(),
            parts=result.parts,
            checks=checks,
            total=result.total,
            points=result.points,
            points_judged=result.points_judged,
            summary=result.summary,
            versions=versions(),
            seed=self.seed,
            date=date_now(),
            bonus=result.bonus,
        )


def versions() -> dict[str, str]:
    """Versions that a score may depend on; an absent distribution is left out."""
    found = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
