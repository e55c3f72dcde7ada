"""What to try when Numba rejects a kernel: from its message, and from the text around the line. Runs in the
runner, or in anybody's own process.

In: the message as ``rejections.explain`` cut it, its line, the text of the file. Out: one or two sentences. They
say what the mistake most likely is; a message that none of the rules knows gets ``DEFAULT``.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterator

import numpy as np
from numba import cuda

from grader.kernels_text import KernelsText
from grader.records import Place
from grader.spelling import nearest

DEFAULT = "Kernels are a subset of Python: numbers, tuples, arrays, math and numba.cuda."
# Namespaces of numba.cuda whose members are called through them.
_NAMESPACES = ("shared", "local", "const", "atomic")
_ARRAY_ATTRIBUTES = ("shape", "size", "ndim", "strides", "dtype", "T", "itemsize", "nbytes")
_USUAL = {"np": "import numpy as np", "numpy": "import numpy", "math": "import math"}
_DTYPES = ("float32", "float64", "int32", "int64", "uint8")
_MAX_UNPACKED = 3  # dimensions of a grid


def advice_for(message: str, line: int, text: KernelsText) -> str:
    """What to try. ``line`` is where in ``text`` Numba says that the mistake is (0: unknown)."""
    function = _Around(text, line)
    for pattern, rule in _RULES:
        found = re.search(pattern, message)
        advice = rule(found, function) if found else ""
        if advice:
            return advice
    return DEFAULT


class _Around:
    """The function that a line is in, as far as the rules ask: what a name was made of, what the line names."""

    def __init__(self, text: KernelsText, line: int) -> None:
        self.line = line
        self.file = Place(line, file=text.filename).short_file
        self._tree = text.tree()
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        self._function: ast.AST = max(around, key=lambda node: node.lineno) if around else ast.Module([], [])
        self._assigned = {
            target.id: node.value
            for node in ast.walk(self._function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def names(self) -> Iterator[str]:
        """The names that the file gives to anything."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.alias):
                yield node.asname or node.name

    def on_line(self) -> Iterator[ast.expr]:
        """The expressions on the line, and for each name on it also what the function made it of."""
        for node in ast.walk(self._function):
            if isinstance(node, ast.expr) and node.lineno <= self.line <= (node.end_lineno or node.lineno):
                yield node
                if isinstance(node, ast.Name) and node.id in self._assigned:
                    yield self._assigned[node.id]

    def shape(self) -> str:
        """The ``….shape`` that the line uses whole, as written, or ""."""
        indexed = {id(n.value) for n in ast.walk(self._function) if isinstance(n, ast.Subscript)}
        for node in self.on_line():
            if isinstance(node, ast.Attribute) and node.attr == "shape" and id(node) not in indexed:
                return ast.unparse(node)
        return ""

    def grid(self) -> tuple[str, int]:
        """``cuda.grid(n)`` or ``cuda.gridsize(n)`` on the line, that of the most dimensions, as (function, n).

        ("", 0) if there is none.
        """
        found = [("", 0)]
        for node in self.on_line():
            if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
                name, count = ast.unparse(node.func), node.args[0].value
                if name.rpartition(".")[2] in ("grid", "gridsize") and isinstance(count, int):
                    found.append((name, count))
        return max(found, key=lambda each: each[1])


_Rule = Callable[[re.Match[str], _Around], str]


def _public_names() -> list[str]:
    """What kernels may mean by ``cuda.…``, also with the names of its namespaces: ``shared.array``."""
    names = [n for n, value in vars(cuda).items() if not n.startswith("_") and not inspect.ismodule(value)]
    return names + [f"{space}.{name}" for space in _NAMESPACES for name in _members(space)]


def _members(space: str) -> list[str]:
    return [name for name in dir(getattr(cuda, space, None)) if not name.startswith("_")]


def _misspelt_in_cuda(found: re.Match[str], _: _Around) -> str:
    near = nearest(found[1], _public_names())
    return f"Did you mean cuda.{near}?" if near else f"numba.cuda has no {found[1]}: look up what it is called."


def _misspelt_in_namespace(found: re.Match[str], _: _Around) -> str:
    if found[1] not in _NAMESPACES:
        return ""
    near = nearest(found[2], _members(found[1]))
    known = [f"cuda.{found[1]}.{name}" for name in _members(found[1])[:4]]
    there = "There is" if len(known) == 1 else "There are"
    return f"Did you mean cuda.{found[1]}.{near}?" if near else f"{there} {', '.join(known)}."


def _misspelt_attribute(found: re.Match[str], _: _Around) -> str:
    name, of = found[1], found[2]
    if of.startswith("Dim3"):
        return f"Did you mean .{name.lower()}?" if name.lower() in ("x", "y", "z") else "It has .x, .y and .z."
    if of.startswith("array"):
        near = nearest(name, _ARRAY_ATTRIBUTES)
        return f"Did you mean .{near}?" if near else "Sizes are in .shape and .size, as in out.shape[0]."
    return ""


def _misspelt_in_module(found: re.Match[str], _: _Around) -> str:
    module, name = found[1], found[2]
    loaded = {"math": math, "numpy": np}[module]
    near = nearest(name, [n for n in dir(loaded) if not n.startswith("_")])
    return f"Did you mean {module}.{near}?" if near else ""


def _undefined(found: re.Match[str], around: _Around) -> str:
    name = found[1]
    if name in _USUAL:
        return f"Write `{_USUAL[name]}` at the top of {around.file}."
    if name in _DTYPES:
        return f"Write `from numba import {name}` at the top of {around.file}."
    if hasattr(cuda, name) and not name.startswith("_"):
        return f"Write cuda.{name}."
    near = nearest(name, (known for known in around.names() if known != name))
    return (f"Did you mean {near}? " if near else "") + "A name must be assigned, or be a parameter, before it is used."


def _tuple_as_number(found: re.Match[str], around: _Around) -> str:
    name, count = around.grid()
    if count > 1:
        places = ", ".join("xyz"[:count])
        return (
            f"{name}({count}) gives {count} numbers: write {places} = {name}({count}), "
            f"or {name}(1) for one number in a one-dimensional kernel."
        )
    shape = around.shape()
    if shape:
        length = re.search(r"UniTuple\(\w+ x (\d+)\)", found.string)
        other = f"{shape}[1]" if length and int(length[1]) > 1 else f"{shape.removesuffix('shape')}size"
        return f"{shape} is a tuple, one number per dimension: use {shape}[0] or {other}."
    return "A tuple stands where a number is needed: take one of its elements, as in place[0]."


def _unpacked_number(_: re.Match[str], around: _Around) -> str:
    name, count = around.grid()
    if count == 1:
        return f"{name}(1) is one number: write i = {name}(1), or x, y = {name}(2) for two dimensions."
    return "One number cannot be unpacked into several names; .shape and cuda.grid(2) can."


def _unpacked_other(found: re.Match[str], around: _Around) -> str:
    wanted, (name, _) = int(found[1]), around.grid()
    if name and wanted <= _MAX_UNPACKED:
        return f"{name} takes the number of dimensions: {name}({wanted}) gives {wanted} numbers."
    return f"Write {found[2]} names on the left, one for each number on the right."


def _too_many_indices(found: re.Match[str], around: _Around) -> str:
    if around.grid()[1] > 1:
        return _tuple_as_number(found, around)
    return f"This array has {found[1]} dimension(s): give it as many indices, or make the array with more dimensions."


def _atomic_arguments(_: re.Match[str], around: _Around) -> str:
    called = [ast.unparse(node.func) for node in around.on_line() if isinstance(node, ast.Call)]
    name = next((name for name in called if name.startswith("cuda.atomic.")), "")
    return f"{name} wants the array, the index and the value, as in {name}(out, 0, x[i])." if name else ""


def _shared_arguments(_: re.Match[str], around: _Around) -> str:
    return (
        "Write, say, tile = cuda.shared.array((16, 16), float32): a shape in one tuple, of numbers that stand in "
        f"{around.file}, then a dtype from numba."
    )


def _said(sentence: str) -> _Rule:
    return lambda found, around: found.expand(sentence)


# First match wins: a pattern in the message, and what makes advice of it.
_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"module 'numba\.cuda' has no attribute '(\w+)'", _misspelt_in_cuda),
    (r"type object '(\w+)' has no attribute '(\w+)'", _misspelt_in_namespace),
    (r"module '(math|numpy)' has no attribute '(\w+)'", _misspelt_in_module),
    (r"Unknown attribute '(\w+)' of type (.+)", _misspelt_attribute),
    (r"name '(\w+)' is not defined", _undefined),
    (r"failed to unpack (?:u?int|float)\d+", _unpacked_number),
    (r"(\d+) names? for the (\d+) values", _unpacked_other),
    (r"values to unpack \(expected 3", _atomic_arguments),
    (r"no (?:shared|local)\.array\(", _shared_arguments),
    (r"cannot index array\(\w+, (\d)d, \w+\) with \d+ ind", _too_many_indices),
    (r"no (?:\w+)\(.*Function\(<intrinsic (grid|gridsize)>\)", _said(r"Call it: cuda.\1(1) is the number.")),
    (r"grid\w*\(\) missing 1 required positional", _said("Say how many dimensions: cuda.grid(1), or cuda.grid(2).")),
    (
        r"Dim3",
        _said("cuda.threadIdx, blockIdx, blockDim and gridDim have .x, .y and .z: write, say, cuda.threadIdx.x."),
    ),
    (r"Unsupported array index type float", _said("An index is a whole number: divide with // instead of /.")),
    (r"Invalid use of (?:u?int|float)\d+ with", _said("This is a number and no function: remove the parentheses.")),
    (r"Invalid use of array\(", _said("Elements are read and written with square brackets: a[i], not a(i).")),
    (
        r"A kernel returns nothing",
        _said("Write the result into an array argument, as in out[i] = …; return alone is fine."),
    ),
    (
        r"no (?:zeros|ones|empty|full|array)\(",
        _said("Kernels make no arrays with NumPy: use cuda.shared.array or cuda.local.array."),
    ),
    (r"no (?:matmul|dot|sum|max|min|where|add|multiply)\(.*array\(", _said("Write the loop over single elements out.")),
    (r"works on single elements", _said("Let each thread compute its index, and assign to out[i].")),
    (r"cannot make text", _said("Print numbers, as in print(i, x[i]).")),
    (r"exception_match|try and except", _said("Kernels have no exceptions: guard the access with an if.")),
    (r"no (?:eq|ne|lt|le|gt|ge|add|sub|mul|truediv|floordiv|mod|range)\(.*Tuple\(", _tuple_as_number),
)
