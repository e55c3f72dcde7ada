"""What of solutions/NN a student would see, in the files of a release or in a released folder. Trusted process.

In: solutions/NN and texts by name, or a folder. Out: sentences with file and line; where there are none, nothing leaks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.assignment_folder import FAST_FILE, HIDDEN_FILE, WRONG_FOLDER
from grader.errors import ReleaseError
from grader.notebook import SUFFIX
from grader.notebook_leaks import key_leaks, shown_lines, traces
from grader.records import KERNELS_FILE
from grader.stub import BEGIN, END, squeezed, telling_lines

HIDDEN = (HIDDEN_FILE, WRONG_FOLDER, FAST_FILE)


def leaks(source: Path, files: Mapping[str, str]) -> Iterator[str]:
    """What of ``source`` that a student must not see stands in ``files``, as sentences with file and line."""
    for file in files:
        if Path(file).parts[0] in HIDDEN:
            yield f"{file}: must not be released"
    hidden = source / HIDDEN_FILE
    secrets = {name: f"hidden check of {hidden}:{line}" for name, line in _functions(hidden)}
    wrong = source / WRONG_FOLDER
    secrets |= {path.stem: f"name of the mutant {path}" for path in sorted(wrong.glob("*.py")) if "_" in path.stem}
    kernels = source / KERNELS_FILE
    solution = {squeezed(line): number for number, line in telling_lines(read_source(kernels), str(kernels))}
    for file, text in files.items():
        is_notebook = file.endswith(SUFFIX)
        for place, line in shown_lines(file, text) if is_notebook else _lines(file, text):
            if BEGIN in line or END in line:
                yield f"{place}: a solution marker is left"
            for secret, what in secrets.items():
                if secret in line:
                    yield f"{place}: {secret!r} is a {what}"
            origin = solution.get(squeezed(line).lstrip("#"))
            if origin is not None:
                yield f"{place}: holds the solution's line {kernels}:{origin}: {line.strip()}"
        if is_notebook:
            yield from traces(file, text)
            for path in sorted(source.glob(f"*{SUFFIX}")):
                yield from key_leaks(read_source(path), text, file)


def _lines(file: str, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield f"{file}:{number}", line


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    if path.is_file():
        for node in ast.parse(read_source(path)).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                yield node.name, node.lineno


def hidden_in(target: Path) -> Iterator[str]:
    """What lies in a released folder and must not, as sentences: hidden files, a notebook with its solutions."""
    for hidden in HIDDEN:
        if (target / hidden).exists():
            yield f"{target / hidden}: must not lie in a released folder"
    for path in sorted(target.glob(f"*{SUFFIX}")):
        try:
            lines = list(shown_lines(path.name, path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, ReleaseError):
            continue  # a learner's, and no notebook any more
        if any(BEGIN in line or END in line for _, line in lines):
            yield f"{path}: must not lie in a released folder, it has its solutions"


def read_source(path: Path) -> str:
    """The text of a file of the course's. Raises ReleaseError where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{path}: expected a readable text file, found: {error}") from None
