"""Every way to hand in something wrong gives one clear failure, of its own kind, that names the place."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from grader.errors import NotSimulated
from grader.judge import CheckFailed, NotMeasured
from grader.raced_shapes import RacedShapes
from grader.sandbox.limits import Limits

RIGHT = """
@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + shift

def scale(x, factor, out, bumped):
    kernel[(x.size + 63) // 64, 64](x, factor, out, float32(1.0) if bumped else float32(0.0))
"""
GUARD = "    if i < out.size:\n        out[i]"
LINE = "out[i] = factor * x[i] + shift"

CASES = {
    "a stub that writes nothing": (RIGHT.replace(LINE, "pass"), "nothing-written", "the kernel wrote nothing"),
    "entry point missing": ("def other(): pass", "no-entry-point", "no function scale"),
    "entry point takes other arguments": (
        "def scale(x, out): pass",
        "wrong-arguments",
        "def scale(x, factor, out, bumped)",
    ),
    "host reads an element": ("def scale(x, factor, out, bumped):\n    return x[0] > 1", "contents-read", "x[0] > 1"),
    "host reads a data scalar": (
        "def scale(x, factor, out, bumped):\n    return 2 * factor",
        "contents-read",
        "factor",
    ),
    "host copies to the host": (
        "def scale(x, factor, out, bumped):\n    x.copy_to_host()",
        "contents-read",
        "x.copy_to_host()",
    ),
    "returns instead of writing": (
        "def scale(x, factor, out, bumped):\n    return out",
        "returned-a-value",
        "results in out",
    ),
    "launches nothing": ("def scale(x, factor, out, bumped): pass", "no-launch", "launched no kernel"),
    "writes another shape": (
        "def scale(x, factor, out, bumped):\n    out[:] = np.zeros(3)",
        "exception",
        "out[:] = np.zeros(3)",
    ),
    "copies another dtype": (
        "def scale(x, factor, out, bumped):\n    out.copy_to_device(cuda.device_array(out.shape, np.int8))",
        "wrong-dtype",
        "copy_to_device",
    ),
    "exception at import": ("1 / 0", "exception", "ZeroDivisionError"),
    "exception at call": ("def scale(x, factor, out, bumped): [][1]", "exception", "IndexError"),
    "syntax error": ("def scale(:", "syntax-error", "kernels.py:4"),
    "import error": ("import no_such_module", "import-error", "no_such_module"),
    "sys.exit at import": ("import sys\nsys.exit(0)", "exit", "sys.exit"),
    "leaves through os._exit": ("import os\nos._exit(0)", "exit", "os._exit"),
    "crash by signal": ("import ctypes\nctypes.string_at(0)", "crash", "SIGSEGV"),
    "host memory": ("y = bytearray(1 << 34)", "memory", "memory"),
    "device memory": (
        "@cuda.jit\ndef k(t): t[0] = 1\ndef scale(x, factor, out, bumped): k[1, 1](cuda.device_array(1 << 30))",
        "memory",
        "8,589,934,592 bytes",
    ),
    "a name that is not defined": (RIGHT.replace("factor *", "faktor *"), "kernel-rejected", "'faktor' is not defined"),
    "a type that does not fit": (RIGHT.replace("factor *", "'a' *"), "kernel-rejected", "mul('a', float32)"),
    "a list in a kernel": (RIGHT.replace(LINE, "y = [1.0, 2.0]\n        out[i] = y[i]"), "kernel-rejected", "lists"),
    "a kernel that returns": (RIGHT.replace(LINE, LINE + "\n    return i"), "kernel-rejected", "returns nothing"),
    "shared memory without a constant size": (
        RIGHT.replace(LINE, "s = cuda.shared.array(x.size, float32)\n        s[0] = 1"),
        "kernel-rejected",
        "shape must be a constant",
    ),
    "block and grid left out": (
        RIGHT.replace("kernel[(x.size + 63) // 64, 64](", "kernel("),
        "launch-configuration",
        "kernel[blocks, threads]",
    ),
    "block and grid swapped": (
        RIGHT.replace("[(x.size + 63) // 64, 64]", "[64, (x.size + 63) * 64]"),
        "launch-refused",
        "swapped",
    ),
    "block too large": (RIGHT.replace("(x.size + 63) // 64, 64", "x.size, 2048"), "launch-refused", "at most 1024"),
    "grid of zero": (RIGHT.replace("(x.size + 63) // 64", "x.size // 10**6"), "launch-refused", "empty"),
    "grid with a fraction": (
        RIGHT.replace("(x.size + 63) // 64", "x.size / 64"),
        "launch-configuration",
        "Divide with //",
    ),
    "too much shared memory": (
        RIGHT.replace("    i =", "    s = cuda.shared.array((200, 200), float32)\n    s[0, 0] = 1\n    i ="),
        "launch-refused",
        "160000 bytes of shared memory",
    ),
    "a capture that is no data": (
        RIGHT.replace("+ shift", "+ config.shift").replace(
            "@cuda", "class Config: shift = 1\nconfig = Config()\n@cuda"
        ),
        "unsupported-capture",
        "config",
    ),
    "a module of grader instead of its names": (
        RIGHT.replace("x[i]", "vector_access.load4(x, i)[0]").replace(
            "@cuda", "from grader import vector_access\n@cuda", 1
        ),
        "unsupported-capture",
        "from grader.vector_access import load4",
    ),
    "four elements at an address between": (
        RIGHT.replace("x[i]", "load4(x, i // 8 * 4 + 1)[0]").replace(
            "@cuda", "from grader.vector_access import load4\n@cuda", 1
        ),
        "misaligned-access",
        "no multiple of 16",
    ),
    "no guard": (RIGHT.replace(GUARD, "    if True:\n        out[i]"), "out-of-bounds", "x[1000]"),
    "not all elements": (RIGHT.replace("i < out.size", "i < out.size - 3"), "not-all-written", "out[997]"),
    "changes an input": (RIGHT.replace(LINE, LINE + "\n        x[i] = 0"), "changed-input", "changed x"),
    "wrong values": (RIGHT.replace("+ shift", "- x[i] / 64"), "wrong-values", "out[0]"),
    "adds to what out held": (RIGHT.replace("out[i] = ", "out[i] += "), "uninitialised-read", "out holds garbage"),
    "adds atomically to what out held": (
        RIGHT.replace("out[i] = factor * x[i] + shift", "cuda.atomic.add(out, i, factor * x[i] + shift)"),
        "uninitialised-read",
        "Atomic operation on an element of out",
    ),
    "reads scratch memory that nobody wrote": (
        RIGHT.replace("64](x, factor", "64](cuda.device_array_like(x), factor"),
        "uninitialised-read",
        "x holds garbage",
    ),
    "a missing barrier": (
        RIGHT.replace(
            LINE,
            "s = cuda.shared.array(64, float32)\n        t = cuda.threadIdx.x\n"
            "        s[t] = x[i]\n        out[i] = factor * s[t ^ 1 if i + 1 < out.size else t] + shift",
        ),
        "race",
        "Put cuda.syncthreads() between",
    ),
    "an early return before the shared memory is filled": (
        RIGHT.replace(
            "    if i < out.size:\n        out[i] = factor * x[i]",
            "    s = cuda.shared.array(64, float32)\n    t = cuda.threadIdx.x\n    if i >= out.size: return\n"
            "    s[t] = x[i]\n    cuda.syncthreads()\n    out[i] = (s[63 - t] - s[63 - t]) + factor * x[i]",
        ),
        "uninitialised-read",
        "an early return",
    ),
    "float16 precision": (RIGHT.replace("factor * x[i]", "np.float16(factor * x[i])"), "wrong-values", "out["),
}


STRIDED = RIGHT.replace(
    "    if i < out.size:\n        out[i]", "    for i in range(i, out.size, cuda.gridsize(1)):\n        out[i]"
)
# a kernels.py with a typical mistake in the kernel → what the student is told to try
ADVICE = {
    "a misspelt index": (RIGHT.replace("cuda.grid(1)", "cuda.thredIdx.x"), "Did you mean cuda.threadIdx?"),
    "a name in other capitals": (RIGHT.replace("cuda.grid(1)", "cuda.threadidx.x"), "Did you mean cuda.threadIdx?"),
    "a misspelt barrier": (RIGHT.replace(LINE, "cuda.syncthread()"), "Did you mean cuda.syncthreads?"),
    "a misspelt shared array": (
        RIGHT.replace(LINE, "s = cuda.shared.arary(64, float32)"),
        "Did you mean cuda.shared.array?",
    ),
    "a missing dot": (RIGHT.replace(LINE, "s = cuda.sharedarray(64, float32)"), "Did you mean cuda.shared.array?"),
    "a misspelt atomic": (RIGHT.replace(LINE, "cuda.atomic.ad(out, i, x[i])"), "Did you mean cuda.atomic.add?"),
    "an atomic operation on an element": (
        RIGHT.replace(LINE, "cuda.atomic.add(out[i], x[i])"),
        "wants the array, the index and the value, as in cuda.atomic.add(out, 0, x[i])",
    ),
    "what shared memory lacks": (RIGHT.replace(LINE, "s = cuda.shared.filled(64)"), "There is cuda.shared.array."),
    "a misspelt axis": (RIGHT.replace("cuda.grid(1)", "cuda.threadIdx.X"), "Did you mean .x?"),
    "no axis": (RIGHT.replace("cuda.grid(1)", "cuda.threadIdx + 1"), "cuda.threadIdx.x"),
    "a misspelt attribute": (RIGHT.replace("i < out.size", "i < out.sise"), "Did you mean .size?"),
    "a misspelt name of math": (RIGHT.replace("factor *", "math.sqr(factor) *"), "Did you mean math.sqrt?"),
    "a misspelt variable": (RIGHT.replace("factor *", "faktor *"), "Did you mean factor?"),
    "cuda left out": (RIGHT.replace("cuda.grid(1)", "threadIdx.x"), "Write cuda.threadIdx."),
    "a shape as a bound": (RIGHT.replace("i < out.size", "i < out.shape"), "use out.shape[0] or out.size"),
    "a shape on the left": (RIGHT.replace("i < out.size", "out.shape > i"), "use out.shape[0] or out.size"),
    "a shape by another name": (
        RIGHT.replace("    if i < out.size", "    n = out.shape\n    if i < n"),
        "use out.shape[0] or out.size",
    ),
    "a shape as a range": (RIGHT.replace("if i < out.size", "for i in range(out.shape)"), "use out.shape[0]"),
    "two dimensions as a number": (RIGHT.replace("grid(1)", "grid(2)"), "write x, y = cuda.grid(2), or cuda.grid(1)"),
    "two dimensions as an index": (
        RIGHT.replace("grid(1)", "grid(2)").replace("if i < out.size", "if True"),
        "write x, y = cuda.grid(2), or cuda.grid(1)",
    ),
    "two dimensions in a sum": (RIGHT.replace("grid(1)", "grid(2) + 1"), "or cuda.grid(1) for one number"),
    "a stride of two dimensions": (STRIDED.replace("gridsize(1)", "gridsize(2)"), "or cuda.gridsize(1) for one number"),
    "one dimension unpacked into two": (
        RIGHT.replace("i = cuda.grid(1)", "i, j = cuda.grid(1)"),
        "cuda.grid(1) is one number: write i = cuda.grid(1), or x, y = cuda.grid(2)",
    ),
    "three dimensions unpacked into two": (
        RIGHT.replace("i = cuda.grid(1)", "i, j = cuda.grid(3)"),
        "cuda.grid(2) gives 2 numbers",
    ),
    "no dimensions": (RIGHT.replace("grid(1)", "grid()"), "cuda.grid(1), or cuda.grid(2)"),
    "grid without a call": (RIGHT.replace("grid(1)", "grid"), "Call it: cuda.grid(1)"),
    "parentheses after a number": (RIGHT.replace("out.size", "out.size()"), "remove the parentheses"),
    "parentheses for an index": (RIGHT.replace("x[i]", "x(i)"), "square brackets: a[i], not a(i)"),
    "a fraction as an index": (RIGHT.replace("x[i]", "x[i / 1]"), "// instead of /"),
    "a returned value": (RIGHT.replace(LINE, "return x[i]"), "as in out[i] = …"),
    "whole arrays": (RIGHT.replace(LINE, "out = x + x"), "assign to out[i]"),
    "an array of NumPy": (RIGHT.replace(LINE, "s = np.zeros(64)"), "cuda.shared.array or cuda.local.array"),
    "a shared array without a dtype": (
        RIGHT.replace(LINE, "s = cuda.shared.array(64)"),
        "cuda.shared.array((16, 16), ",
    ),
    "one index too many": (RIGHT.replace("x[i]", "x[i, 0]"), "This array has 1 dimension"),
    "an exception": (RIGHT.replace(LINE, f"try:\n            {LINE}\n        except IndexError: pass"), "with an if"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_a_typical_mistake_in_a_kernel_is_told_what_to_try(candidate, name):
    text, words = ADVICE[name]
    with pytest.raises(CheckFailed) as failed:
        candidate(text).check("scale", n=1000)
    assert failed.value.failure.kind == "kernel-rejected"
    assert words in failed.value.failure.advice


def test_what_is_found_names_no_variables_of_numba(candidate):
    with pytest.raises(CheckFailed) as failed:
        candidate(RIGHT.replace("i = cuda.grid(1)", "i, j = cuda.grid(3)")).check("scale", n=1000)
    assert failed.value.failure.found == "2 names for the 3 values of a tuple."


@pytest.mark.parametrize(
    "text",
    [
        RIGHT.replace(LINE, "return x[i]"),
        RIGHT.replace(LINE, "if i < 3: return\n        return x[i]"),
        STRIDED.replace("out[i] =", "return"),
        RIGHT.replace(LINE, LINE + "\n    return i"),
    ],
)
def test_a_returned_value_is_told_with_the_line_of_the_return(candidate, text):
    with pytest.raises(CheckFailed) as failed:
        candidate(text).check("scale", n=1000)
    assert "return " in failed.value.failure.where


@pytest.mark.parametrize("name", CASES)
def test_one_clear_failure(candidate, name):
    text, kind, words = CASES[name]
    with pytest.raises(CheckFailed) as failed:
        candidate(text).check("scale", n=1000)
    failure = failed.value.failure
    assert failure.kind == kind
    assert words in str(failure)
    assert "Traceback" not in str(failure)
    assert failure.what.endswith((".", "?"))
    assert len(str(failure)) < 1500


@pytest.mark.parametrize(
    ("contents", "kind"),
    [
        (None, "no-kernels-file"),
        (b"", "empty-kernels-file"),
        (b"\xff\xfe\x00", "not-utf8"),
        (b"#" * (50 << 20), "too-large"),
    ],
)
def test_files_that_are_no_submission(candidate, contents, kind):
    with pytest.raises(CheckFailed) as failed:
        candidate(contents).check("scale", n=10)
    assert failed.value.failure.what
    assert failed.value.failure.kind == kind


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("while True: pass", "time-out", ""),
        ("import time\ntime.sleep(60)", "stalled", "sleep"),
        (
            RIGHT.replace("    i = cuda.grid(1)\n", "    i = cuda.grid(1)\n    while i >= 0: i = abs(i)\n"),
            "endless-wait",
            "while i >= 0",
        ),
    ],
)
def test_what_never_ends_is_ended(candidate, text, kind, words):
    # Where other programs compete for the cores, seconds of computing take several on the wall.
    limits = Limits(cpu_seconds=2, wall_seconds=4 if kind == "stalled" else 60, memory_bytes=1 << 30)
    with pytest.raises(CheckFailed) as failed:
        candidate(text, limits=limits).check("scale", n=100)
    assert failed.value.failure.kind == kind
    assert words in str(failed.value.failure)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def scale(:", "syntax-error"),
        ("import no_such_module", "import-error"),
        ("1 / 0", "exception"),
        ("def scale(x, factor, out, bumped): [][1]", "exception"),
        ("def scale(x, factor, out, bumped): x[0] + 1", "contents-read"),
        ("def scale(x, factor, out, bumped): pass", "no-launch"),
        ("while True: pass", "time-out"),
        (
            "@cuda.jit\ndef k(t): t[0] = 1\ndef scale(x, factor, out, bumped): k[1, 1](cuda.device_array(1 << 30))",
            "memory",
        ),
    ],
)
def test_what_cannot_be_launched_fails_a_race_without_a_gpu(candidate, text, kind):
    limits = Limits(cpu_seconds=2, wall_seconds=60, memory_bytes=1 << 30)
    with pytest.raises(CheckFailed) as failed:
        candidate(text, limits=limits).race("scale", n=1 << 20)
    assert failed.value.failure.kind == kind


def test_a_race_whose_launches_can_be_recorded_is_not_measured_without_a_gpu(candidate):
    with pytest.raises(NotMeasured, match="no GPU"):
        candidate(RIGHT.replace("+ shift", "- x[i] / 64")).race("scale", n=1 << 20)


def test_the_large_inputs_of_a_race_are_made_once_for_all_submissions(candidate, children, monkeypatch):
    made = []
    problem = type(candidate(RIGHT)._problems["scale"])
    make_inputs = problem.make_inputs

    def counted(self, rng, n, bumped=False):
        made.append(n)
        return make_inputs(self, rng, n, bumped)

    monkeypatch.setattr(problem, "make_inputs", counted)
    for n, kernels in ((3001, RIGHT), (3001, RIGHT.replace("+ shift", "- shift")), (3002, RIGHT)):
        with pytest.raises(NotMeasured, match="no GPU"):
            candidate(kernels).race("scale", n=n)
    assert made == [3001, 3002]


def test_the_inputs_of_a_race_are_kept_as_shapes_and_dtypes_without_values(candidate):
    problem = candidate(RIGHT)._problems["scale"]
    kept = RacedShapes().of(problem, "scale(n=3001)", lambda: {"x": np.ones(3001, np.float32), "shift": 2})
    assert (kept["x"].shape, kept["x"].dtype, kept["x"].strides) == ((3001,), np.float32, (0,))
    assert kept["shift"] == 2


def test_prints_and_warnings_change_nothing(candidate):
    noise = "import sys, warnings\nprint('x' * 10_000_000)\nsys.stderr.write('y' * 1_000_000)\nwarnings.warn('z')\n"
    candidate(noise + RIGHT).check("scale", n=1000)


def test_what_the_simulator_does_not_know_is_not_the_students_fault(candidate):
    text = "from numba.cuda import libdevice\n" + RIGHT.replace(LINE, f"{LINE}; out[i] += libdevice.j0f(x[i])")
    with pytest.raises(NotSimulated, match="the simulator does not know the function j0f"):
        candidate(text).check("scale", n=10)


def test_a_dead_runner_is_replaced_and_the_next_check_judged(candidate, children):
    candidate(RIGHT).check("scale", n=10)
    os.kill(children.runner.zygote.process.pid, signal.SIGKILL)
    candidate(RIGHT).check("scale", n=10)


def test_deep_expressions_end_in_a_sentence_or_a_result(candidate):
    text = RIGHT.replace("+ shift", "+ " + "(" * 60 + "shift" + ")" * 60 + " + shift * float32(0)" * 200)
    candidate(text).check("scale", n=10)
    try:
        candidate(RIGHT.replace("+ shift", "+ shift" * 5000)).check("scale", n=10)
    except CheckFailed as failed:
        assert failed.failure.kind in {"syntax-error", "too-deep", "time-out", "wrong-values"}  # noqa: PT017


def test_integer_outputs_are_held_against_two_fills(candidate):
    kernel = (
        "@cuda.jit\ndef kernel(x, out):\n    i = cuda.grid(1)\n    if i < out.size{more}:\n        out[i] = x[i] // 2\n"
    )
    host = "def halve(x, out):\n    kernel[(x.size + 31) // 32, 32](x, out)\n"
    candidate(kernel.format(more="") + host).check("halve", n=300)
    with pytest.raises(CheckFailed) as failed:
        candidate(kernel.format(more=" and x[i] > 0") + host).check("halve", n=300)
    assert failed.value.failure.kind == "not-all-written"


def test_two_sizes_in_one_process_catch_what_is_kept(candidate):
    kept = RIGHT.replace("def scale(", "SIZES = []\ndef scale(").replace(
        "    kernel[(x.size + 63) // 64, 64]", "    SIZES.append((x.size + 63) // 64)\n    kernel[SIZES[0], 64]"
    )
    candidate(kept).check("scale", n=31)
    candidate(kept).check("scale", n=1025)
    with pytest.raises(CheckFailed) as failed:
        candidate(kept).check_each({"entry": "scale", "n": 31}, {"entry": "scale", "n": 1025})
    assert "n=1025" in str(failed.value.failure)
    candidate(RIGHT).check_each({"entry": "scale", "n": 31}, {"entry": "scale", "n": 1025})


def test_configuration_reaches_host_code_and_data_reaches_kernels_only(candidate):
    candidate(RIGHT).check("scale", n=77, bumped=True)
    candidate(RIGHT).check("scale", n=77, bumped=False)


def test_the_same_seed_draws_the_same_inputs_for_a_call(candidate):
    one, two = candidate(RIGHT, seed=5), candidate(RIGHT, seed=5)
    assert one._rng("scale(n=3)").random() == two._rng("scale(n=3)").random() != one._rng("scale(n=4)").random()
