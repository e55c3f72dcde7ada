"""Which wall is around which child. Trusted process.

In: the name of a child's module, the level that is demanded; the machine. Out: the level that it gets here, and the
wall.

The recorder gets the strongest level that the machine offers. The runner, on a machine with a GPU, gets the strongest
behind which CUDA starts: a driver may need what no other did, and nobody is told "no GPU" for a wall's sake.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from grader.errors import ChildFault
from grader.sandbox import nvidia
from grader.sandbox.environment import PYTHON, RECORDER, RUNNER, child_environment, searched_folders
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.probe import NoAnswer, ask
from grader.sandbox.walls import NO_WALL, Offer, Wall, offer, wall_at

_STARTS_CUDA = "grader.sandbox.cuda_start"


def offer_to(module: str) -> Offer:
    """What this machine offers now to the child of this ``module``: all but the recorder may use a GPU.

    Raises as ``walls.offer``.
    """
    found = offer()
    return found if module == RECORDER or not nvidia.has_gpu() else _offer_to_cuda(found)


def wall_of(module: str, demanded: SandboxLevel = LEVELS[0]) -> Wall:
    """The wall around the child of this ``module``.

    Raises ChildFault where the machine does not reach the level ``demanded``, or where its Python does not answer.
    """
    found = offer_to(module)
    if not reaches(found.level, demanded):
        raise ChildFault(
            f"{module} is not started: the sandbox level {demanded!r} is demanded, and {found.level!r} is what this "
            f"machine reaches now ({'; '.join(found.missing)})"
        )
    return _wall(module, found.level)


def _wall(module: str, level: SandboxLevel) -> Wall:
    if level == LEVELS[0]:
        return NO_WALL
    may_use_gpu = module != RECORDER and nvidia.has_gpu()
    return wall_at(level, searched_folders(module), nvidia.device_files() if may_use_gpu else ())


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
    """Why CUDA does not start behind a wall, or not now; "" where it does."""
    try:
        _start_cuda(wall)
    except NoAnswer as none:
        return str(none)
    return ""


@lru_cache(maxsize=8)
def _start_cuda(wall: Wall) -> None:
    command = [*wall.under, *PYTHON, "-m", _STARTS_CUDA, json.dumps(wall.confinement.as_json())]
    ask(command, child_environment(RUNNER, Path("/")))
