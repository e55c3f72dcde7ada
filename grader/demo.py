"""The sample class of ``grader demo``: everything that a grader meets, made on the spot. Trusted process.

In: the course's solutions/ and wrong/. Out: a folder ``submitted/<sample>/NN`` in a temporary course with short time
limits, and for each assignment its verdicts.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from grader.assignment_folder import WRONG_FOLDER, open_folder
from grader.class_folder import submissions
from grader.classroom import Judge, Progress, Task, grade
from grader.course import FILE_NAME, Course, load_course
from grader.device_names import DeviceName
from grader.mutants import parameters
from grader.notebook import read_cells, read_document
from grader.quiz_folder import notebooks
from grader.quiz_keys import questions
from grader.records import KERNELS_FILE, Verdict
from grader.release import SOLUTIONS
from grader.stub import make_stub

MISNAMED = "kernel.py"
SUBMITTED = "submitted"
REFERENCE = "reference"
# The endless loops of the sample class need not use up a real course's time.
DEMO_LIMITS = {"check": "10 s", "timeouts": "10 s"}
PRINTED_LINES, PRINTED_COLUMNS = 200_000, 500

Entries = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Samples:
    """The temporary course."""

    course: Course
    submitted: Path


def make_samples(course: Course, root: Path) -> Samples:
    """A copy of the course below ``root`` with short limits, and a class's submissions. Raises as lint does."""
    shutil.copytree(course.file.parent / SOLUTIONS, root / SOLUTIONS)
    policy = yaml.safe_load(course.file.read_text(encoding="utf-8"))
    for section in policy["assignments"].values():
        section["limits"] |= DEMO_LIMITS
        section.pop("due", None)
    (root / FILE_NAME).write_text(yaml.safe_dump(policy, sort_keys=False), encoding="utf-8")
    samples = Samples(load_course(root / FILE_NAME), root / SUBMITTED)
    for name in samples.course.assignments:
        _hand_in(root / SOLUTIONS / name, samples.submitted, name)
    return samples


def _hand_in(source: Path, submitted: Path, name: str) -> None:
    reference = (source / KERNELS_FILE).read_text(encoding="utf-8")
    entries = parameters(source / KERNELS_FILE, open_folder(source).problems)
    texts: dict[str, bytes | None] = {
        REFERENCE: reference.encode(),
        "untouched-stub": make_stub(reference, str(source / KERNELS_FILE)).encode(),
        **{student: make(reference, entries).encode() for student, make in _MISHAPS.items()},
        "missing-file": None,
        "empty-file": b"",
        "not-utf8": b"# caf\xe9\n" + reference.encode(),
        **{f"wrong-{p.stem}": p.read_bytes() for p in sorted((source / WRONG_FOLDER).glob("*.py"))},
    }
    for student, text in texts.items():
        folder = submitted / student / name
        folder.mkdir(parents=True)
        # Whose file has another name has handed something in.
        (folder / (KERNELS_FILE if text is not None else MISNAMED)).write_bytes(text or b"")
    for notebook in notebooks(source):  # the others have forgotten it
        (submitted / REFERENCE / name / notebook.name).write_text(_answered(notebook), encoding="utf-8")


def _answered(path: Path) -> str:
    """An author's notebook as somebody hands it in who knows every answer."""
    text = path.read_text(encoding="utf-8")
    right = {question.name: question.right_line for question in questions(read_cells(text))}
    document = read_document(text)
    for cell in document["cells"]:
        name = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
        if name in right:
            cell["source"] = right[name]
    return json.dumps(document, ensure_ascii=False)


def _every_entry(entries: Entries, body: str) -> str:
    return "\n\n".join(f"def {entry}({', '.join(names)}):\n{body}" for entry, names in entries.items())


def _endless_kernel(reference: str, entries: Entries) -> str:
    kernel = "@cuda.jit\ndef endless_kernel():\n    i = 0\n    while i < 1:\n        i = 0\n"
    return "\n\n".join([reference, kernel, _every_entry(entries, "    endless_kernel[1, 32]()\n")])


_MISHAPS: Mapping[str, Callable[[str, Entries], str]] = {
    "syntax-error": lambda reference, entries: reference + "\n\ndef unfinished(:\n",
    "import-error": lambda reference, entries: "import a_module_that_nobody_has\n" + reference,
    "endless-loop": lambda reference, entries: (
        reference + "\n\n" + _every_entry(entries, "    while True:\n        pass\n")
    ),
    "endless-kernel": _endless_kernel,
    "sys-exit": lambda reference, entries: "import sys\n\nsys.exit(0)\n" + reference,
    "enormous-print": lambda reference, entries: (
        f"for _ in range({PRINTED_LINES}):\n    print('x' * {PRINTED_COLUMNS})\n\n" + reference
    ),
}


def grade_samples(
    samples: Samples, name: str, judge: Judge, *, workers: int | None = None, device: DeviceName, progress: Progress
) -> tuple[Verdict, ...]:
    """The verdicts of one assignment's samples, in the order of their names."""
    assignment = samples.course.assignment(name)
    checks = samples.course.file.parent / SOLUTIONS / assignment.name
    handed_in, _ = submissions(samples.submitted, assignment.name)
    tasks = [Task(checks, folder, student, device) for student, folder in handed_in.items()]
    return grade(
        tasks,
        assignment,
        judge,
        workers=workers or os.cpu_count() or 1,
        progress=progress,
        without_gpu=samples.course.grading.without_gpu,
    )
