"""The methods of a problem.py, called and held to their form. Trusted process.

In: a problem, inputs, random numbers. Out: what its methods give, once it is seen to be well-formed; whether it is
right is not asked here. Each function raises AuthoringError, in one sentence, for whatever else comes of the author's
code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import AuthoringError
from grader.problem import Inputs, Output, Problem, Sample, Work, by_author

Array = npt.NDArray[Any]


def outputs_of(inputs: Inputs) -> dict[str, Output]:
    """The arrays of a call that kernels fill."""
    return {name: value for name, value in inputs.items() if isinstance(value, Output)}


def form_of(value: Any) -> str:
    """What a launch plan knows of an argument: shape and dtype, and the value of what configures a launch."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    if isinstance(value, Output):
        return f"an output, {np.dtype(value.dtype)} of shape {tuple(value.shape)}"
    return str(value.dtype) if isinstance(value, np.generic) else repr(value)


def require_same_forms(inputs: Inputs, recorded: Inputs) -> None:
    """Two calls of make_inputs with the same sizes differ in values alone."""
    for name in recorded.keys() | inputs.keys():
        forms = [form_of(of[name]) if name in of else "nothing" for of in (recorded, inputs)]
        if forms[0] != forms[1]:
            raise AuthoringError(
                f"problem.py: make_inputs gives {name} as {forms[0]} and, for the same sizes, as {forms[1]}; only "
                "values may be random"
            )


def expected_of(problem: Problem, inputs: Inputs) -> dict[str, Array]:
    """``expected``, with each output once and in its shape: what it leaves out, nobody would look at."""
    found = by_author(lambda: problem.expected(inputs))
    _require_outputs(f"expected of {problem.entry}", found, inputs)
    for name, output in outputs_of(inputs).items():
        if np.shape(found[name]) != tuple(output.shape):
            raise AuthoringError(
                f"problem.py: expected of {problem.entry} gives {name} in the shape {np.shape(found[name])}; the "
                f"output has {tuple(output.shape)}"
            )
    return found


def baseline_of(problem: Problem, inputs: Inputs) -> dict[str, Array]:
    """``baseline``, with each output once, in its shape and dtype: another dtype would be another amount of work."""
    found = by_author(lambda: problem.baseline(inputs))
    _require_outputs(f"baseline of {problem.entry}", found, inputs)
    for name, output in outputs_of(inputs).items():
        wanted = f"{np.dtype(output.dtype)} of shape {tuple(output.shape)}"
        value = found[name]
        given = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray | np.generic) else repr(value)
        if given != wanted:
            raise AuthoringError(f"problem.py: baseline of {problem.entry} gives {name} as {given}; expected {wanted}")
    return found


def work_of(problem: Problem, inputs: Inputs) -> Work:
    """``work``, in whole numbers: bytes above 0, and operations."""
    found = by_author(lambda: problem.work(inputs))
    if not isinstance(found, Work):
        raise AuthoringError(f"problem.py: work of {problem.entry} gives {found!r}; expected Work(bytes, operations)")
    numbers = {}
    for name, least in (("bytes", 1), ("operations", 0)):
        value = getattr(found, name)
        if not _is_whole(value) or value < least:
            raise AuthoringError(
                f"problem.py: work of {problem.entry} gives {name}={value!r}; expected a whole number, at least {least}"
            )
        numbers[name] = int(value)
    return Work(**numbers)


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return False
    return math.isfinite(value) and float(value).is_integer()


def sample_of(problem: Problem, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
    """``sample``: a call with the same arguments, fewer outputs of the same dtypes, and a place for each of them."""
    found = by_author(lambda: problem.sample(inputs, rng))
    if found is None:
        return None
    who = f"sample of {problem.entry}"
    if not isinstance(found, Sample):
        raise AuthoringError(f"problem.py: {who} gives {found!r}; expected a Sample, or None")
    if not isinstance(found.inputs, Mapping) or found.inputs.keys() != inputs.keys():
        raise AuthoringError(f"problem.py: {who} gives the inputs {_names(found.inputs)}; expected {_names(inputs)}")
    outputs, drawn = outputs_of(inputs), outputs_of(found.inputs)
    if drawn.keys() != outputs.keys():
        raise AuthoringError(f"problem.py: {who} has the outputs {_names(drawn)}; expected {_names(outputs)}")
    if not isinstance(found.places, Mapping) or found.places.keys() != outputs.keys():
        raise AuthoringError(
            f"problem.py: {who} has places for {_names(found.places)}; expected one for each of {_names(outputs)} "
            "(`...` is all of it)"
        )
    for name, output in outputs.items():
        _require_place(who, name, output, drawn[name], found.places[name])
    return found


def _require_place(who: str, name: str, output: Output, drawn: Output, place: Any) -> None:
    """A sample's output is what lies at its place."""
    if np.dtype(drawn.dtype) != np.dtype(output.dtype):
        raise AuthoringError(
            f"problem.py: {who} has {name} as {np.dtype(drawn.dtype)}; the output is {np.dtype(output.dtype)}"
        )
    whole = np.broadcast_to(np.zeros((), output.dtype), tuple(output.shape))
    try:
        there = np.shape(whole[place])
    except (IndexError, TypeError, ValueError) as error:
        raise AuthoringError(f"problem.py: {who}: the place of {name} is no index of it: {error}") from error
    if there != tuple(drawn.shape):
        raise AuthoringError(
            f"problem.py: {who} has {name} in the shape {tuple(drawn.shape)}; what lies at its place has {there}"
        )
    if 0 in there and 0 not in output.shape:
        raise AuthoringError(f"problem.py: {who} is empty: it looks at no element of {name}")


def smaller_of(problem: Problem, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
    """``smaller``: None, or the same names with smaller numbers, so that it comes to an end."""
    found = by_author(lambda: problem.smaller(sizes))
    if found is None:
        return None
    fits = isinstance(found, Mapping) and found.keys() == sizes.keys()
    if not fits or not all(_is_size(found[name], sizes[name]) for name in sizes) or _sum(found) >= _sum(sizes):
        raise AuthoringError(
            f"problem.py: smaller of {problem.entry} gives {found!r} for {dict(sizes)!r}; expected the same names with "
            "smaller numbers, or None"
        )
    return dict(found)


def _is_size(size: Any, before: Any) -> bool:
    """Whether ``size`` may stand where ``before`` stood: a whole number for a whole number, and no negative one."""
    if isinstance(before, bool) or not isinstance(before, Integral):
        return True
    return isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 0


def _sum(sizes: Mapping[str, Any]) -> float:
    return sum(float(size) for size in sizes.values() if isinstance(size, Real) and not isinstance(size, bool))


def _require_outputs(who: str, found: Any, inputs: Inputs) -> None:
    wanted = outputs_of(inputs).keys()
    if not isinstance(found, Mapping) or found.keys() != wanted:
        raise AuthoringError(f"problem.py: {who} gives {_names(found)}; expected {_names(wanted)}")


def _names(of: Any) -> str:
    """The names in a mapping, for a message; of something else what it is."""
    if not hasattr(of, "__iter__") or isinstance(of, str | np.ndarray):
        return f"a value of type {type(of).__name__}"
    return ", ".join(map(str, of)) or "nothing"
