"""What is taken from a stranger's folder: ordinary files, each opened once, under names that are safe. Trusted process.

In: paths below a folder that its owner may change at any time. Out: bytes, or a Failure for the student. No link is
followed, neither of the file nor of its folder, and a pipe is not waited for.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path

from grader.records import Failure

# Beside kernels.py and the assignment's notebooks, all that nbgrader's steps need of a submission.
CARRIED = ("timestamp.txt", "submission_secret.txt")
MAX_CARRIED = 1000  # bytes of each; nbgrader writes a line into it
MAX_NAME_BYTES = 200  # file systems allow 255, and a name gets endings
NO_FILE = "no-file"
COPY = "Hand in the file itself, not a link to it."
_MARKS_IN_NAMES = frozenset("._-@ ")
# nbgrader's exchange joins names with it.
_SEPARATOR = "+"
# Letters and marks by Unicode's categories, of which nothing is to be seen.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {
    chr(code)
    for first, last in ((0xFE00, 0xFE0F), (0x180B, 0x180F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
# Only its name is needed, so a folder that may be entered and not listed will do.
_FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def ordinary_bytes(path: Path, limit: int) -> bytes | Failure:
    """The bytes of an ordinary file of at most ``limit`` bytes, or why there are none. Raises nothing.

    Kinds of failures: ``no-file``, ``link``, ``special-file``, ``too-large``, ``unreadable``.
    """
    name, where = path.name, str(path)
    expected = f"a file {name} of at most {limit:,} bytes"
    try:
        folder = os.open(path.parent, _FOLDER_FLAGS)
    except (OSError, ValueError) as error:
        if path.parent.is_symlink():
            return Failure("link", f"The folder of {name} is a link.", expected, "a symbolic link", where, COPY)
        return _unreadable(error, name, expected, where)
    try:
        return _bytes(name, folder, limit, expected, where)
    except (OSError, ValueError) as error:  # a null character in a name is a ValueError
        return _unreadable(error, name, expected, where)
    finally:
        os.close(folder)


def _bytes(name: str, folder: int, limit: int, expected: str, where: str) -> bytes | Failure:
    mode = os.lstat(name, dir_fd=folder).st_mode
    if stat.S_ISLNK(mode):
        return Failure("link", f"{name} is a link.", expected, "a symbolic link", where, COPY)
    if not stat.S_ISREG(mode):
        return Failure("special-file", f"{name} is no ordinary file.", expected, kind_of_file(mode), where)
    # The file may have been exchanged since.
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return Failure("special-file", f"{name} is no ordinary file.", expected, where=where)
        content = file.read(limit + 1)
    if len(content) > limit:
        size = max(status.st_size, len(content))
        return Failure("too-large", f"{name} is too large.", expected, f"{size:,} bytes", where)
    return content


def _unreadable(error: OSError | ValueError, name: str, expected: str, where: str) -> Failure:
    if isinstance(error, FileNotFoundError):
        return Failure(NO_FILE, f"There is no {name}.", expected, "none", where)
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Failure("unreadable", f"{name} cannot be read.", expected, reason, where)


def folder_problem(folder: Path, expected: str) -> Failure | None:
    """Why ``folder`` is none that a submission may be read from: it is absent, a link, or something else."""
    try:
        mode = folder.lstat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Failure("no-folder", "The submission's folder cannot be found.", expected, reason, str(folder))
    if stat.S_ISLNK(mode):
        return Failure("link", "The submission is a link.", expected, "a symbolic link", str(folder), COPY)
    if not stat.S_ISDIR(mode):
        return Failure("no-folder", "The submission is no folder.", expected, kind_of_file(mode), str(folder))
    return None


def kind_of_file(mode: int) -> str:
    """A file's mode in words, for somebody who expected something else."""
    kinds = (
        (stat.S_ISREG, "a file"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "something else")


def student_name_problem(name: str, *, in_exchange: bool = False) -> str | None:
    """Why ``name`` cannot be a student's, in one printable sentence; None if it can.

    nbgrader takes such names for glob patterns, parts of paths and of pages, so letters and digits of any script,
    ``. _ - @ +`` and spaces are all that is accepted; in nbgrader's exchange, which joins names with it, no ``+``.
    """
    allowed = f"letters, digits, '. _ - @{'' if in_exchange else ' +'}' and spaces"
    if not name.strip():
        return "a student's name is empty"
    if name.startswith(".") or name != name.strip():
        return f"the student's name {quoted(name)} begins with a dot, or begins or ends with a space"
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return f"a student's name of {len(name)} characters is too long: at most {MAX_NAME_BYTES} bytes are accepted"
    strange = next((letter for letter in name if not _accepted(letter, in_exchange)), None)
    if strange is not None:
        return f"the student's name {quoted(name)} holds {quoted(strange)}: expected {allowed}"
    return None


def quoted(text: str) -> str:
    """A name of a stranger's between quotation marks, as it is, but for what nobody sees or a terminal obeys."""
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    mark = '"' if "'" in shown else "'"
    return f"{mark}{shown}{mark}"


def printable_name(name: str) -> str:
    """``name`` with ``_`` for each character that a student's may not have: an LMS has people's own."""
    return "".join(letter if _accepted(letter, in_exchange=False) else "_" for letter in name)


def _accepted(letter: str, in_exchange: bool) -> bool:
    if letter in _MARKS_IN_NAMES or (letter == _SEPARATOR and not in_exchange):
        return True
    category = unicodedata.category(letter)
    return (category[0] in "LM" or category == "Nd") and letter not in _INVISIBLE
