"""A tiny course in a temporary folder, and a fake of the judge's Candidate that obeys words in kernels.py.

Used by tests of everything around the judge: plugin, class, release, lint, command line. A kernels.py that
holds ``# fake: fail`` fails each ``submission.check``, and so on; without such a word everything passes.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from grader.errors import DeviceFault
from grader.judge import CheckFailed, NoGpu
from grader.records import Failure, Finding, Place, Severity
from grader.submission import Submission

# A check that "runs out of time", and course.yml's time for such checks: the third is not started.
SLOW_SECONDS = 0.3
COURSE = """\
course: {id: tiny, title: Tiny course}
assignments:
  "01":
    title: Doubling
    parts: {correctness: 60, technique: 20, speed: 20}
    limits: {check: 5 s, memory: 1 GiB, timeouts: 500 ms}
    speed: {min_speedup: 2, full_at: 0.5}
"""

PROBLEM = """\
import numpy as np

from grader.problem import Output, Problem, Work


class Double(Problem):
    entry = "double"

    def make_inputs(self, rng, n):
        return {"x": rng.normal(size=n).astype(np.float32), "out": Output((n,), np.float32)}

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"].astype(np.float64)}

    def baseline(self, inputs):
        return {"out": inputs["x"] + inputs["x"]}

    def tolerance(self, inputs, expected):
        return {"out": np.abs(expected["out"]) * 1e-6}

    def work(self, inputs):
        return Work(bytes=8 * inputs["x"].size, operations=inputs["x"].size)
"""

KERNELS = '''\
"""Double every element."""

from numba import cuda


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
    threads = 128
    ### BEGIN SOLUTION
    blocks_needed = (x.size + threads - 1) // threads
    double_kernel[blocks_needed, threads](x, out)
    ### END SOLUTION
'''

PUBLIC = '''\
import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 33])
def test_doubles(submission, n):
    """Each element comes out doubled."""
    submission.check(n=n)


@pytest.mark.part("technique")
def test_reads_once(submission):
    """Each element is read from global memory once."""
    run = submission.simulate(n=64)
    assert run.global_loads_per_output <= 1


@pytest.mark.part("speed")
def test_minimum_speedup(submission):
    """On a GPU, at least course.yml's minimum speed-up."""
    submission.race(n=1 << 20)
'''

HIDDEN = '''\
import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1023, 1025])
def test_odd_sizes(submission, n):
    """Sizes that are no multiple of a block work too."""
    submission.check(n=n)
'''

REPOSITORY_FILES = {
    "solutions/01/problem.py": PROBLEM,
    "solutions/01/kernels.py": KERNELS,
    "solutions/01/test_public.py": PUBLIC,
    "solutions/01/test_hidden.py": HIDDEN,
    "course.yml": COURSE,
}


def write_course(root: Path, **changed: str) -> Path:
    """Write the tiny course below ``root``; ``changed`` maps a file's stem to other text. Returns ``root``."""
    for name, text in REPOSITORY_FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, text), encoding="utf-8")
    return root


def write_kernels(folder: Path, words: str = "") -> Path:
    """A submission whose kernels.py holds ``# fake: <words>``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.py").write_text(f"{KERNELS}\n# fake: {words}\n", encoding="utf-8")
    return folder


# A race's figures, where there is no reference.
MEASURED = {
    "speedup": 9.96,
    "median_ms": 0.0644,
    "low_ms": 0.0641,
    "high_ms": 0.0655,
    "runs": 30.0,
    "baseline_ms": 28.219,
    "launching_ms": 0.37,
    "compiling_ms": 160.0,
    "copying_ms": 31.4,
    "of_limit": 0.652,
    "limited_by_memory": 1.0,
    "min_speedup": 2.0,
    "full_at": 0.5,
}


class FakeRun:
    """What ``simulate`` gives back."""

    def __init__(self, loads: float) -> None:
        self.global_loads_per_output = loads


class FakeChildren:
    """Children of a machine without a GPU."""

    def __enter__(self) -> FakeChildren:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def demand(self, level: str) -> None:
        """They start nothing."""

    def gpu_name(self) -> str | None:
        return None


class FakeCandidate:
    """Does what ``# fake: …`` in kernels.py says: ``fail``, ``fail-odd``, ``fault``, ``bug``, ``slow``, ``loads=3``."""

    def __init__(self, submission: Submission | Failure, problems: Any, children: Any, settings: Any) -> None:
        self.submission, self.problems, self.settings = submission, problems, settings
        self.findings: list[Finding] = []
        self.measured: dict[str, float] = {}
        text = submission.source.decode() if isinstance(submission, Submission) else ""
        self.words = " ".join(re.findall(r"# fake: (.*)", text)).split()

    def record(self) -> None:
        """What each kind of call begins with."""
        if isinstance(self.submission, Failure):
            raise CheckFailed(self.submission)
        if "slow" in self.words:
            time.sleep(SLOW_SECONDS)
            raise CheckFailed(Failure("time-out", "The host function did not finish.", expected="5 s"))

    def check(self, entry: str | None = None, **sizes: Any) -> None:
        self.record()
        n = sizes["n"]
        if "fault" in self.words:
            raise DeviceFault("the GPU fell off the bus")
        if "bug" in self.words:
            raise KeyError("a bug of the grader")
        if "fail" in self.words or ("fail-odd" in self.words and 1000 < n < 2000):
            self.findings.append(
                Finding("out-of-bounds", Severity.ERROR, Place(9, "out[i] = x[i]"), "out was written past its end")
            )
            raise CheckFailed(
                Failure(
                    "wrong-values",
                    f"out[{n - 1}] is wrong.",
                    expected="1.5",
                    found="\x1b[31m[red]nan[/red]",
                    where="kernels.py:9  out[i] = x[i]",
                    advice="let every element be written by a thread of its own",
                )
            )

    def simulate(self, entry: str | None = None, **sizes: Any) -> FakeRun:
        self.check(entry, **sizes)
        loads = [float(word.removeprefix("loads=")) for word in self.words if word.startswith("loads=")]
        return FakeRun(loads[0] if loads else 1.0)

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        self.record()
        if "fault" in self.words:
            raise DeviceFault("the GPU fell off the bus")
        raise NoGpu("no GPU")
