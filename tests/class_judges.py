"""Judges for tests of grading a class, in a module of their own so that worker processes can import them."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

from grader.classroom import Task
from grader.course import course_of
from grader.errors import CourseError, DeviceFault
from grader.judge import RACES_LATER
from grader.quiz_folder import quiz_checks
from grader.records import CheckResult, Failure, PartScore, State, Verdict
from grader.scoring import score
from grader.submission import Submission, read_submission


def full_marks(task: Task) -> Verdict:
    """A verdict that remembers which process gave it."""
    check = CheckResult("test_a", "correctness", 1.0, "It is right.", False, True, credit=1.0)
    parts = (PartScore("correctness", 100.0, 100.0, 100.0),)
    return Verdict(task.student, "01", str(os.getpid()), "simulated", parts, (check,), 100.0, 100.0, 100.0, "passed.")


def by_name(task: Task) -> Verdict:
    """Does what the student's name says."""
    if "dies" in task.student:
        os.kill(os.getpid(), signal.SIGKILL)
    if "once" in task.student:
        mark = Path(task.submission).with_suffix(".seen")
        if not mark.exists():
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
    if "fault" in task.student:
        raise DeviceFault("the GPU fell off the bus")
    if "bug" in task.student:
        raise KeyError("a bug")
    if "course" in task.student:
        raise CourseError("course.yml:1: unknown key")
    if "slow" in task.student:
        time.sleep(1)
    return full_marks(task)


TINY_CHECKS = {
    "test_doubles[1]": "correctness",
    "test_doubles[33]": "correctness",
    "test_reads_once": "technique",
    "test_odd_sizes[1023]": "correctness",
    "test_minimum_speedup": "speed",
}


def by_text(task: Task) -> Verdict:
    """Judges the tiny course's submissions by what their kernels.py says of itself: ``# fails: test_doubles``."""
    text = (task.submission / "kernels.py").read_text(encoding="utf-8")
    words = set(re.findall(r"# fails: (.*)", text)[0].split()) if "# fails:" in text else set()
    if "YOUR CODE HERE" in text or "def nothing" in text or "np.ones" in text:
        words |= {name.partition("[")[0] for name in TINY_CHECKS}
    checks = tuple(check_of(name, part, words) for name, part in TINY_CHECKS.items())
    if task.dry_run:
        figures = {"dry_races": 1, "dry_outputs": 1 << 20, "dry_sampled": 1 << 20, "dry_smaller_sizes": 0}
        speed = replace(checks[-1], passed=True, state=State.JUDGED, measured=figures)
        checks = (*checks[:-1], speed if task.dry_run == "problem" else replace(speed, measured={"dry_races": 1}))
    return Verdict(task.student, "01", "", "simulated", (), checks, None, 100.0, 80.0, "")


def check_of(name: str, part: str, words: set[str]) -> CheckResult:
    """A check of the tiny course that fails if ``words`` names it."""
    if part == "speed":
        return CheckResult(name, part, 1.0, "Fast.", False, None, State.NOT_MEASURED, reason="no GPU")
    if "fault" in words:
        return CheckResult(name, part, 1.0, "Right.", False, None, State.NOT_JUDGED, reason="the GPU died")
    failed = bool({name, name.partition("[")[0]} & words)
    failure = Failure("wrong-values", "out[0] is wrong.") if failed else None
    return CheckResult(name, part, 1.0, "Right.", False, not failed, credit=float(not failed), failure=failure)


def told_the_level(task: Task) -> Verdict:
    """As ``by_text``; the summary says which level of the sandbox is demanded."""
    return replace(by_text(task), summary=f"judged at the level {task.sandbox!r} or a stronger one")


def scored(task: Task) -> Verdict:
    """As ``by_text``, with quiz and points. FAKE_GPU is the credit for speed, half of it the bonus's."""
    found = read_submission(task.submission)
    source = found.source.decode() if isinstance(found, Submission) else ""
    told = re.findall(r"# fails: (.*)", source)
    words = set(told[0].split()) if told else set()
    if not source:
        words = {name.partition("[")[0] for name in TINY_CHECKS}
    checks = [check_of(name, part, words) for name, part in TINY_CHECKS.items()]
    credit = float(os.environ.get("FAKE_GPU", "nan"))
    if credit == credit or "test_minimum_speedup" in words:
        failed = "test_minimum_speedup" in words
        earned = {"credit": credit, "bonus_credit": credit / 2}
        checks[-1] = replace(
            checks[-1],
            state=State.JUDGED,
            reason="",
            passed=not failed,
            credit=0.0 if failed else credit,
            measured={} if failed else earned,
        )
    else:
        checks[-1] = replace(checks[-1], needs_gpu=True)
    course, assignment = course_of(task.checks)
    if "quiz" in assignment.parts:
        checks += quiz_checks(task.checks, task.submission)
    made = score(checks, assignment.ordered_parts(), course.grading.without_gpu, assignment.bonus)
    sha256 = found.sha256 if isinstance(found, Submission) else ""
    points = (made.total, made.points, made.points_judged, made.summary)
    verdict = Verdict(task.student, "01", sha256, "simulated", made.parts, tuple(checks), *points, seed=7)
    return replace(verdict, bonus=made.bonus)


def anew(task: Task) -> Verdict:
    """The real judge, for a lint in which nothing is shared."""
    from grader.judging import judge_task

    return judge_task(replace(task, lint=None))


def races_apart(task: Task) -> Verdict:
    """Leaves races for later where it is asked to, and then runs them; the student's name says how they end."""
    right = CheckResult("test_a", "correctness", 1.0, "It is right.", False, True, credit=1.0)
    slow = CheckResult("test_fast", "speed", 1.0, "It is fast.", False, True, credit=0.5)
    later = replace(slow, passed=None, state=State.NOT_MEASURED, credit=0.0, reason=RACES_LATER)
    if task.races == "alone":
        if "dies" in task.student:
            os.kill(os.getpid(), signal.SIGKILL)
        with (task.submission.parent / "races").open("a") as file:
            file.write(f"{os.getpid()} {task.student} {task.seed} begins\n")
            file.flush()
            time.sleep(0.2)
            file.write(f"{os.getpid()} {task.student} {task.seed} ends\n")
        checks = (slow,)
    else:
        checks = (right, later if task.races == "later" else slow)
    return Verdict(task.student, "01", "", "cuda", (), checks, None, 100.0, 0.0, "", seed=7)
