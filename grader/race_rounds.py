"""A round of a race: one contestant's runs in a process of its own, each with its output checked. Trusted process.

In: plans, a problem, fresh inputs. Out: times of runs whose outputs were right; or CheckFailed, NotMeasured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.clocks import Clock, GpuState
from grader.correctness import changed_input, compare
from grader.errors import Fault
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output, Problem, Tolerance, by_author
from grader.problem_calls import expected_of, sample_of
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import TimedOutcome, gpu_state, time_runs
from grader.sandbox.warm_child import WarmChild
from grader.speed import duration, timing_of
from grader.technique import CheckFailed, NotMeasured
from grader.unwritten import fills_for

# Of one process: its first run is not counted. Inputs and outputs of all its runs travel at once.
RUNS = 11
BATCH_BYTES = 1 << 30
MIN_COUNTED = 6
# How far the events' clock may fall short of the host's, over the runs of one process: the start and the end of a run.
UNSEEN_SHARE = 0.25
CLOCKS_AGREE_TO = 0.02
UNSEEN_NS = 2_000_000
# Failures that a GPU which broke down or was busy with something else would look like.
ENDED_BY_THE_GPU = ("time-out", "gpu-error", "crash")

Fresh = Callable[[str], tuple[Inputs, np.random.Generator]]


@dataclass
class Contestant:
    """Whose kernels run: the text of kernels.py, the plan, and what has been measured of them, in nanoseconds."""

    name: str
    source: bytes
    plan: LaunchPlan
    times: list[float] = field(default_factory=list)
    queued: list[float] = field(default_factory=list)
    copied: list[float] = field(default_factory=list)
    compiled: list[float] = field(default_factory=list)
    states: list[GpuState] = field(default_factory=list)  # of the GPU, after each round

    @property
    def is_known(self) -> bool:
        """Whether enough has been measured."""
        return len(self.times) >= MIN_COUNTED and timing_of(self.times).is_known


PreparedRun = tuple[Inputs, dict[str, Any], np.random.Generator]


def inputs_of_round(fresh: Fresh, text: str) -> list[PreparedRun]:
    """Inputs, fills and random numbers of the runs of one round: as many as may travel together, and two at least."""
    inputs, rng = fresh(f"{text} run 0")
    nbytes = sum(_nbytes(value) for value in inputs.values())
    count = int(min(max(BATCH_BYTES // max(nbytes, 1), 2), RUNS))
    texts = [f"{text} run {number}" for number in range(1, count)]
    with ThreadPoolExecutor() as pool:  # NumPy draws random numbers without Python's lock
        made = [(inputs, rng), *pool.map(fresh, texts)]
    return [(inputs, fills_for(inputs, rng)[0], rng) for inputs, rng in made]


def _nbytes(value: Any) -> int:
    if isinstance(value, Output):
        return int(np.prod(value.shape, dtype=np.int64)) * np.dtype(value.dtype).itemsize
    return int(value.nbytes) if isinstance(value, np.ndarray) else 0


def run_round(
    child: WarmChild, problem: Problem, call: str, contestant: Contestant, runs: Sequence[PreparedRun], limits: Limits
) -> None:
    """Run a contestant in a process of its own, check all it did, keep its times. Raises CheckFailed, NotMeasured."""
    done = time_runs(child, contestant.source, contestant.plan, [(inputs, fills) for inputs, fills, _ in runs], limits)
    if isinstance(done, Failure):
        raise _excused_by_the_gpu(child, done) or CheckFailed(done)
    with ThreadPoolExecutor() as pool:
        checked = [
            pool.submit(wrong, problem, inputs, timed, rng, call)
            for (inputs, _, rng), timed in zip(runs, done.outcomes, strict=False)  # slow kernels get fewer
        ]
    failures = [failure for one in checked if (failure := one.result()) is not None]
    if failures:
        raise CheckFailed(failures[0])
    why = done.state.unfit(host_in_reach=True)  # which does not change during a race
    if why:
        raise NotMeasured(why)
    contestant.states.append(done.state)
    clocks = [timed.clock for timed in done.outcomes]
    _believe(clocks[1:])
    contestant.times += [max(clock.device_ns, 1) for clock in clocks[1:]]
    contestant.queued += [clock.queued_ns for clock in clocks[1:]]
    contestant.copied += [timed.copy_ns for timed in done.outcomes[1:]]
    contestant.compiled.append(max(clocks[0].queued_ns - float(np.median(contestant.queued)), 0.0))


def _excused_by_the_gpu(child: WarmChild, failure: Failure) -> NotMeasured | None:
    """Why a run that brought nothing back may be the machine's fault; None where it is the kernels' own."""
    if failure.kind not in ENDED_BY_THE_GPU:
        return None
    try:
        why = gpu_state(child, Limits()).unfit(host_in_reach=True)
    except Fault as fault:
        return NotMeasured(f"the GPU does not answer any more: {fault}")
    # What makes a GPU slow explains a run that took too long, and no illegal address.
    if not why or failure.kind != "time-out":
        return None
    return NotMeasured(f"a run did not end in time, and {why}")


def wrong(problem: Problem, inputs: Inputs, timed: TimedOutcome, rng: np.random.Generator, call: str) -> Failure | None:
    """What is wrong with one timed run, in all of its outputs or in the problem's sample of them; or None."""
    where = f"{call}, in a run that was timed"
    if timed.outcome.changed_inputs:
        return changed_input(min(timed.outcome.changed_inputs), timed.outcome.outputs, where)
    return wrong_values(problem, inputs, timed.outcome.outputs, rng, where)


def wrong_values(
    problem: Problem,
    inputs: Inputs,
    outputs: Mapping[str, Any],
    rng: np.random.Generator,
    where: str,
    room: Callable[[Tolerance], Tolerance] = lambda tolerance: tolerance,
) -> Failure | None:
    """What is wrong with the values of outputs, or of the problem's sample of them; or None.

    ``room`` makes more of a tolerance. Raises AuthoringError.
    """
    sample = sample_of(problem, inputs, rng)
    of, places = (inputs, {}) if sample is None else (sample.inputs, sample.places)
    expected = expected_of(problem, of)

    def first_wrong() -> Failure | None:
        tolerance = problem.tolerance(of, expected)
        for name, wanted in expected.items():
            found = outputs[name][places[name]] if name in places else outputs[name]
            failure = compare(name, wanted, found, room(tolerance[name]), where)
            if failure is not None:
                return failure
        return None

    return by_author(first_wrong)


def _believe(clocks: Sequence[Clock]) -> None:
    """Hold the device's clock against the host's. Raises NotMeasured where they contradict each other."""
    for clock in clocks:
        if clock.device_ns + clock.before_ns > clock.wall_ns * (1 + CLOCKS_AGREE_TO) + UNSEEN_NS:
            raise NotMeasured(
                f"the GPU's clock says that a run took {duration(clock.device_ns + clock.before_ns)}, and the host "
                f"{duration(clock.wall_ns)}, with which it cannot agree; race again: if it stays so, this machine's "
                "times are worth nothing"
            )
    seen = sum(clock.device_ns + max(clock.before_ns, clock.queued_ns) for clock in clocks)
    wall = sum(clock.wall_ns for clock in clocks)
    if wall - seen > UNSEEN_SHARE * wall + UNSEEN_NS * len(clocks):
        raise NotMeasured(
            f"{len(clocks)} runs took {duration(wall)} on the host, and by the GPU's clock only {duration(seen)}: "
            "something else had the GPU or the CPU in between; race again when nothing else runs on this machine"
        )
