"""Reading a submission: a stranger's folder in, its kernels.py as bytes or a failure out. Runs in the
trusted process.

Nothing of the text is executed, imported or compiled here.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from grader.records import KERNELS_FILE, Failure

# A thousand times a reference solution; what is larger is no kernel.
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Submission:
    """A folder with a kernels.py. ``source`` is its bytes, which are UTF-8; ``sha256`` their digest in
    hex.
    """

    folder: Path
    student: str
    source: bytes
    sha256: str


def read_submission(folder: Path, student: str = "") -> Submission | Failure:
    """Read ``folder/kernels.py`` once, or say why it cannot be judged. Raises nothing for whatever lies
    there.
    """
    problem = _folder_problem(folder)
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


def _folder_problem(folder: Path) -> Failure | None:
    expected = f"a folder with a {KERNELS_FILE}"
    try:
        mode = folder.lstat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Failure("no-folder", "The submission's folder cannot be found.", expected, reason, str(folder))
    if stat.S_ISLNK(mode):
        return Failure("link", "The submission is a link.", expected, "a symbolic link", str(folder), _COPY)
    if not stat.S_ISDIR(mode):
        return Failure("no-folder", "The submission is no folder.", expected, _kind(mode), str(folder))
    return None


def _read(path: Path) -> bytes | Failure:
    where = str(path)
    expected = f"a file {KERNELS_FILE} of at most {MAX_BYTES:,} bytes"
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return Failure("link", f"{KERNELS_FILE} is a link.", expected, "a symbolic link", where, _COPY)
        if not stat.S_ISREG(mode):
            return Failure("special-file", f"{KERNELS_FILE} is no ordinary file.", expected, _kind(mode), where)
        # The file may have been exchanged since: no link is followed, and a pipe is not waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Failure("special-file", f"{KERNELS_FILE} is no ordinary file.", expected, where=where)
            source = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        found = _similar(path.parent)
        advice = f"Put your work into {KERNELS_FILE}, spelled like this, directly in the folder."
        return Failure("no-kernels-file", f"There is no {KERNELS_FILE}.", expected, found, str(path.parent), advice)
    except OSError as error:
        reason = error.strerror or str(error)
        return Failure("unreadable", f"{KERNELS_FILE} cannot be read.", expected, reason, where)
    if len(source) > MAX_BYTES:
        return Failure(
            "too-large",
            f"{KERNELS_FILE} is too large.",
            expected,
            f"{status.st_size:,} bytes",
            where,
            "Remove data from the file; tables can be computed by a kernel.",
        )
    return source


_COPY = "Hand in the file itself, not a link to it."


def _similar(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return "a folder that cannot be listed"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown}{', …' if len(names) > 8 else ''}" if names else "an empty folder"


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "something else")
