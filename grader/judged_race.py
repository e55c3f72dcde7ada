"""What a race earns: one call's race from the lock of the GPU to a credit. Trusted process.

In: a recorded call, course.yml's terms, warm children. Out: the figures of a check; or CheckFailed, NotMeasured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.children import Children
from grader.errors import AuthoringError
from grader.gpu_lock import Busy, gpu_lock, key_of
from grader.gpu_models import DEFAULT, GpuModel
from grader.peaks import peaks_of
from grader.problem import Inputs, Problem, by_author
from grader.problem_calls import require_same_forms
from grader.race_rounds import Contestant
from grader.racing import Race, run_race
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.speed import asks_too_much, bonus_credit_of, credit_of, full_speedup, too_slow
from grader.submission import Submission
from grader.technique import CheckFailed, NotMeasured


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is asked of speed: course.yml's numbers, and the reference's text, where it is known."""

    min_speedup: float = 0.0
    full_at: float = 0.0
    bonus_at: float | None = None
    baseline_threads: int = 4
    reference: Submission | None = None
    host_in_reach: bool = False  # races are run although kernels could reach the host's memory
    limits: Limits = field(default_factory=Limits)
    gpu: GpuModel = DEFAULT


@dataclass(frozen=True)
class RacedCall:
    """A call that is raced, with its ``text``, the ``shapes`` of its inputs, and whose kernels run."""

    problem: Problem
    sizes: Mapping[str, Any]
    text: str
    shapes: Inputs
    submission: Contestant


class TooSlow(CheckFailed):
    """A call that is slower than the minimum, with what was measured."""

    def __init__(self, failure: Failure, measured: dict[str, float]) -> None:
        super().__init__(failure)
        self.measured = measured


class AsksTooMuch(NotMeasured):
    """The minimum asks too much of this machine, with what was measured: an instructor needs it for a better one."""

    def __init__(self, why: str, measured: dict[str, float]) -> None:
        super().__init__(why)
        self.measured = measured


def judge_race(
    call: RacedCall,
    terms: Terms,
    children: Children,
    rng_of: Callable[[str], np.random.Generator],
    gpu: Mapping[str, Any],
) -> dict[str, float]:
    """Race a call while nobody else races on this GPU; its figures, its credit among them.

    Raises TooSlow, CheckFailed where a result is wrong, AsksTooMuch, NotMeasured, racing.TooLittleMemory, errors.Fault.
    """
    uuid = str(gpu.get("uuid") or "")

    def fresh(what: str) -> tuple[Inputs, np.random.Generator]:
        rng = rng_of(what)
        inputs = by_author(lambda: call.problem.make_inputs(rng, **call.sizes))
        require_same_forms(inputs, call.shapes)
        return inputs, rng

    try:
        with gpu_lock(key_of(gpu)):
            race = run_race(
                children.runner,
                call.problem,
                call.text,
                fresh,
                call.submission,
                _reference(call, terms, children),
                terms.baseline_threads,
                terms.limits,
                lambda doubted: peaks_of(children.runner, gpu, uuid, terms.limits, doubted=doubted),
                host_in_reach=terms.host_in_reach,
            )
    except Busy as why:
        raise NotMeasured(str(why)) from None
    return _earned(race, terms, call.text)


def _reference(call: RacedCall, terms: Terms, children: Children) -> Contestant | None:
    """The reference, with its plan for the same call. Raises AuthoringError where it has none."""
    if terms.reference is None:
        return None
    source = terms.reference.source
    wanted = [Call(call.problem.entry, call.shapes)]
    plans = record(children.recorder, source, wanted, terms.gpu, terms.limits, lambda _: None)
    if isinstance(plans, Failure):
        raise AuthoringError(f"the reference's launches cannot be recorded: {plans.what}")
    return Contestant("reference", source, plans[0])


def _earned(race: Race, terms: Terms, text: str) -> dict[str, float]:
    """The figures of a race with their credit. Raises TooSlow, AsksTooMuch."""
    minimum, reference = terms.min_speedup, race.reference_speedup
    measured = race.numbers() | {"min_speedup": minimum, "full_at": terms.full_at}
    why = "" if reference is None else asks_too_much(reference, minimum)
    if why:
        raise AsksTooMuch(why, measured)
    full = minimum if reference is None else full_speedup(minimum, terms.full_at, reference)
    credit = credit_of(race.speedup, minimum, full)
    measured |= {"full_speedup": full, "credit": credit}
    if terms.bonus_at is not None and reference is not None:
        measured["bonus_credit"] = bonus_credit_of(race.speedup, full, terms.bonus_at, reference)
    failure = too_slow(race.speedup, minimum, text, f"the kernels are at {race.roofline.sentence()}")
    if failure is not None:
        raise TooSlow(failure, measured)
    return measured
