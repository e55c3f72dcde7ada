"""Formgrader and the notebook in a real browser: from solutions/ to feedback, on assignment 01 and its real judge.

``pytest tests/nbgrader_plugin/test_browser.py --screenshots=docs/images`` makes the README's pictures.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import clean_process
import pytest
import yaml
from lab_server import browser_page, chromium_or_skip, jupyter_lab, screenshot
from nbgrader_commands import COMMAND, user_environment

ROOT = Path(__file__).parents[2]
NOTEBOOK = "indexing.ipynb"
# nbgrader asks the system who hands in; the tests are run by one user.
AS_ADA = "import nbgrader.utils; nbgrader.utils.get_osusername = lambda: 'ada'\n"
# Six of seven questions; the first as somebody answers who counts blocks from 1.
ANSWERS = ["133", "5", '"c"', "8", '"d"', '"a"', '{"a", "b"}']


def write_course(above: Path) -> Path:
    """The course with assignment 01 only, as a clone has it before any release, and its own exchange."""
    course = above / "course"
    policy = yaml.safe_load((ROOT / "course.yml").read_text(encoding="utf-8"))
    policy["assignments"] = {"01": policy["assignments"]["01"]}
    del policy["assignments"]["01"]["due"]
    shutil.copytree(ROOT / "solutions/01", course / "solutions/01", ignore=shutil.ignore_patterns("__pycache__"))
    (course / "course.yml").write_text(yaml.safe_dump(policy, sort_keys=False), encoding="utf-8")
    (above / "exchange").mkdir()
    (above / "exchange").chmod(0o777)
    settings = (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    settings += f'\nc.Exchange.root = "{above / "exchange"}"\nc.CourseAutograde.device = "simulated"\n'
    (course / "nbgrader_config.py").write_text(settings, encoding="utf-8")
    return course


class Student:
    """Ada, who has a folder of her own and nbgrader, and knows nothing of the course's folder."""

    def __init__(self, above: Path) -> None:
        self.home = above / "ada"
        self.out = above / "ada-out"
        for folder in (self.home, self.out):
            folder.mkdir()
        self.environment = user_environment(above / "ada-home")
        (self.home / "nbgrader_config.py").write_text(
            f'c = get_config()\nc.Exchange.root = "{above / "exchange"}"\nc.CourseDirectory.course_id = "gpu101"\n',
            encoding="utf-8",
        )

    def nbgrader(self, *arguments: str) -> None:
        done = clean_process.run(AS_ADA + COMMAND, *arguments, cwd=self.home, env=self.environment, out=self.out)
        assert done.returncode == 0, done.stderr

    def work(self) -> None:
        """Write kernels.py, with a guard forgotten, and answer the quiz."""
        mutant = (ROOT / "solutions/01/wrong/vector_add_without_guard.py").read_text(encoding="utf-8")
        (self.home / "01/kernels.py").write_text(mutant, encoding="utf-8")
        path = self.home / "01" / NOTEBOOK
        book = json.loads(path.read_text(encoding="utf-8"))
        for cell in book["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name.startswith("answer_"):
                cell["source"] = f"{name} = {ANSWERS[int(name.removeprefix('answer_')) - 1]}"
        path.write_text(json.dumps(book), encoding="utf-8")


class Formgrader:
    """Its pages, as an instructor uses them."""

    def __init__(self, page: Any, server: str) -> None:
        self.page = page
        self.url = f"{server}/formgrader"

    def press(self, button: str, row: str) -> str:
        """Press a table's button in the row that has ``row``; what the window that then opens says, without its log."""
        self.page.locator("tbody tr", has=self.page.get_by_text(row, exact=True)).locator(f"td.{button} a").click()
        window = self.page.locator("#success-modal, #error-modal")
        window.wait_for()
        said = str(window.inner_text())
        assert window.get_attribute("id") == "success-modal", said
        window.locator(".modal-footer .close").click()
        window.wait_for(state="detached")
        return said

    def open(self, place: str, waits_for: str) -> None:
        """Open a page and wait for what shows that it is complete."""
        self.page.goto(f"{self.url}/{place}")
        self.page.locator(waits_for).first.wait_for()

    def listed(self) -> list[str]:
        """Status and score of the only student in the list of submissions."""
        self.open("manage_submissions/01", "td.autograde a")
        return [self.page.locator(f"tbody td.{column}").inner_text() for column in ("status", "score")]

    def open_submission(self) -> None:
        """Open the only submission of the notebook for manual grading."""
        self.open(f"gradebook/01/{Path(NOTEBOOK).stem}", "tbody td.name a")
        self.page.locator("tbody td.name a").first.click()
        self.page.locator("#quiz[placeholder]").wait_for()  # the last field; scores come after the page

    def score(self, part: str) -> tuple[str, str | None, bool]:
        """What a grade cell's field shows: a person's score, the judge's, and whether it asks for a person."""
        field = self.page.locator(f"#{part}")
        kinds = str(field.get_attribute("class")).split()
        return field.input_value(), field.get_attribute("placeholder"), "needs_manual_grade" in kinds

    def give(self, part: str, points: str) -> None:
        """Type a score; it is saved when the field is left."""
        with self.page.expect_response(lambda answer: answer.request.method == "PUT" and "/api/grade/" in answer.url):
            self.page.locator(f"#{part}").fill(points)
            self.page.keyboard.press("Tab")

    def show(self, part: str) -> None:
        """Scroll so that a grade cell is below the bar at the top."""
        self.page.evaluate("part => scrollBy(0, document.getElementById(part).getBoundingClientRect().top - 90)", part)


class Lab:
    """A notebook in JupyterLab, as a student uses it."""

    def __init__(self, page: Any, server: str, notebook: str) -> None:
        self.page = page
        page.goto(f"{server}/lab/tree/{notebook}")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()

    def run(self, source: str, shows: str = "") -> Any:
        """Run the cell with the line ``source``; its outputs, as soon as they have the text ``shows``."""
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").filter(has=self._line(source)).first
        cell.locator(".jp-Editor").first.click()
        self.page.keyboard.press("Shift+Enter")
        outputs = cell.locator(".jp-Cell-outputArea")
        if shows:
            outputs.get_by_text(shows).first.wait_for()
        return outputs

    def show(self, source: str) -> None:
        """Scroll so that the cell with the line ``source`` is at the top."""
        self.page.locator(".jp-Notebook .jp-CodeCell").filter(has=self._line(source)).first.evaluate(
            "cell => cell.scrollIntoView({block: 'start'})"
        )

    def _line(self, source: str) -> Any:
        return self.page.locator(".cm-line", has_text=re.compile(f"^{re.escape(source)}$"))

    def validate(self) -> str:
        """What nbgrader's Validate button says in its window."""
        self.page.get_by_text("Validate", exact=True).click()
        window = self.page.locator(".jp-Dialog")
        window.get_by_text(re.compile("FAILED|Success|Error", re.IGNORECASE)).first.wait_for()
        said = str(window.inner_text())
        window.get_by_role("button").last.click()
        return said


@pytest.mark.timeout(400)
def test_a_class_is_graded_in_formgrader_and_a_student_sees_the_report_in_the_notebook(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    executable = chromium_or_skip()
    pictures = request.config.getoption("screenshots")
    course = write_course(tmp_path)
    with jupyter_lab(course, tmp_path, tmp_path / "home") as server, browser_page(executable, server) as page:
        formgrader = Formgrader(page, server)

        # From solutions/ to the exchange.
        formgrader.open("manage_assignments", "td.assign a")
        formgrader.press("assign", "01")
        released = {path.name for path in (course / "assignments/01").iterdir()}
        assert released == {"course.yml", "kernels.py", "problem.py", "test_public.py", NOTEBOOK}
        formgrader.press("release", "01")

        # A student fetches, works, looks, hands in.
        ada = Student(tmp_path)
        ada.nbgrader("fetch_assignment", "01")
        ada.work()
        lab = Lab(page, server, f"ada/01/{NOTEBOOK}")
        lab.run("%assignment 01")
        report = lab.run("%check vector_add", "points")
        assert "Read of a[1] outside its shape (1,)" in report.inner_text()
        assert "kernels.py:16" in report.inner_text()
        if pictures:
            lab.show("%check vector_add")
            screenshot(page, Path(pictures) / "check.png")
        said = lab.validate()
        assert "Not yet: 4 of 12 checks of correctness failed: Read of a[1] outside its shape" in " ".join(said.split())
        assert "checks of quiz failed" not in said
        ada.nbgrader("submit", "01")

        # Collect, judge, look.
        formgrader.open("manage_assignments", "td.collect a")
        formgrader.press("collect", "01")
        formgrader.open("manage_submissions/01", "td.autograde a")
        formgrader.press("autograde", "ada")
        assert formgrader.listed() == ["needs manual grading", "50.57 / 100"]
        formgrader.open_submission()
        assert formgrader.score("correctness") == ("", "30", False)
        assert formgrader.score("quiz") == ("", "8.57", False)
        assert formgrader.score("speed") == ("", None, True)
        shown = page.locator("body").inner_text()
        assert "not measured: " in shown
        assert "Read of a[1] outside its shape (1,)" in shown
        if pictures:
            formgrader.show("correctness")
            screenshot(page, Path(pictures) / "formgrader.png")

        # A score by hand, and what the student gets.
        formgrader.give("speed", "12.5")
        formgrader.open_submission()
        assert formgrader.score("speed") == ("12.5", None, False)
        formgrader.open("manage_submissions/01", "td.generate-feedback a")
        assert formgrader.listed() == ["graded", "63.07 / 100"]
        formgrader.press("generate-feedback", "ada")
        formgrader.press("release-feedback", "ada")
        ada.nbgrader("fetch_feedback", "01")
        (feedback,) = (ada.home / "01/feedback").rglob("*.html")
        page.goto(feedback.as_uri())
        shown = page.locator("body").inner_text()
        assert "63.07 of 100 points" in shown
        assert "Read of a[1] outside its shape (1,)" in shown
