"""A folder exchanged for a new one, whole, whenever the process ends. Trusted process.

In: a folder, the files that it shall have. Out: the folder with them, or as it was. Between its two renames there is
none at its place: ``put_back`` undoes what a process that was killed right there has left, before anything is decided
by what the folder holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


def swap_in(target: Path, files: Mapping[str, str], removed: Iterable[str] = ()) -> None:
    """Give ``target`` these texts, by file name, without the files ``removed``. Whatever else is in it moves along.

    Raises OSError; then it is as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone(target), tempfile.TemporaryDirectory(dir=target.parent, prefix=_prefix(target)) as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        if target.exists():
            shutil.copytree(target, new, symlinks=True)
        new.mkdir(exist_ok=True)
        for file in removed:
            (new / file).unlink(missing_ok=True)
        for file, text in files.items():
            if differs(new / file, text):
                (new / file).unlink(missing_ok=True)
                (new / file).write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise


def put_back(target: Path) -> None:
    """Undo what a killed process has left of ``swap_in``: the folder comes back, and nothing stays beside it.

    Raises OSError.
    """
    if target.parent.is_dir():
        with _alone(target):
            pass


def differs(path: Path, text: str) -> bool:
    """Whether a file has other lines than ``text``, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8").splitlines() != text.splitlines()
    except (OSError, UnicodeDecodeError):
        return True


def _prefix(target: Path) -> str:
    return f".{target.name}.swap-"


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold a lock on the folder that ``target`` is in: what others have left beside ``target`` is nobody's then."""
    handle = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for left in sorted(target.parent.glob(f"{_prefix(target)}*")):
            if not target.exists() and (left / "old").is_dir():
                (left / "old").rename(target)
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(handle)
