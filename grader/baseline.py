"""How long the CPU baseline takes: problem.py's NumPy, with as many threads as course.yml says. Trusted process.

In: a problem, inputs of a call. Out: a ``Baseline``. The libraries under NumPy are held to so many threads by
threadpoolctl; whatever NumPy does by itself, an addition say, takes one.

What disturbs a CPU only makes it slower, so the time that counts is that of the fastest runs: the one that three of
them reached, since a single one may be an accident of the clock (J. Chen and J. Revels, "Robust benchmarking in noisy
environments", 2016, arXiv:1608.04295; Python's timeit says the same). On a machine that is shared, and each virtual one
is, a while may pass until a run is undisturbed: on one, a matrix product took between 216 ms and 520 ms, in phases of
seconds. So this time is looked for once, thoroughly, and kept for the machine: all who are raced on it are held against
the same. Each race runs the baseline again, a few times, and where that is faster, it is looked for anew.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from grader.machine_cache import keep, read_kept
from grader.problem import Inputs, Problem, by_author
from grader.problem_calls import baseline_of
from grader.speed import KNOWN_TO

FILE = "baselines"
# Runs of a race where a time is kept, after one that warms up caches and page tables: what such a look may cost.
FEW_RUNS = 3
FEW_SECONDS = 0.5
# A thorough look goes on for so long at least, and until nothing seems to disturb the runs: half of them take at most
# 5 % longer than what counts. And for no longer than half a minute.
LEAST_SECONDS = 10.0
QUIET_TO = 0.05
MOST_SECONDS = 30.0
LEAST_RUNS = 6
MOST_RUNS = 2000  # of a baseline of no size
# The time counts that so many runs have reached.
REACHED_BY = 3
# A machine that is slower than it was by more than this is not the one whose time was kept.
ANOTHER_MACHINE = 4.0


@dataclass(frozen=True)
class Baseline:
    """The time that counts, and what the baseline took in this race, both in nanoseconds."""

    ns: float
    now_ns: float


Run = Callable[[Problem, Inputs], int]


def time_run(problem: Problem, inputs: Inputs) -> int:
    """The nanoseconds of one run."""
    start = time.perf_counter_ns()
    problem.baseline(inputs)
    return max(time.perf_counter_ns() - start, 1)


def baseline_time(problem: Problem, call: str, inputs: Inputs, threads: int, run: Run = time_run) -> Baseline:
    """The baseline's time for ``call`` (a text with its sizes), kept or looked for.

    Raises AuthoringError where the baseline fails or has not the outputs' form.
    """
    key = _key(problem, call, threads)
    kept = _kept(key)
    look = _Look(lambda: by_author(lambda: run(problem, inputs)))
    with threadpool_limits(threads):
        baseline_of(problem, inputs)
        if kept is not None:
            look.briefly()
            if kept * (1 - KNOWN_TO) <= look.fastest <= kept * ANOTHER_MACHINE:
                return Baseline(kept, look.reached)
        look.thoroughly()
    counts = float(look.reached)
    if kept is not None and kept <= counts <= kept * ANOTHER_MACHINE:
        counts = kept  # what was faster was an accident
    else:
        keep(FILE, float, key, counts)
    return Baseline(counts, look.reached)


class _Look:
    """Runs, and what their ``times`` say, in nanoseconds."""

    def __init__(self, run: Callable[[], int]) -> None:
        self._run = run
        self.times: list[int] = []
        self._ns = 0

    def briefly(self) -> None:
        """So much as each race can spare."""
        while len(self.times) < FEW_RUNS or (self._ns < FEW_SECONDS * 1e9 and len(self.times) < MOST_RUNS):
            self._run_once()

    def thoroughly(self) -> None:
        """Until it is known, or there is no more time for it."""
        while not self._is_enough:
            self._run_once()

    @property
    def fastest(self) -> int:
        return min(self.times)

    @property
    def reached(self) -> int:
        """The fastest time that is no accident."""
        return sorted(self.times)[:REACHED_BY][-1]

    def _run_once(self) -> None:
        self.times.append(self._run())
        self._ns += self.times[-1]

    @property
    def _is_enough(self) -> bool:
        runs = len(self.times)
        if runs >= MOST_RUNS or (self._ns >= MOST_SECONDS * 1e9 and runs >= REACHED_BY):
            return True
        if self._ns < LEAST_SECONDS * 1e9 or runs < LEAST_RUNS:
            return False
        return float(np.median(self.times)) <= (1 + QUIET_TO) * self.reached


def _kept(key: str) -> float | None:
    """The time that is kept; None where there is none that a run can take."""
    ns = read_kept(FILE, float).get(key)
    return ns if ns is not None and math.isfinite(ns) and ns >= 1 else None


def _key(problem: Problem, call: str, threads: int) -> str:
    """What a time belongs to: the machine, the libraries, problem.py, the call."""
    text = Path(by_author(lambda: inspect.unwrap(type(problem).baseline).__code__.co_filename)).read_bytes()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = [f"{one['internal_api']} {one['version']} {one.get('architecture', '')}" for one in threadpool_info()]
    return " | ".join(
        [
            f"{platform.node()} {_processor()}, {cores} cores, {threads} threads",
            f"numpy {np.__version__} {' '.join(sorted(libraries))}",
            f"{hashlib.sha256(text).hexdigest()[:16]} {call}",
        ]
    )


def _processor() -> str:
    """The CPU's name, as Linux knows it; elsewhere what Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
