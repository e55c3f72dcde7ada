"""Can a process confine itself here like a job? ``python -m grader.sandbox.confined_start CONFINEMENT``.

In a process of its own, behind what a child would be behind. In: a ``Confinement`` in JSON. Out: an exit status; on
stderr, what failed, or what it could do afterwards all the same.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from grader.sandbox.confine import confine
from grader.sandbox.levels import Confinement


def why_not(what: Confinement) -> str:
    """Confine this process, for good; what is not as it is for a job behind a wall, "" if all is."""
    try:
        confine(what)
        Path(os.__file__).read_bytes()
    except OSError as error:
        return str(error)
    if what.system_calls and _works(lambda: socket.socket().close()):
        return "a confined process can make sockets"
    if what.readable is not None and _works(lambda: os.listdir("/")):  # noqa: PTH208  names are all there is
        return "a confined process can read other files than it may"
    return ""


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(why_not(Confinement.from_json(json.loads(sys.argv[1]))) or None)
