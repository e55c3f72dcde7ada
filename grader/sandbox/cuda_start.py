"""Does CUDA start in a process that confines itself like a job? ``python -m grader.sandbox.cuda_start CONFINEMENT``.

In: a ``Confinement`` in JSON. Out: an exit status; on stderr, what failed. A context on the first GPU is what it takes:
it has memory, a thread of the driver's, and a channel to the GPU. Functions are those of the CUDA Driver API.
"""

from __future__ import annotations

import ctypes
import json
import sys

from grader.sandbox.confine import confine
from grader.sandbox.levels import Confinement


def start() -> str:
    """Make a context; what failed, "" if nothing did."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for function, arguments in (
        ("cuInit", (0,)),
        ("cuDeviceGet", (ctypes.byref(device), 0)),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
    ):
        if status := getattr(cuda, function)(*arguments):
            return f"{function} gives error {status}"
    return ""


if __name__ == "__main__":
    confine(Confinement.from_json(json.loads(sys.argv[1])))
    sys.exit(start() or None)
