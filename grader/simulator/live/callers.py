"""The line of a script that asked for something, and the launch that it asked for. Runs in anybody's own process.

In: Python's stack. Out: a ``Place``, Numba's configuration.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numba.cuda.dispatcher as numba_dispatcher
from numba.cuda.cudadrv import devicearray

from grader.records import Place
from grader.simulator.rejections import is_numbas
from grader.simulator.sources import AnyFile
from grader.traces import NOWHERE

_HERE = str(Path(__file__).parent)


@functools.lru_cache(maxsize=1024)
def is_internal(filename: str) -> bool:
    """Whether a file is the simulator's or Numba's own, Numba's tests apart: they use it as anybody does."""
    return filename.startswith(_HERE) or (is_numbas(filename) and "tests" not in Path(filename).parts)


def calling_place(sources: AnyFile) -> Place:
    """Where the call comes from that is now in the simulator's or Numba's code."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_internal(filename):
            return sources.place_in(filename, frame.f_lineno, frame.f_code.co_name)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return NOWHERE


def copied_array() -> Any:
    """The device array of Numba whose contents are being copied to the host; None where something else is copied."""
    frame = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        array = frame.f_locals.get("self")
        if frame.f_code.co_name == "copy_to_host" and isinstance(array, devicearray.DeviceNDArrayBase):
            return array
        frame = frame.f_back  # type: ignore[assignment]
    return None


def calling_configuration() -> Any:
    """Numba's configuration of the launch for which a kernel is being compiled; None where it is for no launch."""
    frame = sys._getframe(1)
    while is_internal(frame.f_code.co_filename):
        asked = frame.f_locals.get("self")
        if isinstance(asked, numba_dispatcher._LaunchConfiguration):
            return asked
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
