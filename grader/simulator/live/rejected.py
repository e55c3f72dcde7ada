"""What is told of a kernel that Numba rejects in a script. Runs in anybody's own process.

In: a function and the exception of compiling it. Out: a finding with the line, Numba's message cut short, what to try.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from grader.kernels_text import KernelsText
from grader.records import Finding, Severity
from grader.simulator.advice import advice_for
from grader.simulator.frontend import KernelError
from grader.simulator.sources import AnyFile


def rejection(function: Callable[..., Any], error: KernelError, sources: AnyFile) -> Finding:
    """The finding; its place is the function's first line where Numba names none."""
    code = function.__code__
    file, line = (error.file or code.co_filename, error.line) if error.line else (code.co_filename, code.co_firstlineno)
    text = KernelsText("".join(linecache.getlines(file)).encode("utf-8", "replace"), file)
    what = str(error)
    advice = advice_for(what, line, text)
    return Finding("kernel-rejected", Severity.ERROR, sources.place_in(file, line), what, advice)
