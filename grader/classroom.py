"""Many submissions, judged by workers of an Executor. Trusted process; each worker is one, too.

In: folders of submissions and a function that judges one. Out: one Verdict each, in the students' order. A
worker that dies, or a fault of ours, costs one submission its verdict ("not judged") and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from grader.course import Assignment
from grader.device_names import DeviceName
from grader.dry_run import DryRunOf
from grader.errors import CourseError, Fault, GraderError
from grader.judge import RACES_LATER
from grader.late import not_due
from grader.records import NOTHING_HANDED_IN, CheckResult, PartScore, State, Verdict, date_now
from grader.sandbox.levels import LEVELS, SandboxLevel
from grader.scoring import score, settled
from grader.submission import not_collected
from grader.worker_pool import WorkerPool

Judge = Callable[["Task"], Verdict]
Progress = Callable[[int, int, Verdict], None]
MakeExecutor = Callable[[int], Executor]
WithoutGpu = Literal["wait", "scale"]


@dataclass(frozen=True)
class Task:
    """One submission to judge: by which checks, for whom, on which device. Travels to a worker.

    ``lint``: the seed of all that one lint judges, which may share what they come to. A student's is None: a secret one
    of its own, and everything judged anew. ``races``: with the other checks, left for later, or the speed checks alone,
    with the ``seed`` that the others had. ``dry_run`` is lint's, too: see ``dry_run.DryRun``, which looks at problem.py
    or at "kernels" alone. ``sandbox``: the least level of what judges it; a worker's machine may reach another than
    that of who sent it, or not at all times the same.
    """

    checks: Path
    submission: Path
    student: str
    device: DeviceName
    lint: int | None = None
    seed: int | None = None
    races: Literal["now", "later", "alone"] = "now"
    dry_run: DryRunOf | Literal[""] = ""
    sandbox: SandboxLevel = LEVELS[0]


def grade(
    tasks: Sequence[Task],
    assignment: Assignment,
    judge: Judge,
    *,
    workers: int,
    progress: Progress = lambda done, of, verdict: None,
    make_executor: MakeExecutor = WorkerPool,
    without_gpu: WithoutGpu = "wait",
) -> tuple[Verdict, ...]:
    """One verdict per task, in the order of ``tasks``. ``progress(done, of, verdict)`` follows each.

    Where several workers share a GPU, races come last and one at a time: others would slow down the GPU, and the CPU
    baseline. Their verdicts are told of again, then.

    Raises CourseError if ``judge`` does, since that is the same for everyone; Fault if no worker starts.
    """
    if workers > 1:
        later = [replace(task, races="later") for task in tasks]
        verdicts = list(_grade(later, assignment, judge, workers, progress, make_executor))
        waiting = [index for index, verdict in enumerate(verdicts) if any(map(_waits_to_race, verdict.checks))]
        alone = [replace(tasks[index], races="alone", seed=verdicts[index].seed) for index in waiting]
        told = dict(zip((task.student for task in alone), waiting, strict=True))

        def show(done: int, of: int, raced: Verdict) -> None:
            index = told[raced.student]
            verdicts[index] = _with_races(verdicts[index], raced, assignment, without_gpu)
            progress(done, of, verdicts[index])

        _grade(alone, assignment, judge, 1, show, make_executor)
        return tuple(verdicts)
    return _grade(tasks, assignment, judge, workers, progress, make_executor)


def _waits_to_race(check: CheckResult) -> bool:
    return check.state is State.NOT_MEASURED and check.reason == RACES_LATER


def _with_races(verdict: Verdict, raced: Verdict, assignment: Assignment, without_gpu: WithoutGpu) -> Verdict:
    """A verdict whose races were left for later, with what they came to; they are not judged where nothing came."""
    found = {(check.name, check.hidden): check for check in raced.checks}
    merged = [
        found.get((check.name, check.hidden)) or replace(check, state=State.NOT_JUDGED, reason=raced.summary)
        if _waits_to_race(check)
        else check
        for check in verdict.checks
    ]
    checks = settled(merged)
    result = score(checks, assignment.ordered_parts(), without_gpu, assignment.bonus)
    return replace(
        verdict,
        checks=checks,
        parts=result.parts,
        total=result.total,
        points_judged=result.points_judged,
        summary=result.summary,
        bonus=result.bonus,
    )


def _grade(
    tasks: Sequence[Task],
    assignment: Assignment,
    judge: Judge,
    workers: int,
    progress: Progress,
    make_executor: MakeExecutor,
) -> tuple[Verdict, ...]:
    """As ``grade``, in one go."""
    run = _Run(tasks, assignment, judge, make_executor, progress)
    for index, task in enumerate(tasks):
        if why := not_collected(task.submission):
            run.finish(index, not_judged(task, assignment, why))
    while waiting := run.waiting():
        suspects = run.work_through(waiting, workers)
        # A worker died and took the executor with it. Whoever was in it then is judged alone, so that the
        # one who does it again is known and the others have their verdict.
        for index in suspects:
            if run.work_through([index], 1):
                run.finish(index, not_judged(tasks[index], assignment, "a worker process of the grader died"))
        if run.waiting() == waiting:
            raise Fault("no worker process of the grader can be started")
    return tuple(run.done[index] for index in range(len(tasks)))


@dataclass
class _Run:
    """One call of ``grade``: what is given, and the verdicts so far by the tasks' indices."""

    tasks: Sequence[Task]
    assignment: Assignment
    judge: Judge
    make_executor: MakeExecutor
    progress: Progress
    done: dict[int, Verdict] = field(default_factory=dict)

    def waiting(self) -> list[int]:
        return [index for index in range(len(self.tasks)) if index not in self.done]

    def finish(self, index: int, verdict: Verdict) -> None:
        self.done[index] = verdict
        self.progress(len(self.done), len(self.tasks), verdict)

    def work_through(self, indices: Sequence[int], workers: int) -> list[int]:
        """Judge ``indices`` until all are finished or the executor breaks; then those that were in it."""
        running: dict[Future[Verdict], int] = {}
        queue = list(reversed(indices))
        with self.make_executor(workers) as executor:
            try:
                while queue or running:
                    while queue and len(running) < workers:
                        index = queue.pop()
                        running[executor.submit(self.judge, self.tasks[index])] = index
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        if not isinstance(future.exception(), BrokenExecutor):
                            index = running.pop(future)
                            self.finish(index, self._verdict(future, index))
                    if any(future.done() for future in running):
                        break
            except BrokenExecutor:
                pass  # from submit: the executor broke between two submissions
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)
                raise
        return list(running.values())

    def _verdict(self, future: Future[Verdict], index: int) -> Verdict:
        try:
            return future.result()
        except CourseError:
            raise
        except GraderError as error:
            return not_judged(self.tasks[index], self.assignment, str(error))
        except Exception as error:
            return not_judged(self.tasks[index], self.assignment, f"{type(error).__name__}: {error}")


def not_judged(task: Task, assignment: Assignment, reason: str) -> Verdict:
    """The verdict of a submission that the grader failed to judge: no points lost, none given."""
    return replace(_of_nothing(task.student, assignment, f"not judged: {reason}", judged=False), device=task.device)


def nothing_handed_in(student: str, assignment: Assignment, now: datetime) -> Verdict:
    """The verdict of a student without a submission: no check to judge, and 0 points, open until it is due."""
    until = not_due(assignment.due_for(student), now)
    summary = f"{NOTHING_HANDED_IN}, {until}" if until else NOTHING_HANDED_IN
    return replace(_of_nothing(student, assignment, summary, judged=not until), handed_in=False)


def _of_nothing(student: str, assignment: Assignment, summary: str, *, judged: bool) -> Verdict:
    """A verdict without checks, whose points are all open, or all ``judged`` and not earned."""
    parts = assignment.ordered_parts()
    return Verdict(
        student=student,
        assignment=assignment.name,
        sha256="",
        device="",
        parts=tuple(PartScore(part, points, points if judged else 0.0, 0.0) for part, points in parts.items()),
        checks=(),
        total=0.0 if judged else None,
        points=assignment.points,
        points_judged=assignment.points if judged else 0.0,
        summary=summary,
        date=date_now(),
    )


def by_student(*groups: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """All verdicts in the students' order, which is that of ``class_folder.submissions``."""
    return tuple(sorted((verdict for group in groups for verdict in group), key=lambda verdict: verdict.student))
