"""Landlock: a process gives up, for itself and for good, all files but those that are named. In a job; Linux only.

In: paths that may be read. Out: nothing; what is opened from then on is of these. As well given up, where the kernel
knows how: TCP, abstract Unix sockets, signals to processes outside, and (always) looking into these by ptrace or /proc.
The C library has no functions for Landlock's three system calls, and no well-kept package for Python has its rules on
networks and signals. Numbers and layouts are those of linux/landlock.h, explained in landlock(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Sequence

# The same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_FOLDER, _TRUNCATE, _TELL_DEVICE = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
# CUDA gives its threads names, and does not start where it cannot (CUDA_ERROR_OPERATING_SYSTEM).
_NAMES_OF_THREADS = "/proc/self/task"
# How many rights on files each version of the interface knows; from the sixth on it is the fifth's.
_RIGHTS_ON_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NEWEST_KNOWN = 6
_TCP_SINCE, _ALL_OF_TCP = 4, 0b11
_SCOPES_SINCE, _ALL_SCOPES = 6, 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The version of Landlock's interface that the kernel speaks; 0 where it has none, or it is switched off."""
    with contextlib.suppress(OSError, AttributeError):
        return _call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    return 0


def restrict(readable: Iterable[str], devices: Sequence[str] = ()) -> None:
    """Give up all files but ``readable``, which may be read, folders with all that is in them.

    Nothing but /dev/null may be written, nothing made, removed or executed. A GPU's ``devices`` may be written and told
    what their driver understands; where there are any, threads may have names. A path that is not there, or that this
    user cannot reach, is left out. Needs no_new_privs (see ``confine``). Raises OSError, also without Landlock.
    """
    known = min(version(), _NEWEST_KNOWN)
    if not known:
        raise OSError(errno.EOPNOTSUPP, "the kernel has no Landlock")
    handled = _Ruleset(
        files=(1 << _RIGHTS_ON_FILES[min(known, max(_RIGHTS_ON_FILES))]) - 1,
        network=_ALL_OF_TCP if known >= _TCP_SINCE else 0,
        scoped=_ALL_SCOPES if known >= _SCOPES_SINCE else 0,
    )
    # A kernel that does not know the last fields takes a longer record where these are 0.
    ruleset = _call(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    allowed = dict.fromkeys(readable, _READ_FILE) | {os.devnull: _READ_FILE | _WRITE_FILE}
    allowed |= dict.fromkeys(devices, _READ_FILE | _WRITE_FILE | _TELL_DEVICE)
    if devices:
        allowed[_NAMES_OF_THREADS] = _READ_FILE | _WRITE_FILE | _TRUNCATE
    try:
        for path, rights in allowed.items():
            # What is left out is not readable: a folder, say, that this user may not enter.
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                _allow(ruleset, path, rights & handled.files)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        more = _READ_FOLDER if stat.S_ISDIR(os.fstat(fd).st_mode) else 0
        rule = _Beneath(allowed=rights | more, folder=fd)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(fd)


def _call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = library.syscall(ctypes.c_long(number), *wide)
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(answer)
