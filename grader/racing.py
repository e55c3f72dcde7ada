"""A race: how fast are a submission's kernels, beside the CPU baseline and the reference? Trusted process.

In: recorded plans, a problem, random numbers, a warm runner. Out: a ``Race``, or a failure of the submission, or why
nothing fair could be measured.

The order of what happens:

1. The GPU must be one that times can be taken on: whole, alone, not slowed down, with memory enough.
2. The CPU baseline runs.
3. Rounds: a process that runs the submission's plan some times, then one that runs the reference's, with the same fresh
   inputs. Each has inputs of its own, poisoned outputs, a cold cache. Until both medians are known, or time is up.
4. Every run's output is checked here, where expected values are, and then its time counts.

A process's first run compiles and warms up; it is checked like the others, but not counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.baseline import baseline_times
from grader.clocks import Clock, GpuState
from grader.correctness import compare
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output, Problem
from grader.records import Failure
from grader.roofline import Peaks, Roofline, roofline_of
from grader.sandbox.launch import WarmChild
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import TimedOutcome, gpu_state, time_runs
from grader.speed import Timing, drift_of, duration, timing_of
from grader.technique import CheckFailed, NotMeasured
from grader.unwritten import fills_for

# Of one process: its first run is not counted. Inputs and outputs of all its runs travel at once.
RUNS = 11
BATCH_BYTES = 1 << 30
MIN_COUNTED = 6
# Rounds end when both medians are known; else after so many, or so much time.
MAX_ROUNDS = 12
SECONDS = 120.0
# Beside the buffers of a plan: CUDA's context, the compiled kernels, what is written to empty the cache.
SPARE_BYTES = 1 << 30
# How far the events' clock may fall short of the host's, over the runs of one process: the start and the end of a run.
UNSEEN_SHARE = 0.25
CLOCKS_AGREE_TO = 0.02
UNSEEN_NS = 2_000_000

Fresh = Callable[[str], tuple[Inputs, np.random.Generator]]


class TooLittleMemory(NotMeasured):
    """The GPU has less memory left than the call needs."""


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


@dataclass(frozen=True)
class Race:
    """What was measured. ``queued_ns`` is the host's part in one run, ``compile_ns`` in the first of a process.

    ``copy_ns`` is what it takes to bring a run's inputs to the GPU, and to fill what it writes to.
    """

    submission: Timing
    baseline: Timing
    reference: Timing | None
    queued_ns: float
    compile_ns: float
    copy_ns: float
    before: GpuState
    after: GpuState
    roofline: Roofline

    @property
    def speedup(self) -> float:
        """The submission's speed as a multiple of the baseline's."""
        return self.baseline.median_ns / self.submission.median_ns

    @property
    def reference_speedup(self) -> float | None:
        """The reference's, None where it did not run."""
        return None if self.reference is None else self.baseline.median_ns / self.reference.median_ns

    def numbers(self) -> dict[str, float]:
        """What a report and a gradebook keep, times in milliseconds."""
        numbers = {
            "speedup": self.speedup,
            "median_ms": self.submission.median_ns / 1e6,
            "low_ms": self.submission.low_ns / 1e6,
            "high_ms": self.submission.high_ns / 1e6,
            "runs": float(self.submission.runs),
            "baseline_ms": self.baseline.median_ns / 1e6,
            "launching_ms": self.queued_ns / 1e6,
            "compiling_ms": self.compile_ns / 1e6,
            "copying_ms": self.copy_ns / 1e6,
            "of_limit": self.roofline.fraction,
            "limited_by_memory": float(self.roofline.limit == "memory"),
            "held_by_power": float("its power limit" in self.after.held_by),
        }
        clocks = {"sm_mhz": self.after.sm_mhz, "memory_mhz": self.after.memory_mhz, "celsius": self.after.celsius}
        numbers |= {name: float(value) for name, value in clocks.items() if value is not None}
        if self.reference is not None and self.reference_speedup is not None:
            numbers |= {"reference_ms": self.reference.median_ns / 1e6, "reference_speedup": self.reference_speedup}
        return numbers


def memory_needed(plan: LaunchPlan) -> int:
    """What a plan needs of a GPU's memory, in bytes."""
    return sum(buffer.nbytes for buffer in plan.buffers) + SPARE_BYTES


def fit_for_racing(child: WarmChild, needed: int, limits: Limits) -> GpuState:
    """The GPU's state. Raises NotMeasured where it is unfit or has less than ``needed`` bytes left, errors.Fault."""
    state = gpu_state(child, limits)
    why = state.unfit()
    if why:
        raise NotMeasured(why)
    if state.free_bytes is not None and state.free_bytes < needed:
        raise TooLittleMemory(f"the GPU has {state.free_bytes >> 20:,} MiB left; {needed >> 20:,} are needed")
    return state


def run_race(
    child: WarmChild,
    problem: Problem,
    call: str,
    fresh: Fresh,
    submission: Contestant,
    reference: Contestant | None,
    threads: int,
    limits: Limits,
    peaks: Peaks,
    clock: Callable[[], float] = time.monotonic,
) -> Race:
    """Race. ``fresh(text)`` makes new inputs, and random numbers, another for each text.

    Raises CheckFailed where the submission's kernels are wrong or do not end, NotMeasured, errors.Fault.
    """
    before = fit_for_racing(child, memory_needed(submission.plan), limits)
    inputs = fresh(f"{call} baseline")[0]
    baseline = _baseline(problem, inputs, threads)
    deadline = clock() + SECONDS
    contestants = [submission] if reference is None else [submission, reference]
    for number in range(MAX_ROUNDS):
        runs = _inputs_of_round(fresh, f"{call} round {number}")
        for contestant in contestants:
            try:
                _round(child, problem, call, contestant, runs, limits)
            except CheckFailed as lost:
                if contestant is submission:
                    raise
                raise NotMeasured(f"the reference did not finish: {lost.failure.what}") from lost
        if (all(c.is_known for c in contestants) or clock() > deadline) and len(submission.times) >= MIN_COUNTED:
            break
    for contestant in contestants:
        drift = drift_of(contestant.times)
        if drift:
            raise NotMeasured(f"the GPU's speed changed while the {contestant.name} ran, by {abs(drift):.0%}")
    timing = timing_of(submission.times)
    roofline = roofline_of(problem.work(inputs), timing.median_ns, peaks)
    if roofline.is_impossible:
        raise NotMeasured(
            f"{duration(timing.median_ns)} is less than this GPU can take ({duration(roofline.floor_ns)} for the least "
            f"traffic and arithmetic): {roofline.sentence()}"
        )
    return Race(
        timing,
        baseline,
        None if reference is None else timing_of(reference.times),
        float(np.median(submission.queued)),
        float(np.median(submission.compiled)),
        float(np.median(submission.copied)),
        before,
        submission.states[-1],
        roofline,
    )


def _baseline(problem: Problem, inputs: Inputs, threads: int) -> Timing:
    """The CPU baseline's time; once more where it drifts. Raises NotMeasured where it goes on drifting."""
    for _ in range(2):
        times = baseline_times(problem, inputs, threads)
        drift = drift_of(times)
        if not drift:
            return timing_of(times)
    raise NotMeasured(
        f"the CPU baseline got {'slower' if drift > 0 else 'faster'} by {abs(drift):.0%} while it was timed: something "
        "else runs on this machine"
    )


_Run = tuple[Inputs, dict[str, Any], np.random.Generator]


def _inputs_of_round(fresh: Fresh, text: str) -> list[_Run]:
    """Inputs, fills and random numbers of the runs of one round: as many as may travel together, and two at least."""
    inputs, rng = fresh(f"{text} run 0")
    nbytes = sum(_nbytes(value) for value in inputs.values())
    count = int(min(max(BATCH_BYTES // max(nbytes, 1), 2), RUNS))
    made = [(inputs, rng), *(fresh(f"{text} run {number}") for number in range(1, count))]
    return [(inputs, fills_for(inputs, rng)[0], rng) for inputs, rng in made]


def _nbytes(value: Any) -> int:
    if isinstance(value, Output):
        return int(np.prod(value.shape, dtype=np.int64)) * np.dtype(value.dtype).itemsize
    return int(value.nbytes) if isinstance(value, np.ndarray) else 0


def _round(
    child: WarmChild, problem: Problem, call: str, contestant: Contestant, runs: Sequence[_Run], limits: Limits
) -> None:
    """Run a contestant in a process of its own, check all it did, keep its times. Raises CheckFailed, NotMeasured."""
    done = time_runs(child, contestant.source, contestant.plan, [(inputs, fills) for inputs, fills, _ in runs], limits)
    if isinstance(done, Failure):
        raise CheckFailed(done)
    for (inputs, _, rng), timed in zip(runs, done.outcomes, strict=True):
        failure = wrong(problem, inputs, timed, rng, call)
        if failure is not None:
            raise CheckFailed(failure)
    if done.state.unfit():
        raise NotMeasured(done.state.unfit())
    contestant.states.append(done.state)
    clocks = [timed.clock for timed in done.outcomes]
    _believe(clocks[1:])
    contestant.times += [max(clock.device_ns, 1) for clock in clocks[1:]]
    contestant.queued += [clock.queued_ns for clock in clocks[1:]]
    contestant.copied += [timed.copy_ns for timed in done.outcomes[1:]]
    contestant.compiled.append(max(clocks[0].queued_ns - float(np.median(contestant.queued)), 0.0))


def wrong(problem: Problem, inputs: Inputs, timed: TimedOutcome, rng: np.random.Generator, call: str) -> Failure | None:
    """What is wrong with one timed run, in all of its outputs or in the problem's sample of them; or None."""
    where = f"{call}, in a run that was timed"
    if timed.outcome.changed_inputs:
        name = min(timed.outcome.changed_inputs)
        return Failure("changed-input", f"The kernels changed {name}, which is an input.", where=where)
    sample = problem.sample(inputs, rng)
    of, places = (inputs, {}) if sample is None else (sample.inputs, sample.places)
    expected = problem.expected(of)
    tolerance = problem.tolerance(of, expected)
    for name, wanted in expected.items():
        found = _at(timed.outcome.outputs[name], places, name)
        failure = compare(name, wanted, found, tolerance[name], where)
        if failure is not None:
            return failure
    return None


def _at(output: Any, places: Mapping[str, Any], name: str) -> Any:
    return output[places[name]] if name in places else output


def _believe(clocks: Sequence[Clock]) -> None:
    """Hold the device's clock against the host's. Raises NotMeasured where they contradict each other."""
    for clock in clocks:
        if clock.device_ns + clock.before_ns > clock.wall_ns * (1 + CLOCKS_AGREE_TO) + UNSEEN_NS:
            raise NotMeasured("the GPU's clock says that runs took longer than the host saw them take")
    seen = sum(clock.device_ns + max(clock.before_ns, clock.queued_ns) for clock in clocks)
    wall = sum(clock.wall_ns for clock in clocks)
    if wall - seen > UNSEEN_SHARE * wall + UNSEEN_NS * len(clocks):
        raise NotMeasured("runs took much longer on the host than the GPU's clock says")
