"""Logs as compute-sanitizer wrote them, and a program that passes for it."""

# mypy: ignore-errors
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.children import Children
from grader.kernels_text import KernelsText

HERE = Path(__file__).parent
LOGS = HERE / "logs"


@pytest.fixture(scope="session")
def kernels() -> KernelsText:
    """The text that the logs are about."""
    return KernelsText((LOGS / "kernels.py.txt").read_bytes())


@pytest.fixture
def log():
    """A function that gives a log by its name; each key of ``changed`` is replaced wherever it stands."""

    def changed_log(name, **changed):
        text = (LOGS / f"{name}.log").read_text()
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        return text

    return changed_log


@pytest.fixture
def fake(tmp_path, monkeypatch, log):
    """A folder for the logs that a fake compute-sanitizer gives out, by tool and kernel; it is on the PATH."""
    folder = tmp_path / "fake 100%"
    folder.mkdir()
    text = (
        (HERE / "fake_sanitizer.py").read_text().replace('"LOGS"', repr(str(folder))).replace('"HERE"', repr(str(HERE)))
    )
    program = folder / "compute-sanitizer"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(Children, "gpu", lambda self: {"name": "a GPU that is none"})
    (folder / "memcheck-one_further.log").write_text(log("memcheck-oob_write"))
    (folder / "racecheck-no_barrier.log").write_text(log("racecheck-race_raw"))
    return folder
