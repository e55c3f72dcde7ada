"""Installs the simulator in the Python that runs Numba's tests, and in each that one of them starts."""

from __future__ import annotations

import importlib.util
import sys
import unittest
from types import ModuleType

from grader import simulator


class NotInstalled:
    """Numba's tests import filecheck, which looks at machine code, also where they do not use it."""

    def __init__(self, *_: object, **__: object) -> None:
        raise unittest.SkipTest("compares machine code")


def without_filecheck() -> None:
    """Modules of that name from which nothing comes but skipped tests."""
    for name, members in (
        ("matcher", ("Matcher",)),
        ("options", ("Options",)),
        ("parser", ("Parser", "pattern_for_opts")),
        ("finput", ("FInput",)),
    ):
        module = ModuleType(f"filecheck.{name}")
        module.__dict__.update(dict.fromkeys(members, NotInstalled))
        sys.modules[module.__name__] = module
    sys.modules["filecheck"] = ModuleType("filecheck")


if importlib.util.find_spec("filecheck") is None:
    without_filecheck()
simulator.install(launch_seconds=60)  # the longest launch of these tests takes a third of it on an idle core
