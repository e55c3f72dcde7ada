"""What processes there are, for tests that end some and look whether the others follow. Linux and macOS."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """The processes that ``pid`` has started, and those that they have."""
    parents = _parents()
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found and child not in found}:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    """Those of ``pids`` that have not ended (a zombie has)."""
    return pids & set(_parents())


def jobs(pid: int, module: str) -> set[int]:
    """Those of its descendants that a warm child, run as ``module``, has forked: at work for one submission each."""
    parents = _parents()
    warm = {process for process in descendants(pid) if module in _command(process)}
    # What starts one, bubblewrap, says its name too.
    return {process for process in warm if (above := parents.get(process)) in warm and "bwrap" not in _command(above)}


def with_command(text: str) -> set[int]:
    """All processes whose command line has ``text`` in it."""
    return {pid for pid in _parents() if text in _command(pid)}


def wait_until(what: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether ``what()`` comes to hold within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _command(pid: int) -> str:
    file = Path(f"/proc/{pid}/cmdline")
    if not file.parent.parent.joinpath("self").exists():
        command = ["ps", "-p", str(pid), "-o", "command="]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _parents() -> dict[int, int]:
    """Each living process with its parent."""
    if not Path("/proc/self/stat").exists():
        rows = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True, check=True)
        return {int(p): int(parent) for p, parent, state in map(str.split, rows.stdout.splitlines()) if state[0] != "Z"}
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            found[int(file.parent.name)] = int(parent)
    return found
