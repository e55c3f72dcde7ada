"""``%check``, ``%%simulate`` and ``%assignment``, in a real IPython shell."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clean_process
import numpy as np
import pytest
import tiny_course as tiny
import tiny_notebook

from grader import lesson_files
from grader.course import load_course
from grader.errors import UsageError
from grader.records import Verdict
from grader.release import build
from grader.student_archive import bundle

pytest.importorskip("IPython", reason="IPython is not installed: pip install 'warpgrade[classroom]'")

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from grader import magics, simulator

DOUBLES = tiny.KERNELS
DOUBLES_NOTHING = tiny.KERNELS.replace("out[i] = 2 * x[i]", "out[i] = x[i]")


class Lesson:
    """A notebook's kernel: what its cells display, and what the last one raised."""

    def __init__(self, folder: Path) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        self.folder = folder
        InteractiveShell.clear_instance()  # what displays something asks for the process's one shell
        self.shell = InteractiveShell.instance(config=config)
        self.shell.history_manager.enabled = False
        self.shown: list[dict[str, Any]] = []
        self.raised: BaseException | None = None
        self.shell.display_pub.publish = lambda data, **_: self.shown.append(data)
        self.shell.showtraceback = lambda *_, **__: None
        assert self.run("%load_ext grader") == ""

    def run(self, cell: str) -> str:
        """Run a cell; what it displayed as text."""
        self.shown.clear()
        result = self.shell.run_cell(cell)
        self.raised = result.error_before_exec or result.error_in_exec
        return "\n".join(data["text/plain"] for data in self.shown)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that ``%check`` has started."""
    commands: list[list[str]] = []
    start = subprocess.run

    def noted(command: list[str], **options: Any) -> Any:
        commands.append(command)
        return start(command, **options)

    monkeypatch.setattr(magics.subprocess, "run", noted)
    return commands


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A released assignment with its notebook, alone: what a student has."""
    root = tiny_notebook.write_quiz_course(tmp_path / "course")
    (root / "solutions/01" / tiny_notebook.NAME).unlink()
    folder = tmp_path / "lesson folder"
    folder.mkdir()
    for name, text in build(load_course(root / "course.yml"), "01").items():
        (folder / name).write_text(text)
    tiny_notebook.write(folder, tiny_notebook.answered({}))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def lesson(folder: Path) -> Iterator[Lesson]:
    yield Lesson(folder)
    simulator.uninstall()


@pytest.fixture(autouse=True)
def no_shell_is_left() -> Iterator[None]:
    yield
    InteractiveShell.clear_instance()


def test_check_judges_the_kernels_beside_the_notebook_as_they_are_now(lesson: Lesson, started: list[Any]) -> None:
    report = lesson.run("%check correctness")
    assert "correctness: 0 of 50 points" in report
    assert "speed" not in report
    assert isinstance(lesson.raised, magics.NotYet)
    assert str(lesson.raised).startswith("Not yet: 2 of 2 checks of correctness failed: ")
    (lesson.folder / "kernels.py").write_text(DOUBLES)
    assert "correctness: 50 of 50 points" in lesson.run("%check correctness")
    assert lesson.raised is None
    # Of the same kernels.py there is one verdict: nbgrader's Validate gives a cell 30 seconds.
    before = len(started)
    assert "correctness: 50 of 50 points" in lesson.run("%check correctness")
    assert len(started) == before


def test_the_report_of_everything_serves_every_part_and_stops_no_run_of_all_cells(
    lesson: Lesson, started: list[Any]
) -> None:
    (lesson.folder / "kernels.py").write_text(DOUBLES_NOTHING)
    report = lesson.run("%check")
    assert all(f"{part}: " in report for part in ("correctness", "technique", "speed", "quiz"))
    assert lesson.raised is None
    assert "technique: " in lesson.run("%check technique")
    assert "test_doubles" in lesson.run("%check doubles")
    assert "test_reads_once" not in lesson.run("%check doubles")
    assert "total:  0 of 50 points" in lesson.run("%check doubles")  # of the parts that are shown
    assert lesson.raised is None
    assert len(started) == 1


def test_in_the_middle_of_a_lesson_nothing_is_raced(lesson: Lesson, started: list[list[str]]) -> None:
    (lesson.folder / "kernels.py").write_text(DOUBLES)
    lesson.run("%check doubles")
    assert started[-1][-2:] == ["--device", "simulated"]
    assert "technique: 20 of 20 points" in lesson.run("%check technique")
    assert len(started) == 1
    lesson.run("%check speed")
    assert started[-1][-4:] == ["--device", "auto", "--part", "speed"]


def test_what_is_not_measured_stops_nothing_and_returns_nothing(lesson: Lesson) -> None:
    """nbgrader takes an execute_result for points, and whatever stands on standard error for an error."""
    (lesson.folder / "kernels.py").write_text(DOUBLES)
    for part in ("speed", "quiz"):
        assert lesson.run(f"%check {part}")
        assert lesson.raised is None
        assert lesson.shell.user_ns.get("_") in ("", None)
    assert "answer_1 is not answered yet; judged when you hand in" in lesson.run("%check quiz")


def test_the_quiz_is_read_anew_when_the_notebook_was_saved(lesson: Lesson) -> None:
    lesson.run("%check quiz")
    tiny_notebook.write(lesson.folder, tiny_notebook.answered(tiny_notebook.RIGHT))
    report = lesson.run("%check quiz")
    assert "not answered" not in report
    assert report.count("judged when you hand in") >= 2


def test_a_verdict_of_a_machine_in_trouble_is_not_kept(
    lesson: Lesson, monkeypatch: pytest.MonkeyPatch, started: list[Any]
) -> None:
    (lesson.folder / "problem.py").write_text("raise RuntimeError('no problem')\n")
    lesson.run("%check correctness")
    lesson.run("%check correctness")
    assert len(started) == 2
    assert not isinstance(lesson.raised, magics.NotYet)


VALIDATED = """\
import sys
from nbgrader.validator import Validator
validator = Validator()
validator.stream = sys.stdout
validator._print_error("%check correctness", sys.argv[1])
"""


@pytest.mark.skipif(find_spec("nbgrader") is None, reason="nbgrader is not installed")
@pytest.mark.parametrize("kind", [magics.NotYet, magics.Said])
def test_validate_shows_all_words_of_a_sentence(kind: type[magics.Said], tmp_path: Path) -> None:
    """nbgrader cuts each line of a cell's error to what is left of its 90 columns."""
    said = kind("Not yet: 5 of 5 checks of correctness failed: out still holds its fill value: the kernel " + "z" * 200)
    lines = "\n".join(said._render_traceback_())
    done = clean_process.run(VALIDATED, lines, cwd=tmp_path, env=os.environ, out=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.partition("The error was:")[2]
    assert "..." not in shown
    assert "".join(shown.split()) == "".join(str(said).split())
    of_words = kind(" ".join(["same-value-writes"] * 20))  # a word that holds a hyphen stays one
    assert " ".join(of_words._render_traceback_()) == str(of_words)


def test_what_check_cannot_do_is_one_sentence_without_a_traceback(lesson: Lesson, tmp_path: Path) -> None:
    lesson.run("%check tecnique")
    assert "did you mean technique?" in str(lesson.raised)
    assert " ".join(lesson.raised._render_traceback_()) == str(lesson.raised)  # type: ignore[union-attr]
    (lesson.folder / "kernels.py").unlink()
    lesson.run("%check")
    assert "expected kernels.py beside the notebook, found none" in str(lesson.raised)
    (lesson.folder / "course.yml").unlink()
    (lesson.folder / "kernels.py").write_text(DOUBLES)
    lesson.run("%check")
    assert "expected course.yml beside the notebook, found none" in str(lesson.raised)


def test_a_file_beside_the_notebook_does_not_take_a_modules_place(lesson: Lesson) -> None:
    (lesson.folder / "numpy.py").write_text("raise SystemExit('mine')\n")
    (lesson.folder / "kernels.py").write_text(DOUBLES)
    assert "correctness: 50 of 50 points" in lesson.run("%check correctness")


def test_a_report_is_no_markup_of_a_students(folder: Path) -> None:
    verdict = Verdict("", "01", "", "<b>", (), (), None, 1, 0, "<script>alert(1)</script>")
    assert "<script>" not in magics.report(verdict)["text/html"]


# ------------------------------------------------------------------ %%simulate

CELL = """\
%%simulate
import numpy as np
from numba import cuda
@cuda.jit
def number(out):
    i = cuda.grid(1)
    out[i] = i
out = cuda.to_device(np.zeros(40, np.float32))
number[2, 32](out)
out.copy_to_host()[3]"""


def test_a_simulated_cell_shows_its_launches_its_value_and_lines_as_they_stand_in_it(lesson: Lesson) -> None:
    page = lesson.run(CELL)
    assert lesson.raised is None
    assert "40 elements, 2 requests, 5 sectors" in page
    assert "Write to x[40]" in page or "Write to out[40] outside its shape (40,)" in page
    assert ":7  out[i] = i" in page
    assert lesson.shell.user_ns["_"] == np.float32(3)
    # What a cell has made is there in the next one, device arrays too.
    assert "1 block of 32 threads" in lesson.run("%%simulate\nnumber[1, 32](out)")


def test_a_simulated_cell_that_fails_shows_what_it_launched_and_raises_its_own_error(lesson: Lesson) -> None:
    assert "number: launched at" in lesson.run(f"{CELL}\nundefined")
    assert isinstance(lesson.raised, NameError)


def test_a_reloaded_file_is_shown_as_it_is_now(lesson: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(lesson.folder))
    written = lesson.folder / "edited.py"
    written.write_text("from numba import cuda\n\n\n@cuda.jit\ndef fill(out):\n    out[cuda.grid(1)] = 1\n")
    cell = "import edited; importlib.reload(edited); edited.fill[1, 32](cuda.device_array(32, np.float32))"
    lesson.run("import importlib; import numpy as np; from numba import cuda")
    assert "out[cuda.grid(1)] = 1" in lesson.run(f"%%simulate\n{cell}")
    written.write_text(written.read_text().replace("    out[", "    # the first of two lines\n    out["))
    assert "7  100%       4      out[cuda.grid(1)] = 1" in lesson.run(f"%%simulate\n{cell}")


def test_a_semicolon_hides_a_simulated_cells_value(lesson: Lesson) -> None:
    lesson.run("%%simulate\n42")
    assert lesson.shell.user_ns["_"] == 42
    lesson.run("%%simulate\n43;")
    assert lesson.shell.user_ns["_"] == 42


def test_simulate_takes_a_model_and_goes_away_when_told(lesson: Lesson) -> None:
    assert "simulated NVIDIA A100" in lesson.run(CELL.replace("%%simulate", "%%simulate a100"))
    assert "simulated NVIDIA A100" in lesson.run("%%simulate\nnumber[1, 32](out)")
    lesson.run("%%simulate a10\n1")
    assert "did you mean a100?" in str(lesson.raised)
    lesson.run("%simulate off")
    assert lesson.raised is None


# ------------------------------------------------------------------ %assignment


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return bundle(load_course(tiny.write_course(tmp_path / "tiny") / "course.yml"))


def test_a_notebook_alone_gets_the_rest_of_its_assignment_from_the_courses_zip(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = tmp_path / "colab"
    alone.mkdir()
    monkeypatch.chdir(alone)
    lesson = Lesson(alone)
    lesson.run("%assignment 01")
    assert "put the zip (*-student*.zip) beside the notebook" in str(lesson.raised)
    archive.rename(alone / "tiny-student (1).zip")
    (alone / "kernels.py").write_text("# begun\n")
    lesson.run("%assignment 01")
    assert lesson.raised is None
    assert (alone / "kernels.py").read_text() == "# begun\n"  # what is there stays
    assert lesson_files.missing(alone) == ()
    (alone / "kernels.py").write_text(DOUBLES)
    assert "technique: 20 of 20 points" in lesson.run("%check technique")


def test_assignment_does_nothing_where_everything_is_there(lesson: Lesson) -> None:
    before = {path.name: path.read_bytes() for path in lesson.folder.iterdir()}
    lesson.run("%assignment 01")
    assert lesson.raised is None
    assert {path.name: path.read_bytes() for path in lesson.folder.iterdir()} == before
    lesson.run("%assignment 02")
    assert "this is the notebook of assignment 02, found in the folder of 01" in str(lesson.raised)


def test_another_zip_is_told_from_the_courses(tmp_path: Path) -> None:
    path = tmp_path / "x-student.zip"
    path.write_bytes(b"PK nothing")
    with pytest.raises(UsageError, match=r"expected the course's zip, found: .*; download it again"):
        lesson_files.complete(tmp_path, "01")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x/assignments/02/kernels.py", "")
        made.writestr("x/assignments/01/../../kernels.py", "")
    with pytest.raises(UsageError, match=r"expected assignments/01/kernels\.py in it, found none"):
        lesson_files.complete(tmp_path, "01")
    assert [path.name for path in tmp_path.iterdir()] == ["x-student.zip"]


def test_in_the_repository_the_checks_of_the_solutions_folder_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An author runs the source notebook: course.yml is above it, and the quiz has its key."""
    root = tiny_notebook.write_quiz_course(tmp_path / "course")
    monkeypatch.chdir(root / "solutions/01")
    lesson = Lesson(root / "solutions/01")
    lesson.run("%assignment 01")
    assert lesson.raised is None
    assert "quiz: 10 of 10 points" in lesson.run("%check quiz")
