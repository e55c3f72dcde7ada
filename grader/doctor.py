"""``grader doctor``: what this machine offers, what is missing and how to get it. Trusted process.

In: two children to ask. Out: rows of a table; nothing is changed.
"""

from __future__ import annotations

import platform
import shutil
import sys
import time
from dataclasses import dataclass
from importlib import metadata

from packaging.version import InvalidVersion, Version

from grader.children import Children
from grader.clocks import GpuState
from grader.errors import Fault
from grader.sandbox.environment import RECORDER, RUNNER
from grader.sandbox.levels import LEVELS, SandboxLevel
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import gpu_state
from grader.sandbox.wall_of_child import offer_to

MINIMUM_PYTHON = (3, 11)
# numba-cuda 0.30 cannot compile any kernel from this NumPy on.
NUMPY_TOO_NEW_FOR_NUMBA_CUDA = Version("2.5")


@dataclass(frozen=True)
class Examined:
    """One thing looked at. ``ok`` None: fine without it, but it would give more."""

    what: str
    ok: bool | None
    note: str


def examine() -> tuple[Examined, ...]:
    """All findings, in the order in which they matter."""
    return (*_python(), *_packages(), *_children())


def _python() -> tuple[Examined, ...]:
    version = platform.python_version()
    fine = sys.version_info >= MINIMUM_PYTHON
    wanted = ".".join(map(str, MINIMUM_PYTHON))
    return (
        Examined("Python", fine, version if fine else f"{version}: install Python {wanted} or newer"),
        Examined("system", True, f"{platform.system()} {platform.machine()}"),
    )


def _version(distribution: str) -> Version | None:
    try:
        return Version(metadata.version(distribution))
    except (metadata.PackageNotFoundError, InvalidVersion):
        return None


def _packages() -> tuple[Examined, ...]:
    found = {name: _version(name) for name in ("numba", "numba-cuda", "numpy")}
    rows = []
    for name in ("numba", "numpy"):
        version = found[name]
        rows.append(Examined(name, version is not None, str(version or f"missing: pip install {name}")))
    cuda, numpy = found["numba-cuda"], found["numpy"]
    if cuda is not None:
        rows.append(Examined("numba-cuda", True, str(cuda)))
    elif platform.system() == "Linux":
        rows.append(Examined("numba-cuda", None, "missing: Numba's built-in target is used; pip install numba-cuda"))
    else:
        rows.append(Examined("numba-cuda", None, "there is none for this system; Numba's built-in target is used"))
    if cuda is not None and numpy is not None and numpy >= NUMPY_TOO_NEW_FOR_NUMBA_CUDA:
        limit = NUMPY_TOO_NEW_FOR_NUMBA_CUDA
        rows.append(Examined("numpy", False, f'numba-cuda cannot compile with it: pip install "numpy<{limit}"'))
    return tuple(rows)


def _children() -> tuple[Examined, ...]:
    started = time.monotonic()
    with Children() as children:
        try:
            gpu = children.gpu()
            speed = () if gpu is None else (speed_here(gpu_state(children.runner, Limits())),)
        except Fault as fault:
            return (Examined("runner", False, str(fault)), *_sandbox())
    seconds = time.monotonic() - started
    rows = [Examined("runner", True, f"starts, answers in {seconds:.1f} s")]
    if gpu is not None:
        name, driver = str(gpu["name"]), str(gpu["driver"])
        rows += [Examined("GPU", True, name), Examined("driver", True, driver), *speed]
    elif shutil.which("nvidia-smi") is not None:
        rows.append(
            Examined(
                "GPU",
                None,
                "nvidia-smi is here, but Numba finds no GPU it can use: install the toolkit's libraries that fit "
                'the driver, pip install "warpgrade[cu12]" or "warpgrade[cu13]"',
            )
        )
    else:
        rows.append(Examined("GPU", None, "none: kernels run on the simulator, and speed is not measured"))
    return (*rows, *_sandbox())


def speed_here(state: GpuState) -> Examined:
    """Whether fair times can be taken on the GPU now."""
    why = state.unfit()
    if why:
        return Examined("speed", None, f"not measured while {why}")
    parts = ["races can be timed here"]
    if state.free_bytes is not None and state.total_bytes is not None:
        parts.append(f"{state.free_bytes / 2**30:.1f} of {state.total_bytes / 2**30:.1f} GiB are free")
    if state.others is None:
        parts.append(
            "but nobody would notice others on it, heat, or MIG: NVIDIA's management library is not installed "
            "(pip install nvidia-ml-py) or does not know this GPU"
        )
    elif state.is_partition is None:
        parts.append("but nobody knows whether it is a part of a GPU (MIG)")
    if state.reaches_host is None:
        parts.append("but nobody knows whether kernels can reach the host's memory")
    return Examined("speed", True, ", ".join(parts))


# What each level means for who grades the work of strangers.
_LEVELS: dict[SandboxLevel, str] = {
    "limits": "student code runs in processes of its own with limits on time, memory, files and output, but can read "
    "your files and use the network; grade strangers' work on a machine without secrets",
    "restricted": "student code reads no file but Python's own, writes none, and has no network, no other process and "
    "no privilege",
    "isolated": "student code reads no file but Python's own, writes none, has no network, no other process and no "
    "privilege, and is in namespaces of its own",
}


def _sandbox() -> tuple[Examined, ...]:
    try:
        found, of_kernels = offer_to(RECORDER), offer_to(RUNNER)
    except Fault as fault:
        return (Examined("sandbox", False, str(fault)),)
    strongest = found.level == LEVELS[-1]
    rows = [Examined("sandbox", strongest or None, f"level {found.level!r}: {_LEVELS[found.level]}")]
    rows += [Examined("sandbox", None, f"a stronger level: {why}") for why in found.missing]
    if of_kernels.level != found.level:
        rows.append(Examined("sandbox", None, f"what compiles and runs kernels is at level {of_kernels.level!r}"))
        rows += [Examined("sandbox", None, why) for why in of_kernels.missing if why not in found.missing]
    return tuple(rows)
