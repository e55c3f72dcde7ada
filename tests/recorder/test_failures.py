"""Mistakes in host code: each has its kind, the line, and something to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Inputs
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.warm_child import WarmChild

Recorded = Callable[..., LaunchPlan | Failure]
LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)
LAUNCH = "kernel[4, 256](a, out)"


def failed(answer: LaunchPlan | Failure) -> Failure:
    assert isinstance(answer, Failure), answer
    return answer


READS = {
    "element": "a[0]",
    "element of two dimensions": "m[1, 2]",
    "element through a view": "m[1][2]",
    "last element": "a[-1]",
    "copy_to_host": "a.copy_to_host()",
    "copy_to_host into": "a.copy_to_host(np.empty(1000, np.float32))",
    "float": "float(a[:1])",
    "int": "int(a[:1])",
    "range": "range(a[:1])",
    "asarray": "np.asarray(a)",
    "array": "np.array(m)",
    "iteration": "[x for x in a]",
    "iteration over rows": "[float(x[0]) for x in m]",
    "unpacking": "x, *rest = a",
    "comparison": "a == 0",
    "order": "a < 1",
    "condition": "a[:1] and 1",
    "negation": "not a",
    "arithmetic": "a + 1",
    "arithmetic from the right": "1 / a",
    "in place": "a += 1",
    "minus": "-a",
    "abs": "abs(a)",
    "round": "round(a[:1])",
    "in": "0 in a",
    "ufunc": "np.sqrt(a)",
    "ufunc with out": "np.add(a, 1, out=np.empty(1000))",
    "numpy function": "np.sum(a)",
    "numpy dot": "np.dot(m, m.T)",
    "matmul": "m @ m",
    "max": "max(a)",
    "sorted": "sorted(a)",
    "interface": "a.__cuda_array_interface__",
    "dlpack": "a.__dlpack__()",
    "memory": "a.gpu_data",
    "tolist": "a.tolist()",
    "scalar as float": "float(s)",
    "scalar as condition": "if s: pass",
    "scalar compared": "s > 0",
    "scalar in arithmetic": "x = s * 2",
    "scalar as size": "range(s)",
    "scalar as index": "a[s]",
    "scalar in math": "math.sqrt(s)",
    "scalar in numpy": "np.full(3, s)",
    "scalar item": "s.item()",
    "scalar as host array": "cuda.to_device([s])",
}


@pytest.mark.parametrize("statement", READS.values(), ids=READS.keys())
def test_reading_contents_is_refused_with_the_line(recorded: Recorded, statement: str) -> None:
    failure = failed(recorded(f"pass\n{statement}\n{LAUNCH}"))
    assert failure.kind == "contents-read"
    assert failure.where == f"kernels.py:18  {statement}"
    assert failure.advice
    assert "a" in failure.what


@pytest.mark.parametrize("handler", ["except Exception: pass", "except BaseException: pass", "finally: return"])
def test_catching_the_refusal_does_not_help(recorded: Recorded, handler: str) -> None:
    failure = failed(recorded(f"{LAUNCH}\ntry:\n    a[0]\n{handler}"))
    assert failure.kind == "contents-read"
    assert "a[0]" in failure.where


def test_a_refusal_inside_of_a_function_names_the_innermost_line_of_kernels_py(recorded: Recorded) -> None:
    failure = failed(recorded("helper(a)", "def helper(x):\n    return sorted(x, key=lambda v: v)\n"))
    assert failure.where == "kernels.py:16  return sorted(x, key=lambda v: v)"


# body of f → kind, and words that the text must contain
MISTAKES: dict[str, tuple[str, str, str]] = {
    "no launch": ("pass", "no-launch", "launched no kernel"),
    "only a fill": ("out[:] = 0", "no-launch", "launched no kernel"),
    "returned": ("return np.zeros(3)", "returned-a-value", "writes into out"),
    "generator": ("yield", "returned-a-value", "generator"),
    "no configuration": ("kernel(a, out)", "launch-configuration", "square brackets"),
    "one bracket": ("kernel[4](a, out)", "launch-configuration", "[blocks, threads]"),
    "five brackets": ("kernel[4, 1, 0, 0, 0](a, out)", "launch-configuration", "5 values"),
    "float grid": ("kernel[a.size / 256, 256](a, out)", "launch-configuration", "//"),
    "float block": ("kernel[4, 256.0](a, out)", "launch-configuration", "block of kernel"),
    "grid of four": ("kernel[(1, 1, 1, 1), 256](a, out)", "launch-configuration", "4 dimensions"),
    "negative grid": ("kernel[-4, 256](a, out)", "launch-configuration", "-4"),
    "huge grid": ("kernel[2**31, 256](a, out)", "launch-configuration", "2147483648"),
    "grid of None": ("kernel[None, 256](a, out)", "launch-configuration", "NoneType"),
    "a scalar as grid": ("kernel[s, 256](a, out)", "launch-configuration", "s is data"),
    "an int as stream": ("kernel[4, 256, 1024](a, out)", "launch-configuration", "stream, shared_bytes"),
    "float shared": ("kernel[4, 256, 0, 1.5](a, out)", "launch-configuration", "shared bytes"),
    "negative shared": ("kernel[4, 256, 0, -4](a, out)", "launch-configuration", "-4"),
    "too few arguments": ("kernel[4, 256](a)", "wrong-arguments", "'out'"),
    "too many arguments": ("kernel[4, 256](a, out, n)", "wrong-arguments", "kernel(a, out)"),
    "named arguments": ("kernel[4, 256](a=a, out=out)", "wrong-arguments", "by name"),
    "a host array": ("kernel[4, 256](np.zeros(1000), out)", "host-array", "cuda.to_device"),
    "a host array in a tuple": ("kernel[4, 256]((np.zeros(1000),), out)", "host-array", "cuda.to_device"),
    "a list": ("kernel[4, 256]([1, 2], out)", "wrong-arguments", "list"),
    "a string": ("kernel[4, 256]('a', out)", "wrong-arguments", "str"),
    "a kernel as argument": ("kernel[4, 256](kernel, out)", "wrong-arguments", "Kernel"),
    "a huge int": ("kernel[4, 256](2**64, out)", "wrong-arguments", "int"),
    "a device function": ("device_function(3)", "device-function-on-host", "device_function"),
    "a launched device function": ("device_function[1, 1](3)", "device-function-on-host", "device=True"),
    "copied dtype": ("out.copy_to_device(np.zeros(1000))", "wrong-dtype", "float64"),
    "copied shape": ("out.copy_to_device(np.zeros(3, np.float32))", "wrong-shape", "(3,)"),
    "copied device shape": ("out.copy_to_device(m)", "wrong-shape", "(20, 50)"),
    "assigned shape": ("out[:] = np.zeros(3, np.float32)", "exception", "axis 0 with dimension 1000"),
    "assigned dtype": ("out[:] = cuda.device_array(1000, np.int32)", "wrong-dtype", "int32"),
    "too many launches": (f"for _ in range(5000): {LAUNCH}", "too-many-operations", "4096"),
    "too many arrays": ("for _ in range(2000): cuda.device_array(1)", "too-many-arrays", "1024"),
    "too many streams": ("for _ in range(100): cuda.stream()", "too-many-streams", "64"),
    "too large an array": ("cuda.device_array(1 << 40)", "array-too-large", "bytes"),
    "too large an upload": ("cuda.to_device(np.arange(2_000_000.0))", "upload-too-large", "8,388,608"),
    "too many uploads": (
        "for i in range(20): cuda.to_device(np.arange(100_000.0))",
        "upload-too-large",
        "8,388,608",
    ),
    "dtype of objects": ("cuda.device_array(3, object)", "wrong-dtype", "object"),
    "upload of text": ("cuda.to_device(np.array(['a']))", "wrong-dtype", "<U1"),
    "grid on the host": ("cuda.grid(1)", "kernel-only", "numba.cuda.grid"),
    "shared array on the host": ("cuda.shared.array(3, float32)", "kernel-only", "cuda.shared.array"),
    "thread index on the host": ("i = cuda.threadIdx.x + 1", "kernel-only", "cuda.threadIdx.x"),
    "barrier on the host": ("cuda.syncthreads()", "kernel-only", "syncthreads"),
    "four elements on the host": (
        "from grader.vector_access import load4\nload4(a, 0)",
        "kernel-only",
        "grader.vector_access.load4",
    ),
    "what grader does not offer": ("from grader.vector_access import types", "import-error", "types"),
    "what grader does not offer, by attribute": (
        "from grader import vector_access\nvector_access.load5",
        "exception",
        "Did you mean 'load4'?",
    ),
    "libdevice on the host": (
        "from numba.cuda import libdevice\nlibdevice.sqrtf(1.0)",
        "kernel-only",
        "libdevice.sqrtf",
    ),
    "reduce": ("cuda.reduce(lambda x, y: x + y)(a)", "unsupported", "reduction as a kernel"),
    "Reduce": ("cuda.Reduce(lambda x, y: x + y)(a)", "unsupported", "reduction as a kernel"),
    "mapped": ("cuda.mapped_array(3)", "unsupported", "device_array"),
    "managed": ("cuda.managed_array(3)", "unsupported", "device_array"),
    "declare_device": ("cuda.declare_device('f', 'int32(int32)')", "unsupported", "declare_device"),
    "external stream": ("cuda.external_stream(1)", "unsupported", "cuda.stream()"),
    "event time": ("cuda.event().elapsed_time(cuda.event())", "unsupported", "times kernels itself"),
    "event_elapsed_time": ("cuda.event_elapsed_time(cuda.event(), cuda.event())", "unsupported", "times kernels"),
    "stream callback": ("cuda.stream().add_callback(print)", "unsupported", "synchronize"),
    "another device": ("cuda.select_device(1)", "unsupported", "number 0"),
    "random states": (
        "from numba.cuda.random import create_xoroshiro128p_states as c\nc(1, 1)",
        "unsupported",
        "in the kernel",
    ),
    "extending": ("from numba.cuda.extending import intrinsic\nintrinsic(print)", "unsupported", "device function"),
    "driver": ("cuda.runtime.get_version()", "unsupported", "get_current_device"),
    "registers": ("kernel.get_regs_per_thread()", "compiled-code", "get_regs_per_thread"),
    "intrinsic": ("numba.extending.intrinsic(lambda c: 1)", "unsupported", "device=True"),
    "overload": ("@numba.extending.overload(len)\ndef g(x): pass", "unsupported", "device=True"),
    "unknown name": ("cuda.launch_everything()", "exception", "launch_everything"),
    "link": ("cuda.jit(link=['x.cu'])(kernel.py_func)", "jit-option", "link="),
    "extensions": ("cuda.jit(extensions=[1])(kernel.py_func)", "jit-option", "extensions="),
    "inline callable": ("cuda.jit(inline=lambda *x: True)(kernel.py_func)", "jit-option", "inline"),
    "unknown option": ("cuda.jit(speed='high')(kernel.py_func)", "jit-option", "speed"),
    "bad option": ("cuda.jit(max_registers='many')(kernel.py_func)", "jit-option", "value"),
    "signature with a tuple": ("cuda.jit('void(UniTuple(int32, 2))')(kernel.py_func)", "jit-option", "UniTuple"),
    "signature that returns": ("cuda.jit('int32(int32)')(kernel.py_func)", "jit-option", "void"),
    "too many dimensions": ("out[0:1].reshape((1,) * 9)[:] = 0", "unsupported", "shape"),
    "partial": ("import functools\ncuda.jit(functools.partial(kernel.py_func, a))", "wrong-jit", "partial"),
    "jit of a class": ("cuda.jit(int)", "wrong-jit", "def"),
    "exec": (
        "ns = {}\nexec('def g(a, out): pass', ns)\ncuda.jit(ns['g'])[1, 1](a, out)",
        "foreign-function",
        "not in the text",
    ),
    "replaced code": (
        "g = kernel.py_func\ng.__code__ = g.__code__.replace(co_name='x')\nkernel[1, 1](a, out)",
        "foreign-function",
        "not in the text",
    ),
    "imported function": (
        "import textwrap\n@cuda.jit\ndef g(x):\n    textwrap_dedent(x)\n"
        "globals()['textwrap_dedent'] = textwrap.dedent\ng[1, 1](a)",
        "foreign-function",
        "dedent",
    ),
    "captured scalar": ("@cuda.jit\ndef g(x):\n    x[0] = s\ng[1, 1](out)", "contents-read", "parameter"),
    "captured array": ("@cuda.jit\ndef g(x):\n    x[0] = a[0]\ng[1, 1](out)", "contents-read", "parameter"),
    "captured table": (
        "t = np.zeros(100_000)\n@cuda.jit\ndef g(x):\n    x[0] = t[0]\ng[1, 1](out)",
        "constant-too-large",
        "to_device",
    ),
    "exception": ("1 / 0", "exception", "ZeroDivisionError: division by zero"),
    "exception in numpy": ("np.zeros(-1)", "exception", "negative dimensions"),
    "exception without text": ("raise KeyError", "exception", "KeyError"),
    "exception that cannot be printed": (
        "class E(Exception):\n    def __str__(self): 1 / 0\nraise E",
        "exception",
        "found    E",
    ),
    "interrupt": ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
    "exit": ("raise SystemExit(0)", "exit", "sys.exit"),
    "recursion": ("f(a, m, s, n, out)", "recursion", "calls itself"),
    "index out of bounds": ("m[20]", "exception", "out of bounds for axis 0 with size 20"),
    "too many indices": ("m[1, 2, 3]", "exception", "2 dimensions"),
    "fancy index": ("a[[1, 2]]", "exception", "ints, slices"),
    "new axis": ("a[None]", "exception", "ints, slices"),
    "reshape": ("m.reshape(3, 3)", "exception", "changes the size"),
    "reshape of a view": ("m[:, ::2].reshape(500)", "exception", "not contiguous"),
    "a huge dimension": ("out[:] = cuda.device_array((0, 2**62))", "wrong-dtype", "float64"),
}


@pytest.mark.parametrize(("body", "kind", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_each_mistake_has_its_kind_and_its_words(recorded: Recorded, body: str, kind: str, words: str) -> None:
    failure = failed(recorded(body))
    assert failure.kind == kind
    assert words in str(failure)
    if kind not in ("no-launch", "returned-a-value"):
        assert failure.where.startswith("kernels.py:"), failure


# a statement in a kernel or a device function, and how it is to be written
FORGOTTEN = {
    "cuda.syncthreads": "cuda.syncthreads()",
    "cuda.syncthreads_count": "cuda.syncthreads_count()",
    "cuda.syncwarp": "cuda.syncwarp()",
    "cuda.threadfence": "cuda.threadfence()",
    "cuda.threadfence_block": "cuda.threadfence_block()",
    "numba.cuda.syncthreads": "numba.cuda.syncthreads()",
    "syncthreads": "syncthreads()",
}


@pytest.mark.parametrize("statement", FORGOTTEN)
@pytest.mark.parametrize("where", ["kernel", "loop", "device function", "closure"])
def test_a_barrier_without_parentheses_is_told_with_its_line(recorded: Recorded, statement: str, where: str) -> None:
    texts = {
        "kernel": ("@cuda.jit\ndef k(x):\n    x[0] = 1\n    {}\n    x[1] = 1\n", "k[1, 32](out)"),
        "loop": ("@cuda.jit\ndef k(x):\n    for j in range(3):\n        {}\n", "k[1, 32](out)"),
        "device function": (
            "@cuda.jit(device=True)\ndef d(x):\n    {}\n    return x\n\n@cuda.jit\ndef k(x):\n    x[0] = d(1)\n",
            "k[1, 32](out)",
        ),
        "closure": (
            "def made(n):\n    @cuda.jit\n    def k(x):\n        x[0] = n\n        {}\n    return k\n",
            "made(3)[1, 32](out)",
        ),
    }
    module, body = texts[where]
    module = f"from numba.cuda import syncthreads\n{module}"
    failure = failed(recorded(body, module.format(statement)))
    assert failure.kind == "not-called"
    assert failure.what == f"{statement} without parentheses does nothing."
    assert failure.where.endswith(f"  {statement}")
    assert FORGOTTEN[statement] in failure.advice
    assert isinstance(recorded(body, module.format(FORGOTTEN[statement])), LaunchPlan)


@pytest.mark.parametrize(
    "statement",
    ["barrier = cuda.syncthreads\n    barrier()", "cuda.atomic", "math.pi", "x.size", "x", "missing", "missing.a", "1"],
)
def test_a_statement_that_names_something_else_is_left_to_numba(recorded: Recorded, statement: str) -> None:
    assert isinstance(recorded("k[1, 32](out)", f"@cuda.jit\ndef k(x):\n    {statement}\n"), LaunchPlan)


# body of f → what the student is told to try or to have meant
ADVICE = {
    "a misspelt allocation": ("cuda.device_arry(3)", "Did you mean 'device_array'?"),
    "misspelt capitals": ("cuda.threadidx", "Did you mean 'threadIdx'?"),
    "a misspelt jit": ("@cuda.jitt\ndef g(x): pass", "Did you mean 'jit'?"),
    "no jit": ("def g(x): pass\ng[1, 32](out)", "Is @cuda.jit missing"),
    "njit": ("@njit\ndef g(x): pass\ng[1, 32](out)", "a kernel needs @cuda.jit"),
    "a length unpacked": ("rows, columns = len(a)", ".shape has one per dimension"),
    "a shape unpacked": ("rows, columns = a.shape", ".shape has one per dimension"),
    "a shape in arithmetic": ("a.shape // 256", "as in x.shape[0]"),
    "a shape called": ("a.shape(0)", "x.shape[0]"),
    "a size called": ("a.size()", "remove the parentheses"),
    "an array called": ("a(0)", "square brackets"),
    "an array filled": ("out.fill(0)", "Write out[:] = 0."),
    "an array summed": ("out[:] = a.sum()", "compute it in a kernel"),
    "a name that is not defined": ("blcks", "Is it misspelt?"),
}


@pytest.mark.parametrize(("body", "words"), ADVICE.values(), ids=ADVICE.keys())
def test_a_typical_mistake_in_host_code_is_told_what_to_try(recorded: Recorded, body: str, words: str) -> None:
    assert words in str(failed(recorded(body)))


# a whole kernels.py → kind, words
TEXTS: dict[str, tuple[str, str, str]] = {
    "syntax": ("x = 1\ndef f(:\n", "syntax-error", "kernels.py:2  def f(:"),
    "indentation": ("x = 1\n    y = 2\n", "syntax-error", "unexpected indent"),
    "after a form feed": ("# \x0c\x1c\u2028\rx = 1\r\ny = x / 0\n", "exception", "kernels.py:3  y = x / 0"),
    "tabs": ("if 1:\n\tx = 1\n        y = 2\n", "syntax-error", "kernels.py:3"),
    "null byte": ("x = 1\0", "syntax-error", "null bytes"),
    "deep parentheses": ("x = " + "(" * 500 + ")" * 500, "syntax-error", "parentheses"),
    "deep expression": ("x = " + "-" * 300_000 + "1", "syntax-error", "compile"),
    "import": ("import no_such_module", "import-error", "no_such_module"),
    "import from": ("from numba import no_such_name", "import-error", "no_such_name"),
    "exception at import": ("x = 1\ny = x / 0\n", "exception", "kernels.py:2  y = x / 0"),
    "exit at import": ("import sys\nsys.exit(0)", "exit", "kernels.py:2"),
    "no entry point": ("def g(): pass\ndef h(): pass", "no-entry-point", "g, h"),
    "nothing": ("# empty", "no-entry-point", "no functions"),
    "entry point no function": ("f = 3", "no-entry-point", "int"),
    "entry point a kernel": (
        "from numba import cuda\n@cuda.jit\ndef f(a, m, s, n, out): pass",
        "no-entry-point",
        "without @cuda.jit",
    ),
    "other arguments": ("def f(a, b): pass", "wrong-arguments", "def f(a, m, s, n, out)"),
    "one argument more": ("def f(a, m, s, n, out, extra): pass", "wrong-arguments", "'extra'"),
}


@pytest.mark.parametrize(("text", "kind", "words"), TEXTS.values(), ids=TEXTS.keys())
def test_each_text_that_cannot_be_called_has_its_kind(
    recorder: WarmChild, inputs: Inputs, text: str, kind: str, words: str
) -> None:
    failure = record(recorder, text.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert failure.kind == kind
    assert words in str(failure)


def test_numbas_complaint_about_a_signature_is_cut_to_what_helps(recorded: Recorded) -> None:
    failure = failed(recorded("pass", "@njit('float32(float32)')\ndef g(x):\n    return x.nothing\n"))
    assert failure.kind == "exception"
    assert "nothing" in failure.found
    assert len(failure.found) < 800


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("while True: pass", "time-out"),
        ("import time; time.sleep(60)", "stalled"),
        ("import os; os._exit(0)", "exit"),
        ("import ctypes; ctypes.string_at(0)", "crash"),
        ("bytearray(1 << 40)", "memory"),
        ("x = [bytearray(1 << 24) for _ in range(1000)]", "memory"),
    ],
)
def test_an_end_of_the_process_is_a_failure(recorded: Recorded, body: str, kind: str) -> None:
    # Only what waits ends by the wall's clock: on a busy machine the others must have the time to compute.
    wall = 2 if kind == "stalled" else 60
    limits = replace(LIMITS, cpu_seconds=1, wall_seconds=wall, memory_bytes=256 << 20)
    assert failed(recorded(body, limits=limits)).kind == kind


def test_prints_and_warnings_do_not_matter(recorded: Recorded) -> None:
    body = f"""
        import sys, warnings
        for _ in range(20_000): print("x" * 100)
        sys.stderr.write("error")
        warnings.warn("careful")
        {LAUNCH}
    """
    assert isinstance(recorded(body), LaunchPlan)
