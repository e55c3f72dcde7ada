"""Reading a submission: a stranger's folder in, its kernels.py as bytes or a failure out. Runs in the
trusted process.

Nothing of the text is executed, imported or compiled here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from grader.intake import CARRIED, NO_FILE, folder_problem, ordinary_bytes
from grader.records import KERNELS_FILE, Failure

# A thousand times a reference solution; what is larger is no kernel.
MAX_BYTES = 1 << 20
# In the place of a kernels.py that was handed in and could not be collected: why, in a line.
NOTE_FILE = "not-collected.txt"
MAX_NOTE = 10_000  # bytes


@dataclass(frozen=True)
class Submission:
    """A folder with a kernels.py. ``source`` is its bytes, which are UTF-8; ``sha256`` their digest in
    hex.
    """

    folder: Path
    student: str
    source: bytes
    sha256: str


def not_collected(folder: Path) -> str:
    """Why ``folder`` lacks the kernels.py that was handed in, by the note of who collected; "" if that is not so.

    Such work is not judged: 0 points would be said of something that nobody has read. Raises nothing.
    """
    if os.path.lexists(folder / KERNELS_FILE) or not isinstance(
        note := ordinary_bytes(folder / NOTE_FILE, MAX_NOTE), bytes
    ):
        return ""
    return f"handed in, but not collected: {' '.join(note.decode('utf-8', 'replace').split())}"


def read_submission(folder: Path, student: str = "") -> Submission | Failure:
    """Read ``folder/kernels.py`` once, or say why it cannot be judged. Raises nothing for whatever lies
    there.
    """
    problem = folder_problem(folder, f"a folder with a {KERNELS_FILE}")
    if problem is not None:
        return problem
    source = _read(folder / KERNELS_FILE)
    if isinstance(source, Failure):
        return source
    if not source.strip():
        return Failure(
            "empty-kernels-file",
            f"{KERNELS_FILE} is empty.",
            "the functions of the assignment",
            "no text",
            str(folder / KERNELS_FILE),
            f"Start from the {KERNELS_FILE} that came with the assignment.",
        )
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return Failure(
            "not-utf8",
            f"{KERNELS_FILE} is not a text in UTF-8.",
            "Python source in UTF-8",
            f"byte 0x{source[error.start]:02x} in line {line}",
            f"{KERNELS_FILE}:{line}",
            "Save the file as UTF-8 in your editor.",
        )
    return Submission(folder, student, source, hashlib.sha256(source).hexdigest())


def authors_own(folder: Path, checks: Path) -> Failure | None:
    """A failure where the kernels.py in ``folder`` is a file of the folder of ``checks``, by a hard link; else None.

    A copy is another file. So is one of a backup that links to unchanged files, unless it links to the course's.
    """
    if folder == checks:
        return None
    for path in checks.rglob("*.py"):
        with contextlib.suppress(OSError):
            if os.path.samestat(path.lstat(), (folder / KERNELS_FILE).lstat()):
                return Failure(
                    "link",
                    f"{KERNELS_FILE} is a link.",
                    "a file of your own",
                    "a hard link to a file of the course",
                    KERNELS_FILE,
                    "Hand in a copy of your work.",
                )
    return None


def _read(path: Path) -> bytes | Failure:
    source = ordinary_bytes(path, MAX_BYTES)
    if isinstance(source, Failure) and source.kind == NO_FILE:
        return Failure(
            "no-kernels-file",
            source.what,
            source.expected,
            not_collected(path.parent) or _similar(path.parent),
            str(path),
            f"Put your work into {KERNELS_FILE}, spelled like this, directly in the folder.",
        )
    if isinstance(source, Failure) and source.kind == "too-large":
        return replace(source, advice="Remove data from the file; tables can be computed by a kernel.")
    return source


def _similar(folder: Path) -> str:
    try:
        # What nbgrader puts there no student has handed in.
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name not in CARRIED)
    except OSError:
        return "a folder that cannot be listed"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown}{', …' if len(names) > 8 else ''}" if names else "an empty folder"
