"""What minimum, and what for full points, may a course ask for? Races of everything an author has. Trusted process.

In: a folder of solutions/NN on a machine with a GPU. Out: a table with times and spreads, and numbers for course.yml.

Raced are the CPU baseline, the reference, fast.py where there is one, and the wrong solutions, each in the checks of
the entry point that it changes. Some of those are right and miss only the technique: the fastest of them is the naive
kernel, which the minimum may let pass, but which must not earn full points.
"""

from __future__ import annotations

import functools
import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.assignment_folder import FAST_FILE
from grader.fingerprint import fingerprint
from grader.mutants import read_mutant
from grader.records import CheckResult, State, Verdict
from grader.speed import REFERENCE_MARGIN, duration, times
from grader.written_checks import WrittenChecks

REFERENCE, FAST, BASELINE = "reference", FAST_FILE, "CPU baseline"
# A GPU of this speed, beside so many CPU cores, must still let the reference pass with its margin: the class of a T4.
SMALL_GB_PER_S = 300.0
SMALL_GFLOP_PER_S = 8000.0
SMALL_CORES = 2
# Full points lie this far above the naive kernel: how far apart two kernels are differs from one GPU to another, and
# on none may the naive one reach them. It is the margin that the reference has above the minimum.
ABOVE_NAIVE = REFERENCE_MARGIN
# And at most at this fraction of the reference's speed: whoever writes what the lesson leads to earns them, also where
# another order of statements costs some percent.
MOST_OF_REFERENCE = 0.9
# And at least at this one: a kernel with the technique that is twice as slow as the lesson's has something to learn.
LEAST_OF_REFERENCE = 0.5

# Races the kernels.py of a folder, in the checks with these names, or in all.
Judge = Callable[[Path, frozenset[str] | None], Verdict]
Progress = Callable[[int, int, Verdict], None]  # so many of so many are done; the last of them


@dataclass(frozen=True)
class Solution:
    """A kernels.py, right or wrong. ``gives_right_results``: at most checks of the technique catch it."""

    who: str
    text: str
    gives_right_results: bool = True
    has_technique: bool = True

    @property
    def is_naive(self) -> bool:
        """Whether all that it lacks is the technique."""
        return self.gives_right_results and not self.has_technique


@dataclass(frozen=True)
class Raced:
    """One kernels.py in one speed check: its speed-ups and times (ms) in some repeats, or why it has none."""

    check: str
    who: str
    speedups: tuple[float, ...] = ()
    medians_ms: tuple[float, ...] = ()
    why: str = ""
    on_small: float = 1.0  # speed-ups on a small GPU, as a share of these
    is_naive: bool = False
    passed: bool = False  # the check, at least once

    @property
    def speedup(self) -> float:
        """The median of its speed-ups."""
        return statistics.median(self.speedups)

    @property
    def spread(self) -> float:
        """How far apart its times are: largest by smallest, less 1."""
        return max(self.medians_ms) / min(self.medians_ms) - 1

    def row(self) -> tuple[str, ...]:
        """For a table."""
        if not self.speedups:
            return (self.check, self.who, "", "", "", self.why)
        time = duration(statistics.median(self.medians_ms) * 1e6)
        return (self.check, self.who, time, f"{self.spread:.1%}", times(self.speedup), self.why)


@dataclass(frozen=True)
class Proposal:
    """Numbers for course.yml, and how they come about."""

    min_speedup: float
    full_at: float
    reason: str


def solutions_of(folder: Path, checks: WrittenChecks) -> list[Solution]:
    """What an assignment's folder has, the reference first. Raises AuthoringError for a mutant without a promise."""
    solutions = [Solution(REFERENCE, (folder / "kernels.py").read_text("utf-8"))]
    if (folder / FAST).exists():
        solutions.append(Solution(FAST, (folder / FAST).read_text("utf-8")))
    technique = checks.of_part("technique")
    for path in sorted((folder / "wrong").glob("*.py")):
        caught = read_mutant(path).caught_by
        solutions.append(Solution(path.stem, path.read_text("utf-8"), caught <= technique, not caught & technique))
    return solutions


def calibrate(
    solutions: Sequence[Solution], checks: WrittenChecks, judge: Judge, repeats: int, progress: Progress
) -> list[Raced]:
    """Race each of ``solutions``, the first of which is the reference, in the checks of what it changes.

    ``repeats`` times, where it fails no check before it has a time there, and but once if its results are wrong: its
    time is of no use. What was not measured may be the next time. Raises what ``judge`` raises.
    """
    results: dict[tuple[str, str], list[CheckResult]] = {}
    open_checks: dict[str, frozenset[str]] = {}  # by who, in which it still races
    mark = functools.cache(lambda text, entries: fingerprint(text.encode(), entries))

    def is_changed(one: Solution, check: str) -> bool:
        """Whether a call of this check may do something else than the reference; so, too, where it is not known."""
        marks = {mark(text, checks.entries_of(check)) for text in (one.text, solutions[0].text)}
        return len(marks) > 1 or None in marks

    turns = [one for repeat in range(repeats) for one in solutions if repeat == 0 or one.gives_right_results]
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as temporary:
        for number, one in enumerate(turns):
            if one.who not in open_checks and number:
                open_checks[one.who] = frozenset(name for name, _ in results if is_changed(one, name))
            asked = open_checks.get(one.who)  # None: the reference shows which checks there are
            if asked == frozenset():
                continue
            folder = Path(temporary) / one.who
            folder.mkdir(exist_ok=True)
            (folder / "kernels.py").write_text(one.text, "utf-8")
            verdict = judge(folder, asked)
            progress(number + 1, len(turns), verdict)
            for check in verdict.checks:
                results.setdefault((check.name, one.who), []).append(check)
            names = frozenset(check.name for check in verdict.checks)
            lost = {c.name for c in verdict.checks if c.passed is False and "speedup" not in c.measured}
            open_checks[one.who] = (names if asked is None else asked) - lost
    rows: list[Raced] = []
    for name in dict.fromkeys(name for name, _ in results):
        of_check = {one: results[name, one.who] for one in solutions if (name, one.who) in results}
        rows += _baseline(name, [check for found in of_check.values() for check in found])
        rows += [_raced(name, one, found) for one, found in of_check.items()]
    return rows


def _baseline(name: str, checks: Sequence[CheckResult]) -> list[Raced]:
    """The CPU baseline's row, from all races of a check: how fast it was beside what counts; none without a race."""
    measured = [check.measured for check in checks if "speedup" in check.measured]
    now = tuple(one["baseline_now_ms"] for one in measured)
    speedups = tuple(one["baseline_ms"] / one["baseline_now_ms"] for one in measured)
    return [Raced(name, BASELINE, speedups, now)] if measured else []


def _raced(name: str, one: Solution, checks: Sequence[CheckResult]) -> Raced:
    measured = [check.measured for check in checks if "speedup" in check.measured]
    why = _why(checks)
    if not measured:
        return Raced(name, one.who, why=why or State.NOT_MEASURED.value)
    speedups, medians = (tuple(m[key] for m in measured) for key in ("speedup", "median_ms"))
    passed = any(check.passed for check in checks)
    return Raced(name, one.who, speedups, medians, why, _on_small(measured[-1]), one.is_naive, passed)


def _why(checks: Sequence[CheckResult]) -> str:
    """What kept a solution from passing: its failure, else why some of its races gave nothing; "" if nothing did."""
    failures = [check.failure.what for check in checks if check.failure is not None]
    if failures:
        return failures[-1]
    lost = [check for check in checks if check.passed is None]
    if not lost:
        return ""
    some = "" if len(lost) == len(checks) else f"{len(lost)} of {len(checks)} races "
    return f"{some}{lost[-1].state.value}: {lost[-1].reason}"


def _on_small(measured: Mapping[str, float]) -> float:
    """How a speed-up that was measured here changes on a small GPU: as the limit does that the kernel is under.

    NumPy shares products of matrices, which are what arithmetic limits, among its threads, and there are fewer cores
    for them. What memory limits runs in one thread here and there.
    """
    if measured["limited_by_memory"]:
        return min(SMALL_GB_PER_S / measured["peak_gb_per_s"], 1.0)
    fewer_cores = max(measured["baseline_threads"] / SMALL_CORES, 1.0)
    return min(SMALL_GFLOP_PER_S / measured["peak_gflop_per_s"] * fewer_cores, 1.0)


def proposal(raced: Sequence[Raced]) -> Proposal | None:
    """What to ask for; None where the reference has no time in some check."""
    references = {one.check: one for one in raced if one.who == REFERENCE}
    if not references or any(not one.speedups for one in references.values()):
        return None
    slowest = min(references.values(), key=lambda one: min(one.speedups) * one.on_small)
    here = min(slowest.speedups)
    there = here * slowest.on_small
    minimum = _plain(max(there / REFERENCE_MARGIN, 1.0))
    naive, share = max(
        ((one, one.speedup / references[one.check].speedup) for one in _naive(raced)),
        key=lambda found: found[1],
        default=(None, 0.0),
    )
    full = min(max(ABOVE_NAIVE * share, LEAST_OF_REFERENCE), MOST_OF_REFERENCE)
    best = (
        "No kernel without the technique was raced."
        if naive is None
        else f"The best kernel without the technique, {naive.who} in {naive.check}, has {share:.0%} of the reference's "
        "speed."
    )
    return Proposal(
        minimum,
        math.floor(full * 20 + 0.5) / 20,
        f"In {slowest.check} the reference reaches {times(here)} the baseline's speed, and would reach about "
        f"{times(there)} with {SMALL_GB_PER_S:g} GB/s, {SMALL_GFLOP_PER_S:g} GFLOP/s and {SMALL_CORES} CPU cores: "
        f"{REFERENCE_MARGIN:g} times the minimum is below that. {best}",
    )


def _naive(raced: Sequence[Raced]) -> list[Raced]:
    """Those without the technique, in what they raced.

    A mutant may miss it at other sizes only. So where a check refuses one, and so asks for the technique in what is
    raced, those that pass it have it there.
    """
    naive = [one for one in raced if one.is_naive and one.speedups]
    refusing = {one.check for one in naive if not one.passed}
    return [one for one in naive if not (one.passed and one.check in refusing)]


def _plain(value: float) -> float:
    """``value`` rounded down to 1, 1.5, 2, 3, 5, 7 or those times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * max(step for step in (1, 1.5, 2, 3, 5, 7) if step <= value / power * (1 + 1e-9))
