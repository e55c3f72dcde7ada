"""Whole judged submissions whose arrays are records, and whose kernels use enums."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from grader.children import Children
from grader.devices.base import filling
from grader.errors import AuthoringError
from grader.judge import Candidate, CheckFailed, Settings
from grader.problem import Output, Problem, Work
from grader.record_fields import bytes_of_fields, leaves_of
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.submission import read_submission

CORNER = np.dtype([("u", np.int32), ("v", np.float64)], align=True)
CELL = np.dtype(
    [("kind", np.uint8), ("corners", CORNER, (2,)), ("m", np.float32, (2, 3)), ("up", np.bool_)], align=True
)
POINT = np.dtype([("x", np.float32), ("y", np.float32)])
PACKED = np.dtype([("flag", np.uint8), ("pair", POINT)])  # 9 bytes
PRELUDE = """\
import enum
import numba
import numpy as np
from numba import cuda, float32
"""


class Mirror(Problem):
    """out[i] is p[n - 1 - i] with x and y exchanged, shifted by the record ``by``."""

    entry = "mirror"
    tolerances: ClassVar[Any] = np.asarray(1e-6)

    def make_inputs(self, rng, n):
        p = np.zeros(n, POINT)
        p["x"], p["y"] = rng.random((2, n), np.float32)
        return {"p": p, "by": np.array((3, 5), POINT)[()], "out": Output((n,), POINT)}

    def expected(self, inputs):
        p, by = inputs["p"][::-1], inputs["by"]
        made = np.zeros(p.shape, [("x", np.float64), ("y", np.float64)])
        made["x"] = p["y"] + np.float64(by["x"])
        made["y"] = p["x"] + np.float64(by["y"])
        return {"out": made}

    def baseline(self, inputs):
        return self.expected(inputs)

    def tolerance(self, inputs, expected):
        return {"out": self.tolerances}

    def work(self, inputs):
        return Work(16, 2)


class Turn(Mirror):
    """out is c, each corner's u doubled and v halved, m transposed in place of itself, up inverted."""

    entry = "turn"
    tolerances: ClassVar[Any] = {"kind": 0, "corners": {"u": 0, "v": 1e-12}, "m": np.full((2, 3), 1e-6), "up": 0}

    def make_inputs(self, rng, n):
        c = np.zeros((n, 2), CELL)
        c["kind"] = rng.integers(0, 250, (n, 2))
        c["corners"]["u"] = rng.integers(-1000, 1000, (n, 2, 2))
        c["corners"]["v"], c["m"] = rng.random((n, 2, 2)), rng.random((n, 2, 2, 3))
        c["up"] = rng.random((n, 2)) < 0.5
        return {"c": c, "out": Output(c.shape, CELL)}

    def expected(self, inputs):
        made = inputs["c"].copy()
        made["corners"]["u"] *= 2
        made["corners"]["v"] /= 2
        made["up"] = ~made["up"]
        return {"out": made}


class Count(Mirror):
    """out[i] is x[i] doubled or halved, whichever the mode says."""

    entry = "count"
    tolerances = np.asarray(0.0)

    def make_inputs(self, rng, n):
        return {"x": rng.integers(0, 100, n).astype(np.int32), "out": Output((n,), np.int32)}

    def expected(self, inputs):
        return {"out": 2 * inputs["x"] + 7}


PROBLEMS = {problem.entry: problem for problem in (Mirror(), Turn(), Count())}
MIRROR = """
POINT = np.dtype([("x", np.float32), ("y", np.float32)])
TYPE = {type}

@cuda.jit
def kernel(p, by, out):
    tile = cuda.shared.array(32, dtype=TYPE)
    mine = cuda.local.array(1, dtype=POINT)
    i = cuda.grid(1)
    if i < out.size:
        tile[cuda.threadIdx.x] = p[out.size - 1 - i]
        mine[0].x = tile[cuda.threadIdx.x].y + by.x
        mine[0].y = tile[cuda.threadIdx.x]["x"] + by["y"]
        {write}

def mirror(p, by, out):
    {host}
    kernel[(p.size + 31) // 32, 32](p, by, out)
    {after}
"""
TURN = """
@cuda.jit(device=True)
def corner(a, b):
    b.u = a.u * 2
    b.v = a.v / 2

@cuda.jit
def kernel(c, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j].kind = c[i, j].kind
        for k in range(2):
            corner(c[i, j].corners[k], out[i, j].corners[k])
        for k in range(2):
            for l in range(3):
                out[i, j].m[k, l] = c[i, j].m[k, l]
        out.up[i, j] = not c.up[i, j]
        {more}

def turn(c, out):
    kernel[((c.shape[0] + 7) // 8, 1), (8, 2)](c, out)
"""


@pytest.fixture
def candidate(children: Children, tmp_path: Path) -> Callable[..., Candidate]:
    """The Candidate whose kernels.py has a text."""

    def make(text: str, problems: dict[str, Problem] = PROBLEMS) -> Candidate:
        (tmp_path / "kernels.py").write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
        settings = Settings(device="simulated", seed=3, limits=Limits(cpu_seconds=10, memory_bytes=1 << 30))
        return Candidate(read_submission(tmp_path), problems, children, settings)

    return make


@pytest.fixture
def judge(candidate: Callable[..., Candidate]) -> Callable[..., Failure | None]:
    """What is wrong with a text as kernels.py in one call; None if it is right."""

    def judged(text: str, entry: str, problems: dict[str, Problem] = PROBLEMS, **sizes: int) -> Failure | None:
        try:
            candidate(text, problems).check(entry, **sizes)
        except CheckFailed as failed:
            return failed.failure
        return None

    return judged


def mirror(write: str = "out[i] = mine[0]", type: str = "POINT", host: str = "pass", after: str = "pass") -> str:
    return MIRROR.format(write=write, type=type, host=host, after=after)


@pytest.mark.parametrize("type", ["POINT", "numba.from_dtype(POINT)", "np.dtype(POINT.descr)"])
def test_a_right_kernel_on_records_passes(judge, type):
    assert judge(mirror(type=type), "mirror", n=45) is None


WRONG = {
    "a wrong field": (
        "out[i].x = mine[0].x; out[i].y = mine[0].y + (i == 3)",
        "1 of 45 elements of out.y is wrong",
        "out[3].y",
    ),
    "a field never written": ("out[i].y = mine[0].y", "The field x still holds", "out[0].x was never written"),
    "an element never written": ("if i < 44: out[i] = mine[0]", "1 of 45 elements of out.x", "out[44].x was never"),
    "nothing written": ("mine[0].x = 1", "out still holds its fill value", "none written"),
    "an input changed": ("out[i] = mine[0]; p[out.size - 1 - i].y = 0", "The kernels changed p", ""),
    "one past the end": ("out[i + 1] = mine[0]", "out", ""),
}


@pytest.mark.parametrize(("write", "what", "found"), WRONG.values(), ids=WRONG)
def test_a_wrong_kernel_on_records_is_told_the_field(judge, write, what, found):
    failure = judge(mirror(write), "mirror", n=45)
    assert what in failure.what
    assert found in failure.found


def test_expected_and_found_of_a_field_stand_beside_each_other(judge):
    failure = judge(mirror("out[i].x = mine[0].x; out[i].y = 0"), "mirror", n=1)
    assert failure.what == "out[0].y is wrong."
    assert failure.expected.startswith("out[0].y = 5.")
    assert failure.found == "out[0].y is 0"


def test_nested_records_and_arrays_in_records_are_judged_number_by_number(judge):
    assert judge(TURN.format(more="pass"), "turn", n=9) is None
    for more, named in (
        ("out[i, j].corners[1].v += i == 4", "out[4, 0].corners[1].v"),
        ("out[i, j].m[1, 2] += 1", "out[0, 0].m[1, 2]"),
        ("out[i, j].kind += i", "out[1, 0].kind"),
        ("out[i, j].up = i != 0", "out["),
    ):
        assert judge(TURN.format(more=more), "turn", n=9).found.startswith(named)


def test_the_host_may_look_at_fields_and_work_on_one(judge):
    host = """
    assert p.dtype == POINT and p.dtype.names == ("x", "y") and p.itemsize == 8 and p.nbytes == 8 * p.size
    assert p["y"].shape == p.shape and p["y"].strides == (8,) and p["y"].dtype == np.float32
    assert p.view(np.float32).shape == (2 * p.size,)
    scratch = cuda.device_array(p.shape, POINT)
    scratch[:] = p
    scratch["x"] = 7
    scratch["y"][1:] = p["x"][:-1]
    scratch[:1] = (1, 2)
    out[:] = scratch
    out["x"][:] = cuda.to_device(np.ones(p.size, np.float32))
    p = cuda.to_device(np.zeros(3, POINT))
    """
    assert judge(mirror(host="keep = p", after="pass"), "mirror", n=45) is None
    text = mirror(host=host.strip().replace("p = cuda", "other = cuda"))
    assert judge(text, "mirror", n=45) is None


def test_a_record_of_the_call_fills_an_array(judge):
    text = mirror("out[i].x = out[i].x - by.x + mine[0].x; out[i].y = mine[0].y", host="out[:] = by")
    assert judge(text, "mirror", n=45) is None


def test_counters_are_of_each_number_in_a_record_and_outputs_of_records(candidate):
    run = candidate(mirror()).simulate("mirror", n=45)
    assert (run.outputs, run.loads_of_p, run.stores_of_out) == (45, 90, 90)
    assert run.shared_stores == 90  # a whole record


TABLES = """
CELL = np.dtype([("x", np.float32), ("pair", np.int64, (2,))], align=True)
POINT = np.dtype([("x", np.float32), ("y", np.float32)])
TABLE = np.array([(0, (4, 4)), (0, (3, 5))], CELL)

@cuda.jit
def kernel(x, y, by, px, out):
    row = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < x.size:
        px[i] = y[x.size - 1 - i] + TABLE[1].pair[0] + row[0].pair[1] - 4
        out[i].y = x[x.size - 1 - i] + by[0].pair[1]

def mirror(p, by, out):
    kernel[(p.size + 31) // 32, 32](p["x"], p["y"], cuda.to_device(TABLE[1:]), out["x"], out)
"""


def test_fields_are_passed_and_tables_of_records_captured_and_uploaded(judge):
    assert judge(TABLES, "mirror", n=45) is None
    assert judge(TABLES.replace("TABLE[1:]", "TABLE[:1]"), "mirror", n=45).found.startswith("out[0].y is ")


@pytest.mark.parametrize("value", [300, 2**64 - 1, -1, 0.5, np.nan, np.inf, True, np.complex64(1 + 2j)])
def test_a_number_fills_all_fields_of_a_record_whatever_it_is(value):
    with warnings.catch_warnings(action="ignore"):  # as in the runner
        made = filling(CELL, value)
        for leaf in leaves_of(CELL, 0):
            wanted = np.full(leaf.of(made).shape, np.asarray(value).astype(leaf.dtype))
            np.testing.assert_array_equal(leaf.of(made), wanted)


def test_padding_between_fields_is_no_part_of_a_record():
    covered = bytes_of_fields(CELL)
    assert covered.sum() == 1 + 2 * (4 + 8) + 6 * 4 + 1
    assert covered[[0, 8, 16]].all()  # kind, u and v of the first corner
    assert not covered[[1, 7, 12, 15, -1]].any()
    assert bytes_of_fields(PACKED).all()


def test_an_author_is_told_what_is_wrong_with_records(judge):
    class Few(Mirror):
        def expected(self, inputs):
            return {"out": super().expected(inputs)["out"][["x"]]}

    class Other(Mirror):
        tolerances: ClassVar[Any] = {"x": 0.1}

    class Text(Mirror):
        def make_inputs(self, rng, n):
            return super().make_inputs(rng, n) | {"p": np.zeros(n, [("x", "f4"), ("y", "U3")])}

    for problem, what in ((Few(), "no out.y"), (Other(), "no out.y"), (Text(), "'p' has a dtype")):
        with pytest.raises(AuthoringError, match=what):
            judge(mirror(), "mirror", {"mirror": problem}, n=5)


ENUMS = """
class Mode({base}):
    HALF = 1
    DOUBLE = 2
    TWICE = 2

class Shape(enum.Enum):
    FLAT = (1, 2.5)
    ROUND = (3, 0.5)

FAVOURITE = Mode.TWICE
PAIR = (Mode.HALF, Mode.DOUBLE)

def make(mode):
    @cuda.jit
    def kernel(x, asked, out):
        i = cuda.grid(1)
        if i < out.size:
            if asked == Mode.HALF or mode is Mode.HALF:
                out[i] = x[i] // 2
            elif asked is FAVOURITE and PAIR[1] is asked and Mode["TWICE"] == mode:
                out[i] = x[i] * Mode.DOUBLE.value + (7 if Mode.HALF != Mode.DOUBLE else 0)
    return kernel

kernel = make(Mode.{captured})

def count(x, out):
    kernel[(x.size + 31) // 32, 32](x, Mode.{asked}, out)
"""


@pytest.mark.parametrize("base", ["enum.Enum", "enum.IntEnum"])
def test_enums_are_captured_compared_and_passed(judge, base):
    assert judge(ENUMS.format(base=base, captured="DOUBLE", asked="DOUBLE"), "count", n=40) is None
    for captured, asked in (("HALF", "DOUBLE"), ("DOUBLE", "HALF")):
        failure = judge(ENUMS.format(base=base, captured=captured, asked=asked), "count", n=40)
        assert failure.kind == "wrong-values"
        assert failure.found.startswith("out[0] is ")


def test_a_member_of_an_int_enum_is_a_number_and_of_an_enum_is_none(judge):
    text = ENUMS.replace("x[i] * Mode.DOUBLE.value", "x[i] * asked")
    assert judge(text.format(base="enum.IntEnum", captured="DOUBLE", asked="DOUBLE"), "count", n=40) is None
    failure = judge(text.format(base="enum.Enum", captured="DOUBLE", asked="DOUBLE"), "count", n=40)
    assert failure.kind == "kernel-rejected"
    assert "Enum" in failure.found


def test_an_enum_of_values_of_several_types_is_numbas_to_refuse(judge):
    text = ENUMS.replace("TWICE = 2", "TWICE = 2.5").format(base="enum.Enum", captured="DOUBLE", asked="DOUBLE")
    failure = judge(text, "count", n=40)
    assert failure.kind in ("kernel-rejected", "launch-refused")
    assert "several types" in str(failure) or "heterogeneous" in str(failure)
