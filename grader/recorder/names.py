"""Names that mean something inside of a kernel only, as inert objects that know their path. Runs in the
recorder.

In: a path below ``numba.cuda`` or ``grader.vector_access``. Out: what student code sees there.

Which names there are is asked of the real ``numba.cuda`` (imported, never used): whatever it has exists here
too, and what it has not raises the same AttributeError. Student code gets the real thing for nothing but
Numba's types.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numba

import grader
from grader import vector_access
from grader.recorder.arrays import DeviceArray
from grader.recorder.contentless import READING_METHODS
from grader.recorder.mistakes import Mistakes
from grader.spelling import nearest

ROOT = "numba.cuda"
# Parts of numba.cuda that kernels use and that importing numba.cuda alone need not load.
KERNEL_MODULES = ("libdevice", "random", "cg", "fp16", "bf16", "extending", "types")

# What looks like a name for kernels, but is host code that allocates, launches, compiles or asks the driver; and
# what to do instead.
_HOST_ONLY = {
    f"{ROOT}.random.create_": "Compute random numbers in the kernel, from the thread's index and a seed.",
    f"{ROOT}.random.init_": "Compute random numbers in the kernel, from the thread's index and a seed.",
    f"{ROOT}.extending.": "Write a device function: @cuda.jit(device=True).",
    **{
        f"{ROOT}.{name}.": "Use what numba.cuda itself offers: device arrays, streams, cuda.get_current_device()."
        for name in ("api", "args", "compiler", "cudadrv", "devices", "dispatcher", "driver", "nvvm", "runtime")
    },
}


class Provided:
    """Something that Numba provides to kernels: a name, a function or a namespace."""

    def __init__(self, path: str, real: Any, mistakes: Mistakes) -> None:
        self.path = path
        self._real = real
        self._mistakes = mistakes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not hasattr(self._real, name):
            near = nearest(name, (known for known in dir(self._real) if not known.startswith("_")))
            guess = f". Did you mean {near!r}?" if near else ""
            raise AttributeError(f"{self.path!r} has no attribute {name!r}{guess}")
        return provided(f"{self.path}.{name}", getattr(self._real, name), self._mistakes)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refused: this is host code."""
        for prefix, advice in _HOST_ONLY.items():
            if self.path.startswith(prefix):
                self._mistakes.refuse("unsupported", f"{self.path} is not available to submissions.", advice=advice)
        self._mistakes.refuse(
            "kernel-only",
            f"{self.path} is used outside of a kernel.",
            expected=f"{self.path} in the body of a function with @cuda.jit",
            advice="Move it into a kernel, or add the missing @cuda.jit.",
        )

    def __repr__(self) -> str:
        return f"<{self.path}, for kernels>"


# Arithmetic with a name for kernels is as much a mistake as a call; comparison and hashing stay Python's own.
for _name in READING_METHODS - {"__eq__", "__ne__", "__bool__"}:
    setattr(Provided, _name, Provided.__call__)


class ProvidedModule(ModuleType):
    """A module of names for kernels in student code: ``import numba.cuda.libdevice``."""

    def __init__(self, path: str, real: Any, mistakes: Mistakes) -> None:
        super().__init__(path)
        self.__path__: list[str] = []
        self._names = Provided(path, real, mistakes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._names, name)


class ProvidedFinder:
    """An import hook that answers for submodules of numba.cuda."""

    def __init__(self, real: dict[str, ModuleType], mistakes: Mistakes) -> None:
        self._real = real
        self._mistakes = mistakes

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """A spec for a submodule that the real numba.cuda has."""
        return ModuleSpec(name, self) if name in self._real else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An inert module."""
        return ProvidedModule(spec.name, self._real[spec.name], self._mistakes)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def provided(path: str, real: Any, mistakes: Mistakes) -> Any:
    """What student code sees for an attribute of the real numba.cuda: Numba's own types, numbers, or a
    name.
    """
    name = path.rpartition(".")[2]
    ours = getattr(numba.types, name, None)
    if isinstance(ours, numba.types.Type) and str(ours) == str(real):
        return ours
    if real is numba.types or path == f"{ROOT}.types":
        return numba.types
    if isinstance(real, (bool, int, float, str)):
        return real
    if name == "DeviceNDArray":  # for isinstance
        return DeviceArray
    return Provided(path, real, mistakes)


def load_real() -> dict[str, ModuleType]:
    """Import the real numba.cuda and return it with its submodules, by full name."""
    importlib.import_module(ROOT)
    for name in KERNEL_MODULES:
        try:
            importlib.import_module(f"{ROOT}.{name}")
        except ImportError:  # this Numba has no such part
            continue
    return {name: m for name, m in sys.modules.items() if name == ROOT or name.startswith(f"{ROOT}.")}


def replace(real: dict[str, ModuleType], standin: ModuleType, mistakes: Mistakes) -> None:
    """From now on, ``numba.cuda`` is ``standin`` for whoever imports it in this process.

    And ``grader.vector_access`` has nothing but inert names for what it offers to kernels.
    """
    for name in real:
        del sys.modules[name]
    sys.modules[ROOT] = standin
    numba.cuda = standin
    # First, since numba-cuda has a finder of its own there.
    sys.meta_path.insert(0, ProvidedFinder(real, mistakes))
    offered = SimpleNamespace(**{path.rpartition(".")[2]: function for path, function in vector_access.OFFERED.items()})
    inert = ProvidedModule(vector_access.__name__, offered, mistakes)
    sys.modules[inert.__name__] = inert
    grader.vector_access = inert
