"""The notebooks that other tests make are notebooks: as nbformat writes them and as nbgrader's schema has them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import notebook_course
import tiny_notebook

Run = Callable[..., subprocess.CompletedProcess[str]]
READ = """\
import sys
import nbformat
from nbgrader.nbgraderformat.v3 import MetadataValidatorV3
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    MetadataValidatorV3().validate_nb(notebook)
    print(nbformat.writes(notebook) == text.rstrip("\\n"))
"""


def test_the_tests_notebooks_are_what_nbformat_writes_and_nbgrader_accepts(root: Path, python: Run) -> None:
    tiny_notebook.write(root / "other", tiny_notebook.document())
    files = (root / "other" / tiny_notebook.NAME, root / "solutions/01" / notebook_course.NOTEBOOK)
    done = python(READ, *map(str, files))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True"]
