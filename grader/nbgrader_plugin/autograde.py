"""nbgrader's autograde: the class is judged by our judge, and nbgrader's converter puts it into the gradebook.

nbgrader's process (trusted). In: submitted/<student>/NN, solutions/NN, course.yml. Out: autograded/<student>/NN, the
gradebook, results/NN.json and .csv.

Three steps. Assignment and cells go into the gradebook, so that the first autograde on a fresh clone works. Submissions
are judged, as by ``grader grade``, while nothing is locked: that may take its time. Then nbgrader's own converter works
on folders that ``staging`` has made, and finds verdicts where it would have run notebooks.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, NbGraderException
from traitlets import Enum, Integer

from grader import classroom
from grader.class_baselines import differing_baselines
from grader.class_folder import submissions, timestamp_of
from grader.class_sandbox import require_sandbox
from grader.course import FILE_NAME, Assignment, Course, load_course
from grader.errors import UsageError
from grader.export import rows_of
from grader.export_notes import notes
from grader.gradebook import RESULTS, known_results, merge_results
from grader.late import TIMESTAMP_FILE, with_penalty
from grader.nbgrader_plugin import bonuses
from grader.nbgrader_plugin.autograde_steps import require_judge
from grader.nbgrader_plugin.autograded import has_other_points, why_due
from grader.nbgrader_plugin.generate import register, releasable, told
from grader.nbgrader_plugin.guard import CourseConverter
from grader.nbgrader_plugin.open_scores import extension_of, open_all, waiting_among
from grader.nbgrader_plugin.refused import tell_again, why_refused
from grader.nbgrader_plugin.registered import opened, points_of, set_due, tell_of_scores_above
from grader.nbgrader_plugin.run_summary import of_late, of_skipped, summary
from grader.nbgrader_plugin.staging import Staged, stage_submission
from grader.nbgrader_plugin.workplace import attributes, without_lateness, without_progress, working_in
from grader.records import KERNELS_FILE, Verdict
from grader.release import SOLUTIONS
from grader.reports.check_functions import total_text

NONE: frozenset[float] = frozenset()


class CourseAutograde(CourseConverter, Autograde):
    """``nbgrader autograde`` and Formgrader's button. ``verdicts`` are those of this run, by student."""

    workers = Integer(os.cpu_count() or 1, min=1, help="Submissions that are judged at the same time.").tag(config=True)
    device = Enum(("auto", "simulated", "cuda"), "auto", help="Where kernels run; see `grader grade`.").tag(config=True)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.verdicts: dict[str, Verdict] = {}
        self.kernels: dict[str, bytes] = {}
        self.given: dict[str, frozenset[float]] = {}  # see ``bonuses``
        self.giving: dict[str, frozenset[float]] = {}
        self.late_seconds: dict[str, float] = {}  # of those whose extension is course.yml's; for ``LatePenalty``

    def start(self) -> None:
        """Autograde ``coursedir.assignment_id``, of the students of ``coursedir.student_id``.

        Raises NbGraderException, also where only some could be graded.
        """
        root = Path(self.coursedir.root).resolve()
        with told(self.log):
            require_judge(self.sanitize_preprocessors, self.autograde_preprocessors)
            course = load_course(root / FILE_NAME)
            if weaker := require_sandbox(course):
                self.log.warning("%s", weaker)
            assignment = course.assignment(self.coursedir.assignment_id)
            handed_in, refused = self._handed_in(root, assignment.name)
            if not handed_in:
                raise NbGraderException("\n".join(refused.values()))
            with working_in(root) as staged:
                templates = releasable(course, assignment.name, self)
                due = {s: f for s, f in handed_in.items() if self._is_due(s, f, assignment.name, templates)}
                skipped = sorted(handed_in.keys() - due.keys())
                with opened(self.coursedir) as gradebook:
                    known = bool(points_of(gradebook, assignment.name))
                    if known and not due:  # nobody's score would be of new points
                        set_due(gradebook, assignment, self.log)
                if due or not known:
                    register(course, assignment.name, self.coursedir, self, staged, anew=due)
                with self._gradebook() as gradebook:
                    waiting = waiting_among(gradebook, assignment.name, skipped)
                places = {student: Path(self._format_dest(assignment.name, student)) for student in skipped}
                others = [student for student, there in places.items() if has_other_points(there, templates)]
            for sentence in of_skipped(waiting, others, scales=course.grading.without_gpu == "scale"):
                self.log.warning("%s", sentence)
            judged = self._judged(course, assignment, due)
            try:
                if due:
                    with working_in(root) as staged:
                        self._convert(course, assignment, due, judged, templates, staged)
            finally:
                self._sum_up(course, assignment, due, refused, skipped)
                tell_again(refused, self.log)
        if refused:
            raise NbGraderException("\n".join(refused.values()))

    # ------------------------------------------------------------------ whose submissions

    def _handed_in(self, root: Path, name: str) -> tuple[dict[str, Path], dict[str, str]]:
        """Submissions by student, and why some are refused, by student, too. Raises UsageError if there are none."""
        folder = root / self.coursedir.submitted_directory
        wanted, excluded = self.coursedir.student_id, self.coursedir.student_id_exclude.split(",")
        found = submissions(folder, name)[0] if folder.is_dir() else {}
        found = {s: f for s, f in found.items() if (s == wanted or fnmatchcase(s, wanted)) and s not in excluded}
        if not found:
            raise UsageError(f"expected submissions {folder}/<student>/{name} of {wanted!r}, found none")
        refused = {s: why for s, place in found.items() if (why := why_refused(s, place)) is not None}
        for sentence in refused.values():
            self.log.error("%s", sentence)
        return {student: place for student, place in found.items() if student not in refused}, refused

    def _is_due(self, student: str, folder: Path, name: str, templates: Mapping[str, str]) -> bool:
        """Whether it is to be autograded: asked for by force, not done or half done, or handed in again."""
        if self.force or self.coursedir.notebook_id != "*":
            return True
        there = Path(self._format_dest(name, student))
        why = why_due(folder, there, templates)
        self.log.info("%s: %s", there, why or "Skipping existing assignment")
        return bool(why)

    def _sum_up(
        self,
        course: Course,
        assignment: Assignment,
        due: Iterable[str],
        refused: Collection[str],
        skipped: Collection[str],
    ) -> None:
        """Say what has become of everybody; nbgrader takes away the folder of a submission that failed."""
        name = assignment.name
        graded = [student for student in due if Path(self._format_dest(name, student)).exists()]
        failed = [student for student in due if student not in graded]
        with self._gradebook() as gradebook:
            waiting = waiting_among(gradebook, name, graded)
            tell_of_scores_above(gradebook, name, self.log)
        open_ones = [self.verdicts[student] for student in waiting if student in self.verdicts]
        for line in notes(rows_of(open_ones, assignment, course.grading.late, datetime.now(UTC))):
            self.log.info("%s", line)
        self.log.info("%s", summary(name, graded, waiting, failed, refused, skipped))

    def _gradebook(self) -> Any:
        return Gradebook(self.coursedir.db_url, self.coursedir.course_id)

    # ------------------------------------------------------------------ judging

    def _judged(self, course: Course, assignment: Assignment, due: Mapping[str, Path]) -> tuple[Verdict, ...]:
        from grader.judging import judge_task, require_device_once

        if not due:
            return ()
        require_device_once(self.device)
        checks = course.file.parent / SOLUTIONS / assignment.name
        least = course.grading.sandbox
        tasks = [classroom.Task(checks, folder, s, self.device, sandbox=least) for s, folder in due.items()]

        def progress(done: int, of: int, verdict: Verdict) -> None:
            points = total_text(verdict)
            self.log.info("judged %d of %d: %s: %s: %s", done, of, verdict.student, points, verdict.summary)

        return classroom.grade(
            tasks,
            assignment,
            judge_task,
            workers=min(self.workers, len(tasks)),
            progress=progress,
            without_gpu=course.grading.without_gpu,
        )

    def _write_results(self, course: Course, assignment: Assignment, due: Mapping[str, Path]) -> None:
        """results/NN.json has what the gradebook has no place for: each check, the seed, what hidden checks saw."""
        verdicts = []
        with self._gradebook() as gradebook:
            for student, verdict in self.verdicts.items():
                moment = timestamp_of(due[student])
                due_at, extension = assignment.due_for(student), timedelta()
                if student not in assignment.extensions:
                    extension = extension_of(gradebook, assignment.name, student) or timedelta()
                verdicts.append(with_penalty(verdict, course.grading.late, due_at, moment, extension))
        self.late_seconds = {v.student: v.late_seconds for v in verdicts if v.student in assignment.extensions}
        for sentence in of_late(verdicts):
            self.log.info("%s", sentence)
        folder = course.file.parent / RESULTS
        try:
            self.given = dict(bonuses.given(folder, assignment.name))
            self.giving = {v.student: frozenset((v.bonus,)) for v in verdicts if v.bonus}
            # A run that is killed has left the old one in the gradebook, or the new one.
            both = {s: self.given.get(s, NONE) | self.giving.get(s, NONE) for s in {*self.given, *self.giving}}
            bonuses.note(folder, assignment.name, both)
            merge_results(folder, assignment.name, verdicts)
            for line in differing_baselines((known_results(folder, assignment.name) or {}).values()):
                self.log.warning("%s", line)
        except OSError as error:
            self.log.error("no results can be written to %s: %s", folder, error)

    # ------------------------------------------------------------------ into the gradebook

    def _convert(
        self,
        course: Course,
        assignment: Assignment,
        due: Mapping[str, Path],
        judged: tuple[Verdict, ...],
        templates: Mapping[str, str],
        staged: Path,
    ) -> None:
        root = Path(self.coursedir.root).resolve()
        submitted, nothing = staged / "submitted", staged / "nothing"
        nothing.mkdir()
        self.verdicts, self.kernels = {}, {}
        for verdict in judged:
            student = verdict.student
            place = submitted / student / assignment.name
            made = stage_submission(due[student], place, templates)
            for sentence in made.told:
                self.log.warning("%s: %s", student, sentence)
            self.verdicts[student] = of_these_bytes(verdict, made, assignment)
            if made.sha256:
                self.kernels[student] = (place / KERNELS_FILE).read_bytes()
        self._write_results(course, assignment, due)
        with (
            attributes(
                self.coursedir,
                assignment_id=assignment.name,
                submitted_directory=str(submitted.relative_to(root)),
                source_directory=str(nothing.relative_to(root)),
            ),
            attributes(self, force=True),
            without_progress(self.log),
            without_lateness(self.log),
        ):
            super().start()
        done = {student: self.giving.get(student, NONE) for student in self.verdicts}
        with contextlib.suppress(OSError):  # that nothing can be written there has been said
            bonuses.note(course.file.parent / RESULTS, assignment.name, {**self.given, **done})

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """As nbgrader's; then every score is open: should anything fail from here on, none is left at 0."""
        super().init_assignment(assignment_id, student_id)
        dated = (Path(self._format_source(assignment_id, student_id)) / TIMESTAMP_FILE).exists()
        with self._gradebook() as gradebook:
            given = self.given.get(student_id, NONE)
            open_all(gradebook, assignment_id, student_id, with_timestamp=dated, given=given)


def of_these_bytes(verdict: Verdict, made: Staged, assignment: Assignment) -> Verdict:
    """``verdict``, unless it is one of another kernels.py than the one that was staged afterwards: then not judged."""
    if not verdict.sha256 or not made.sha256 or verdict.sha256 == made.sha256:
        return verdict
    task = classroom.Task(Path(), Path(), verdict.student, "auto")
    return classroom.not_judged(task, assignment, "kernels.py was exchanged while it was being judged")
