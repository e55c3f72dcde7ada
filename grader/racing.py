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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.baseline import Baseline, baseline_time
from grader.clocks import HELD_BY, GpuState
from grader.plan import LaunchPlan
from grader.problem import Problem
from grader.problem_calls import work_of
from grader.race_rounds import MIN_COUNTED, Contestant, Fresh, inputs_of_round, run_round
from grader.roofline import Peaks, Roofline, roofline_of
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import gpu_state
from grader.sandbox.warm_child import WarmChild
from grader.speed import Timing, drift_of, duration, timing_of
from grader.technique import CheckFailed, NotMeasured

# Rounds end when both medians are known; else after so many, or so much time.
MAX_ROUNDS = 12
SECONDS = 120.0
# Beside the buffers of a plan: CUDA's context, the compiled kernels, what is written to empty the cache.
SPARE_BYTES = 1 << 30


class TooLittleMemory(NotMeasured):
    """The GPU has less memory left than the call needs."""


@dataclass(frozen=True)
class Race:
    """What was measured. ``queued_ns`` is the host's part in one run, ``compile_ns`` in the first of a process.

    ``copy_ns`` is what it takes to bring a run's inputs to the GPU, and to fill what it writes to. ``after`` is the GPU
    at the end of the submission's last round; ``held_by`` what held its clocks at the end of any round.
    """

    submission: Timing
    baseline: Baseline
    reference: Timing | None
    queued_ns: float
    compile_ns: float
    copy_ns: float
    after: GpuState
    held_by: frozenset[str]
    roofline: Roofline
    peaks: Peaks
    baseline_threads: int

    @property
    def speedup(self) -> float:
        """The submission's speed as a multiple of the baseline's."""
        return self._speedup_of(self.submission)

    @property
    def reference_speedup(self) -> float | None:
        """The reference's, None where it did not run."""
        return None if self.reference is None else self._speedup_of(self.reference)

    def _speedup_of(self, timing: Timing) -> float:
        return self.baseline.ns / timing.median_ns

    def numbers(self) -> dict[str, float]:
        """What a report and a gradebook keep, times in milliseconds."""
        numbers = {
            "speedup": self.speedup,
            "median_ms": self.submission.median_ns / 1e6,
            "low_ms": self.submission.low_ns / 1e6,
            "high_ms": self.submission.high_ns / 1e6,
            "runs": float(self.submission.runs),
            "baseline_ms": self.baseline.ns / 1e6,
            "baseline_now_ms": self.baseline.now_ns / 1e6,
            "launching_ms": self.queued_ns / 1e6,
            "compiling_ms": self.compile_ns / 1e6,
            "copying_ms": self.copy_ns / 1e6,
            "of_limit": self.roofline.fraction,
            "limited_by_memory": float(self.roofline.limit == "memory"),
            "peak_gb_per_s": self.peaks.bytes_per_second / 1e9,
            "peak_gflop_per_s": self.peaks.operations_per_second / 1e9,
            "baseline_threads": float(self.baseline_threads),
        }
        numbers |= {name: float(reason in self.held_by) for name, reason in HELD_BY.items()}
        clocks = {"sm_mhz": self.after.sm_mhz, "memory_mhz": self.after.memory_mhz, "celsius": self.after.celsius}
        numbers |= {name: float(value) for name, value in clocks.items() if value is not None}
        if self.reference is not None:
            numbers |= {
                "reference_ms": self.reference.median_ns / 1e6,
                "reference_low_ms": self.reference.low_ns / 1e6,
                "reference_high_ms": self.reference.high_ns / 1e6,
                "reference_runs": float(self.reference.runs),
                "reference_speedup": self._speedup_of(self.reference),
            }
        return numbers


def memory_needed(plan: LaunchPlan) -> int:
    """What a plan needs of a GPU's memory, in bytes."""
    return sum(buffer.nbytes for buffer in plan.buffers) + SPARE_BYTES


def fit_for_racing(child: WarmChild, needed: int, limits: Limits, *, host_in_reach: bool = False) -> None:
    """Raises NotMeasured where the GPU is unfit or has less than ``needed`` bytes left, errors.Fault."""
    state = gpu_state(child, limits)
    why = state.unfit(host_in_reach=host_in_reach)
    if why:
        raise NotMeasured(why)
    if state.free_bytes is not None and state.free_bytes < needed:
        raise TooLittleMemory(f"the GPU has {state.free_bytes >> 20:,} MiB left; {needed >> 20:,} are needed")


def run_race(
    child: WarmChild,
    problem: Problem,
    call: str,
    fresh: Fresh,
    submission: Contestant,
    reference: Contestant | None,
    threads: int,
    limits: Limits,
    peaks: Callable[[bool], Peaks],
    clock: Callable[[], float] = time.monotonic,
    *,
    host_in_reach: bool = False,
) -> Race:
    """Race. ``fresh(text)`` makes new inputs, and random numbers, others for each text; ``peaks(doubted)``: the GPU's.

    Raises CheckFailed where the submission's kernels are wrong or do not end, NotMeasured, errors.Fault.
    """
    contestants = [submission] if reference is None else [submission, reference]
    needed = max(memory_needed(contestant.plan) for contestant in contestants)
    fit_for_racing(child, needed, limits, host_in_reach=host_in_reach)
    runs = inputs_of_round(fresh, f"{call} round 0")
    inputs = runs[0][0]
    work = work_of(problem, inputs)
    baseline = baseline_time(problem, call, inputs, threads)
    deadline = clock() + SECONDS
    for number in range(MAX_ROUNDS):
        runs = inputs_of_round(fresh, f"{call} round {number}") if number else runs
        for contestant in contestants:
            try:
                run_round(child, problem, call, contestant, runs, limits)
            except CheckFailed as lost:
                if contestant is submission:
                    raise
                raise NotMeasured(f"the reference, which is raced beside it, failed: {lost.failure.what}") from lost
        if (all(c.is_known for c in contestants) or clock() > deadline) and len(submission.times) >= MIN_COUNTED:
            break
    for contestant in contestants:
        drift = drift_of(contestant.times)
        if drift:
            raise NotMeasured(f"the GPU's speed changed while the {contestant.name} ran, by {abs(drift):.0%}")
    timing = timing_of(submission.times)
    reached = peaks(False)
    roofline = roofline_of(work, timing.median_ns, reached)
    if roofline.is_impossible:
        reached = peaks(True)
        roofline = roofline_of(work, timing.median_ns, reached)
    if roofline.is_impossible:
        raise NotMeasured(
            f"{duration(timing.median_ns)} is less than this GPU can take ({duration(roofline.least_ns)} for the least "
            f"traffic and arithmetic): {roofline.sentence()}"
        )
    return Race(
        timing,
        baseline,
        None if reference is None else timing_of(reference.times),
        float(np.median(submission.queued)),
        float(np.median(submission.compiled)),
        float(np.median(submission.copied)),
        submission.states[-1],
        frozenset(reason for contestant in contestants for state in contestant.states for reason in state.held_by),
        roofline,
        reached,
        threads,
    )
