"""What makes nbgrader this course's: its settings, and our classes in the place of its own. nbgrader's process.

In: nbgrader's configuration object and the course's root, from nbgrader_config.py. Out: the settings in it, and, once
for the process, the names in nbgrader's modules under which it looks up its converters and its CSV.
"""

from __future__ import annotations

import copy
import logging
import os
import sys
import warnings
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from traitlets.config import Config

from grader.course import FILE_NAME, load_course
from grader.errors import GraderError
from grader.nbgrader_plugin import autograde_steps, feedback, generate, names
from grader.nbgrader_plugin.autograde import CourseAutograde
from grader.nbgrader_plugin.button_log import capture_log
from grader.nbgrader_plugin.exchange import FreshRelease, ReleaseFeedback, SafeCollect
from grader.nbgrader_plugin.export_plugins import CsvExport
from grader.nbgrader_plugin.feedback import CourseFeedback
from grader.nbgrader_plugin.generate import CourseGenerate
from grader.nbgrader_plugin.guard import Guard
from grader.nbgrader_plugin.late_penalty import LatePenalty
from grader.nbgrader_plugin.timestamps import existing_timestamp, submitted_timestamp
from grader.nbgrader_plugin.zip_collect import ByFolder, Unpack
from grader.release import ASSIGNMENTS, SOLUTIONS

# Modules in which nbgrader looks up a converter when it is asked for one, and the names there.
CONVERTERS: dict[tuple[str, str], type] = {
    ("nbgrader.apps.api", "GenerateAssignment"): CourseGenerate,
    ("nbgrader.apps.api", "Autograde"): CourseAutograde,
    ("nbgrader.apps.api", "GenerateFeedback"): CourseFeedback,
    ("nbgrader.apps.generateassignmentapp", "GenerateAssignment"): CourseGenerate,
    ("nbgrader.apps.autogradeapp", "Autograde"): CourseAutograde,
    ("nbgrader.apps.generatefeedbackapp", "GenerateFeedback"): CourseFeedback,
}
# The names by which ``nbgrader export --exporter=`` asks for nbgrader's CSV, which has 0 for what was not judged.
EXPORTERS: dict[tuple[str, str], type] = {
    (module, "CsvExportPlugin"): CsvExport
    for module in ("nbgrader.plugins", "nbgrader.plugins.export", "nbgrader.apps.exportapp")
}
# Methods of nbgrader's that read a student's timestamp.txt, by module and class.
READERS: dict[tuple[str, str, str], Callable[..., datetime | None]] = {
    ("nbgrader.coursedir", "CourseDirectory", "get_existing_timestamp"): existing_timestamp,
    ("nbgrader.apps.api", "NbGraderAPI", "get_submitted_timestamp"): submitted_timestamp,
}
# Lists of preprocessors of converters that this course does not know: they begin, and end, with the guard.
GUARDED = (
    ("GenerateSolution", "preprocessors"),
    ("GenerateSourceWithTests", "preprocessors"),
)
# What Validate gives a cell. A part's checks may take longer than nbgrader's 30 seconds: races look for the CPU
# baseline's time, and a busy laptop simulates slowly.
VALIDATE_SECONDS = 600
# Formgrader reads nbgrader_config.py at every request. A course.yml that is being edited must not end its server.
_last_good: dict[Path, Config] = {}


def configure(c: Any, root: Path) -> None:
    """Set up nbgrader for the course in ``root``; ``c`` is what ``get_config()`` gives.

    Raises CourseError at the first call in a process; later ones keep the last good settings and log.
    """
    root = Path(root).resolve()
    try:
        made = _settings(root)
    except GraderError as error:
        if root not in _last_good:
            raise
        logging.getLogger("traitlets").error("%s; going on with the settings from before", error)
        made = _last_good[root]
    _last_good[root] = made
    c.merge(copy.deepcopy(made))
    install()


def _settings(root: Path) -> Config:
    course = load_course(root / FILE_NAME)
    c = Config()
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = SOLUTIONS
    c.CourseDirectory.release_directory = ASSIGNMENTS
    c.CourseDirectory.course_id = course.course.id
    for section, name in GUARDED:
        c[section][name] = [Guard]
    generate.settings(c)
    autograde_steps.settings(c)
    feedback.settings(c)
    c.ExchangeFactory.release_assignment = FreshRelease
    c.ExchangeFactory.collect = SafeCollect
    c.ExchangeFactory.release_feedback = ReleaseFeedback
    c.AssignLatePenalties.plugin_class = LatePenalty
    c.ExportApp.plugin_class = CsvExport
    c.ZipCollectApp.extractor_plugin = Unpack
    c.ZipCollectApp.collector_plugin = ByFolder
    c.Execute.timeout = VALIDATE_SECONDS
    # nbgrader's templates do not heed it everywhere; where they do, it helps.
    c.HTMLExporter.sanitize_html = True
    return c


def install() -> None:
    """Put our classes where nbgrader looks them up. For the whole process; more than once is as good as once."""
    for (module, name), ours in (CONVERTERS | EXPORTERS).items():
        setattr(import_module(module), name, ours)
    import_module("nbgrader.apps.api").capture_log = capture_log  # type: ignore[attr-defined]
    for (module, kind, name), function in READERS.items():
        setattr(getattr(import_module(module), kind), name, function)
    names.install()
    _let_nbgrader_find_alembic()
    # nbgrader 0.9.6 declares its tables in a way that SQLAlchemy 2.1 warns of: nothing that an instructor could heed.
    warnings.filterwarnings("ignore", module=r"nbgrader\.", category=_sqlalchemy_warning())


def _sqlalchemy_warning() -> type[Warning]:
    warning: type[Warning] = import_module("sqlalchemy.exc").SAWarning
    return warning


def _let_nbgrader_find_alembic() -> None:
    """For a new gradebook nbgrader starts the bare command ``alembic``: the environment's must be on the PATH.

    The one place that writes an environment variable. Without it, /venv/bin/nbgrader works only where the virtual
    environment has been activated.
    """
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if path[0] != scripts:
        os.environ["PATH"] = os.pathsep.join([scripts, *path])
