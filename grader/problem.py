"""What an author writes in problem.py: a problem's inputs, specification, tolerance and cost.

Runs in the trusted process only. In: a seeded generator and sizes. Out: inputs, expected values, tolerances, costs.

A ``problem.py`` holds one subclass of ``Problem`` per entry point::

    class Saxpy(Problem):
        entry = "saxpy"

        def make_inputs(self, rng, n): ...
        def expected(self, inputs): ...
"""

from __future__ import annotations

import inspect
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from grader.errors import AuthoringError, GraderError

PROBLEM_FILE = "problem.py"
# The largest error: of all numbers of an output, or by field of its records (a mapping, or an array of records).
Tolerance = npt.NDArray[Any] | Mapping[str, Any]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class Output:
    """An array that the student's kernels must fill: shape in elements and dtype."""

    shape: tuple[int, ...]
    dtype: npt.DTypeLike


@dataclass(frozen=True)
class Work:
    """The least that any kernel must do for one call: bytes moved through global memory, and operations."""

    bytes: int
    operations: int


# An argument of an entry point, by the parameter's name, in the order of the signature:
#   np.ndarray    data in device memory; the student's host function sees shape and dtype, not contents
#   np.generic    a scalar of data (say, np.float32(2.5)); host code may pass it on, and sees its dtype only
#   bool, int     configuration, like a shape: host code sees the value
#   Output        an array to fill
Inputs = dict[str, "npt.NDArray[Any] | np.generic | bool | int | Output"]


@dataclass(frozen=True)
class Sample:
    """Part of a call's outputs, as a smaller call: its inputs, and per output where its result lies in the large one.

    ``places`` are NumPy indices: the smaller call's output has the shape of ``output[place]``.
    """

    inputs: Inputs
    places: Mapping[str, Any]


class Problem(ABC):
    """One entry point of an assignment: how to make inputs, what is right, and how exactly."""

    entry: ClassVar[str]

    @abstractmethod
    def make_inputs(self, rng: np.random.Generator, **sizes: Any) -> Inputs:
        """The arguments of one call, drawn from ``rng``. ``sizes`` are the keywords of a check."""

    @abstractmethod
    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        """Per output the specification's result: float64, or exact integers for integer outputs.

        For an output of records an array of records with the same fields, each float64 or exact integers.
        """

    @abstractmethod
    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        """Per output what a good NumPy programmer computes, in the student's dtypes."""

    @abstractmethod
    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> Mapping[str, Tolerance]:
        """Per output the largest |found - expected| that correct code can show, broadcastable to the output.

        For records one for all fields, or one by field: a mapping (of mappings, where records nest) or a record.
        """

    @abstractmethod
    def work(self, inputs: Inputs) -> Work:
        """Bytes and operations of one call, for the roofline."""

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """A part of a raced call's outputs that stands for all, drawn from ``rng`` after the run; None: all of them.

        For problems where ``expected``, ``tolerance`` and the comparison of all outputs take longer than some tenths of
        a second at the sizes of a race: a race looks at dozens of runs, of the submission and of the reference, and
        holds the GPU's lock meanwhile. Every run draws another sample, so make it as large as is quick, and such that
        a kernel gains nothing worth having from what one race may miss.
        """
        return None

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Smaller sizes to race with on a GPU that has not the memory for these; None: none would be worth timing."""
        return None


def by_author(make: Callable[[], T]) -> T:
    """What code of an author's comes to. Raises AuthoringError for whatever it raises, with the line of problem.py."""
    try:
        return make()
    except GraderError:
        raise
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        lines = [frame.lineno for frame in frames if Path(frame.filename).name == PROBLEM_FILE]
        where = f"{PROBLEM_FILE}:{lines[-1]}" if lines else PROBLEM_FILE
        raise AuthoringError(f"{where}: {type(error).__name__}: {error}") from error


def problems_of(module: object) -> dict[str, Problem]:
    """All problems that a loaded problem.py defines, by entry point, in the order they were written."""
    found: dict[str, Problem] = {}
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Problem) and not inspect.isabstract(value):
            found[value.entry] = value()
    return found
