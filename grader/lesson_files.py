"""Where a lesson's notebook runs: which assignment that is, and what must lie beside the notebook. Trusted process.

In: the notebook's folder, and the course's zip where there is one (Colab begins with a notebook alone). Out: the
assignment's name, files that were missing, and a digest of what a verdict depends on.
"""

from __future__ import annotations

import fnmatch
import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from grader.assignment_folder import PUBLIC_FILE
from grader.course import FILE_NAME, find_course, load_course
from grader.errors import UsageError
from grader.notebook import SUFFIX
from grader.problem import PROBLEM_FILE
from grader.records import KERNELS_FILE

JUDGED_BY = (KERNELS_FILE, PROBLEM_FILE, PUBLIC_FILE, FILE_NAME)
ZIPS = "*-student*.zip"  # as `grader release --bundle` names it, and as a browser does that has one of the name already
MAX_MEMBER_BYTES = 1 << 20


def assignment_of(folder: Path) -> str:
    """The name of the assignment whose notebook runs in ``folder``. Raises UsageError, CourseError."""
    path = find_course(folder)
    if path is None:
        raise UsageError(
            f"expected {FILE_NAME} beside the notebook, found none; run the notebook in its assignment's folder, "
            "or put the course's zip beside it and run the first cell again"
        )
    return load_course(path).assignment_of(folder).name


def missing(folder: Path) -> tuple[str, ...]:
    """What must lie beside a notebook and does not; a course.yml above the folder will do."""
    absent = [name for name in JUDGED_BY if not (folder / name).exists()]
    if FILE_NAME in absent and find_course(folder) is not None:
        absent.remove(FILE_NAME)
    return tuple(absent)


def complete(folder: Path, name: str) -> tuple[str, ...]:
    """Put what is missing of assignment ``name`` beside its notebook, from the course's zip; the files' names.

    What is there stays as it is. Raises UsageError where there is no zip, or the files are not in it.
    """
    absent = missing(folder)
    if not absent:
        return ()
    archives = sorted(folder.glob(ZIPS), key=lambda path: path.stat().st_mtime)
    if not archives:
        raise UsageError(
            f"expected {', '.join(absent)} beside the notebook, found none, nor the course's zip to take them from; "
            f"put the zip ({ZIPS}) beside the notebook, then run this cell again"
        )
    texts = _from_zip(archives[-1], name, absent)
    for file, text in texts.items():
        with (folder / file).open("xb") as new:
            new.write(text)
    return tuple(texts)


def _from_zip(archive: Path, name: str, wanted: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                for file in wanted:
                    if fnmatch.fnmatchcase(member.filename, f"*/assignments/{name}/{file}"):
                        if member.file_size > MAX_MEMBER_BYTES:
                            raise UsageError(f"{archive}: {member.filename} is too large to be a part of a course")
                        found[file] = opened.read(member)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{archive}: expected the course's zip, found: {error}; download it again") from None
    lacking = [file for file in wanted if file not in found]
    if lacking:
        raise UsageError(f"{archive}: expected assignments/{name}/{lacking[0]} in it, found none; is it this course's?")
    return found


def digest(folder: Path, *, notebooks: bool) -> str:
    """A hash of what a verdict depends on; ``notebooks``: of their answers, too."""
    paths = [folder / name for name in JUDGED_BY]
    if notebooks:
        paths += sorted(folder.glob(f"*{SUFFIX}"))
    summed = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        summed.update(f"{path.name} {len(content)} ".encode("utf-8", "surrogateescape") + content)
    return summed.hexdigest()
