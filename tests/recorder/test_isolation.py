"""Where a student's Python runs, and what it can find there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import Failure
from grader.sandbox.frames import encode
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record, request_for
from grader.sandbox.warm_child import WarmChild

Recorded = Callable[..., LaunchPlan | Failure]
LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)

MARKING = """
import os
from numba import cuda, njit
def mark(where):
    with open({path!r}, "a") as file:
        file.write(f"{{where}} {{os.getpid()}} {{os.getppid()}}\\n")
mark("import")
class Body:
    mark("class body")
    def method(self, x=mark("default of a method")): pass
def decorator(function):
    mark("decorator")
    return function
@cuda.jit
@decorator
def kernel(out, x=mark("default of a kernel")):
    out[0] = 1
@njit
@decorator
def helper(x: mark("annotation") = mark("default of an njit function")): return x
class Meta(type):
    def __new__(*args):
        mark("metaclass")
        return type.__new__(*args)
class WithMeta(metaclass=Meta): pass
values = [mark("comprehension") for _ in range(1)]
def f(out):
    mark("call")
    kernel[1, 1](out, 0)
"""


def test_nothing_of_kernels_py_runs_in_the_trusted_process_or_the_warm_child(
    open_recorder: WarmChild, tmp_path: Path
) -> None:
    path = tmp_path / "marks"
    call = Call("f", {"out": Output((1,), np.float32)})
    plans = record(open_recorder, MARKING.format(path=str(path)).encode(), [call], DEFAULT, LIMITS)
    assert isinstance(plans, tuple), plans
    marks = [line.rsplit(" ", 2) for line in path.read_text().splitlines()]
    assert {where for where, _, _ in marks} == {
        *("import", "class body", "default of a method", "decorator", "default of a kernel", "annotation"),
        *("default of an njit function", "metaclass", "comprehension", "call"),
    }
    jobs, warm = {int(job) for _, job, _ in marks}, {int(parent) for _, _, parent in marks}
    assert len(jobs) == 1
    assert os.getpid() not in jobs | warm
    assert not jobs & warm


def test_the_request_to_the_recorder_holds_no_input_value() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(size=257)
    s = np.float64(rng.normal())
    inputs: Inputs = {"x": x, "s": s, "n": 12, "out": Output((257,), np.float64)}
    frame = b"".join(encode(request_for(b"def f(): pass", [Call("f", inputs)], DEFAULT)))
    for value in (*x, s):
        assert value.tobytes() not in frame
        assert repr(float(value))[:10].encode() not in frame
    assert b"257" in frame


def test_an_argument_leads_to_no_input_value(open_recorder: WarmChild, tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    inputs: Inputs = {"x": rng.normal(size=100), "s": np.float64(rng.normal()), "out": Output((1,), np.float64)}
    path = tmp_path / "seen"
    text = f"""
import gc, sys
from numba import cuda
@cuda.jit
def kernel(out): out[0] = 1
def f(x, s, out):
    pending, seen, frame = [x, s, out], {{}}, sys._getframe()
    while frame is not None:
        pending.extend([frame, *frame.f_locals.values()])
        frame = frame.f_back
    while pending:
        thing = pending.pop()
        if id(thing) not in seen:
            seen[id(thing)] = thing
            pending.extend(gc.get_referents(thing))
    with open({str(path)!r}, "wb") as file:
        for thing in list(seen.values()):
            if isinstance(thing, (bytes, bytearray)):
                file.write(thing)
            elif type(thing).__module__ == "numpy" and hasattr(thing, "tobytes"):
                file.write(thing.tobytes())
            elif isinstance(thing, float):
                file.write(__import__("struct").pack("d", thing))
    kernel[1, 1](out)
"""
    plans = record(open_recorder, text.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    assert isinstance(plans, tuple), plans
    seen = path.read_bytes()
    assert text.encode() in seen  # it did get around
    for value in (*inputs["x"], inputs["s"]):  # type: ignore[misc]
        assert value.tobytes() not in seen


def test_changing_the_graders_modules_changes_nothing_for_the_next_job(recorded: Recorded) -> None:
    attack = """
        import grader.plan, grader.records, grader.sandbox.frames, builtins
        grader.plan.LaunchPlan.model_validate_json = None
        grader.records.Failure = None
        builtins.len = None
        kernel[1, 1](a, out)
    """
    recorded(attack)
    assert isinstance(recorded("kernel[1, 1](a, out)"), LaunchPlan)


def test_a_plan_that_student_code_writes_itself_is_checked_like_any_other(recorded: Recorded) -> None:
    attack = """
        import grader.recorder.recording as recording
        plan = recording.Recording.plan
        def forged(self, returned):
            real = plan(self, returned)
            return real.model_copy(update={"entry": "g"})
        recording.Recording.plan = forged
        kernel[1, 1](a, out)
    """
    failure = recorded(attack)
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"


def test_a_failure_that_student_code_writes_itself_is_only_a_failure(recorded: Recorded) -> None:
    attack = """
        import grader.recorder.session as session
        session.asdict = lambda failure: {"kind": "passed", "what": 3}
        a[0]
    """
    failure = recorded(attack)
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"
