"""What is told of a script that ends with an exception before anything was launched. Runs in anybody's own process.

In: an exception of Python's or Numba's, and the line of the script that it came from. Out: a launch that did not take
place, with a finding that says what that line should be; None for an exception of another kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from grader.records import Finding, Place, Severity
from grader.traces import LaunchTrace

LAUNCH = "A launch is kernel[blocks, threads_per_block](arguments…)"
# name[…](…), as a launch is written
_LAUNCHED = re.compile(r"([\w.]+)\s*\[.*\]\s*\(")
_CALLED = re.compile(r"([\w.]+)\s*\(")
_ON_DEVICE = re.compile(r"cuda\.(?!to_device|device_array|stream|event)(\w+(?:\.\w+)*)")


class _Told(NamedTuple):
    what: str
    advice: str


class _Mistake(NamedTuple):
    """``line`` finds in the script's line what ``tell`` needs of it; ``message`` is matched from its beginning on."""

    error: type[Exception]
    message: re.Pattern[str]
    line: re.Pattern[str]
    tell: Callable[[str, re.Match[str]], _Told]


def _no_kernel(name: str, found: re.Match[str]) -> _Told:
    if found[1] == "CPUDispatcher":
        return _Told(f"{name} is compiled for the CPU.", "Decorate it with @cuda.jit instead of @njit or @jit.")
    return _Told(f"{name} is a Python function, not a kernel.", f"Put @cuda.jit on the line above def {name}.")


def _fraction(name: str, found: re.Match[str]) -> _Told:
    which, sizes = ("blocks" if found[1] == "grid" else "threads of a block"), found[2].strip("[]()")
    what = f"The number of {which} must be a whole number, or up to three of them in a tuple; {name} got {sizes}."
    return _Told(what, "Divide with //, rounded up: blocks = (n + threads - 1) // threads.")


def _not_configured(name: str, _: re.Match[str]) -> _Told:
    advice = f"{LAUNCH}. A function for kernels (device=True) can be called in a kernel only."
    return _Told(f"{name} was called without blocks and threads.", advice)


def _too_few(name: str, _: re.Match[str]) -> _Told:
    return _Told(f"{name} needs both numbers in its brackets, blocks and threads.", f"{LAUNCH}.")


def _device_function(name: str, _: re.Match[str]) -> _Told:
    advice = "Call it in a kernel; or drop device=True where it is decorated, and let it return nothing."
    return _Told(f"{name} is a function for kernels (device=True), so it cannot be launched.", advice)


def _on_the_host(name: str, _: re.Match[str]) -> _Told:
    waits = name.startswith("sync")
    what = f"cuda.{name} is for kernels; this line runs on the host."
    return _Told(what, "The host waits for the GPU with cuda.synchronize()." if waits else "Move it into a kernel.")


MISTAKES = tuple(
    _Mistake(error, re.compile(message, re.DOTALL), line, tell)
    for error, message, line, tell in (
        (TypeError, r"'(function|CPUDispatcher)' object is not subscriptable", _LAUNCHED, _no_kernel),
        (Exception, r"(grid|block)dim must be a sequence of (?:1, 2 or 3 )?integers, got (.*)", _LAUNCHED, _fraction),
        (TypeError, r"object of type '\w+' has no len\(\)", _LAUNCHED, _too_few),
        (ValueError, r"must specify at least the griddim and blockdim", _LAUNCHED, _too_few),
        (ValueError, r"\s*Kernel launch configuration was not specified", _CALLED, _not_configured),
        (RuntimeError, r"Cannot compile a device function as a kernel", _LAUNCHED, _device_function),
        (
            NotImplementedError,
            r".*(not usable in pure-python|from host code|not instantiable)",
            _ON_DEVICE,
            _on_the_host,
        ),
        (TypeError, r"Stub\.__new__\(\)|unsupported operand.*'property'", _ON_DEVICE, _on_the_host),
    )
)


def not_launched(error: BaseException, place: Place) -> LaunchTrace | None:
    """What to tell of an exception that the script's line at ``place`` ended with, None where we know no more."""
    for mistake in MISTAKES:
        message, line = mistake.message.match(str(error)), mistake.line.search(place.text)
        if isinstance(error, mistake.error) and message and line:
            told = mistake.tell(line[1], message)
            finding = Finding("not-launched", Severity.ERROR, place, told.what, told.advice)
            none = (0, 0, 0)
            return LaunchTrace("", place, none, none, findings=(finding,), problem="Nothing was launched here.")
    return None
