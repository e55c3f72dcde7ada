"""A kernel that Numba rejects is told what to do instead: the usual mistakes, each with advice of its own."""

# mypy: ignore-errors
from __future__ import annotations

import linecache

import numba
import numpy as np
import pytest
from numba import cuda, float32, types

from grader.gpu_models import T4
from grader.simulator.advice import DEFAULT
from grader.simulator.frontend import MAX_NUMBAS_OWN, Frontend, KernelError
from grader.simulator.live.rejected import rejection
from grader.simulator.sources import AnyFile
from grader.simulator.translate import translate
from grader.simulator.unit import PLAIN

TEXT = """import math
import numpy as np
from numba import cuda, float32

COUNT = 0
DEVICE = cuda

def helper(x):
    return x + 1

class Settings:
    scale = 3

settings = Settings()

@cuda.jit
def other(out):
    out[0] = 1

@cuda.jit
def kernel(a, out, count):
    i = cuda.grid(1)
"""
ARRAY = types.float32[::1]


def rejected(tmp_path, body, arguments=(ARRAY, ARRAY, types.float32)):
    """The finding on a kernel with these lines, for these types of arguments."""
    file = tmp_path / "script.py"
    file.write_text(TEXT + "".join(f"    {line}\n" for line in body.splitlines()))
    linecache.checkcache(str(file))
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    kernel, sources, frontend = scope["kernel"].py_func, AnyFile(), Frontend(T4)
    with pytest.raises(KernelError) as error:
        translate(frontend, frontend.type(kernel, arguments), sources, PLAIN)
    return rejection(kernel, error.value, sources)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("out[i] = helper(a[i])", "Decorate helper with @cuda.jit(device=True)"),
        ("out[i] = a[i] + settings.scale", "what it needs of settings as arguments"),
        ("f = open('x')", "Python's own open"),
        ("values = []\nvalues.append(a[i])\nout[i] = values[0]", "cuda.local.array"),
        ("values = [0.0]\nout[i] = values[0]", "cuda.local.array"),
        ("values = {1: 2.0}\nout[i] = values[1]", "cuda.local.array"),
        ("values = {1, 2}\nout[i] = len(values)", "cuda.local.array"),
        ("count[i] = a[i]", "If count is the number (float32), leave out the brackets; else pass an array"),
        ("out[i] = count[i]", "If count is the number (float32), leave out the brackets; else pass an array"),
        ("out[i] = a[i] + count.size", "a number (float32)"),
        ("total = total + a[i]\nout[i] = total", "Give total a value first"),
        ("COUNT += 1\nout[i] = COUNT", "can read the global COUNT and not change it"),
        ("global COUNT\nCOUNT += 1", "cannot change a global variable"),
        ("print('element %d' % i)", "print(i, x[i])"),
        ("print('element {}'.format(i))", "print(i, x[i])"),
        ("out[:] = a[:]", "out[i] = a[i]"),
        ("out[i] = np.exp(a[i])", "Write math.exp(…)"),
        ("cuda.synchronize()", "cuda.syncthreads()"),
        ("b = cuda.to_device(a)", "for the host"),
        ("out[i] = np.random.rand()", "numba.cuda.random"),
        ("import time\nout[i] = time.time()", "at the top of the file"),
        ("other[1, 1](out)", "cannot launch another"),
    ],
)
def test_a_usual_mistake_has_advice_of_its_own(tmp_path, body, words):
    found = rejected(tmp_path, body)
    assert words in found.advice
    assert DEFAULT not in found.advice
    assert found.place.text in body.splitlines() or "class" in found.what


@pytest.mark.parametrize("body", ["cuda.synchronize()", "global COUNT\nCOUNT += 1", "out[i] = np.random.rand()"])
def test_a_rejection_names_no_path_of_this_machine(tmp_path, body):
    what = rejected(tmp_path, body).what
    assert "/" not in what
    assert "script.py" not in what


def test_a_launch_with_too_few_arguments_is_told_which_there_are(tmp_path):
    found = rejected(tmp_path, "out[i] = 1", (ARRAY,))
    assert found.advice == "kernel has 3 parameters, a, out, count; this call gives 1."


@pytest.mark.parametrize("call", ["a.max()", "np.max(a)", "a.astype(np.float64)[0]", "a.flatten()[0]"])
def test_what_cannot_be_compiled_is_named_as_it_is_written(tmp_path, call):
    written = call.split("(")[0].removeprefix("a.").removeprefix("np.")
    assert written in rejected(tmp_path, f"out[i] = {call}").what


def _dynamic(a, out):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    out[t] = tile[t]


@pytest.mark.parametrize(("shared", "words"), [(0, "0 here, as it is left out"), (64, "64 here")])
def test_dynamic_shared_memory_that_is_too_small_is_the_launchs_fourth_number(launch, shared, words):
    a = np.ones(64, np.float32)
    for found in launch(_dynamic, 1, 64, a, np.zeros(64, np.float32), shared=shared).findings:
        assert found.kind == "out-of-bounds"
        assert "kernel[blocks, threads, stream, bytes]" in found.advice
        assert words in found.advice
        assert "needs 256, 4 for each element" in found.advice


def test_dynamic_shared_memory_that_suffices_is_no_finding(launch):
    out = np.zeros(64, np.float32)
    assert launch(_dynamic, 1, 64, np.ones(64, np.float32), out, shared=256).findings == ()
    assert out.sum() == 64


def test_random_numbers_have_their_advice_also_where_cpu_code_has_used_them(tmp_path):
    @numba.njit
    def on_the_cpu():
        return np.random.random()

    on_the_cpu()
    found = rejected(tmp_path, "out[i] = np.random.rand()")
    assert "numba.cuda.random" in found.advice
    assert found.place.text.strip() == "out[i] = np.random.rand()"


def test_functions_of_numbas_own_may_be_called_from_as_deep_as_a_kernel_likes(launch):
    def innermost(a):
        return np.sum(a)  # which Numba has as functions in Python

    function = cuda.jit(device=True)(innermost)
    for _ in range(MAX_NUMBAS_OWN + 4):
        function = cuda.jit(device=True)(_calling(function))

    def kernel(a, out):
        out[0] = function(a)

    out = np.zeros(1, np.float32)
    launch(kernel, 1, 1, np.arange(5, dtype=np.float32), out)
    assert out[0] == 10


def _calling(function):
    def outer(a):
        return function(a)

    return outer
