"""Which walls this machine can build, and of what. Trusted process.

In: the machine, and WARPGRADE_SANDBOX, the strongest level that is to be used. Out: the level that it offers, and what
a stronger one lacks; a wall: the command that a child is started under, and what its jobs give up.

Namespaces are bubblewrap's work; Landlock and seccomp are the job's own (``confine``), under bubblewrap as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from grader.errors import UsageError
from grader.sandbox import landlock, nvidia, system_calls
from grader.sandbox.levels import LEVELS, Confinement, SandboxLevel

VARIABLE = "WARPGRADE_SANDBOX"
BUBBLEWRAP = "bwrap"
# To start Python, from a slow disk.
PROBE_SECONDS = 60.0
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
    """What this machine offers. Raises UsageError where WARPGRADE_SANDBOX names no level."""
    wanted = os.environ.get(VARIABLE, LEVELS[-1])
    if wanted not in LEVELS:
        raise UsageError(f"{VARIABLE} is {wanted!r}: expected one of {', '.join(LEVELS)}")
    if wanted == LEVELS[0]:
        return Offer(wanted, (f"{VARIABLE} is {wanted}",))
    found = _offered()
    return Offer(wanted, (f"{VARIABLE} is {wanted}",)) if LEVELS.index(wanted) < LEVELS.index(found.level) else found


def wall_at(level: SandboxLevel, needed: tuple[Path, ...], gpu: tuple[str, ...] = ()) -> Wall:
    """A wall of this level. ``needed``: folders of packages that a child imports, and where these look for others.

    ``gpu``: device files that the wall lets through.
    """
    if level == LEVELS[0]:
        return NO_WALL
    readable = _readable(needed) + (nvidia.READABLE if gpu else ())
    confinement = Confinement(readable if landlock.version() else None, system_calls=True, gpu=gpu)
    return Wall(level, _bubblewrap(readable, gpu) if level == "isolated" else (), confinement)


@lru_cache(maxsize=1)
def _offered() -> Offer:
    if sys.platform != "linux":
        return Offer("limits", ("stronger levels need Linux",))
    if not system_calls.is_known():
        return Offer("limits", ("libseccomp is missing: install it (Debian, Ubuntu: apt-get install libseccomp2)",))
    why_not = _why_no_namespaces()
    if not why_not:
        return Offer("isolated")
    if not landlock.version():
        return Offer("limits", (why_not, "the kernel has no Landlock: Linux 5.13 or newer, with lsm=landlock"))
    return Offer("restricted", (why_not,))


def _why_no_namespaces() -> str:
    """Why bubblewrap cannot start a Python here; "" where it can."""
    if shutil.which(BUBBLEWRAP) is None:
        return "bubblewrap is missing: install it (Debian, Ubuntu: apt-get install bubblewrap)"
    try:
        done = subprocess.run(  # noqa: S603
            [*_bubblewrap(_readable(())), sys.executable, "-I", "-S", "-c", ""],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}"
    if done.returncode == 0:
        return ""
    return f"bubblewrap can make no namespaces here: {done.stderr.strip()[-200:] or f'exit status {done.returncode}'}"


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
    done = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    found = {str(Path(line.rpartition(" => ")[2]).parent) for line in done.stdout.splitlines() if " => /" in line}
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
