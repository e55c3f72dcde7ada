"""The CUDA device carries out the same plans as the simulated one, and survives what kernels do to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grader.judge import Candidate, CheckFailed, Settings
from grader.judging import judge_submission
from grader.problem import Output, Problem, Work
from grader.records import MAX_PRINTED_LINES, State
from grader.sandbox.limits import Limits
from grader.submission import read_submission

SOLUTIONS = Path(__file__).parents[2] / "solutions"
KERNELS = """
from numba import cuda, float32
import numpy as np

{decorator}
def kernel(x, out, n):
    i = cuda.grid(1)
    {body}

def twice(x, out):
    kernel[(x.size + 63) // 64, 64](x, out, x.size)
    {more}
"""
BODY = "if i < out.size: out[i] = 2 * x[i]"


class Twice(Problem):
    entry = "twice"

    def make_inputs(self, rng, n):
        return {"x": rng.standard_normal(n).astype(np.float32), "out": Output((n,), np.float32)}

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"].astype(np.float64)}

    def baseline(self, inputs):
        return {"out": 2 * inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}

    def work(self, inputs):
        return Work(8 * inputs["x"].size, inputs["x"].size)


@pytest.fixture
def twice(gpu, tmp_path):
    def make(body=BODY, more="", decorator="@cuda.jit", **limits):
        (tmp_path / "kernels.py").write_text(KERNELS.format(body=body, more=more, decorator=decorator))
        settings = Settings(
            device="cuda", seed=3, limits=Limits(**{"cpu_seconds": 20, "memory_bytes": 1 << 30} | limits)
        )
        return Candidate(read_submission(tmp_path), {"twice": Twice()}, gpu, settings)

    return make


@pytest.mark.parametrize("number", ["01", "02", "03", "04"])
def test_references_are_right_on_a_gpu(gpu, number):
    # test_races.py races them.
    verdict = judge_submission(SOLUTIONS / number, SOLUTIONS / number, device="cuda", seed=7, races_later=True)
    failed = [(check.name, str(check.failure), check.reason) for check in verdict.checks if check.passed is False]
    assert failed == []
    assert {check.state for check in verdict.checks if check.part != "speed"} == {State.JUDGED}
    assert verdict.device != "simulated"


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 100_003])
def test_a_right_kernel_passes(twice, n):
    twice().check(n=n)


def test_streams_views_fills_and_copies(twice):
    more = """
    s = cuda.stream()
    scratch = cuda.device_array(x.size + 6, np.float32)
    scratch[:] = 5
    scratch[3:-3].copy_to_device(x, stream=s)
    s.synchronize()
    kernel[(x.size + 63) // 64, 64, s](scratch[3:-3], out, x.size)
    s.synchronize()
"""
    twice(more=more).check(n=1000)


def test_memory_that_nobody_has_set_holds_nothing_of_an_earlier_process(twice):
    more = """
    scratch = cuda.device_array(x.size, np.float32)
    only_nan[(x.size + 63) // 64, 64](x, out, scratch)

@cuda.jit
def only_nan(x, out, scratch):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i] if scratch[i] != scratch[i] else 0
    """
    twice(more=more).check(n=100_003)


def test_declared_signatures_and_options(twice):
    twice(decorator='@cuda.jit("void(float32[:], float32[:], int64)", fastmath=True, lineinfo=True)').check(n=100)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"body": "if i < out.size: out[i] = 3 * x[i]"}, "wrong-values"),
        ({"body": "pass"}, "nothing-written"),
        ({"body": "if i < out.size: out[i] = missing[i]"}, "kernel-rejected"),
        ({"more": "kernel[1, 4096](x, out, x.size)"}, "launch-refused"),
        ({"body": "if i < out.size: out[i] = 2 * x[i]; x[i] = 0"}, "changed-input"),
    ],
)
def test_mistakes_are_the_students_on_a_gpu_too(twice, change, kind):
    with pytest.raises(CheckFailed) as failed:
        twice(**change).check(n=1000)
    assert failed.value.failure.kind == kind


def test_an_illegal_address_costs_one_check_only(twice):
    with pytest.raises(CheckFailed) as failed:
        twice(body="out[i + (1 << 40)] = 1").check(n=1000)
    assert failed.value.failure.kind == "gpu-error"
    twice().check(n=1000)


def test_a_long_kernel_is_ended_and_the_next_check_judged(twice):
    # At a memory access per turn some 16 seconds of a GPU's time, then it ends by itself.
    slow = "for k in range(1 << 30):\n        if x[i % n] == 12345: out[0] = k"
    with pytest.raises(CheckFailed) as failed:
        twice(body=slow, cpu_seconds=3, wall_seconds=6).check(n=64)
    assert failed.value.failure.kind == "time-out"
    twice().check(n=1000)


def test_what_threads_print_on_a_gpu_comes_back_once_and_bounded(twice):
    judged = twice(body="if i < out.size:\n        out[i] = 2 * x[i]\n        print(n, i)")
    judged.check(n=3)
    assert sorted(judged.kernels_printed.lines) == ["3 0", "3 1", "3 2"]
    assert judged.printed == [""]
    judged.check(n=5000)
    assert len(judged.kernels_printed.lines) == MAX_PRINTED_LINES
    assert judged.kernels_printed.left_out == 5000 - MAX_PRINTED_LINES


def test_prints_of_a_run_with_two_fills_are_those_of_the_first(gpu, tmp_path):
    text = (
        "from numba import cuda\n@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[i] = i\n    print('here', i)\n"
    )
    (tmp_path / "kernels.py").write_text(text + "def count(out):\n    k[1, 2](out)\n")
    judged = Candidate(read_submission(tmp_path), {"count": Count()}, gpu, Settings(device="cuda", seed=3))
    judged.check(n=2)
    assert judged.kernels_printed.lines == ("here 0", "here 1")


@pytest.mark.parametrize("write", ["out[i] = mine[0]", "out.u[i] = mine[0].u; out[i].corner.v = mine[0].corner['v']"])
def test_records_and_enums_on_a_gpu(gpu, tmp_path, write):
    (tmp_path / "kernels.py").write_text(RECORDS.format(write=write))
    judged = Candidate(read_submission(tmp_path), {"swap": Swap()}, gpu, Settings(device="cuda", seed=3))
    judged.check(n=77)
    (tmp_path / "kernels.py").write_text(RECORDS.format(write=f"{write}; out[i].corner.v += i == 5"))
    judged = Candidate(read_submission(tmp_path), {"swap": Swap()}, gpu, Settings(device="cuda", seed=3))
    with pytest.raises(CheckFailed) as failed:
        judged.check(n=77)
    assert failed.value.failure.found.startswith("out[5].corner.v is ")


class Count(Twice):
    entry = "count"

    def make_inputs(self, rng, n):
        return {"out": Output((n,), np.int32)}

    def expected(self, inputs):
        return {"out": np.arange(inputs["out"].shape[0])}


CELL = np.dtype([("u", np.float32), ("corner", [("tag", np.uint8), ("v", np.float64)])], align=True)
RECORDS = """
import enum
import numba
import numpy as np
from numba import cuda

CELL = np.dtype([("u", np.float32), ("corner", [("tag", np.uint8), ("v", np.float64)])], align=True)
TYPE = numba.from_dtype(CELL)

class Way(enum.IntEnum):
    BACK = -1
    ON = 1

class Mode(enum.Enum):
    SWAP = (1, 2.5)
    KEEP = (3, 0.5)

MODE = Mode.SWAP

@cuda.jit
def kernel(p, u, by, way, out):
    tile = cuda.shared.array(32, dtype=TYPE)
    mine = cuda.local.array(1, dtype=CELL)
    i = cuda.grid(1)
    if i < out.size:
        tile[cuda.threadIdx.x] = p[i]
        mine[0] = tile[cuda.threadIdx.x]
        if way == Way.BACK and MODE is Mode.SWAP:
            mine[0].u = -u[i]
        mine[0].corner.v += by.corner.v
        out[i].corner.tag = p[i].corner.tag
        {write}

def swap(p, by, out):
    scratch = cuda.device_array(p.shape, CELL)
    scratch[:] = p
    scratch["corner"]["tag"] = 9
    out[:] = by
    kernel[(p.size + 31) // 32, 32](scratch, p["u"], by, Way.BACK, out)
"""


class Swap(Twice):
    """u with its sign changed, tag 9, v shifted by that of a record."""

    entry = "swap"

    def make_inputs(self, rng, n):
        p = np.zeros(n, CELL)
        p["u"], p["corner"]["v"] = rng.random(n), rng.random(n)
        return {"p": p, "by": np.array((1, (2, 3)), CELL)[()], "out": Output((n,), CELL)}

    def expected(self, inputs):
        made = inputs["p"].copy()
        made["u"] *= -1
        made["corner"]["tag"] = 9
        made["corner"]["v"] += inputs["by"]["corner"]["v"]
        return {"out": made}
