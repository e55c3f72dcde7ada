"""What Numba, NumPy, Python and grader provide to kernels, by dotted path. Runs in the recorder.

Comes in: objects that a kernel captured. Goes out: the path under which the runner finds the same thing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numba

from grader.recorder.names import Provided

MODULES = ("numba", "math", "cmath", "numpy", "operator", "builtins")


class ProvidedPaths:
    """Dotted paths by identity, collected when first asked for."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}

    def of(self, value: Any) -> str | None:
        """The dotted path of something that Numba, NumPy, Python or grader provides; found by identity, not by
        name.
        """
        if isinstance(value, Provided):
            return value.path
        if value is numba.types:
            return "numba.types"
        if isinstance(value, ModuleType):
            name = getattr(value, "__name__", "")
            known = sys.modules.get(name) is value and name.partition(".")[0] in MODULES
            return name if known else None
        if not self._paths:
            self._paths = dict(_provided())
        try:
            return self._paths.get(id(value))
        except TypeError:
            return None


def _provided() -> Iterator[tuple[int, str]]:
    """Ids and paths of what the modules in MODULES provide. Later pairs win, so the plainest names come
    last.
    """
    for prefix, module in (
        ("numba.types", numba.types),
        *((name, sys.modules[name]) for name in reversed(MODULES)),
    ):
        canonical: list[tuple[int, str]] = []
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(
                value, (bool, int, float, complex, str, tuple, ModuleType, type(None))
            ):
                continue
            called = getattr(value, "__name__", None) or str(value)
            (canonical if called == name else []).append((id(value), f"{prefix}.{name}"))
            if called != name:
                yield id(value), f"{prefix}.{name}"
        yield from canonical
