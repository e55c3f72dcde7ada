"""A job gives up what it has no need of, before it reads its request. In a job of either child; Linux only.

In: what it is to give up (``levels.Confinement``). Out: nothing. Whatever fails raises OSError, and the job ends before
it has read anything.
"""

from __future__ import annotations

import ctypes
import os
import sys

from grader.sandbox import landlock, system_calls
from grader.sandbox.levels import Confinement

_DUMPABLE, _NO_NEW_PRIVILEGES = 4, 38
# linux/capability.h: the version whose sets have two words each.
_CAPABILITIES_VERSION = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def confine(what: Confinement) -> None:
    """Confine the calling process for good. Raises OSError."""
    if what == Confinement():
        return
    library = ctypes.CDLL(None, use_errno=True)
    _checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if what.readable is not None:
        landlock.restrict(what.readable, what.gpu)
    # Of root's, which would pass by owners and modes; the user stays, since others may be unable to read this Python.
    _checked(library.capset(ctypes.byref(_Header(_CAPABILITIES_VERSION, 0)), ctypes.byref((_Sets * 2)())))
    if what.system_calls:
        system_calls.give_up(gpu=bool(what.gpu))


def hide() -> None:
    """Close the calling process's memory, and that of those that it forks, to others of its user. On Linux."""
    if sys.platform == "linux":
        _checked(ctypes.CDLL(None, use_errno=True).prctl(_DUMPABLE, 0, 0, 0, 0))


def _checked(answer: int) -> None:
    if answer != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
