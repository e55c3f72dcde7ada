"""What a child is started with: which Python, its environment, and where it looks for modules. Trusted process.

In: the name of a child's module, and this process's environment. Out: a command, variables, folders. A child's
environment is written out here in full, and it never sees the parent's ``sys.path``: pytest may have put a student's
folder there.
"""

from __future__ import annotations

import json
import os
import site
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import grader
from grader.errors import ChildFault
from grader.sandbox.probe import NoAnswer, ask

RECORDER, RUNNER = "grader.recorder", "grader.runner"
PYTHON = (sys.executable, "-P", "-s")
# Where a package of ours may lie when it is not installed: `pip install --target`, or a user's site.
_NEEDED = ("grader", "numba", "numpy", "llvmlite", "pydantic", "numba_cuda")
_DEVICE_VARIABLES = ("CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "CONDA_PREFIX")
# Of these, the ones that name where CUDA's toolkit and libraries lie.
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH", "CONDA_PREFIX")
# What of an environment of conda's CUDA is in; it may hold a home folder of its own.
_OF_CONDA = ("lib", "nvvm", "targets")
# A fresh interpreter's own word on where it looks for modules: a .pth file may have added to it.
_ASK = "import json, os, site, sys; [site.addsitedir(f) for f in sys.argv[1:]]; print(json.dumps(sys.path))"
# Folders of packages have these beside them. Other entries of sys.path, such as a clone of ours, may hold anything.
_INSTALLED = "*.dist-info"


def child_environment(module: str, home: Path) -> dict[str, str]:
    """The whole environment of a child. The device's variables go to the runner only."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        # One thread: a fork copies none, and a job's CPU time is meant to be one core's.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(_package_roots()),
    }
    if module == RUNNER:
        environment |= {k: v for k, v in os.environ.items() if k.startswith(_DEVICE_VARIABLES)}
    return environment


def toolkit_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where an environment says that CUDA's toolkit and libraries lie."""
    named = [Path(entry) for name in _TOOLKITS for entry in environment.get(name, "").split(os.pathsep) if entry]
    conda = environment.get("CONDA_PREFIX")
    inside = [Path(conda) / name for name in _OF_CONDA] if conda else []
    return tuple(folder for folder in (*named, *inside) if folder.is_absolute() and str(folder) != conda)


def searched_folders(module: str) -> tuple[Path, ...]:
    """Where a child looks for modules, and the runner for CUDA. Raises ChildFault. See ``folders_searched_by``."""
    environment = child_environment(module, Path("/"))
    return (*folders_searched_by(PYTHON, environment, _NEEDED), *toolkit_folders(environment))


def folders_searched_by(
    python: tuple[str, ...], environment: dict[str, str], packages: tuple[str, ...]
) -> tuple[Path, ...]:
    """Where a Python started as ``python``, in ``environment``, looks for modules.

    Of an entry that no installer has filled only ``packages`` count: a course may lie beside ours. Raises ChildFault.
    """
    roots = environment.get("PYTHONPATH", "").split(os.pathsep)
    try:
        answer = _asked((*python, "-c", _ASK, *filter(None, roots)), tuple(environment.items()))
    except NoAnswer as none:
        raise ChildFault(f"Python cannot say where its modules are: {none}") from none
    folders: list[Path] = []
    for entry in map(Path, json.loads(answer)):
        if not entry.is_absolute() or not entry.exists():
            continue
        if entry.is_file() or any(entry.glob(_INSTALLED)) or entry.name == "lib-dynload":
            folders.append(entry)
        else:
            folders += [entry / name for name in packages if (entry / name).exists()]
    return tuple(folders)


@lru_cache(maxsize=8)
def _asked(command: tuple[str, ...], environment: tuple[tuple[str, str], ...]) -> str:
    return ask(command, dict(environment))


def _package_roots() -> list[str]:
    """Folders that hold our packages and that a fresh interpreter would not search by itself.

    Absolute entries of PYTHONPATH and the user's site, if one of our packages lies there: both are the
    user's own settings. What anybody has put into ``sys.path`` since does not count.
    """
    assert grader.__file__ is not None
    candidates = [str(Path(grader.__file__).parent.parent)]
    candidates += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if site.ENABLE_USER_SITE:
        candidates.append(site.getusersitepackages())
    found_anyway = {os.path.realpath(folder) for folder in site.getsitepackages()}
    roots = []
    for candidate in candidates:
        folder = Path(candidate)
        known = os.path.realpath(folder) in found_anyway or candidate in roots
        if folder.is_absolute() and not known and any((folder / name).is_dir() for name in _NEEDED):
            roots.append(candidate)
    return roots
