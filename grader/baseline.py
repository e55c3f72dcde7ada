"""How long the CPU baseline takes: problem.py's NumPy, with as many threads as course.yml says. Trusted process.

In: a problem, inputs of each run. Out: times in nanoseconds. The libraries under NumPy are held to so many threads by
threadpoolctl; whatever NumPy does by itself, an addition say, takes one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from threadpoolctl import threadpool_limits

from grader.problem import Inputs, Problem
from grader.problem_calls import baseline_of
from grader.speed import timing_of

# So many runs at least, after one that warms up caches and page tables, and until the median is known or time is up.
MIN_RUNS = 6
MAX_RUNS = 40
SECONDS = 20.0

Clock = Callable[[], int]  # nanoseconds


def baseline_times(
    problem: Problem, inputs: Inputs, threads: int, clock: Clock = time.perf_counter_ns, seconds: float = SECONDS
) -> list[float]:
    """The times of one run after another, until their median is known or ``seconds`` are over.

    Raises AuthoringError where the baseline has not the outputs' form.
    """
    with threadpool_limits(threads):
        baseline_of(problem, inputs)
        began, times = clock(), list[float]()
        while True:
            start = clock()
            problem.baseline(inputs)
            times.append(max(clock() - start, 1))
            enough = len(times) >= MIN_RUNS and timing_of(times).is_known
            if enough or len(times) >= MAX_RUNS or clock() - began > seconds * 1e9:
                return times
