"""nbgrader on this course: its commands and Formgrader's buttons, with our release and our judge. Trusted process.

In: nbgrader_config.py calls ``configure``. Out: nbgrader's settings; from then on nbgrader calls what is here.

nbgrader's own converters do the work, on folders that were staged for them: ``generate`` for releases with
``registered`` (what the gradebook takes over of course.yml), ``autograde`` with ``autograded`` (who is due),
``refused``, ``staging``, ``open_scores`` and its ``autograde_steps`` (``judge_submission``, ``save_grades``) for what
was handed in, ``feedback`` with ``feedback_page``, which is what its template shows.
``guard`` keeps any other converter away, ``workplace`` has the folders and the lock, ``timestamps`` reads strangers'
dates, ``names`` their names. What nbgrader has plugins for is in ``exchange``, ``late_penalty``, ``zip_collect`` with
``collected_times``, and
``export_plugins`` with ``grade_rows`` and ``database``. ``settings`` brings all of it together.
"""

from __future__ import annotations

from grader.nbgrader_plugin.export_plugins import CanvasExport, CsvExport, MoodleExport
from grader.nbgrader_plugin.judge_submission import JudgeSubmission
from grader.nbgrader_plugin.save_grades import SaveJudgedGrades
from grader.nbgrader_plugin.settings import configure, install

__all__ = [
    "CanvasExport",
    "CsvExport",
    "JudgeSubmission",
    "MoodleExport",
    "SaveJudgedGrades",
    "configure",
    "install",
]
