"""Fingerprints: what a call cannot depend on makes no difference; what it might depend on does, or there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment_folder import open_folder
from grader.fingerprint import fingerprint

TEXT = '''\
"""Two exercises."""

import math

from numba import cuda, float32

THREADS = 64
SIDE = 16
COLUMNS = SIDE // 4 + (SIDE * 2 - 1) % 3
UNUSED = (1, -2, None, "text", [])
memory = {}


@cuda.jit(device=True)
def twice(value):
    return 2 * value


@cuda.jit(device=True)
def half(value):
    return value / float32(2)


@cuda.jit
def double_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = twice(x[i])


def double(x, out):
    """x, out: float32 (n,)."""
    double_kernel[(x.size + THREADS - 1) // THREADS, THREADS](x, out)


@cuda.jit
def root_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = half(math.sqrt(x[i]))


def root(x, out):
    """x, out: float32 (n,)."""
    root_kernel[(x.size + SIDE - 1) // SIDE, SIDE](x, out)
'''
HEAD = TEXT[: TEXT.index("import math")]


def of(text: str, *entries: str) -> str | None:
    return fingerprint(text.encode(), entries or ("double",))


def changed(old: str, new: str, text: str = TEXT) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def course_mutants() -> Iterator[tuple[Path, Path]]:
    for name in ("01", "02", "04"):
        folder = Path(__file__).parents[1] / "solutions" / name
        yield from ((folder, mutant) for mutant in sorted((folder / "wrong").glob("*.py")))


def after_imports(statements: str) -> str:
    return changed("THREADS = 64\n", f"THREADS = 64\n{statements}\n")


def test_a_text_has_a_fingerprint_and_each_entry_point_its_own() -> None:
    marks = {of(TEXT, "double"), of(TEXT, "root"), of(TEXT, "double", "root")}
    assert len(marks) == 3
    assert None not in marks
    assert of(TEXT, "root", "double") == of(TEXT, "double", "root")


@pytest.mark.parametrize(
    "text",
    [
        changed("half(math.sqrt(x[i]))", "x[i]"),  # another entry point's kernel
        changed("return value / float32(2)", "return value"),  # its device function
        changed("root_kernel[(x.size + SIDE - 1) // SIDE, SIDE](x, out)", "pass"),  # its host function
        changed("UNUSED = (1, -2", "UNUSED = (3, -4"),
        changed("SIDE = 16", "SIDE = 8"),
        changed("SIDE // 4", "SIDE // 2"),
        changed("memory = {}\n", ""),
        changed('UNUSED = (1, -2, None, "text", [])\n', ""),
        changed('"""Two exercises."""', "# Three exercises, said in a comment"),
        changed('def double(x, out):\n    """x, out: float32 (n,)."""', "def double(x, out):"),
        changed("    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = twice", "    # a place\n"
                "    i = cuda.grid(1)\n\n    if i < out.size:\n        out[i] = twice"),
        changed("import math\n", "import math\nimport numpy as np\n"),
        changed("cuda, float32", "cuda, float32, float16"),
        after_imports("def longer(x, y=1, *, z=(0, -1)):\n    return undefined + THREADS"),
        after_imports("@cuda.jit()\ndef another(x):\n    pass"),
        after_imports("def hand():\n    global hands\n    hands = 1"),
        "\ufeff" + TEXT,
        TEXT.replace("\n", "\r\n"),
    ],
)  # fmt: skip
def test_what_a_call_cannot_reach_makes_no_difference(text: str) -> None:
    assert text != TEXT
    assert of(text) == of(TEXT)


@pytest.mark.parametrize(
    "text",
    [
        changed("twice(x[i])", "twice(x[i]) + 1"),
        changed("return 2 * value", "return 3 * value"),  # two names away
        changed("@cuda.jit(device=True)\ndef twice", "@cuda.jit(device=True, inline='always')\ndef twice"),
        changed("@cuda.jit\ndef double_kernel", "@cuda.jit(fastmath=True)\ndef double_kernel"),
        changed("THREADS = 64", "THREADS = 32"),
        changed("THREADS = 64", "THREADS = 64.0"),
        changed("THREADS = 64", "THREADS = True"),
        changed("THREADS = 64\n", "THREADS = 64\nTHREADS = 32\n"),
        after_imports("SIDE = THREADS = 8"),
        after_imports("def x(value):\n    return value"),  # a name that double mentions, even if as its parameter
        changed("    double_kernel[(x.size", "    memory[0] = 1\n    double_kernel[(x.size"),
        changed("def double(x, out):", "def double(x, out, more=None):"),
        changed('    """x, out: float32 (n,)."""\n    double_kernel', '    pass\n    double_kernel'),
        # Bound otherwise than by a definition.
        changed("import math\n", "import math\nfrom math import sqrt as twice\n"),
        changed("from numba import cuda, float32", "from numba import float32\nfrom numba import types as cuda"),
    ],
)  # fmt: skip
def test_what_a_call_reaches_makes_a_difference(text: str) -> None:
    assert of(text) is not None
    assert of(text) != of(TEXT)


@pytest.mark.parametrize(
    "statements",
    [
        "print()",
        "limit = undefined",  # fails, and so does every import of kernels.py
        "limit = THREADS / 2",
        "limit = THREADS // 0",
        "limit = THREADS % (THREADS - THREADS)",
        "limit = 2 ** 10",
        "limit = 10**9 * 10**9 * 10**9",
        "limit = 1000000000000 * 1000000000000",
        "limit = -undefined",
        "limit = SIDE + 1",  # before SIDE
        "limit = True + 1",
        "limit = twice * 2",
        "limit = {undefined: 1}",
        "limit = [undefined]",
        "other = twice",
        "limit: int = 3",
        "memory['limit'] = 3",
        "first, second = 1, 2",
        "THREADS //= 2",
        "del THREADS",
        "if THREADS > 4:\n    limit = 3",
        "for limit in (1, 2):\n    pass",
        "with undefined:\n    pass",
        "try:\n    limit = 3\nfinally:\n    pass",
        "class Limits:\n    threads = 3",
        "async def later():\n    pass",
        "lambda: 3",
        "@THREADS\ndef limit():\n    pass",
        "@cuda.jit('void(float32[:])')\ndef limit(x):\n    pass",
        "@cuda.jit(device=1 / 0)\ndef limit(x):\n    pass",
        "@cuda.jit(unknown=True)\ndef limit(x):\n    pass",
        "def limit(x=THREADS):\n    pass",
        "def limit(x, *, y=print()):\n    pass",
        "def limit(x: undefined):\n    pass",
        "def limit(*x: undefined):\n    pass",
        "def limit(**x: undefined):\n    pass",
        "def limit(x) -> undefined:\n    pass",
        "negative = -'text'",
        "from numba import surely_not",
        "from math import surely_not",
        "import numba",
    ],
)
def test_a_statement_that_could_do_anything_always_counts(statements: str) -> None:
    assert of(after_imports(statements)) is not None
    assert of(after_imports(statements)) != of(TEXT)


@pytest.mark.parametrize("again", ["SIDE = 0", "def SIDE():\n    pass", "for SIDE in (0,):\n    pass", "SIDE += 1"])
def test_a_number_with_another_meaning_is_none(again: str) -> None:
    text = changed("COLUMNS =", f"{again}\nCOLUMNS =")
    assert of(text) != of(changed("SIDE // 4", "SIDE // 2", text))


def test_what_such_a_statement_names_counts() -> None:
    text = after_imports("print(COLUMNS)")
    assert of(text) != of(changed("SIDE = 16", "SIDE = 8", text))
    decorated = after_imports("def run(function):\n    function()\n\n\n@run\ndef setup():\n    memory['x'] = 1")
    assert of(changed("memory['x'] = 1", "memory['x'] = 2", decorated)) != of(decorated)


@pytest.mark.parametrize(
    "bound",
    [
        "cuda = THREADS",
        "from numba import types as cuda",
        "def cuda():\n    pass",
        "def other(cuda):\n    pass",
        "def other():\n    global cuda\n    cuda = 1",
        "try:\n    pass\nexcept ValueError as cuda:\n    pass",
        "match 1:\n    case cuda:\n        pass",
        "match [1]:\n    case [*cuda]:\n        pass",
        "match {}:\n    case {**cuda}:\n        pass",
    ],
)
def test_a_decorator_that_may_not_be_numbas_could_do_anything(bound: str) -> None:
    text = after_imports(bound)
    mark = of(text, "root")
    assert mark is None or mark != of(changed("return 2 * value", "return 3 * value", text), "root")


def test_a_decorator_before_its_import_counts() -> None:
    early = "@cuda.jit\ndef early(x):\n    pass\n\n\n"
    assert of(changed("import math\n", f"{early}import math\n")) != of(TEXT)


@pytest.mark.parametrize(
    "statements",
    [
        "import sys",
        "import os",
        "import inspect",
        "import numpy.ctypeslib",
        "from importlib import import_module",
        "from grader import judge",
        "from . import kernels",
        "from .math import sqrt",
        "from math import *",
        "from __future__ import annotations",
        "from numba import __version__",
        "def see():\n    import gc",
        "def see():\n    from sys import modules",
        "def see():\n    return globals()",
        "def see():\n    return locals()",
        "def see():\n    return vars()",
        "def see():\n    return dir()",
        "def see():\n    return eval('double')",
        "def see():\n    exec('THREADS = 3')",
        "def see(x):\n    return getattr(x, 'name')",
        "def see(x):\n    setattr(x, 'name', 3)",
        "def see(x):\n    delattr(x, 'name')",
        "def see():\n    return compile",
        "def see():\n    return open('kernels.py')",
        "def see():\n    return __file__",
        "def see():\n    return __name__",
        "def see():\n    return __builtins__",
        "def see(x):\n    return x.__globals__",
        "def see(x):\n    return x.gi_frame",
        "def see(x):\n    return x.f_back",
        "def see(x):\n    return '{0.__globals__}'.format(x)",
        "def see(x):\n    return f'{x}__'",
        "def __getattr__(name):\n    pass",
        "class See:\n    def __call__(self):\n        pass",
        "def see(x):\n    x.state = 3",
        "def see(x):\n    del x.state",
        "cuda.jit = 3",
        "def see():\n    math.sqrt = 3",
        "def see():\n    global THREADS\n    THREADS = 3",
        "def see():\n    def inner():\n        global double\n        double = 3",
        "return",
        "nonlocal THREADS",
        "def broken(:",
        "'\\ud800' if",
        "x = '\0'",
    ],
)
def test_a_module_that_might_look_at_itself_or_change_others_has_none(statements: str) -> None:
    assert of(after_imports(statements)) is None


def test_an_entry_point_that_is_not_plainly_there_has_none() -> None:
    assert of(TEXT, "triple") is None
    assert of(TEXT, "double", "triple") is None
    assert of(f"{HEAD}if True:\n    def triple(x, out):\n        pass\n", "triple") is None
    assert fingerprint(b"\xff", ["double"]) is None
    assert of("x = " + "(" * 5000 + ")" * 5000) is None


def test_state_of_the_module_is_shared_by_all_that_name_it() -> None:
    """What one entry point leaves for another counts where both are called, and where it may be called on import."""
    reads = changed("    root_kernel[", "    threads = memory.get(0, SIDE)\n    root_kernel[")
    writes = changed("    double_kernel[(x.size", "    memory[0] = 0\n    double_kernel[(x.size", reads)
    assert of(reads, "double", "root") != of(writes, "double", "root")
    assert of(reads, "root") == of(writes, "root")  # where double is not called, it leaves nothing
    called = f"{writes}\n\ndouble(0, 0)\n"
    assert of(called, "root") != of(f"{reads}\n\ndouble(0, 0)\n", "root")


def test_each_mutant_of_the_course_differs_from_the_reference_in_one_entry_point() -> None:
    """So lint need not judge the others again. A line too many in a mutant costs minutes."""
    found = list(course_mutants())
    assert len(found) > 60
    for folder, mutant in found:
        entries = open_folder(folder).problems
        reference = (folder / "kernels.py").read_bytes()
        same = [
            entry for entry in entries if fingerprint(mutant.read_bytes(), [entry]) == fingerprint(reference, [entry])
        ]
        assert len(same) == len(entries) - 1, (mutant.name, same)
