"""What nbgrader's autograde does to a notebook, step by step, and that it does so. nbgrader's process (trusted).

In: nbgrader's configuration; the lists of a converter. Out: the lists in it; a UsageError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, Execute, SaveAutoGrades
from traitlets.utils.importstring import import_item

from grader.errors import UsageError
from grader.nbgrader_plugin.guard import Guard
from grader.nbgrader_plugin.judge_submission import JudgeSubmission
from grader.nbgrader_plugin.save_grades import SaveJudgedGrades

OURS = (JudgeSubmission, SaveJudgedGrades)


def settings(c: Any) -> None:
    """Put what autograding needs into nbgrader's configuration ``c``."""
    c.Autograde.sanitize_preprocessors = [Guard, CheckCellMetadata]
    c.Autograde.autograde_preprocessors = [Guard, *OURS, AssignLatePenalties, CheckCellMetadata]


def require_judge(sanitize: Sequence[Any], autograde: Sequence[Any]) -> None:
    """Raise UsageError where a user's settings or a flag have left out the judge, or brought nbgrader's way back.

    nbgrader would run students' notebooks, or give full marks to cells without an output.
    """
    first, second = (
        [import_item(step) if isinstance(step, str) else step for step in steps] for steps in (sanitize, autograde)
    )
    own = tuple(step for step in second if step in OURS)
    theirs = [s for s in (*first, *second) if s not in OURS and (_is_a(s, Execute) or _is_a(s, SaveAutoGrades))]
    if first[:1] != [Guard] or second[:1] != [Guard] or own != OURS or theirs:
        raise UsageError(
            "expected grader.nbgrader_plugin's steps in Autograde.sanitize_preprocessors and "
            "Autograde.autograde_preprocessors, JudgeSubmission before SaveJudgedGrades and no Execute; found "
            f"{_named(first)} and {_named(second)}: look for these settings in ~/.jupyter/nbgrader_config.py, "
            "below configure() in the course's, and among the command's arguments"
        )


def _is_a(step: Any, kind: type) -> bool:
    return isinstance(step, type) and issubclass(step, kind)


def _named(steps: Sequence[Any]) -> str:
    return f"[{', '.join(getattr(step, '__name__', str(step)) for step in steps)}]"
