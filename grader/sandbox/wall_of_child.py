"""Which wall is around which child. Trusted process.

In: the name of a child's module; the machine. Out: the level that it gets here, and the wall.

The recorder gets the strongest level that the machine offers. The runner, on a machine with a GPU, gets the strongest
behind which CUDA starts: a driver may need what no other did, and nobody is told "no GPU" for a wall's sake.
"""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path

from grader.sandbox import nvidia
from grader.sandbox.environment import PYTHON, child_environment, searched_folders
from grader.sandbox.levels import LEVELS, SandboxLevel
from grader.sandbox.walls import NO_WALL, Offer, Wall, offer, wall_at

RECORDER, RUNNER = "grader.recorder", "grader.runner"
_STARTS_CUDA = "grader.sandbox.cuda_start"
# CUDA needs a second, and the first time after the machine has started several, where nobody keeps the driver loaded.
_START_SECONDS = 60.0


def offer_to(module: str) -> Offer:
    """What this machine offers to the child of this ``module``: all but the recorder may use a GPU."""
    found = offer()
    return found if module == RECORDER or not nvidia.has_gpu() else _offer_to_cuda(found)


def wall_of(module: str) -> Wall:
    """The wall around the child of this ``module``. Raises ChildFault where its Python does not answer."""
    return _wall(module, offer_to(module).level)


@lru_cache(maxsize=8)
def _wall(module: str, level: SandboxLevel) -> Wall:
    if level == LEVELS[0]:
        return NO_WALL
    may_use_gpu = module != RECORDER and nvidia.has_gpu()
    return wall_at(level, searched_folders(module), nvidia.device_files() if may_use_gpu else ())


@lru_cache(maxsize=2)
def _offer_to_cuda(found: Offer) -> Offer:
    missing = list(found.missing)
    for level in reversed(LEVELS[1 : LEVELS.index(found.level) + 1]):
        why_not = _why_no_cuda(_wall(RUNNER, level))
        if not why_not:
            return Offer(level, tuple(missing))
        missing.append(f"CUDA does not start behind the wall of {level!r} here: {why_not}")
    starts_without = found.level != LEVELS[0] and not _why_no_cuda(NO_WALL)
    return Offer(LEVELS[0], tuple(missing)) if starts_without else found


def _why_no_cuda(wall: Wall) -> str:
    """Why CUDA does not start behind a wall; "" where it does."""
    command = [*wall.under, *PYTHON, "-m", _STARTS_CUDA, json.dumps(wall.confinement.as_json())]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            env=child_environment(RUNNER, Path("/")),
            cwd="/",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    return (done.stderr.strip() or f"exit status {done.returncode}")[-200:]
