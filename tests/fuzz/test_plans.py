"""Plans that are almost right, as a student who has taken over the recorder may send them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutated import changed

from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.run import run
from grader.sandbox.warm_child import WarmChild

SOURCE = b"""
from numba import cuda, float32
import numpy as np
FACTOR = 2
TABLE = np.arange(4, dtype=np.float32)

@cuda.jit(device=True)
def twice(v):
    return FACTOR * v

@cuda.jit
def kernel(x, out, n):
    part = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    if i < n:
        part[cuda.threadIdx.x] = x[i]
        out[i] = twice(part[cuda.threadIdx.x]) + 0 * TABLE[0]

def f(x, out):
    scratch = cuda.device_array(8, np.float32)
    scratch[:] = 0
    stream = cuda.stream()
    view = x[1:]
    kernel[2, 32, stream, 128](x, out, x.size)
    out[:2].copy_to_device(view[:2])
    kernel[1, 64, stream, 256](x, out, out.size)
"""
LIMITS = Limits(cpu_seconds=5, wall_seconds=15, memory_bytes=1 << 30)
INPUTS: Inputs = {"x": np.arange(40, dtype=np.float32), "out": Output((40,), np.float32)}


@pytest.fixture(scope="module")
def children() -> Iterator[tuple[WarmChild, WarmChild]]:
    with WarmChild("grader.recorder") as recorder, WarmChild("grader.runner") as runner:
        yield recorder, runner


@pytest.fixture(scope="module")
def valid(children: tuple[WarmChild, WarmChild]) -> dict:
    plans = record(children[0], SOURCE, [Call("f", INPUTS)], DEFAULT, LIMITS)
    assert not isinstance(plans, Failure), plans
    return plans[0].model_dump(mode="json")


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_plan_is_refused_or_carried_out_and_nothing_of_ours_breaks(
    children: tuple[WarmChild, WarmChild], valid: dict, data: st.DataObject
) -> None:
    """A forged plan is sent by a recorder that a student's Python has taken over; whatever passes is carried out."""
    forged = json.dumps(data.draw(changed(valid)))
    text = SOURCE.decode() + (
        "\nimport json\nimport grader.recorder.session as session\n"
        f"FORGED = {forged!r}\n"
        "class Answer:\n"
        "    def __init__(self, text): self.data = json.loads(text)\n"
        "    def model_dump(self, mode): return self.data\n"
        "    def model_dump_json(self): return FORGED\n"
        "session._record_call = lambda *_: Answer(FORGED)\n"
    )
    plans = record(children[0], text.encode(), [Call("f", INPUTS)], DEFAULT, LIMITS)
    if isinstance(plans, Failure):
        return
    (plan,) = plans
    assert isinstance(plan, LaunchPlan)
    (outcome,) = run(
        children[1], SOURCE, plan, INPUTS, [{"out": np.array(7, np.float32)}], DEFAULT, "simulated", LIMITS
    )
    if outcome.problem is None:
        assert outcome.outputs["out"].shape == (40,)
        assert outcome.outputs["out"].dtype == np.float32


def test_the_plan_itself_is_carried_out_and_right(children: tuple[WarmChild, WarmChild], valid: dict) -> None:
    plan = LaunchPlan.model_validate_json(json.dumps(valid))
    (outcome,) = run(
        children[1], SOURCE, plan, INPUTS, [{"out": np.array(7, np.float32)}], DEFAULT, "simulated", LIMITS
    )
    assert outcome.problem is None
    assert np.array_equal(outcome.outputs["out"], 2 * np.arange(40, dtype=np.float32))
