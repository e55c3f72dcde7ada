"""A course of one exercise, and a GPU that is none, with a settable clock."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from grader import race_rounds, racing
from grader.baseline import Baseline
from grader.children import Children
from grader.judge import Candidate, Settings
from grader.judged_race import Terms
from grader.problem import Output, Problem, Sample, Work
from grader.sandbox import launch, walls
from grader.sandbox.limits import Limits
from grader.sandbox.warm_child import WarmChild
from grader.submission import read_submission

HERE = Path(__file__).parent
MS = 1_000_000
LIMITS = Limits(cpu_seconds=20, memory_bytes=None)
KERNELS = """
from numba import cuda

@cuda.jit
def {name}(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]

def twice(x, out):
    {name}[(x.size + 63) // 64, 64](x, out)
    {more}
"""


class Twice(Problem):
    """out = 2 x."""

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


class Shrinking(Twice):
    """Has a tenth as many elements where memory is short."""

    def smaller(self, sizes):
        return {"n": sizes["n"] // 10} if sizes["n"] >= 10 else None


class Sampled(Twice):
    """Looks at eight elements of each run."""

    def sample(self, inputs, rng):
        places = rng.choice(inputs["x"].size, 8, replace=False)
        return Sample({"x": inputs["x"][places], "out": Output((8,), np.float32)}, {"out": places})


class Moody(Twice):
    """Draws more than values: every second call is another one."""

    def __init__(self, drawn):
        self.drawn, self.calls = drawn, 0

    def make_inputs(self, rng, n):
        self.calls += 1
        odd = self.calls % 2
        inputs = super().make_inputs(rng, n + odd if self.drawn == "shape" else n)
        if self.drawn == "dtype" and odd:
            inputs["x"] = inputs["x"].astype(np.float64)
        return inputs | ({"out": Output((n + odd,), np.float32)} if self.drawn == "output" else {})


class FakeGpuRace:
    """Races of a submission with ``student_kernel`` against a reference with ``reference_kernel``."""

    def __init__(self, children: Children, folder: Path, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._children = children
        self._folder = folder
        self._script = script
        self._patch = monkeypatch
        for name in ("student", "reference"):
            (folder / name).mkdir()
            self._write(name, "")

    def _write(self, name: str, more: str) -> None:
        (self._folder / name / "kernels.py").write_text(KERNELS.format(name=f"{name}_kernel", more=more))

    def __call__(
        self,
        *,
        student_ms=0.9,
        reference_ms=0.5,
        baseline_ms=10.0,
        problem=None,
        reference=True,
        device="cuda",
        host_in_reach=False,
        more="",
        limits=LIMITS,
        **script,
    ):
        """Race; returns what was measured. ``baseline_ms`` is the CPU baseline's time; None: it runs.

        ``more`` is the last line of the student's host function.
        """
        self._write("student", more)
        for left in self._script.parent.glob(f"{self._script.stem}.*"):
            left.unlink()
        ns = {"student_kernel": student_ms * MS, "reference_kernel": reference_ms * MS}
        self._script.write_text(json.dumps({"ns": ns} | script))
        if baseline_ms is not None:
            fixed = Baseline(baseline_ms * MS, baseline_ms * MS)
            self._patch.setattr(racing, "baseline_time", lambda *_: fixed)
        known = read_submission(self._folder / "reference") if reference else None
        terms = Terms(
            min_speedup=3, full_at=0.5, bonus_at=1.0, reference=known, host_in_reach=host_in_reach, limits=limits
        )
        settings = Settings(device=device, seed=3, limits=limits, race=terms)
        submission = read_submission(self._folder / "student")
        self.candidate = candidate = Candidate(submission, {"twice": problem or Twice()}, self._children, settings)
        self.measured = candidate.measured
        self.raced = candidate.race(n=100)
        return candidate.measured

    def jobs(self, kernel: str) -> int:
        """How many processes ran a kernel."""
        file = self._script.with_suffix(f".{kernel}")
        return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.fixture(scope="module")
def fake_children(tmp_path_factory):
    script = tmp_path_factory.mktemp("gpu") / "script.json"
    real = launch.child_environment

    def with_fake(module, home):
        environment = real(module, home)
        path = os.pathsep.join([environment["PYTHONPATH"], str(HERE)])
        return environment | {"PYTHONPATH": path, "FAKE_GPU": str(script)}

    with pytest.MonkeyPatch.context() as patch, Children() as children:
        patch.setattr(launch, "child_environment", with_fake)
        patch.setattr(launch, "wall_of", lambda module, demanded: walls.NO_WALL)
        children.runner = WarmChild("fake_gpu_runner")
        yield children, script


@pytest.fixture
def race(fake_children, tmp_path, monkeypatch):
    """``race(student_ms=…, wrong=…)``: see ``FakeGpuRace``."""
    children, script = fake_children
    monkeypatch.setattr(race_rounds, "RUNS", 5)
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path,))
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path / "cache")
    # A hundred elements in half a millisecond are a slow GPU's.
    monkeypatch.setattr("grader.peaks.POSSIBLE", ((1e3, 1e15), (1e3, 1e15)))
    return FakeGpuRace(children, tmp_path, script, monkeypatch)
