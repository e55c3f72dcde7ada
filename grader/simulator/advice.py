"""What to try when Numba rejects a kernel: from its message, and from the text around the line. Runs in the
runner, or in anybody's own process.

In: the message as ``rejections.explain`` cut it, its line, the text of the file. Out: one or two sentences. They
say what the mistake most likely is; a message that none of the rules knows gets ``DEFAULT``.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re
from collections.abc import Callable

import numpy as np
from numba import cuda

from grader.kernels_text import KernelsText
from grader.simulator.around import Around
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
    function = Around(text, line)
    for pattern, rule in _RULES:
        found = re.search(pattern, message)
        advice = rule(found, function) if found else ""
        if advice:
            return advice
    return DEFAULT


_Rule = Callable[[re.Match[str], Around], str]


def _public_names() -> list[str]:
    """What kernels may mean by ``cuda.…``, also with the names of its namespaces: ``shared.array``."""
    names = [n for n, value in vars(cuda).items() if not n.startswith("_") and not inspect.ismodule(value)]
    return names + [f"{space}.{name}" for space in _NAMESPACES for name in _members(space)]


def _members(space: str) -> list[str]:
    return [name for name in dir(getattr(cuda, space, None)) if not name.startswith("_")]


def _misspelt_in_cuda(found: re.Match[str], _: Around) -> str:
    near = nearest(found[1], _public_names())
    return f"Did you mean cuda.{near}?" if near else f"numba.cuda has no {found[1]}: look up what it is called."


def _misspelt_in_namespace(found: re.Match[str], _: Around) -> str:
    if found[1] not in _NAMESPACES:
        return ""
    near = nearest(found[2], _members(found[1]))
    known = [f"cuda.{found[1]}.{name}" for name in _members(found[1])[:4]]
    there = "There is" if len(known) == 1 else "There are"
    return f"Did you mean cuda.{found[1]}.{near}?" if near else f"{there} {', '.join(known)}."


def _misspelt_attribute(found: re.Match[str], _: Around) -> str:
    name, of = found[1], found[2]
    if of.startswith("Dim3"):
        return f"Did you mean .{name.lower()}?" if name.lower() in ("x", "y", "z") else "It has .x, .y and .z."
    if of.startswith("array"):
        if hasattr(np.ndarray, name):
            return f"A kernel has no .{name} of arrays: write the loop over single elements out."
        near = nearest(name, _ARRAY_ATTRIBUTES)
        return f"Did you mean .{near}?" if near else "Sizes are in .shape and .size, as in out.shape[0]."
    return ""


def _misspelt_in_module(found: re.Match[str], _: Around) -> str:
    module, name = found[1], found[2]
    loaded = {"math": math, "numpy": np}[module]
    near = nearest(name, [n for n in dir(loaded) if not n.startswith("_")])
    return f"Did you mean {module}.{near}?" if near else ""


def _unsupported_in_numpy(found: re.Match[str], _: Around) -> str:
    if hasattr(math, found[1]):
        return f"Write math.{found[1]}(…), with `import math` at the top."
    return "Write the loop over single elements out."


def _undefined(found: re.Match[str], around: Around) -> str:
    name = found[1]
    if name in _USUAL:
        return f"Write `{_USUAL[name]}` at the top of {around.file}."
    if name in _DTYPES:
        return f"Write `from numba import {name}` at the top of {around.file}."
    if hasattr(cuda, name) and not name.startswith("_"):
        return f"Write cuda.{name}."
    near = nearest(name, (known for known in around.names() if known != name))
    return (f"Did you mean {near}? " if near else "") + "A name must be assigned, or be a parameter, before it is used."


def _tuple_as_number(found: re.Match[str], around: Around) -> str:
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


def _unpacked_number(_: re.Match[str], around: Around) -> str:
    name, count = around.grid()
    if count == 1:
        return f"{name}(1) is one number: write i = {name}(1), or x, y = {name}(2) for two dimensions."
    return "One number cannot be unpacked into several names; .shape and cuda.grid(2) can."


def _unpacked_other(found: re.Match[str], around: Around) -> str:
    wanted, (name, _) = int(found[1]), around.grid()
    if name and wanted <= _MAX_UNPACKED:
        return f"{name} takes the number of dimensions: {name}({wanted}) gives {wanted} numbers."
    return f"Write {found[2]} names on the left, one for each number on the right."


def _too_many_indices(found: re.Match[str], around: Around) -> str:
    if around.grid()[1] > 1:
        return _tuple_as_number(found, around)
    return f"This array has {found[1]} dimension(s): give it as many indices, or make the array with more dimensions."


def _atomic_arguments(_: re.Match[str], around: Around) -> str:
    called = [ast.unparse(node.func) for node in around.on_line() if isinstance(node, ast.Call)]
    name = next((name for name in called if name.startswith("cuda.atomic.")), "")
    return f"{name} wants the array, the index and the value, as in {name}(out, 0, x[i])." if name else ""


def _shared_arguments(_: re.Match[str], around: Around) -> str:
    return (
        "Write, say, tile = cuda.shared.array((16, 16), float32): a shape in one tuple, of numbers that stand in "
        f"{around.file}, then a dtype from numba."
    )


def _not_for_kernels(found: re.Match[str], _: Around) -> str:
    """What a kernel names that is neither a number nor an array nor a function of its own."""
    name, kind = found[1], found[2]
    if kind == "function":
        return f"Decorate {name} with @cuda.jit(device=True): of functions of your own, kernels call only such ones."
    if name in ("list", "set", "dict"):
        return _NO_CONTAINERS
    if hasattr(builtins, name):
        return f"Python's own {name} is not for kernels; abs, min, max, len, range, round, int and float are."
    if kind == "module":
        return "Of modules, kernels may use math, numpy (its dtypes and a part of its functions) and numba.cuda."
    return f"Give the kernel what it needs of {name} as arguments: numbers, arrays, tuples."


def _host_only(found: re.Match[str], _: Around) -> str:
    module, name = found[1], found[2]
    if module == "numba.cuda" and name == "synchronize":
        return (
            "The host waits for a kernel with cuda.synchronize(); the threads of a block wait for each other with "
            "cuda.syncthreads()."
        )
    if module == "numba.cuda" and "array" in name:
        return "Make arrays on the host and pass them; a kernel has cuda.shared.array and cuda.local.array."
    if module == "numba.cuda":
        return f"cuda.{name} is for the host: call it outside of the kernel."
    if module in ("numpy.random", "numba.np.random"):
        return "Kernels draw random numbers with numba.cuda.random, as xoroshiro128p_uniform_float32(states, i)."
    return ""


def _missing_argument(found: re.Match[str], around: Around) -> str:
    given, wanted = found[1], around.parameters()
    if not around.function or len(wanted) != int(found[2]):
        return "Give as many arguments as the function has parameters."
    return f"{around.function.name} has {found[2]} parameters, {', '.join(wanted)}; this call gives {given}."


def _number_as_array(found: re.Match[str], around: Around) -> str:
    context, kind = (ast.Store if found[1] == "setitem" else ast.Load), found[2]
    indexed = {
        node.value.id
        for node in around.on_line()
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, context) and isinstance(node.value, ast.Name)
    }
    if len(indexed) == 1 and indexed <= set(around.parameters()):
        name = indexed.pop()
        return f"If {name} is the number ({kind}), leave out the brackets; else pass an array for {name}."
    return f"A number ({kind}) has no elements: leave out its brackets, or pass an array."


def _before_assignment(found: re.Match[str], around: Around) -> str:
    name = found[1]
    if around.is_global(name):
        return f"A kernel can read the global {name} and not change it: use another name, or an array argument."
    return f"Give {name} a value first, as in {name} = float32(0)."


_NO_CONTAINERS = (
    "For a few values of a thread use cuda.local.array, of a fixed size, or a tuple; for more, an argument."
)


def _said(sentence: str) -> _Rule:
    return lambda found, around: found.expand(sentence)


# First match wins: a pattern in the message, and what makes advice of it.
_RULES: tuple[tuple[str, _Rule], ...] = (
    (r"no (?:shared|local)\.array\(", _shared_arguments),
    (r"Untyped (?:global|freevar|closure variable) name '(\w+)':.*<class '(?:[\w.]*\.)?(\w+)'>", _not_for_kernels),
    (r"A kernel cannot use (numba\.cuda|numpy\.random|numba\.np\.random)\.(\w+)", _host_only),
    (r"(\d+) argument types given, but function takes (\d+)", _missing_argument),
    (r"no (getitem|setitem)\(((?:u?int|float)\d+),", _number_as_array),
    (
        r"Unknown attribute '(?:shape|size)' of type ((?:u?int|float)\d+)",
        _said(r"Pass an array here: this is a number (\1)."),
    ),
    (r"no len\(((?:u?int|float)\d+)\)", _said(r"Pass an array here: this is a number (\1).")),
    (r"Variable '(\w+)' is not defined", _before_assignment),
    (r"takes no (?:list|set)", _said("Make it an array, and copy that: cuda.to_device(np.array(values, np.float32)).")),
    (r"takes no (?:dict|text)", _said("Give it numbers, arrays or tuples of them instead.")),
    (r"cannot print |no mod\('|attribute 'format' of type '", _said("Print numbers, as in print(i, x[i]).")),
    (r"(?:type |use |\()(?:reflected )?(?:list|set|Dict)(?:s\b|\(|Type)", _said(_NO_CONTAINERS)),
    (r"STORE_GLOBAL", _said("A kernel cannot change a global variable: write into an array argument.")),
    (r"IMPORT_NAME", _said("Import at the top of the file.")),
    (r"LOAD_BUILD_CLASS", _said("Define classes outside of the kernel; it can use records of NumPy, as in p[i].x.")),
    (r"'with \(", _said("Kernels have no with: leave it to the host.")),
    (r"use (math\.\w+)\.$", _said(r"Write \1(…), with `import math` at the top.")),
    (
        r"CUDADispatcher\(<function (\w+)",
        _said(r"A kernel cannot launch another: call a @cuda.jit(device=True) function."),
    ),
    (r"unsupported NumPy function 'numpy\.(\w+)'", _unsupported_in_numpy),
    (r"assignment of an array to a slice", _said("Let each thread copy its element: out[i] = a[i].")),
    (r"write a loop over elements", _said("Let each thread compute its index and work on a[i], or loop over indices.")),
    (r"module 'numba\.cuda' has no attribute '(\w+)'", _misspelt_in_cuda),
    (r"type object '(\w+)' has no attribute '(\w+)'", _misspelt_in_namespace),
    (r"module '(math|numpy)' has no attribute '(\w+)'", _misspelt_in_module),
    (r"Unknown attribute '(\w+)' of type (.+)", _misspelt_attribute),
    (r"name '(\w+)' is not defined", _undefined),
    (r"failed to unpack (?:u?int|float)\d+", _unpacked_number),
    (r"(\d+) names? for the (\d+) values", _unpacked_other),
    (r"values to unpack \(expected 3", _atomic_arguments),
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
    (r"\(none, |, none\)", _said("A variable is None here: give it a number on every way to this line.")),
)
