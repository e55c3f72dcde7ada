"""A student's mistakes, and where in kernels.py they are. Runs in the recorder.

Comes in: exceptions and frames of student code. Goes out: ``Failure`` records with line and text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import NoReturn, TypeGuard, TypeVar

from pydantic import ValidationError

from grader.kernels_text import KernelsText
from grader.records import Failure, Place

_T = TypeVar("_T")
# What of an exception's text helps; Numba's can be pages long.
MAX_MESSAGE_LINES = 6
MAX_MESSAGE_CHARACTERS = 600
MAX_NAME_CHARACTERS = 200


# The names that a class really has; a metaclass may answer with others, or with an exception.
_NAME_OF = vars(type)["__name__"].__get__
_QUALNAME_OF = vars(type)["__qualname__"].__get__


class RefusedError(Exception):
    """Raised into student code by the stand-in for ``numba.cuda``; carries the recording's failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.what} {failure.advice}".strip())
        self.failure = failure


class Mistakes:
    """Makes failures, and keeps the first: student code may catch it and go on, but the recording is lost."""

    def __init__(self, text: KernelsText) -> None:
        self._text = text
        self.first: Failure | None = None

    def refuse(
        self,
        kind: str,
        what: str,
        *,
        expected: str = "",
        found: str = "",
        advice: str = "",
        line: int | None = None,
    ) -> NoReturn:
        """End the recording with a failure at ``line``, else the student's current one: raises RefusedError."""
        place = self._text.place(self.line() if line is None else line)
        failure = Failure(kind, what, expected, found, str(place) if place.line else "", advice)
        if self.first is None:
            self.first = failure
        raise RefusedError(failure)

    def line(self) -> int:
        """The line of kernels.py that is being executed, innermost frame first; 0 if none is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self._text.index_of(frame.f_code) is not None:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def of_exception(self, error: BaseException, when: str) -> Failure:
        """The failure for an exception that came out of student code; ``when`` says what was being done."""
        if self.first is not None:
            return self.first
        if is_a(error, RefusedError):
            return error.failure
        places = list(self._places(error.__traceback__))
        where = " ← called at ".join(str(place) for place in (places[-1:] + places[-2:-1]))
        found = f"{type_name(error)}: {message_of(error)}".rstrip(": ")
        if is_a(error, SystemExit):
            advice = "Remove sys.exit(), exit() and quit() from kernels.py."
            return Failure("exit", f"kernels.py ended the process {when}.", where=where, found=found, advice=advice)
        if is_a(error, RecursionError):
            advice = "A function calls itself without end; look for the call that should stop."
            return Failure("recursion", f"Calls nested too deeply {when}.", where=where, found=found, advice=advice)
        if is_a(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            found = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
            what = "kernels.py asks the device for something that no launch plan can hold."
            return Failure("unsupported", what, where=where, found=found)
        if is_a(error, ImportError):
            advice = "Only numba, numpy and Python's own modules are needed."
            return Failure("import-error", "An import failed.", where=where, found=found, advice=advice)
        advice = advice_for(error, message_of(error))
        return Failure("exception", f"kernels.py raised an exception {when}.", where=where, found=found, advice=advice)

    def of_syntax(self, error: Exception) -> Failure:
        """The failure for a text that Python cannot compile."""
        if isinstance(error, SyntaxError):
            where = str(self._text.place(error.lineno or 0)) if error.lineno else ""
            return Failure("syntax-error", "kernels.py is not valid Python.", found=error.msg, where=where)
        return Failure(
            "syntax-error", "Python cannot compile kernels.py.", found=message_of(error) or "too deeply nested"
        )

    def _places(self, traceback: TracebackType | None) -> Iterator[Place]:
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if self._text.index_of(code) is not None:
                yield self._text.place(traceback.tb_lineno, code.co_qualname)
            traceback = traceback.tb_next


# Exceptions of typical mistakes in host code, by their text, and what to try.
_ADVICE = (
    (r"'function' object is not subscriptable", "Is @cuda.jit missing above the def of the kernel?"),
    (r"'CPUDispatcher' object is not subscriptable", "@njit is for the CPU: a kernel needs @cuda.jit."),
    (r"'Configured' object", "A launch is kernel[blocks, threads](arguments): brackets, then parentheses."),
    (r"'Kernel' object does not support the context", "A launch is kernel[blocks, threads](arguments)."),
    (r"cannot unpack non-iterable int", "One number stands where several are unpacked; .shape has one per dimension."),
    (
        r"(?:not enough|too many) values to unpack",
        "Write as many names on the left as there are values on the right; .shape has one per dimension.",
    ),
    (r"unsupported operand type.*'tuple'", "A shape is a tuple: take one of its numbers, as in x.shape[0], or x.size."),
    (r"'tuple' object is not callable", "A shape is written x.shape[0], with square brackets."),
    (r"'int' object is not callable", "This is a number: remove the parentheses, as in x.size."),
    (r"'_?DeviceArray' object is not callable", "Arrays take square brackets: x[...], not x(...)."),
    (r"'_?DeviceArray' object has no attribute 'fill'", "Write out[:] = 0."),
    (
        r"'_?DeviceArray' object has no attribute '(?:all|any|argmax|argmin|cumsum|dot|max|mean|min|prod|sum)'",
        "Host code sees shapes and dtypes, not contents: compute it in a kernel.",
    ),
)


def advice_for(error: BaseException, message: str) -> str:
    """What to try after an exception in host code; "" where its text says enough."""
    if is_a(error, NameError):
        return "A name must be assigned, imported, or be a parameter, before it is used. Is it misspelt?"
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, message)), "")


def message_of(error: BaseException) -> str:
    """The text of an exception, cut to what helps; exceptions of student code may even fail at this."""
    try:
        text = readable(str(error))
    except BaseException:
        return ""
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    return "\n".join(lines[:MAX_MESSAGE_LINES])[:MAX_MESSAGE_CHARACTERS]


def readable(text: str) -> str:
    """A plain str that can travel: halves of characters escaped, and without methods of a subclass of str."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


def type_name(value: object, *, qualified: bool = False) -> str:
    """The name of an object's real class. Executes nothing of that class, unlike ``type(value).__name__``."""
    name = (_QUALNAME_OF if qualified else _NAME_OF)(type(value))
    return readable(name)[:MAX_NAME_CHARACTERS]


def is_a(value: object, kind: type[_T]) -> TypeGuard[_T]:
    """Whether an object's real class is ``kind`` or derived from it.

    ``isinstance`` also asks the object for its ``__class__``, which student code may have made a trap.
    """
    return issubclass(type(value), kind)
