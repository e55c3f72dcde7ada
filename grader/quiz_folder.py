"""The quiz of a folder of checks, for one submission: notebooks in, CheckResults of part ``quiz`` out. Trusted process.

In: the folder of checks, whose notebook has the key (solutions/NN) or has not (a released one), and the submission's
folder. Out: a check for each question, judged only where the key is. No notebook is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.assignment_folder import HIDDEN_FILE
from grader.errors import AuthoringError
from grader.intake import NO_FILE, ordinary_bytes
from grader.notebook import (
    CLEAR_OUTPUTS,
    MAX_NOTEBOOK_BYTES,
    SOLUTION_BEGIN,
    SUFFIX,
    Cell,
    NotebookError,
    read_cells,
    sources,
)
from grader.quiz import judge, not_passed, waiting
from grader.quiz_keys import Question, asked, questions
from grader.records import QUIZ, CheckResult, Failure, State


@dataclass(frozen=True)
class _Notebook:
    name: str
    cells: tuple[Cell, ...]


def quiz_checks(folder: Path, submission: Path) -> tuple[CheckResult, ...]:
    """A check for each question that the notebooks of ``folder`` ask, answered in ``submission``'s. Raises nothing.

    An author's mistake is one check that is not judged: hidden, since what is wrong with a key may show it.
    """
    found = [_read(path) for path in notebooks(folder)]
    if not _has_keys(folder, [one for one in found if isinstance(one, _Notebook)]):
        return _waiting([one for one in found if isinstance(one, _Notebook)], submission)
    try:
        keyed = keyed_notebooks(folder)
    except AuthoringError as error:
        sentence = "The questions in the notebook are answered."
        return (CheckResult(QUIZ, QUIZ, 1.0, sentence, True, None, State.NOT_JUDGED, reason=str(error)),)
    # A link to the author's folder is no submission, and has answered nothing.
    itself = not submission.is_symlink() and submission.resolve() == folder.resolve()
    checks: list[CheckResult] = []
    for name, its_questions in keyed.items():
        if itself:  # the author's own, which may be long: explanations stand in the same cells
            checks += judge(its_questions, {one.name: one.right_line for one in its_questions})
            continue
        answers = _answers(submission / name)
        checks += not_passed(its_questions, answers) if isinstance(answers, Failure) else judge(its_questions, answers)
    return tuple(checks)


def keyed_notebooks(folder: Path) -> dict[str, tuple[Question, ...]]:
    """Questions with their keys by notebook, of an author's folder. Raises AuthoringError, also if there are none.

    A question's name is that of one question in all the folder's notebooks.
    """
    found: dict[str, tuple[Question, ...]] = {}
    seen: dict[str, str] = {}
    for path in notebooks(folder):
        read = _read(path)
        if isinstance(read, str):
            raise AuthoringError(f"{path}: {read}")
        try:
            found[path.name] = questions(read.cells)
        except AuthoringError as error:
            raise AuthoringError(f"{path}: {error}") from None
        for question in found[path.name]:
            if seen.setdefault(question.name, path.name) != path.name:
                raise AuthoringError(f"{path}: {question.name} is in {seen[question.name]}, too")
    if not seen:
        raise AuthoringError(f"part {QUIZ!r} has points, but no notebook in {folder} asks a question")
    return found


def notebooks(folder: Path) -> tuple[Path, ...]:
    """The notebooks of a folder, by name."""
    return tuple(sorted(path for path in folder.glob(f"*{SUFFIX}") if not path.name.startswith(".")))


def _read(path: Path) -> _Notebook | str:
    """A notebook of the folder of checks, or what is wrong with it."""
    content = ordinary_bytes(path, MAX_NOTEBOOK_BYTES)
    if isinstance(content, Failure):
        return content.what
    try:
        return _Notebook(path.name, read_cells(content))
    except NotebookError as error:
        return str(error)


def _has_keys(folder: Path, found: list[_Notebook]) -> bool:
    return (folder / HIDDEN_FILE).exists() or any(
        SOLUTION_BEGIN in cell.source for one in found for cell in one.cells if cell.is_solution
    )


def _answers(path: Path) -> dict[str, str] | Failure:
    """Cells' sources by name in a stranger's notebook: none if there is no such file, which loses its questions."""
    content = ordinary_bytes(path, MAX_NOTEBOOK_BYTES)
    if isinstance(content, Failure):
        if content.kind == NO_FILE:
            return {}
        advice = CLEAR_OUTPUTS if content.kind == "too-large" else content.advice
        return Failure(content.kind, content.what, content.expected, content.found, path.name, advice)
    try:
        return sources(read_cells(content))
    except NotebookError as error:
        what = f"{path.name} cannot be read."
        return Failure("no-notebook", what, "a notebook as JupyterLab saves it", str(error), path.name, CLEAR_OUTPUTS)


def _waiting(found: list[_Notebook], submission: Path) -> tuple[CheckResult, ...]:
    """The questions of a folder without keys. Where none is left, the points wait all the same."""
    checks: list[CheckResult] = []
    for one in found:
        answers = _answers(submission / one.name)
        checks += waiting(asked(one.cells), {} if isinstance(answers, Failure) else answers)
    return tuple(checks) or waiting([QUIZ])
