"""One GPU serves one race at a time, whoever asks: other judges of this machine wait. Trusted process.

In: the GPU's name. Out: a lock, held while it is used as a context manager. It is the operating system's lock of a file
(flock), so it is free again when the process that held it ends, however that ends.

The file is one for all users of the machine. Whoever comes first makes it, in a folder of everybody's, and never
removes it; the others only open it, so they need no right to it but to read it. (The library filelock is for files of
one user: before 3.13.2 it opens them in a way that Linux refuses for another user's in such a folder,
``fs.protected_regular``, and from 4.2.12 on it refuses those itself.)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader.speed import duration

WAIT_SECONDS = 900.0
LOOK_AGAIN_SECONDS = 0.1
# Folders of everybody's: the first that there is. Not what TMPDIR names, which is often a folder per user or per job.
PLACES = (Path("/dev/shm"), Path("/var/lock"), Path("/tmp"))  # noqa: S108  the file holds nothing
# To read, follow no link that somebody has put there, and wait for nobody to write.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Busy(Exception):
    """The GPU could not be had: somebody else raced on it for too long, or the lock cannot be used; ``str()`` says."""


def key_of(gpu: Mapping[str, Any]) -> str:
    """What tells a GPU apart, of what it says of itself."""
    return str(gpu.get("uuid") or gpu["name"])


@contextlib.contextmanager
def gpu_lock(gpu: str, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of a GPU (its UUID, or whatever tells it apart). Raises Busy after ``seconds``."""
    key = zlib.crc32(gpu.encode("utf-8", "surrogatepass"))
    file = _place() / f"warpgrade-gpu-{key:08x}.lock"
    try:
        fd = _locked(file, time.monotonic() + seconds)
    except OSError as error:
        raise Busy(f"the GPU's lock {file} cannot be used: {error.strerror or error}") from error
    if fd is None:
        raise Busy(f"other races used the GPU for {duration(seconds * 1e9)}")
    try:
        yield
    finally:
        # Closing alone would leave it to processes that have been started meanwhile.
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)


def _place() -> Path:
    usable = (place for place in PLACES if place.is_dir() and os.access(place, os.W_OK | os.X_OK))
    return next(usable, Path(tempfile.gettempdir()))


def _locked(file: Path, deadline: float) -> int | None:
    """A file descriptor that holds the lock of ``file``; None after the deadline. Raises OSError."""
    while True:
        fd = _opened(file)
        try:
            if _locked_before(fd, deadline) and _is_still(file, fd):
                taken, fd = fd, -1
                return taken
        finally:
            if fd >= 0:
                os.close(fd)
        if time.monotonic() > deadline:
            return None


def _opened(file: Path) -> int:
    """The file, made if need be, for everybody to open, whatever this process's umask is."""
    with contextlib.suppress(FileNotFoundError):
        return os.open(file, _FLAGS)
    try:
        fd = os.open(file, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:  # somebody else was faster
        return os.open(file, _FLAGS)
    os.fchmod(fd, 0o666)
    return fd


def _locked_before(fd: int, deadline: float) -> bool:
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_AGAIN_SECONDS)


def _is_still(file: Path, fd: int) -> bool:
    """Whether the open file is the one that others open, too: while one waits, somebody may clean up."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(file.stat(follow_symlinks=False), os.fstat(fd))
    return False
