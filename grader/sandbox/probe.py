"""A question to this machine, which a program answers that is started for it. Trusted process.

In: a command. Out: what it prints, or an exception that says why there is no answer.

That a thing works is a fact that may be kept. That it does not may be of this moment: a machine that is busy, a table
of the kernel's that is full. So who keeps answers does it by ``functools.lru_cache``, which keeps no exception.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

# To start Python from a slow disk; or CUDA, the first time after the machine has, where nobody keeps the driver loaded.
PROBE_SECONDS = 60.0
_SHOWN = 300


class NoAnswer(Exception):
    """A program could not be started, took too long, or failed. ``str()`` is why, on one line."""


def ask(command: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """What the command prints. Raises NoAnswer."""
    try:
        done = subprocess.run(  # noqa: S603
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"no answer after {PROBE_SECONDS:.0f} s") from error
    except OSError as error:
        raise NoAnswer(str(error)) from error
    if done.returncode != 0:
        raise NoAnswer(" ".join(done.stderr.split())[-_SHOWN:] or f"exit status {done.returncode}")
    return done.stdout
