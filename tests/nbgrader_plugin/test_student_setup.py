"""What docs/student.md says of nbgrader is what a student's JupyterLab needs: to list, fetch and hand in."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import clean_process
import pytest
from notebook_course import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]
GUIDES = ("README.md", "docs/student.md", "docs/instructor.md")
# The Assignment List of a JupyterLab that was started in the current folder, where 01 lies and 02 does not.
ASSIGNMENT_LIST = """\
import json, os
from pathlib import Path
from nbgrader.server_extensions.assignment_list.handlers import AssignmentList
lab = AssignmentList()
lab.root_dir = os.getcwd()
def listed():
    found = lab.list_released_assignments()
    assert found["success"], found
    return [[each["course_id"], each["assignment_id"], each["status"]] for each in found["value"]]
done = [listed()]
assert lab.fetch_assignment("tiny", "01")["success"]
done.append(listed())
Path("01/kernels.py").write_text("# ada's work")
assert lab.submit_assignment("tiny", "01")["success"]
print(json.dumps(done))
"""


def settings() -> str:
    """The nbgrader_config.py that docs/student.md shows."""
    text = (ROOT / "docs/student.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(c = get_config\(\).*?)```", text, re.DOTALL)
    return str(block)


@pytest.mark.usefixtures("gradebook_file")
def test_with_the_guides_settings_a_student_fetches_and_hands_in_what_lies_where_jupyterlab_was_started(
    root: Path, tmp_path: Path, environment: dict[str, str], nbgrader_command: Run
) -> None:
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.Exchange.root = {str(exchange)!r}\n")
    done = nbgrader_command("release_assignment", "01")
    assert done.returncode == 0, done.stderr

    here = tmp_path / "ada/assignments"
    here.mkdir(parents=True)
    written = settings().replace("/srv/exchange", str(exchange)).replace("gpu101", "tiny")
    assert written.count(str(exchange)) == written.count('"tiny"') == 1
    (here / "nbgrader_config.py").write_text(written, encoding="utf-8")
    done = clean_process.run(ASSIGNMENT_LIST, cwd=here, env=environment, out=tmp_path)
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    assert (before, after) == ([["tiny", "01", "released"]], [["tiny", "01", "fetched"]])
    (handed_in,) = (exchange / "tiny/inbound").iterdir()
    assert (handed_in / "kernels.py").read_text(encoding="utf-8") == "# ada's work"


@pytest.mark.parametrize("who", ["student", "instructor"])
def test_validate_gives_a_cell_more_than_nbgraders_thirty_seconds(
    root: Path, tmp_path: Path, environment: dict[str, str], who: str
) -> None:
    if who == "student":
        root = tmp_path / "ada"
        root.mkdir()
        (root / "nbgrader_config.py").write_text(settings(), encoding="utf-8")
    read = "from nbgrader.apps import NbGrader; from nbgrader.preprocessors import Execute\n"
    read += "app = NbGrader(); app.initialize([]); print(Execute(parent=app).timeout)"
    done = clean_process.run(read, cwd=root, env=environment, out=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "600"), done.stderr


@pytest.mark.parametrize("guide", GUIDES)
def test_no_guide_starts_jupyterlab_inside_of_an_assignment(guide: str) -> None:
    """The Assignment List knows what lies in the folder where it was started, and fetches to there."""
    text = (ROOT / guide).read_text(encoding="utf-8")
    assert re.findall(r"jupyter lab +\S*\d\d\b.*", text) == []
