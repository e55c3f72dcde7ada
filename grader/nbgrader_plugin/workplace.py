"""Where converters work: staged folders inside the course's root, and one converter at a time. nbgrader's process.

In: the course's root. Out: a folder that is gone afterwards, a lock that is free afterwards.

The folders lie in the root because nbgrader joins every path to it, and a relative ``db_url`` means the root, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOCK_FILE = ".grader-nbgrader.lock"
STAGED = ".staged-"
# What nbgrader says of a late submission (converters.autograde, preprocessors.latesubmissions).
_LATE, _PENALTY = "seconds late", "Late submission penalty:"


@contextlib.contextmanager
def working_in(root: Path) -> Iterator[Path]:
    """Hold the course's lock, with a new staging folder. What a killed run has left is removed first.

    Formgrader and the command line are different processes that write one gradebook and one release. Not to be
    entered twice by one thread: the second waits for the first.
    """
    # To read: other instructors of the course, who did not make the file, need no more for a lock.
    handle = os.open(root / LOCK_FILE, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o664)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in root.glob(f"{STAGED}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=STAGED, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    finally:
        os.close(handle)


@contextlib.contextmanager
def attributes(holder: Any, **values: Any) -> Iterator[None]:
    """Set attributes for a while. Unlike nbgrader's ``temp_attrs`` it sets them back after an exception, too.

    Formgrader's server goes on after one: a folder that is gone would stay its course's source.
    """
    before = {name: getattr(holder, name) for name in values}
    try:
        for name, value in values.items():
            setattr(holder, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(holder, name, value)


@contextlib.contextmanager
def without_progress(log: Any) -> Iterator[None]:
    """Leave out what nbgrader says of each step with each staged file; warnings stay, and with --debug all of it."""
    logger = getattr(log, "logger", log)  # of an adapter's
    before = logger.level
    if not tells_all(log):
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def without_lateness(log: Any) -> Iterator[None]:
    """Leave out nbgrader's two warnings on each late submission, which know neither grace nor extensions."""
    logger = getattr(log, "logger", log)

    def is_another(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(_PENALTY) and not record.getMessage().endswith(_LATE)

    logger.addFilter(is_another)
    try:
        yield
    finally:
        logger.removeFilter(is_another)


def tells_all(log: Any) -> bool:
    """Whether nbgrader was started with --debug: that is a level of handlers, traitlets lets a logger have all.

    Formgrader's log of a button has no level.
    """
    logger = getattr(log, "logger", log)
    return any(logging.NOTSET < handler.level <= logging.DEBUG for handler in logger.handlers)


def student_folders(coursedir: Any, step: str, assignment: str) -> list[Path]:
    """Folders ``<step>/<student>/<assignment>`` of the students that ``coursedir`` is set to, as nbgrader has it."""
    pattern = coursedir.format_path(step, coursedir.student_id or "*", assignment)
    return sorted(map(Path, glob.glob(pattern)))  # noqa: PTH207  (it begins with a folder, and may not be below it)
