"""Fixtures: a recorder, and a way to record a short kernels.py."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import settings

from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.walls import VARIABLE
from grader.sandbox.warm_child import WarmChild

# A slow machine makes no test wrong.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)
# What every text may use: a kernel with two arguments, a device function, an array of 1000 and one of 20 × 50.
PRELUDE = """\
import math
import numpy as np
import numba
from numba import cuda, float32, njit

@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]

@cuda.jit(device=True)
def device_function(x):
    return x
"""

Recorded = Callable[..., LaunchPlan | Failure]


@pytest.fixture(scope="session")
def recorder() -> Iterator[WarmChild]:
    with WarmChild("grader.recorder") as child:
        yield child


@pytest.fixture
def open_recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmChild]:
    """A recorder whose jobs may write files and start programs: for texts that tell what they see in there."""
    monkeypatch.setenv(VARIABLE, "limits")
    with WarmChild("grader.recorder") as child:
        yield child


@pytest.fixture(scope="session")
def inputs() -> Inputs:
    rng = np.random.default_rng(3)
    return {
        "a": rng.normal(size=1000).astype(np.float32),
        "m": rng.normal(size=(20, 50)).astype(np.float32),
        "s": np.float32(rng.normal()),
        "n": 7,
        "out": Output((1000,), np.float32),
    }


@pytest.fixture(scope="session")
def recorded(recorder: WarmChild, inputs: Inputs) -> Recorded:
    """Record a call of ``f(a, m, s, n, out)`` whose body is ``body``; ``module`` comes before it."""

    def run(body: str, module: str = "", limits: Limits = LIMITS) -> LaunchPlan | Failure:
        lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        text = f"{PRELUDE}{textwrap.dedent(module)}\ndef f(a, m, s, n, out):\n{lines}\n"
        answer = record(recorder, text.encode(), [Call("f", inputs)], DEFAULT, limits)
        return answer if isinstance(answer, Failure) else answer[0]

    return run
