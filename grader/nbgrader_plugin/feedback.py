"""Feedback for students: nbgrader's generate_feedback, with a page of this course's. nbgrader's process (trusted).

In: autograded/<student>/NN, the gradebook, the verdicts in results/NN.json. Out: feedback/<student>/NN, which holds
the page, timestamp.txt and submission_secret.txt.

nbgrader's own converter copies whatever lies in autograded/ and counts what was not judged as 0. Here it sees staged
folders with ordinary files that are known. Findings are shown at lines of the very kernels.py that they were made of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbgrader.utils
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback, NbGraderException
from nbgrader.preprocessors import GetGrades
from pydantic import ValidationError
from traitlets.config import Config

from grader.course import FILE_NAME, Course, load_course
from grader.gradebook import RESULTS, read_results
from grader.intake import CARRIED, MAX_CARRIED, NO_FILE, ordinary_bytes
from grader.late import MAX_TIMESTAMP, TIMESTAMP_FILE
from grader.nbgrader_plugin import feedback_page, feedback_state
from grader.nbgrader_plugin.generate import told
from grader.nbgrader_plugin.grade_rows import row_of
from grader.nbgrader_plugin.guard import CourseConverter, Guard
from grader.nbgrader_plugin.registered import tell_of_scores_above
from grader.nbgrader_plugin.workplace import attributes, student_folders, without_progress, working_in
from grader.notebook import MAX_NOTEBOOK_BYTES, SUFFIX
from grader.records import KERNELS_FILE, Failure, Verdict
from grader.reports.html import kernels_html
from grader.reports.view import findings_for_student, for_student
from grader.submission import MAX_BYTES, Submission, read_submission

TEMPLATE = "course_feedback"
TEMPLATES = Path(__file__).parent / "templates"
PAGES_END = b"</html>"  # of the template


def settings(c: Any) -> None:
    """Put what feedback needs into nbgrader's configuration ``c``."""
    c.GenerateFeedback.preprocessors = [Guard, ScoresForFeedback]


class CourseFeedback(CourseConverter, GenerateFeedback):
    """``nbgrader generate_feedback`` and Formgrader's button."""

    course: Course
    verdicts: dict[str, Verdict]
    _folders: dict[str, Path]  # of autograded/, by student
    _given: dict[str, bool]  # who has a page, and whether it is of this run

    def start(self) -> None:
        """Write the feedback of ``coursedir.assignment_id``. Raises NbGraderException; other students have theirs."""
        root = Path(self.coursedir.root).resolve()
        with told(self.log), working_in(root) as staged:
            self.course = load_course(root / FILE_NAME)
            name = self.course.assignment(self.coursedir.assignment_id).name
            self.verdicts = self._verdicts(root / RESULTS / f"{name}.json")
            self._folders, self._given = {}, {}
            refused = self._stage(name, staged / "autograded")
            c = Config()
            # Formgrader asks for nbgrader's template after it has made this converter.
            c.HTMLExporter.template_name = TEMPLATE
            c.HTMLExporter.extra_template_basedirs = [str(TEMPLATES)]
            self.update_config(c)
            folder = str((staged / "autograded").relative_to(root))
            with (
                attributes(self.coursedir, assignment_id=name, autograded_directory=folder),
                without_progress(self.log),
            ):
                super().start()
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
                tell_of_scores_above(gradebook, name, self.log)
            given = sum(self._given.values())
            self.log.info("%s: %d given feedback; %d had theirs before", name, given, len(self._given) - given)
            self._warn_of_others(name)
            if stale := feedback_state.outdated(self.coursedir, self.course, name):
                self.log.warning("%s: --force makes them anew", feedback_state.sentence(stale))
        if refused:
            raise NbGraderException("\n".join(refused))

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """As nbgrader's, which skips who has a folder: one that lacks a page was left by a run that was ended."""
        there = Path(self._format_dest(assignment_id, student_id))
        pages = [there / f"{Path(notebook).stem}{feedback_state.PAGE}" for notebook in self.notebooks]
        with attributes(self, force=self.force or not all(map(_is_whole, pages))):
            wanted: bool = super().init_destination(assignment_id, student_id)
        if wanted or there.is_dir():
            self._given[student_id] = wanted
        return wanted

    def _verdicts(self, file: Path) -> dict[str, Verdict]:
        """What students may see of results/NN.json, by student; nothing where there is none."""
        try:
            return {verdict.student: for_student(verdict) for verdict in read_results(file)}
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no file of results"
            self.log.warning("%s cannot be read: %s; kernels.py is shown without findings", file, why)
            return {}

    def _stage(self, name: str, staged: Path) -> list[str]:
        """Put each student's notebooks, timestamp and secret into ``staged``; sentences about what was refused."""
        refused = []
        for folder in student_folders(self.coursedir, self.coursedir.autograded_directory, name):
            self._folders[folder.parent.name] = folder
            into = staged / folder.parent.name / folder.name
            for path in sorted(folder.glob(f"*{SUFFIX}")):
                content = ordinary_bytes(path, MAX_NOTEBOOK_BYTES)
                if isinstance(content, Failure):
                    refused.append(f"{path}: {content.what}")
                else:
                    into.mkdir(parents=True, exist_ok=True)
                    (into / path.name).write_bytes(content)
            if not into.is_dir():
                refused.append(f"{folder}: there is no notebook to give feedback on: autograde it again")
            for file in CARRIED if into.is_dir() else ():
                content = ordinary_bytes(folder / file, MAX_CARRIED)
                if isinstance(content, bytes) and (file != TIMESTAMP_FILE or _names_a_moment(content)):
                    (into / file).write_bytes(content)
                elif isinstance(content, bytes) or content.kind != NO_FILE:
                    self.log.warning("%s is left out: it is not what nbgrader writes", folder / file)
        if not self._folders:
            where = self._format_source(name, self.coursedir.student_id)
            refused.append(f"{where}: there is nothing to give feedback on: autograde first")
        for sentence in refused:
            self.log.error("%s", sentence)
        if not staged.is_dir():
            raise NbGraderException("\n".join(refused))
        return refused

    def _warn_of_others(self, name: str) -> None:
        """Feedback that is kept may come from before this course's converter."""
        for folder in student_folders(self.coursedir, self.coursedir.feedback_directory, name):
            others = [
                p.name for p in sorted(folder.iterdir()) if p.suffix != feedback_state.PAGE and p.name not in CARRIED
            ]
            if others:
                self.log.warning(
                    "%s holds what is no feedback: %s; --force makes the folder anew", folder, ", ".join(others)
                )

    def folder_of(self, student: str) -> Path:
        """A student's folder in autograded/."""
        return self._folders[student]

    def judged(self, student: str) -> tuple[str, Verdict | None]:
        """The text of the autograded kernels.py, "" if there is none, and the verdict if it is of that text."""
        folder = self._folders[student]
        submission = read_submission(folder, student)
        verdict = self.verdicts.get(student)
        digest = submission.sha256 if isinstance(submission, Submission) else ""
        if verdict is not None and verdict.sha256 != digest:
            self.log.warning(
                "%s: %s is of another %s than the one that was autograded; autograde again for findings at its lines",
                student,
                RESULTS,
                KERNELS_FILE,
            )
            verdict = None
        content = ordinary_bytes(folder / KERNELS_FILE, MAX_BYTES)
        return ("" if isinstance(content, Failure) else content.decode("utf-8-sig", "replace")), verdict


def _is_whole(page: Path) -> bool:
    """Whether a page of feedback was written to its end."""
    content = ordinary_bytes(page, feedback_state.MAX_PAGE)
    return isinstance(content, bytes) and content.rstrip().endswith(PAGES_END)


def _names_a_moment(content: bytes) -> bool:
    """Whether nbgrader can read a timestamp.txt."""
    try:
        return len(content) <= MAX_TIMESTAMP and bool(nbgrader.utils.parse_utc(content.decode("utf-8").strip()))
    except (ValueError, OverflowError):
        return False


class ScoresForFeedback(GetGrades):
    """Puts a ``feedback_page.Page`` into the resources, as ``page``: all that the template shows."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook as it is. Raises nbgrader's MissingEntry for what has not been autograded."""
        known = resources["nbgrader"]
        converter = self.parent.parent
        name, student, notebook = known["assignment"], known["student"], known["notebook"]
        source, verdict = converter.judged(student)
        with Gradebook(known["db_url"], converter.coursedir.course_id) as gradebook:
            graded = gradebook.find_submission_notebook(notebook, name, student)
            grades = list(graded.grades)
            comments = {comment.name: comment.comment for comment in graded.comments}
            course = converter.course
            row = row_of(gradebook, course, name, student)
            table = feedback_page.lines(grades, verdict)
            title = course.assignment(name).title
            resources["page"] = feedback_page.Page(
                title=f"{name} {title}",
                student=" ".join(filter(None, (row.first_name, row.last_name))) or student,
                dates=feedback_page.dates(row, course.grading.late),
                score=feedback_page.OPEN if row.score is None else feedback_page.figure(row.score),
                points=feedback_page.figure(row.max_score),
                says=feedback_page.says(row, table, grades, course.grading.late),
                lines=tuple(table[cell] for cell in _in_order(nb, table)),
                reports=feedback_page.reports(nb, table, verdict),
                answers=feedback_page.answers(nb, table, comments, verdict),
                kernels_html=kernels_html(source, findings_for_student(verdict) if verdict is not None else ()),
                with_findings=verdict is not None,
                state=feedback_state.digest(gradebook, course, name, student, converter.folder_of(student)),
            )
        return nb, resources


def _in_order(nb: Any, table: Any) -> list[str]:
    """The names of ``table`` in the notebook's order; what the notebook does not have comes last."""
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells]
    return [*(name for name in names if name in table), *(name for name in table if name not in names)]
