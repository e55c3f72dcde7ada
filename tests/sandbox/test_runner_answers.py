"""The parent's side of the runner: an answer of another form, or a machine without time, is no student's fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.errors import ChildFault, DeviceFault, NotSimulated
from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Output
from grader.records import MAX_PRINTED_LINE, MAX_PRINTED_LINES, KernelPrints, Outcome
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.run import describe_gpu, run

RUN: dict[str, Any] = {
    "findings": [],
    "launches": [],
    "lines": [],
    "changed_inputs": [],
    "printed": {"lines": [], "left_out": 0},
}
OUTPUT = {"output:0:out": np.zeros(8, np.uint8)}
PROBLEM = {"kind": "race", "what": "A race."}


class Answering:
    """A child in whose place stands one answer."""

    def __init__(self, answer: Reply | Death) -> None:
        self._answer = answer

    def call(self, request: Message, limits: Limits, *, keep: str = "") -> Reply | Death:
        return self._answer


def outcomes(answer: Reply | Death, device: str = "simulated") -> list[Outcome]:
    plan = LaunchPlan(entry="f", buffers=(), functions=(), operations=())
    child: Any = Answering(answer)
    return run(child, b"", plan, {"out": Output((2,), np.float32)}, [{}], DEFAULT, device, Limits())


def reply(header: dict[str, Any], arrays: dict[str, Any] | None = None) -> Reply:
    return Reply(Message(header, OUTPUT if arrays is None else arrays), "", 0.1, 0.2)


def test_an_answer_of_the_agreed_form_is_an_outcome() -> None:
    (outcome,) = outcomes(reply({"runs": [RUN]}))
    assert outcome.outputs["out"].tolist() == [0, 0]
    (failed,) = outcomes(reply({"problem": PROBLEM}))
    assert failed.problem is not None
    assert failed.problem.kind == "race"
    with pytest.raises(NotSimulated, match="recursion"):
        outcomes(reply({"fault": "NotSimulated", "message": "recursion"}))


def test_what_kernels_printed_comes_with_an_outcome_and_with_a_problem() -> None:
    printed = {"lines": ["0 1.5", "1 \x1b[31m"], "left_out": 7}
    for header in ({"runs": [RUN | {"printed": printed}]}, {"problem": PROBLEM, "printed": printed}):
        (outcome,) = outcomes(reply(header))
        assert outcome.printed == KernelPrints(("0 1.5", "1 \x1b[31m"), 7)


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"runs": []},
        {"runs": [RUN, RUN]},
        {"runs": None},
        {"runs": 3},
        {"runs": [None]},
        {"runs": [{}]},
        {"runs": [RUN | {"findings": [1]}]},
        {"runs": [RUN | {"changed_inputs": None}]},
        {"runs": [RUN | {"more": 1}]},
        {"runs": [{key: value for key, value in RUN.items() if key != "printed"}]},
        {"runs": [RUN | {"printed": {"lines": "text", "left_out": 0}}]},
        {"runs": [RUN | {"printed": {"lines": [1], "left_out": 0}}]},
        {"runs": [RUN | {"printed": {"lines": ["x" * (MAX_PRINTED_LINE + 1)], "left_out": 0}}]},
        {"runs": [RUN | {"printed": {"lines": ["x"] * (MAX_PRINTED_LINES + 1), "left_out": 0}}]},
        {"runs": [RUN | {"printed": {"lines": [], "left_out": -1}}]},
        {"runs": [RUN | {"printed": {"lines": []}}]},
        {"runs": [RUN], "printed": {"lines": [], "left_out": 0}},
        {"problem": PROBLEM, "printed": "text"},
        {"runs": [RUN], "problem": PROBLEM},
        {"problem": None},
        {"problem": "a race"},
        {"fault": []},
        {"fault": None},
        {"gpu": None},
        {"else": 1},
    ],
)
def test_an_answer_of_another_form_is_a_fault_of_the_child(header: dict[str, Any]) -> None:
    with pytest.raises(ChildFault):
        outcomes(reply(header))


@pytest.mark.parametrize(
    "arrays", [{}, {"output:0:out": np.zeros(7, np.uint8)}, {"output:0:out": np.zeros(12, np.uint8)}]
)
def test_outputs_that_were_not_announced_are_a_fault_of_the_child(arrays: dict[str, Any]) -> None:
    with pytest.raises(ChildFault, match="'out'"):
        outcomes(reply({"runs": [RUN]}, arrays))


def test_a_gpu_is_described_or_there_is_none_or_it_is_a_fault() -> None:
    def described(header: dict[str, Any]) -> dict[str, Any] | None:
        child: Any = Answering(reply(header))
        return describe_gpu(child, Limits())

    assert described({"gpu": None}) is None
    assert described({"gpu": {"name": "A GPU", "driver": "1"}}) == {"name": "A GPU", "driver": "1"}
    for header in ({}, {"gpu": 3}, {"gpu": {}}, {"runs": []}, {"problem": PROBLEM}):
        with pytest.raises(ChildFault):
            described(header)
    with pytest.raises(DeviceFault, match="no driver"):
        described({"fault": "Fault", "message": "no driver"})


@pytest.mark.parametrize("device", ["simulated", "cuda"])
def test_a_machine_without_time_is_no_fault_of_the_kernels(device: str) -> None:
    with pytest.raises(ChildFault, match="too busy"):
        outcomes(Death("starved", "60 s had passed", "", 15.0, 60.0, starved_seconds=40.0), device)


def test_a_kernel_that_does_not_end_on_a_gpu_is_the_students() -> None:
    (outcome,) = outcomes(Death("stalled", "60 s had passed", "", 1.0, 60.0), "cuda")
    assert outcome.problem is not None
    assert outcome.problem.kind == "time-out"
    with pytest.raises(ChildFault):
        outcomes(Death("stalled", "60 s had passed", "", 1.0, 60.0))
