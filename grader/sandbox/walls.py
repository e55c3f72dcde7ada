"""Which walls this machine can build, and of what. Trusted process.

In: the machine, and WARPGRADE_SANDBOX, the strongest level that is to be used. Out: the level that it offers, and what
a stronger one lacks; a wall: the command that a child is started under, and what its jobs give up.

Namespaces are bubblewrap's work; Landlock and seccomp are the job's own (``confine``), under bubblewrap as well.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from grader.errors import UsageError
from grader.sandbox import landlock, nvidia, system_calls
from grader.sandbox.environment import PYTHON, RECORDER, child_environment, searched_folders
from grader.sandbox.levels import LEVELS, Confinement, SandboxLevel
from grader.sandbox.probe import NoAnswer, ask

VARIABLE = "WARPGRADE_SANDBOX"
BUBBLEWRAP = "bwrap"
_CONFINES_ITSELF = "grader.sandbox.confined_start"
# What Python and compiled extensions open beside their own files, where it is there.
_SYSTEM_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_OF_THE_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime"),
    *("/dev/null", "/dev/zero", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
)


@dataclass(frozen=True)
class Wall:
    """Around the jobs of one child. ``under``: the command that starts it, which takes what follows as its own."""

    level: SandboxLevel
    under: tuple[str, ...] = ()
    confinement: Confinement = field(default_factory=Confinement)


@dataclass(frozen=True)
class Offer:
    """What a machine offers: the strongest ``level``, and for each that it does not reach what is ``missing``."""

    level: SandboxLevel
    missing: tuple[str, ...] = ()


NO_WALL = Wall("limits")


def offer() -> Offer:
    """What this machine offers now. A level that is offered has been seen to work.

    Raises UsageError where WARPGRADE_SANDBOX names no level, ChildFault where Python does not answer.
    """
    wanted = os.environ.get(VARIABLE, LEVELS[-1])
    if wanted not in LEVELS:
        raise UsageError(f"{VARIABLE} is {wanted!r}: expected one of {', '.join(LEVELS)}")
    if wanted == LEVELS[0]:
        return Offer(wanted, (f"{VARIABLE} is {wanted}",))
    found = _offered(wanted)
    return found if wanted == LEVELS[-1] else Offer(found.level, (f"{VARIABLE} is {wanted}", *found.missing))


def wall_at(level: SandboxLevel, needed: tuple[Path, ...], gpu: tuple[str, ...] = ()) -> Wall:
    """A wall of this level. ``needed``: folders of packages that a child imports, and where these look for others.

    ``gpu``: device files that the wall lets through.
    """
    if level == LEVELS[0]:
        return NO_WALL
    readable = _readable(needed) + (nvidia.READABLE if gpu else ())
    confinement = Confinement(readable if landlock.version() else None, system_calls=True, gpu=gpu)
    return Wall(level, _bubblewrap(readable, gpu) if level == "isolated" else (), confinement)


def _offered(strongest: SandboxLevel) -> Offer:
    if sys.platform != "linux":
        return Offer("limits", ("stronger levels need Linux",))
    if not system_calls.is_known():
        return Offer("limits", ("libseccomp is missing: install it (Debian, Ubuntu: apt-get install libseccomp2)",))
    missing: list[str] = []
    for level in reversed(LEVELS[1 : LEVELS.index(strongest) + 1]):
        why_not = _why_not(level)
        if not why_not:
            return Offer(level, tuple(missing))
        missing.append(why_not)
    return Offer(LEVELS[0], tuple(missing))


def _why_not(level: SandboxLevel) -> str:
    """Why there is no wall of this level here, or not now; "" where there is."""
    if level == "isolated" and shutil.which(BUBBLEWRAP) is None:
        return "bubblewrap is missing: install it (Debian, Ubuntu: apt-get install bubblewrap)"
    if level == "restricted" and not landlock.version():
        return "the kernel has no Landlock: Linux 5.13 or newer, with lsm=landlock"
    try:
        _try(wall_at(level, searched_folders(RECORDER)))
    except NoAnswer as none:
        return f"the wall of {level!r} does not stand here: {none}"
    return ""


@lru_cache(maxsize=8)
def _try(wall: Wall) -> None:
    """Start a Python behind a wall, which confines itself like a job. Raises NoAnswer."""
    command = [*wall.under, *PYTHON, "-m", _CONFINES_ITSELF, json.dumps(wall.confinement.as_json())]
    ask(command, child_environment(RECORDER, Path("/")))


def _bubblewrap(readable: tuple[str, ...], gpu: tuple[str, ...] = ()) -> tuple[str, ...]:
    program = [shutil.which(BUBBLEWRAP) or BUBBLEWRAP, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    # Of what is mounted below another, the upper first.
    for path in sorted({*readable, *_of_the_interpreter()}):
        if not path.startswith(("/dev/", "/proc/")):
            program += ["--ro-bind-try", path, path]
    program += ["--proc", "/proc", "--dev", "/dev"]
    for file in gpu:
        program += ["--dev-bind-try", file, file]
    return tuple(program)


def _readable(needed: tuple[Path, ...]) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    # Shared libraries of an interpreter that brings its own.
    libraries = {str(Path(prefix) / "lib") for prefix in (sys.base_prefix, sys.base_exec_prefix) if prefix != "/usr"}
    standard = {paths["stdlib"], paths["platstdlib"], *libraries}
    # NVIDIA's toolkit need not be known to the loader: numba-cuda looks for its runtime where it is imported.
    toolkits = map(str, Path("/usr/local").glob("cuda*"))
    return tuple(sorted({*_OF_THE_SYSTEM, *standard, *toolkits, *_library_folders(), *map(str, needed)}))


def _library_folders() -> set[str]:
    """Where the system's loader finds shared libraries, CUDA's among them."""
    ldconfig = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if ldconfig is None:
        return set()
    try:
        told = ask([ldconfig, "-p"])
    except NoAnswer:  # then they are where they always are, or a library is missing in a sentence
        return set()
    found = {str(Path(line.rpartition(" => ")[2]).parent) for line in told.splitlines() if " => /" in line}
    return {folder for folder in found if not folder.startswith(_SYSTEM_LIBRARIES)}


def _of_the_interpreter() -> set[str]:
    """What it takes to start this Python: its program, by all the names on the way to it, and its settings."""
    found = {str(Path(sys.prefix) / "pyvenv.cfg")}
    program = Path(sys.executable)
    while str(program) not in found:
        found.add(str(program))
        if program.is_symlink():
            program = program.parent / program.readlink()
    return {os.path.normpath(path) for path in found}
