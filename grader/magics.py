"""``%check``, ``%%simulate`` and ``%assignment`` in a notebook. Runs in the notebook's kernel, anybody's own process.

In: a magic's line and cell. Out: reports, as what a cell displays. Nothing is judged here: ``%check`` starts
``grader check`` and shows its verdict. ``%%simulate`` runs a cell's own code on the simulator, in this process.
"""

from __future__ import annotations

import ast
import functools
import linecache
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class
from IPython.display import display

from grader import lesson_files, scoring
from grader.device_names import DeviceName
from grader.errors import GraderError, UsageError
from grader.gpu_models import MODELS
from grader.records import KERNELS_FILE, PARTS, QUIZ, PartName, State, Verdict
from grader.reports.html import verdict_html
from grader.reports.json import from_json
from grader.reports.terminal import student_report
from grader.reports.text import clean, one_line
from grader.spelling import nearest

WIDTH = 88  # columns of a report; a notebook's output holds about a hundred
# nbgrader cuts the lines of an error to 90 columns, less an indent of 4 and three dots.
SAID_WIDTH = 80
AUTO: DeviceName = "auto"
SIMULATED: DeviceName = "simulated"
COULD_NOT = 2  # the exit code of `grader` where there is no verdict


class Said(Exception):
    """Ends a cell with one sentence and no traceback, in lines that nbgrader's Validate shows whole."""

    def _render_traceback_(self) -> list[str]:
        return textwrap.wrap(str(self), SAID_WIDTH, break_on_hyphens=False)


class NotYet(Said):
    """A part of the assignment is not passed yet. nbgrader's Validate takes it for that."""


def _in_one_sentence(magic: Callable[..., None]) -> Callable[..., None]:
    """What ``magic`` raises of ours becomes a sentence without a traceback."""

    @functools.wraps(magic)
    def told(*arguments: Any) -> None:
        __tracebackhide__ = True
        try:
            magic(*arguments)
        except GraderError as error:
            raise Said(clean(str(error))) from None

    return told


def load(shell: Any) -> None:
    """Make the magics known to IPython's ``shell``."""
    shell.register_magics(LessonMagics)


@magics_class
class LessonMagics(Magics):
    """The magics of a lesson. Verdicts are kept for as long as what they depend on stays the same."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._judged: dict[tuple[str, DeviceName, str], Verdict] = {}  # by part, device and digest

    @line_magic
    @_in_one_sentence
    def check(self, line: str) -> None:
        """Judge the kernels.py beside this notebook with the checks that you can see, and show the report.

        ``%check``             everything
        ``%check saxpy``       the report of those checks with that word in their name, without races
        ``%check technique``   a part of the score, which must be passed: this is what nbgrader's Validate looks at
        """
        word = line.strip()
        part = next((part for part in PARTS if part == word), None)
        if part is not None:
            verdict = self._part(part)
            _show(verdict)
            if part == QUIZ:
                print("This is the notebook as you saved it. Changed an answer? Save, then run this cell again.")
            _require_passed(verdict, part)
        elif word:
            _show(_with_word(self._of_word(), word))
        else:
            _show(self._kept("", AUTO, notebooks=True))

    @line_cell_magic
    @_in_one_sentence
    def simulate(self, line: str, cell: str | None = None) -> None:
        """Run this cell on the simulator, and show what its launches did and what each line cost.

        ``%%simulate`` or ``%%simulate a100``, a model of GPU; arrays on the device stay until another one is named.
        ``%simulate off``, on a line of its own, brings a real GPU back.
        """
        from grader import simulator
        from grader.simulation_page import page
        from grader.simulator.live.install import installed_gpu

        __tracebackhide__ = True
        name = line.strip()
        if cell is None and name == "off":
            simulator.uninstall()
            return
        if name and name not in MODELS:
            raise UsageError(f"expected a GPU model of {', '.join(MODELS)}{_meant(name, MODELS)}; found {name!r}")
        if name and installed_gpu() is not MODELS[name]:
            simulator.install(name)
        if cell is None:
            return
        linecache.checkcache()  # a kernels.py that was edited since is shown as it is now
        with simulator.trace() as launches:
            try:
                self._run(cell)
            finally:
                if launches:
                    display({"text/plain": page(launches, width=WIDTH).strip("\n")}, raw=True)

    @line_magic
    @_in_one_sentence
    def assignment(self, line: str) -> None:
        """Put what is missing of an assignment beside this notebook: ``%assignment 01``. What is there stays."""
        here = Path.cwd()
        written = lesson_files.complete(here, line.strip())
        if written:
            print(f"wrote {', '.join(written)}")
        name = lesson_files.assignment_of(here)
        if name != line.strip():
            raise UsageError(
                f"this is the notebook of assignment {line.strip()}, found in the folder of {name}; "
                "put it into a folder of its own"
            )

    # ------------------------------------------------------------------ verdicts

    def _of_word(self) -> Verdict:
        """Of all parts, but without races, which take their time: in the middle of a lesson nobody waits for them."""
        return self._known("", AUTO) or self._kept("", SIMULATED, notebooks=True)

    def _part(self, part: PartName) -> Verdict:
        if part == QUIZ:
            return self._kept(part, AUTO, notebooks=True)
        whole = self._known("", AUTO) or (self._known("", SIMULATED) if part != "speed" else None)
        return self._kept(part, AUTO, notebooks=False) if whole is None else scoring.of_parts(whole, [part])

    def _known(self, part: str, device: DeviceName) -> Verdict | None:
        """What was said of this kernels.py, whatever the notebook was then."""
        return self._judged.get((part, device, lesson_files.digest(Path.cwd(), notebooks=False)))

    def _kept(self, part: str, device: DeviceName, *, notebooks: bool) -> Verdict:
        folder = Path.cwd()
        key = part, device, lesson_files.digest(folder, notebooks=notebooks)
        if key not in self._judged:
            verdict = _judge(folder, part, device)
            if any(check.state is State.NOT_JUDGED for check in verdict.checks):
                return verdict  # of the machine, which may be better next time
            self._judged[key] = verdict
            self._judged[part, device, lesson_files.digest(folder, notebooks=False)] = verdict
        return self._judged[key]

    # ------------------------------------------------------------------ cells

    def _run(self, cell: str) -> None:
        """Run a cell's body as the notebook would, its lines numbered as they stand in the cell."""
        __tracebackhide__ = True  # IPython leaves such frames out: what went wrong is in the cell
        shell = self.shell
        code = "\n" + shell.transform_cell(cell)  # the magic's own line
        file = shell.compile.cache(code, shell.execution_count, raw_code=code)
        tree = shell.compile.ast_parse(code, filename=file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), shell.user_ns)  # noqa: S102  (the user's own)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), file, "eval"), shell.user_ns)  # noqa: S307
            if not code.rstrip().endswith(";"):
                shell.displayhook(value)


def _judge(folder: Path, part: str, device: DeviceName) -> Verdict:
    """The verdict of ``grader check`` on the kernels.py in ``folder``. Raises UsageError, CourseError, Said."""
    if not (folder / KERNELS_FILE).exists():
        raise UsageError(f"expected {KERNELS_FILE} beside the notebook, found none; run the first cell again")
    command = [sys.executable, "-P", "-m", "grader", "check", lesson_files.assignment_of(folder), ".", "--json"]
    command += ["--device", device]
    if part:
        command += ["--part", part]
    # What it says on standard error would be an error of the cell for nbgrader.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode >= COULD_NOT or not done.stdout:
        sentence = (done.stderr.strip().splitlines() or [f"it ended with exit code {done.returncode}"])[-1]
        raise Said(clean(f"not judged: {sentence.removeprefix('grader: ')}"))
    (verdict,) = from_json(done.stdout)
    return verdict


def _show(verdict: Verdict) -> None:
    display(report(verdict), raw=True)


def report(verdict: Verdict) -> dict[str, str]:
    """A verdict as a notebook displays it, by MIME type."""
    return {
        "text/plain": student_report(verdict, width=WIDTH).strip("\n"),
        "text/html": verdict_html(verdict),
    }


def _with_word(verdict: Verdict, word: str) -> Verdict:
    """``verdict`` with those checks that have ``word`` in their name, and the parts that they belong to."""
    checks = tuple(check for check in verdict.checks if word in check.name and not check.hidden)
    if not checks:
        names = dict.fromkeys((*PARTS, *(each for check in verdict.checks for each in check.name.split("_"))))
        raise UsageError(f"expected a part or a word of a check's name{_meant(word, names)}; found {word!r}")
    shown = scoring.of_parts(verdict, {check.part for check in checks})
    points = {score.part: score.points for score in shown.parts}
    return replace(shown, checks=checks, summary=scoring.summary(checks, points))


def _meant(name: str, known: Any) -> str:
    found = nearest(name, known)
    return f" (did you mean {found}?)" if found else ""


def _require_passed(verdict: Verdict, part: str) -> None:
    """Raise NotYet where a check failed; what was not judged or not measured is nobody's fault."""
    failed = [check for check in verdict.checks if check.passed is False]
    if failed:
        failure = failed[0].failure
        why = f": {failure.what}" if failure is not None else ""
        raise NotYet(one_line(f"Not yet: {len(failed)} of {len(verdict.checks)} checks of {part} failed{why}"))
