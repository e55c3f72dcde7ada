"""What minimum, and what for full points, may a course ask for? Races of everything an author has. Trusted process.

In: a folder of solutions/NN on a machine with a GPU. Out: a table with times and spreads, and numbers for course.yml.

Raced are the reference, fast.py where there is one, and the wrong solutions. Some of those are right and miss only the
technique: the fastest of them is the naive kernel, which the minimum may let pass, but which must not earn full points.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.records import CheckResult, State, Verdict
from grader.speed import REFERENCE_MARGIN, duration, times

REFERENCE, FAST = "reference", "fast.py"
# A GPU of this speed, beside so many CPU cores, must still let the reference pass with its margin: the class of a T4.
SMALL_GB_PER_S = 300.0
SMALL_GFLOP_PER_S = 8000.0
SMALL_CORES = 2
# Full points lie this far above the naive kernel, and at most at this fraction of the reference's speed.
ABOVE_NAIVE = 1.5
MOST_OF_REFERENCE = 0.9
LEAST_OF_REFERENCE = 0.5

Judge = Callable[[Path], Verdict]  # races the kernels.py of a folder
Progress = Callable[[int, int, Verdict], None]  # so many of so many are done; the last of them


@dataclass(frozen=True)
class Raced:
    """One kernels.py in one speed check: its speed-ups and times (ms) in some repeats, or why it has none."""

    check: str
    who: str
    speedups: tuple[float, ...] = ()
    medians_ms: tuple[float, ...] = ()
    why: str = ""
    on_small: float = 1.0  # speed-ups on a small GPU, as a share of these

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


def contestants(folder: Path) -> dict[str, str]:
    """The texts of all kernels.py of an assignment, by who they are."""
    texts = {REFERENCE: (folder / "kernels.py").read_text("utf-8")}
    if (folder / FAST).exists():
        texts[FAST] = (folder / FAST).read_text("utf-8")
    return texts | {path.stem: path.read_text("utf-8") for path in sorted((folder / "wrong").glob("*.py"))}


def calibrate(texts: dict[str, str], judge: Judge, repeats: int, progress: Progress) -> list[Raced]:
    """Race each text ``repeats`` times; one that fails in the first is not run again. Raises what ``judge`` raises."""
    raced: dict[tuple[str, str], list[CheckResult]] = {}
    failed: set[str] = set()
    total = repeats * len(texts)
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as temporary:
        for number in range(total):
            who = list(texts)[number % len(texts)]
            if who in failed:
                continue
            folder = Path(temporary) / who
            folder.mkdir(exist_ok=True)
            (folder / "kernels.py").write_text(texts[who], "utf-8")
            verdict = judge(folder)
            progress(number + 1, total, verdict)
            for check in verdict.checks:
                raced.setdefault((check.name, who), []).append(check)
                if "speedup" not in check.measured:
                    failed.add(who)
    return [_raced(name, who, checks) for (name, who), checks in sorted(raced.items(), key=lambda item: item[0][0])]


def _raced(name: str, who: str, checks: Sequence[CheckResult]) -> Raced:
    last = checks[-1]
    why = "" if last.passed else last.failure.what if last.failure is not None else last.reason
    measured = [check.measured for check in checks if "speedup" in check.measured]
    if not measured:
        return Raced(name, who, why=why or State.NOT_MEASURED.value)
    speedups, medians = (tuple(m[key] for m in measured) for key in ("speedup", "median_ms"))
    return Raced(name, who, speedups, medians, why, _on_small(measured[-1]))


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
    others = [one for one in raced if one.speedups and one.who not in (REFERENCE, FAST)]
    naive = max((one.speedup / references[one.check].speedup for one in others), default=0.0)
    full = min(max(ABOVE_NAIVE * naive, LEAST_OF_REFERENCE), MOST_OF_REFERENCE)
    return Proposal(
        minimum,
        math.floor(full * 20 + 0.5) / 20,
        f"In {slowest.check} the reference reaches {times(here)} the baseline's speed, and would reach about "
        f"{times(there)} with {SMALL_GB_PER_S:g} GB/s, {SMALL_GFLOP_PER_S:g} GFLOP/s and {SMALL_CORES} CPU cores: "
        f"{REFERENCE_MARGIN:g} times the minimum is below that. The best kernel without the technique has "
        f"{naive:.0%} of the reference's speed.",
    )


def _plain(value: float) -> float:
    """``value`` rounded down to 1, 1.5, 2, 3, 5, 7 or those times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * max(step for step in (1, 1.5, 2, 3, 5, 7) if step <= value / power * (1 + 1e-9))
