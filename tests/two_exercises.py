"""A course with one assignment of two entry points, its mutants, and checks that call both; for tests of lint."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from grader.course import Course, load_course
from grader.release import release

COURSE = """\
course: {id: two, title: Two exercises}
authoring: {mutants: 6}
assignments:
  "01":
    title: Two exercises
    parts: {correctness: 60, technique: 20, speed: 20}
    limits: {check: 20 s, memory: 1 GiB, timeouts: 60 s}
    speed: {min_speedup: 2, full_at: 0.5}
"""

PROBLEM = """\
import numpy as np

from grader.problem import Output, Problem, Work


class _Exercise(Problem):
    def make_inputs(self, rng, n):
        return {"x": rng.uniform(1, 2, size=n).astype(np.float32), "out": Output((n,), np.float32)}

    def baseline(self, inputs):
        return {"out": inputs["x"] + inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"out": np.abs(expected["out"]) * 1e-6}

    def work(self, inputs):
        return Work(bytes=8 * inputs["x"].size, operations=inputs["x"].size)


class Double(_Exercise):
    entry = "double"

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"].astype(np.float64)}


class Halve(_Exercise):
    entry = "halve"

    def expected(self, inputs):
        return {"out": 0.5 * inputs["x"].astype(np.float64)}

    def baseline(self, inputs):
        return {"out": inputs["x"] / 2}
"""

KERNELS = '''\
"""Double and halve every element."""

from numba import cuda, float32

THREADS = 64
blocks_of = {}


@cuda.jit(device=True)
def times(value, factor):
    """Their product."""
    return value * factor


@cuda.jit
def double_kernel(x, out):
    """out[i] = 2 * x[i], one thread per element."""
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    if i < out.size:
        out[i] = 2 * x[i]
    ### END SOLUTION


def double(x, out):
    """x, out: float32 (n,); out starts with garbage."""
    blocks = (out.size + THREADS - 1) // THREADS
    double_kernel[blocks, THREADS](x, out)


@cuda.jit
def halve_kernel(x, out):
    """out[i] = x[i] / 2, one thread per element."""
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    if i < out.size:
        out[i] = times(x[i], float32(0.5))
    ### END SOLUTION


def halve(x, out):
    """x, out: float32 (n,); out starts with garbage."""
    blocks = blocks_of.get("halve", (out.size + THREADS - 1) // THREADS)
    halve_kernel[blocks, THREADS](x, out)
'''

PUBLIC = '''\
import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 33])
def test_doubles(submission, n):
    """Each element comes out doubled."""
    submission.check("double", n=n)


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 100])
def test_halves(submission, n):
    """Each element comes out halved."""
    submission.check("halve", n=n)


@pytest.mark.part("technique")
def test_doubling_reads_once(submission):
    """Each element is read from global memory once."""
    submission.simulate("double", n=64).require("loads_of_x", at_most=64)


@pytest.mark.part("technique")
def test_halving_reads_once(submission):
    """Each element is read from global memory once."""
    submission.simulate("halve", n=64).require("loads_of_x", at_most=64)


@pytest.mark.part("speed")
def test_speed(submission):
    """On a GPU, at least course.yml's minimum speed-up."""
    submission.race("halve", n=1 << 20)
'''

HIDDEN = '''\
import pytest


@pytest.mark.part("correctness")
def test_both_in_turn(submission):
    """Both are right when they are called one after the other in one process."""
    submission.check_each({"entry": "double", "n": 65}, {"entry": "halve", "n": 65}, {"entry": "double", "n": 2})
'''

_BLOCKS = "    blocks = (out.size + THREADS - 1) // THREADS\n    double_kernel"
_LEAVES = _BLOCKS.replace("    double_kernel", '    blocks_of["halve"] = 1\n    double_kernel')
# Per mutant: who catches it, and its one change of KERNELS.
MUTANTS = {
    "double_triples": ("test_doubles, test_doubling_reads_once, test_both_in_turn", "= 2 * x[i]\n", "= 3 * x[i]\n"),
    "double_reads_twice": ("test_doubling_reads_once", "= 2 * x[i]\n", "= x[i] + x[i]\n"),
    "halve_quarters": (
        "test_halves, test_halving_reads_once, test_both_in_turn",
        "times(x[i], float32(0.5))",
        "times(x[i], float32(0.25))",
    ),
    # The kernel of halve is the reference's, what it calls is not.
    "halve_times_is_divided": (
        "test_halves, test_halving_reads_once, test_both_in_turn",
        "return value * factor",
        "return value / factor",
    ),
    # Both entry points are right by themselves; double leaves something that halve reads.
    "double_leaves_its_grid": ("test_both_in_turn", _BLOCKS, _LEAVES),
    # The same, once and for all, when kernels.py is imported.
    "grid_is_fixed_at_the_start": (
        "test_halves, test_both_in_turn",
        "blocks_of = {}\n",
        'blocks_of = {}\nblocks_of["halve"] = 1\n',
    ),
}


def mutant(name: str) -> str:
    """A mutant's text."""
    caught_by, old, new = MUTANTS[name]
    assert KERNELS.count(old) == 1, name
    text = KERNELS.replace(old, new).partition("\n")[2]
    lines = [line for line in text.splitlines(keepends=True) if "### " not in line]
    return f'"""A mistake.\n\nCaught by: {caught_by}\n"""\n{"".join(lines)}'


def write(root: Path, mutants: Collection[str] = MUTANTS) -> Course:
    """The course below ``root`` with some of the mutants, released."""
    solutions = root / "solutions/01"
    (solutions / "wrong").mkdir(parents=True)
    files = {"problem": PROBLEM, "kernels": KERNELS, "test_public": PUBLIC, "test_hidden": HIDDEN}
    for name, text in files.items():
        (solutions / f"{name}.py").write_text(text)
    for name in mutants:
        (solutions / f"wrong/{name}.py").write_text(mutant(name))
    (root / "course.yml").write_text(COURSE.replace("mutants: 6", f"mutants: {len(mutants)}"))
    course = load_course(root / "course.yml")
    release(course, "01")
    return course
