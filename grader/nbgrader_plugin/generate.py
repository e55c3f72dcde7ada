"""Students' notebooks from solutions/NN, and nbgrader's generate_assignment. nbgrader's process (trusted).

In: solutions/NN/*.ipynb and course.yml. Out: the released notebooks as text, the gradebook's assignment and cells, and
assignments/NN, which ``grader.release`` builds, searches and swaps in.

nbgrader's own converter copies every file beside the notebooks and skips or deletes what is there. Here it sees a
folder with the notebooks and nothing else, and writes into a new one. The first conversion writes nothing to the
gradebook: a notebook that cannot be released must not change it.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from nbgrader.converters import GenerateAssignment, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import SaveCells
from traitlets.config import Config

from grader import quiz_folder
from grader.course import FILE_NAME, Course, load_course
from grader.errors import GraderError, ReleaseError, UsageError
from grader.nbgrader_plugin import registered
from grader.nbgrader_plugin.guard import CourseConverter, Guard
from grader.nbgrader_plugin.workplace import tells_all, working_in
from grader.notebook import SUFFIX
from grader.notebook_points import with_points
from grader.release import SOLUTIONS, build, release

# nbgrader's words where a gradebook with submissions has other cells.
OTHER_CELLS = ("Cannot add or remove cells", "Cannot modify existing assignment")
# nbgrader's default raises NotImplementedError, which would end "Run all cells" at the first question.
ANSWER_STUB = "# write your answer in place of the dots"


def settings(c: Any) -> None:
    """Put what generating needs into nbgrader's configuration ``c``."""
    own = [step for step in GenerateAssignment().preprocessors if step is not Guard]
    c.GenerateAssignment.preprocessors = [Guard, *own]
    c.ClearSolutions.code_stub = {"python": ANSWER_STUB}


class _Convert(CourseConverter, GenerateAssignment):
    """nbgrader's converter, for staged folders. ``why`` is the sentence of the exception that ended it, if one did."""

    why = ""

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """As nbgrader's, which opens the gradebook here; nbgrader itself only logs exceptions."""
        with self._noting(""):
            super().init_assignment(assignment_id, student_id)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Convert one."""
        with self._noting(f"{Path(notebook_filename).name}: "):
            super().convert_single_notebook(notebook_filename)

    @contextlib.contextmanager
    def _noting(self, where: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.why = f"{where}{next(iter(str(error).splitlines()), type(error).__name__)}"
            raise


def _convert(staged: Path, root: Path, course: Course, name: str, parent: Any, **options: Any) -> dict[str, str]:
    """Convert the notebooks of solutions/NN by way of ``staged``, a folder in ``root``. Their names → texts.

    ``options``: of nbgrader's converter, and the gradebook's ``db_url``. Raises NbGraderException.
    """
    source, done = staged / "source" / name, staged / "release"
    source.mkdir(parents=True)
    found = quiz_folder.notebooks(course.file.parent / SOLUTIONS / name)
    if not found:
        return {}
    for path in found:
        # Bytes that are no text stay what they are, for nbgrader to say so.
        text, _ = with_points(
            path.read_text(encoding="utf-8", errors="surrogateescape"), course.assignment(name).ordered_parts()
        )
        (source / path.name).write_text(text, encoding="utf-8", errors="surrogateescape")
    coursedir = CourseDirectory(
        root=str(root),
        course_id=course.course.id,
        db_url=options.pop("db_url", ""),
        assignment_id=name,
        source_directory=str(source.parent.relative_to(root)),
        release_directory=str(done.relative_to(root)),
    )
    first = options.get("no_database", False)
    if parent is not None:
        converter = _Convert(coursedir=coursedir, parent=parent, log=_quiet(parent.log if first else None))
    else:
        converter = _Convert(coursedir=coursedir, config=_own_config(), log=_quiet())
    for option, value in options.items():
        setattr(converter, option, value)
    if converter.no_database:
        converter.preprocessors = [step for step in converter.preprocessors if step is not SaveCells]
    try:
        converter.start()
    except NbGraderException as error:
        raise NbGraderException(converter.why or str(error)) from error
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((done / name).glob(f"*{SUFFIX}"))}


def _own_config() -> Config:
    c = Config()
    settings(c)
    return c


def _quiet(log: Any = None) -> logging.Logger:
    """A log for nbgrader's converter, which tells of folders that are gone, and of errors by tracebacks.

    An error's sentence says it all; warnings go on to ``log``, if there is one, and with --debug everything.
    """
    quiet = logging.Logger("grader.notebooks")
    quiet.addHandler(logging.NullHandler() if log is None else _Warnings(log))
    return quiet


class _Warnings(logging.Handler):
    """Hands warnings on to ``log``, and all the rest only where that tells all."""

    def __init__(self, log: Any) -> None:
        super().__init__()
        self.log = log

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING or tells_all(self.log):
            self.log.log(record.levelno, "%s", record.getMessage())


def require_notebooks(course: Course, name: str) -> None:
    """Raises UsageError where nbgrader would get an assignment into its gradebook that it can never grade."""
    folder = course.file.parent / SOLUTIONS / name
    if not quiz_folder.notebooks(folder):
        raise UsageError(
            f"expected a notebook {folder}/*.ipynb with a cell for each part, found none: nbgrader hands out and "
            "grades notebooks; `grader release` and `grader grade` need none"
        )


def notebooks(course: Course, name: str, parent: Any = None) -> dict[str, str]:
    """The notebooks that students get: name → text. Nothing is written: no gradebook, no release.

    ``parent`` has nbgrader's configuration, if this happens inside of nbgrader. Raises ReleaseError.
    """
    name = course.assignment(name).name
    with tempfile.TemporaryDirectory(prefix="grader-notebooks-") as folder:
        root = Path(folder).resolve()
        try:
            return _convert(root / "staged", root, course, name, parent, no_database=True)
        except NbGraderException as error:
            where = course.file.parent / SOLUTIONS / name
            raise ReleaseError(f"{where}: nbgrader could not convert its notebooks: {error}") from error


def releasable(course: Course, name: str, parent: Any) -> dict[str, str]:
    """The released notebooks, searched: name → text. Raises ReleaseError, UsageError."""
    require_notebooks(course, name)
    made = notebooks(course, name, parent)
    build(course, name, made)  # nothing is registered that could not be released
    return made


def register(course: Course, name: str, coursedir: Any, parent: Any, staged: Path, anew: Collection[str] = ()) -> None:
    """Put assignment, due date and cells into the gradebook of ``coursedir``, of notebooks that are ``releasable``.

    A line tells who was judged by other points, but for those who are about to be judged ``anew``.
    To be called inside of ``workplace.working_in``, whose folder ``staged`` is. Raises ReleaseError, UsageError.
    """
    assignment = course.assignment(name)
    root = Path(coursedir.root).resolve()
    with registered.opened(coursedir) as gradebook:
        before = registered.points_of(gradebook, assignment.name)
    folder = staged / "generate"
    try:
        _convert(
            folder, root, course, assignment.name, parent, db_url=coursedir.db_url, create_assignment=True, force=True
        )
    except NbGraderException as error:
        if not any(sentence in str(error) for sentence in OTHER_CELLS):
            raise ReleaseError(f"the gradebook cannot be used, and is as it was: {error}") from error
        raise ReleaseError(
            f"the gradebook does not take these cells of {assignment.name}: {error}\n"
            "With submissions in the gradebook, graded cells can be neither added nor removed: leave them as they "
            f"were, or begin anew with `nbgrader db assignment remove {assignment.name} --force`, "
            "which forgets the assignment's grades."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    with registered.opened(coursedir) as gradebook:
        registered.set_due(gradebook, assignment, parent.log)
        registered.tell_of_points(gradebook, assignment.name, before, parent.log, anew)


@contextlib.contextmanager
def told(log: Any) -> Iterator[None]:
    """Errors of the course become nbgrader's, with their sentence in its log: exit code 1, or ``success: False``."""
    try:
        yield
    except GraderError as error:
        log.error("%s", error)
        raise NbGraderException(str(error)) from error


def _named(course: Course, wanted: str) -> str:
    """The assignment's name. Raises UsageError for one of Formgrader's "Add new assignment" that course.yml lacks."""
    try:
        return course.assignment(wanted).name
    except UsageError as error:
        raise UsageError(
            f"{error}. A new one begins with a section {wanted!r} in {course.file} and files in {SOLUTIONS}/{wanted}"
        ) from error


class CourseGenerate(CourseConverter, GenerateAssignment):
    """``nbgrader generate_assignment`` and Formgrader's button: what ``grader release`` does, and the gradebook."""

    def start(self) -> None:
        """Release ``coursedir.assignment_id``. Raises NbGraderException; then the release is as it was."""
        root = Path(self.coursedir.root).resolve()
        with told(self.log), working_in(root) as staged:
            course = load_course(root / FILE_NAME)
            name = _named(course, self.coursedir.assignment_id)
            require_notebooks(course, name)
            if self.no_database:
                made = notebooks(course, name, self)
            else:
                made = releasable(course, name, self)
                register(course, name, self.coursedir, self, staged)
                with registered.opened(self.coursedir) as gradebook:
                    registered.tell_of_scores_above(gradebook, name, self.log)
            done = release(course, name, made)
            self.log.info("%s: %s", done.folder, ", ".join(done.changed) or "nothing changed")
            for sentence in done.points:
                self.log.info("%s", sentence)
            for file in done.kept:
                self.log.warning("%s: kept %s, which has been edited; remove it to get the new one", done.folder, file)
