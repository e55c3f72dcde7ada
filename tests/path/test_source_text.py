"""No text of a kernel's is executed on its way through Numba: not as a default, a capture, a type or a stencil."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
from numba import cuda
from numba.core import types
from numba.core.errors import TypingError

from grader.gpu_models import DEFAULT
from grader.kernels_text import KernelsText
from grader.plan_constants import Constant, NameConstant
from grader.plan_functions import Function
from grader.runner.binding import Binder
from grader.runner.source_text import FUNCTIONS, STENCILS, TYPES, execute_numbers_only
from grader.simulator.frontend import Frontend, KernelError

ARRAY = types.Array(types.float32, 1, "C")
EXECUTED = "numba.executed.append(1)"
# Each has one kernel, whose constants hold a text that Numba could execute.
HOLDS_A_TEXT = {
    "a capture": f"""
def kernel(x, out):
    text = {EXECUTED!r}
    def inner():
        return text
    kept = inner
    out[0] = x[0]
""",
    "a capture by another name": f"""
def kernel(x, out):
    text = {EXECUTED!r}
    other = text
    kept = lambda: other
    out[0] = x[0]
""",
    "a default": f"""
def kernel(x, out):
    def inner(a, b={EXECUTED!r}):
        return b
    kept = inner
    out[0] = x[0]
""",
    "an annotation": f"""
def kernel(x, out):
    def inner(a, b={f"1, c: {EXECUTED} = 2"!r}):
        return b
    kept = inner
    out[0] = x[0]
""",
    "what is returned": f"""
def kernel(x, out):
    def inner(a, b={f"1) -> ({EXECUTED}"!r}):
        return b
    kept = inner
    out[0] = x[0]
""",
    "a decorator": f"""
def kernel(x, out):
    text = {chr(10).join(["1", chr(9) + "@" + EXECUTED, chr(9) + "def f(): return 1"])!r}
    def inner():
        return text
    kept = inner
    out[0] = x[0]
""",
    "a comprehension": f"""
def kernel(x, out):
    text = {f"[{EXECUTED} for c in (1,)]"!r}
    def inner():
        return text
    kept = inner
    out[0] = x[0]
""",
    "a type": f"""
def kernel(x, out):
    y = 0
    with numba.objmode(y={EXECUTED.replace("numba", "__import__('numba')")!r}):
        y = 1
    out[0] = y
""",
    "a stencil": f"""
def kernel(x, out):
    def mean(a):
        return a[0]
    numba.stencil(mean, neighborhood=(({EXECUTED!r}, 1),))(x, out=out)
""",
}
INNER_WITH_NUMBERS = """
def kernel(x, out):
    n, z, c = 2, -1.5, 1 + 2j
    def inner(a, b=3, d=-2.5, e=True, f=(1, 2)):
        return a * n + b * z + d
    kept = inner
    out[0] = kept(x[0])
"""


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the texts add to, if anybody executes them."""
    found: list[int] = []
    monkeypatch.setattr(numba, "executed", found, raising=False)
    return found


def _typed(text: str) -> None:
    names: dict[str, Constant] = {"numba": NameConstant(path="numba"), "cuda": NameConstant(path="numba.cuda")}
    function = Function(code=1, qualname="kernel", line=2, role="kernel", names=names)
    kernel = Binder(KernelsText(text.encode()), [function]).kernel(0)
    Frontend(DEFAULT).type(kernel.function, (ARRAY, ARRAY))


@pytest.mark.parametrize("text", HOLDS_A_TEXT.values(), ids=HOLDS_A_TEXT)
def test_a_text_in_a_kernel_is_refused_and_not_executed(text: str, executed: list[int]) -> None:
    with pytest.raises(KernelError):
        _typed(text)
    assert executed == []


def test_a_function_inside_of_a_kernel_may_keep_numbers() -> None:
    _typed(INNER_WITH_NUMBERS)


@pytest.mark.parametrize("text", ["void(float32[:], int64)", "float64(float64)", "(float32[:, ::1],)", "int32"])
def test_a_signature_is_still_read(text: str) -> None:
    execute_numbers_only()
    from numba.core import sigutils

    assert sigutils._parse_signature_string(text) is not None


@pytest.mark.parametrize(
    "text", ["np", "open('x')", "float32.__class__", "[float32 for _ in (1,)]", "Type('x')", "1 +"]
)
def test_what_is_no_signature_is_not_evaluated(text: str) -> None:
    execute_numbers_only()
    from numba.core import sigutils

    with pytest.raises(TypingError):
        sigutils._parse_signature_string(text)


# Modules that execute text, and why none of it can be a kernel's.
_NOT_A_KERNELS = {
    "core/untyped_passes.py": "numbers of its own: which items of a tuple have which type",
    "misc/special.py": "called from Python only",
    "deviceufunc.py": "called from Python only, by vectorize and guvectorize",
    "cuda/deviceufunc.py": "called from Python only, by vectorize and guvectorize",
    "experimental/structref.py": "called from Python only, where a structref is defined",
    "experimental/jitclass/base.py": "called from Python only, where a jitclass is defined",
    "experimental/jitclass/boxing.py": "called from Python only, where a jitclass is defined",
    "experimental/jitclass/overloads.py": "when it is imported",
    "np/arrayobj.py": "when it is imported",
    "np/ufunc/array_exprs.py": "a tree, not a text, in the lowering for CPUs",
    "parfors/parfor_lowering.py": "the lowering for CPUs",
    "pycc/decorators.py": "called from Python only",
}


def _executing(package: Path) -> Iterator[str]:
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        if "tests" in file.relative_to(package).parts or "testing" in file.relative_to(package).parts:
            continue
        calls = (node.func for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Call))
        if any(isinstance(function, ast.Name) and function.id in ("exec", "eval") for function in calls):
            yield name


def test_every_module_of_numba_that_executes_text_is_known() -> None:
    """A new Numba may have new ones: each is to be looked at, whether a kernel's text can come there."""
    ours = {name.partition(".")[2].replace(".", "/") + ".py" for name in (*FUNCTIONS, *TYPES, *STENCILS)}
    ours |= {name.removeprefix("cuda/") for name in ours}
    packages = [Path(numba.__file__).parent, Path(cuda.__file__).parent]
    assert {name for package in packages for name in _executing(package)} - ours <= set(_NOT_A_KERNELS)
