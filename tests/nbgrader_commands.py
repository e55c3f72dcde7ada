"""How tests call nbgrader: as a command, as Formgrader's buttons do, without the settings of whoever runs them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from notebook_course import ROOT

# nbgrader as a command, whether or not the environment's scripts have been made.
COMMAND = "import sys; from nbgrader.apps.nbgraderapp import main; sys.argv[0] = 'nbgrader'; main()"
# Judges by words in kernels.py, see class_judges.by_text, without a child process for each check.
FAKE_JUDGE = "import class_judges, grader.judging; grader.judging.judge_task = class_judges.by_text\n"
API = """\
import json, sys
from nbgrader.apps import NbGraderAPI, NbGrader
app = NbGrader()
app.initialize([], root={root!r})
api = NbGraderAPI(app.coursedir, config=app.config)
for name, *arguments in json.loads(sys.argv[1]):
    done = getattr(api, name)(*arguments)
    print(json.dumps({{"success": done["success"], "log": done.get("log"), "error": done.get("error")}}))
"""


def user_environment(home: Path) -> dict[str, str]:
    """The environment variables of a user who has no Jupyter settings; ``home`` is a new folder."""
    home.mkdir()
    places = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JUPYTER")}
    # Where nbconvert's templates are, should its packages come from another environment than this Python's.
    shared = Path(str(find_spec("nbconvert").origin)).parents[4] / "share/jupyter"
    modules = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    return kept | {"HOME": str(home), "PYTHONPATH": modules, "JUPYTER_PATH": str(shared), **places}
