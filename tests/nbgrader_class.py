"""A class for tests of nbgrader's steps: a course with a notebook and a quiz, and everything that students hand in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import notebook_course
import tiny_course as tiny
import tiny_notebook as notebook

NAME = notebook.NAME
# Judges by words in kernels.py, see class_judges.scored, without a process for each worker. CRASHES is our own crash.
FAKE_CLASS = """\
import os
from concurrent.futures import ThreadPoolExecutor
import class_judges, grader.judging
from grader import classroom
from grader.nbgrader_plugin.judge_submission import JudgeSubmission
grader.judging.judge_task = class_judges.scored
classroom.grade.__kwdefaults__["make_executor"] = ThreadPoolExecutor
judge = JudgeSubmission.preprocess
def preprocess(self, nb, resources):
    if resources["nbgrader"]["student"] == os.environ.get("CRASHES", "rex"):
        raise RuntimeError("a bug of ours")
    return judge(self, nb, resources)
JudgeSubmission.preprocess = preprocess
"""
RIGHT = notebook.RIGHT
LATE = "2027-03-03 12:00:00.000000 UTC"
COURSE = "grading: {late: {per_day: 10}}\n" + tiny.COURSE.replace(notebook.PARTS_BEFORE, notebook.PARTS).replace(
    "title: Doubling", "title: Doubling\n    due: 2027-03-01T23:59:00+00:00"
)
COURSE = COURSE.replace("full_at: 0.5", "full_at: 0.5, bonus: 4, bonus_at: 1.5")
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>[x](javascript:alert(1))\x1b[31m"


KERNELS = "".join(line for line in tiny.KERNELS.splitlines(keepends=True) if "### " not in line)


def write_class_course(root: Path) -> Path:
    """The course; there is no release and no gradebook."""
    notebook_course.write_notebook_course(root, course=COURSE)
    notebook.write(root / "solutions/01", notebook.document())
    return root


def hand_in(root: Path, student: str, fails: str | None = "", book: Any = None, **files: str) -> Path:
    """A submission: kernels.py that fails the checks ``fails`` (None: no kernels.py), a notebook if one is given."""
    folder = root / "submitted" / student / "01"
    folder.mkdir(parents=True)
    if fails is not None:
        (folder / "kernels.py").write_text(f"{KERNELS}\n# fails: {fails}\n", encoding="utf-8")
    if book is not None:
        (folder / NAME).write_text(book if isinstance(book, str) else json.dumps(book), encoding="utf-8")
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def forged(sentinel: Path) -> Any:
    """All answers right, and outputs of full marks, in a notebook that would write ``sentinel`` if it ran."""
    book = notebook.answered(RIGHT)
    outputs = [
        {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}
        for text in ("50.0", "nan", "-1", "True", "np.float64(3.5)")
    ]
    for cell in book["cells"]:
        if cell["cell_type"] == "code" and cell["id"] not in ("answer-1", "answer-2"):
            cell["source"] = f"open({str(sentinel)!r}, 'w')\nimport sys; sys.displayhook(50.0)"
            cell["outputs"] = [*outputs, {"output_type": "stream", "name": "stderr", "text": "a warning"}]
    book["cells"].append(notebook.code("more", f"open({str(sentinel)!r}, 'w')"))
    return book


def copied() -> Any:
    """Each answer a second time, wrong, below the right one."""
    book = notebook.answered(RIGHT)
    copies = json.loads(json.dumps([cell for cell in book["cells"] if cell["id"].startswith("answer")]))
    for cell in copies:
        cell["source"] = cell["source"][0].partition("=")[0] + "= 0"
    book["cells"] += copies
    return book


def deleted() -> Any:
    """Nothing left but the answers."""
    book = notebook.answered(RIGHT)
    book["cells"] = [cell for cell in book["cells"] if cell["id"].startswith("answer")]
    return book


def retyped() -> Any:
    """Answers in cells of another kind, grade cells with points and locks of one's own, another kernel."""
    book = notebook.answered(RIGHT)
    for cell in book["cells"]:
        settings = cell["metadata"].get("nbgrader", {})
        if settings.get("solution"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]
        elif settings:
            settings |= {"points": 1000, "locked": False, "solution": True}
    book["metadata"] = {"kernelspec": {"name": "own", "display_name": "<b>", "language": "sh"}}
    return book


def evil() -> Any:
    """Markup in every cell."""
    book = notebook.answered({name: f'{name} = "{EVIL}"' for name in RIGHT})
    book["cells"].insert(0, notebook.markdown("title", EVIL))
    book["cells"].append(notebook.markdown("own", EVIL))
    return book


def write_submissions(root: Path) -> Path:
    """The class, one of each kind; a file that none of it may touch is ``root / "sentinel"``."""
    hand_in(root, "ada", book=forged(root / "sentinel"))
    hand_in(root, "bob", "test_doubles", notebook.answered({"answer_1": 'answer_1 = "a"'}))
    hand_in(root, "cy")  # kernels.py alone
    hand_in(root, "dan", book="{broken")
    hand_in(root, "eve", book=deleted())
    hand_in(root, "fay", book=copied())
    hand_in(root, "gus", book=retyped())
    hand_in(root, "hal", None, notebook.answered(RIGHT))  # no kernels.py
    secret = root / "solutions/01/kernels.py"
    os.mkfifo(hand_in(root, "tim", book=notebook.answered(RIGHT)) / "timestamp.txt")
    ida = hand_in(root, "ida", None)
    (ida / "kernels.py").symlink_to(secret)
    (ida / NAME).symlink_to(root / "solutions/01" / NAME)
    (ida / "inside").symlink_to(root / "solutions")
    (root / "submitted/jon").mkdir()
    (root / "submitted/jon/01").symlink_to(root / "solutions/01")
    os.mkfifo(hand_in(root, "kim", None) / "kernels.py")
    hand_in(root, "lea", book=notebook.answered(RIGHT), timestamp="<last night>")
    hand_in(root, "mia", book=notebook.answered(RIGHT), timestamp=LATE, submission_secret="secret", other="left out")
    hand_in(root, "ned", "fault", notebook.answered(RIGHT))
    hand_in(root, "o<b>", book=notebook.answered(RIGHT))
    (root / "submitted/pia").symlink_to(root / "submitted/ada")
    quy = hand_in(root, "quy", book=evil())
    (quy / "kernels.py").write_text(f"{KERNELS}\n# {EVIL}\n", encoding="utf-8")
    hand_in(root, "rex", book=notebook.answered(RIGHT))
    hand_in(root, "Zoë Müller-3", book=notebook.answered(RIGHT))
    return root
