"""What has a dtype and no contents: the base of device arrays, and data scalars. Runs in the recorder.

In: whatever host code does with a value. Out: what Numba would return, as far as no content is needed for it.

What would read a content in any way ends the recording with a failure of kind "contents-read".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from grader.recorder.context import Context

# What Python looks up on every object, and what arrays have without contents: not for reading.
_STRUCTURE = frozenset(
    ("new", "init", "init_subclass", "class_getitem", "repr", "str", "format", "hash", "sizeof", "getattribute"),
) | {"reduce", "reduce_ex", "getnewargs", "setstate", "copy", "deepcopy", "len", "iter", "getitem", "setitem"}
# All that Python and NumPy can ask of numbers and arrays otherwise: arithmetic, comparison, conversion.
READING_METHODS = frozenset(
    name
    for kind in (np.ndarray, float, int)
    for name, value in vars(kind).items()
    if name.startswith("__") and callable(value) and name.strip("_") not in _STRUCTURE
)
_READING_PROPERTIES = ("__cuda_array_interface__", "__array_interface__", "__array_struct__")


class Contentless:
    """Base of what has no contents: every way to read one is refused."""

    _context: Context
    _called: str
    __hash__ = object.__hash__

    def _refuse_reading(self, what: str) -> NoReturn:
        self._context.mistakes.refuse(
            "contents-read",
            f"The host function reads the contents of {self._called} ({what}).",
            expected="host code that depends on shapes and dtypes only; kernels read and write the numbers",
            found=what,
            advice="Do this in a kernel. Numbers that the host needs are in .shape, .size and .dtype.",
        )


_OPERATORS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^"},
    **{"lshift": "<<", "rshift": ">>", "contains": "in", "neg": "-", "pos": "+", "invert": "~"},
}


def _in_words(method: str) -> str:
    """What somebody wrote who made Python call a special method."""
    name = method.strip("_")
    operator = _OPERATORS.get(name) or _OPERATORS.get(name[1:] if name[:1] in "ri" else "")
    if operator:
        return f"the operator {operator}"
    if name == "bool":
        return "as a condition"
    if name == "index":
        return "as a size or an index"
    if name.startswith(("array", "dlpack", "cuda_array")):
        return "as an array of NumPy or another library"
    return f"{name}()"


def refuse_to_read(name: str) -> Any:
    """A method that refuses; ``name`` is what its caller is told to have read."""

    def method(self: Contentless, *_: Any, **__: Any) -> NoReturn:
        self._refuse_reading(name)

    return method


for _name in READING_METHODS:
    setattr(Contentless, _name, refuse_to_read(_in_words(_name)))
for _name in _READING_PROPERTIES:
    setattr(Contentless, _name, property(refuse_to_read(_in_words(_name))))


class DataScalar(Contentless):
    """A scalar argument whose value the recorder does not have; may be passed to kernels or used to fill."""

    def __init__(self, context: Context, name: str, dtype: np.dtype[Any]) -> None:
        self._context = context
        self._called = f"the number {name}"
        self.name = name
        self.dtype = dtype

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1
    item = tolist = astype = __getitem__ = __setitem__ = refuse_to_read("its value")
    real = imag = property(refuse_to_read("its value"))

    @property
    def itemsize(self) -> int:
        """Bytes of the scalar."""
        return int(self.dtype.itemsize)

    def __repr__(self) -> str:
        return f"<{self.dtype} argument {self.name!r}, value not known to the host>"
