"""One GPU serves one race at a time, whoever asks: other judges of this machine wait. Trusted process.

In: the GPU's name. Out: a lock, held while it is used as a context manager. It is the operating system's lock of a file
(flock), so it is free again when the process that held it ends, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from grader.speed import duration

WAIT_SECONDS = 900.0


class Busy(Exception):
    """Somebody else raced on this GPU for too long; ``str()`` says how long was waited."""


@contextlib.contextmanager
def gpu_lock(gpu: str, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of a GPU (its UUID, or whatever tells it apart). Raises Busy after ``seconds``."""
    name = f"warpgrade-gpu-{zlib.crc32(gpu.encode()):08x}.lock"
    # One file for all users of the machine: whoever comes first makes it, and everybody may lock it.
    lock = FileLock(Path(tempfile.gettempdir()) / name, timeout=seconds, mode=0o666)
    mask = os.umask(0)
    try:
        lock.acquire()
    except Timeout:
        raise Busy(f"other races used the GPU for {duration(seconds * 1e9)}") from None
    finally:
        os.umask(mask)
    try:
        yield
    finally:
        lock.release()
