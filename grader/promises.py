"""What an author must have put into words, and what checks may not do; found in the text. Trusted process.

In: solutions/NN and the names of its entry points. Out: sentences with file and line, one per thing that lacks. Runs
none of the files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.records import KERNELS_FILE

CHECKS = "test_*.py"
PACKAGE = __name__.partition(".")[0]


def missing_docstrings(source: Path, entries: Iterable[str]) -> Iterator[str]:
    """Checks without a promise and entry points without a description. Files must be Python."""
    for path in sorted(source.glob(CHECKS)):
        for node in _functions(path):
            if node.name.startswith("test") and not _has_words(node):
                yield (
                    f"{path}:{node.lineno}: expected a docstring in {node.name}, whose first line says what the check "
                    "promises: a student sees nothing else of a hidden check"
                )
    kernels = source / KERNELS_FILE
    functions = {node.name: node for node in _functions(kernels)}
    for entry in entries:
        if entry in functions and not _has_words(functions[entry]):
            yield (
                f"{kernels}:{functions[entry].lineno}: expected a docstring in {entry} with the shapes and dtypes of "
                "its arguments: the stub keeps it, and a student starts from it"
            )


def imports_of_grader(source: Path) -> Iterator[str]:
    """Checks that import the package: they judge through the fixture ``submission`` alone."""
    for path in sorted(source.glob(CHECKS)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            else:
                continue
            if any(name.partition(".")[0] == PACKAGE for name in names):
                yield f"{path}:{node.lineno}: expected checks without imports from {PACKAGE}, found one"


def _functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]


def _has_words(node: ast.FunctionDef) -> bool:
    return bool((ast.get_docstring(node) or "").strip())
