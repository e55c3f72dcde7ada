"""The parent's side of the runner: what is said when the runner ends without an answer."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from grader.errors import ChildFault, DeviceFault
from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.run import describe_gpu, run

PRINTED = "a print\nTraceback (most recent call last):\n  File \"a.py\", line 3, in handle\nKeyError: 'what it was'\n\n"


class Dying:
    """A child whose job ends so."""

    def __init__(self, death: Death) -> None:
        self._death = death

    def call(self, request: Message, limits: Limits, *, keep: str = "") -> Reply | Death:
        return self._death


def carry_out(death: Death) -> None:
    plan = LaunchPlan(entry="f", buffers=(), functions=(), operations=())
    run(Dying(death), b"", plan, {"x": np.zeros(1)}, [{}], DEFAULT, "simulated", Limits())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["exit", "signal", "stalled", "protocol"])
def test_a_fault_says_what_the_runner_raised(kind: str) -> None:
    with pytest.raises(ChildFault) as caught:
        carry_out(Death(kind, "exit status 92", PRINTED, 0.1, 0.2))  # type: ignore[arg-type]
    assert str(caught.value).endswith(f"({kind}: exit status 92; it had printed: KeyError: 'what it was')")


def test_a_fault_of_asking_for_the_gpu_says_what_the_runner_raised() -> None:
    with pytest.raises(DeviceFault, match="KeyError: 'what it was'"):
        describe_gpu(Dying(Death("exit", "exit status 92", PRINTED, 0.1, 0.2)), Limits())  # type: ignore[arg-type]


class Aged:
    """A child whose job, where it has stayed, has no memory left."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def call(self, request: Message, limits: Limits, *, keep: str = "") -> Reply:
        self.asked.append(keep)
        if keep:
            return Reply(Message({"fault": "NotSimulated", "message": "too little memory"}), "", 0.0, 0.1, True)
        return Reply(Message({"problem": {"kind": "wrong", "what": "It is wrong."}}), "", 0.1, 0.1)


def test_a_fault_of_a_job_that_has_stayed_counts_if_a_fresh_one_has_it_too() -> None:
    plan = LaunchPlan(entry="f", buffers=(), functions=(), operations=())
    child = Aged()
    (outcome,) = run(child, b"", plan, {"x": np.zeros(1)}, [{}], DEFAULT, "simulated", Limits())  # type: ignore[arg-type]
    assert outcome.problem is not None
    assert outcome.problem.what == "It is wrong."
    assert child.asked == [hashlib.sha256(b"").hexdigest(), ""]


@pytest.mark.parametrize("printed", ["", " \n\n"])
def test_a_silent_end_is_said_without_a_line(printed: str) -> None:
    with pytest.raises(ChildFault, match=r"\(exit: exit status 1\)$"):
        carry_out(Death("exit", "exit status 1", printed, 0.1, 0.2))


def test_a_flood_is_cut() -> None:
    with pytest.raises(ChildFault) as caught:
        carry_out(Death("exit", "exit status 1", "x" * 60_000, 0.1, 0.2))
    assert len(str(caught.value)) < 500
