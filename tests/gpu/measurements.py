"""Measures on a GPU what docs/measurements.md says, and prints it: ``python tests/gpu/measurements.py --commit abc``.

Sections may be named (``races torch repeats clocks faults``); all of them take about a quarter of an hour. Every figure
comes with its spread. PyTorch is needed for "torch" alone.
"""

# mypy: ignore-errors
from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernel_texts import HANGING, ILLEGAL

from grader.assignment_folder import open_folder
from grader.children import Children
from grader.clocks import Clock
from grader.errors import Fault
from grader.judge import Candidate, CheckFailed, NotMeasured, Settings
from grader.judged_race import Terms, TooSlow
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.time_runs import gpu_state, time_runs
from grader.speed import duration
from grader.submission import read_submission
from grader.unwritten import fills_for

SOLUTIONS = Path(__file__).parents[2] / "solutions"
LIMITS = Limits(cpu_seconds=60, wall_seconds=120, memory_bytes=4 << 30)
# Each call that is raced, with a wrong solution that is right and misses the technique: what a beginner writes first.
RACES = (
    ("01", "vector_add", {"n": 1 << 24}, "vector_add_one_thread_per_block"),
    ("01", "saxpy", {"n": 1 << 24}, "saxpy_in_chunks"),
    ("01", "grayscale", {"height": 4096, "width": 4096}, "grayscale_down_the_columns"),
    ("02", "reduce_sum", {"n": 1 << 24}, "sum_atomic_per_thread"),
    ("02", "reduce_max", {"n": 1 << 24}, None),
    ("03", "matmul", {"m": 4096, "k": 4096, "n": 4096}, "no_tiles"),
    ("04", "softmax", {"rows": 4096, "cols": 4096}, "softmax_one_thread_per_row"),
    ("04", "attention", {"heads": 2, "n": 4096, "d": 64, "causal": False}, "attention_without_tiles"),
)
REPEATS = 10
# So that credits are neither 0 nor 1: full points at a multiple of the reference's speed.
FULL_AT = 4.0
NOTHING = "–"


def submission(file: Path, folder: Path):
    """A file as somebody's kernels.py."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.py").write_text(file.read_text("utf-8"), "utf-8")
    return read_submission(folder)


class Racer:
    """Races of solutions, each with random inputs of its own."""

    def __init__(self, children: Children, temporary: Path) -> None:
        self.children, self.temporary = children, temporary
        self.seed = 0

    def race(self, number, entry, sizes, file, *, reference=True, full_at=None, text=None, limits=LIMITS):
        """What was measured, or a sentence."""
        folder, opened = SOLUTIONS / number, open_folder(SOLUTIONS / number)
        speed = opened.assignment.speed
        known = read_submission(folder) if reference else None
        terms = Terms(
            min_speedup=speed.min_speedup if reference else 0.0,
            full_at=full_at or speed.full_at,
            baseline_threads=4,
            reference=known,
            limits=limits,
        )
        self.seed += 1
        if text is not None:
            file = self.temporary / "text.py"
            file.write_text(text, "utf-8")
        judged = submission(file, self.temporary / f"{self.seed}")
        settings = Settings("cuda", limits, self.seed, race=terms)
        candidate = Candidate(judged, opened.problems, self.children, settings)
        try:
            candidate.race(entry, **sizes)
        except TooSlow as slow:
            return slow.measured
        except CheckFailed as failed:
            return failed.failure.what
        except (NotMeasured, Fault) as why:
            return str(why)
        return candidate.measured


def times_of(measured: dict[str, float], whose: str = "") -> str:
    """The median and its interval, of the submission or the reference."""
    names = ("reference", "reference_low", "reference_high") if whose else ("median", "low", "high")
    median, low, high = (measured[f"{name}_ms"] * 1e6 for name in names)
    return f"{duration(median)} ({duration(low)} to {duration(high)})"


def row(*cells: object) -> None:
    """A line of a table; what is empty, or None, gets a dash."""
    print("| " + " | ".join(str(cell) if cell not in (None, "") else NOTHING for cell in cells) + " |", flush=True)


def head(*cells: str) -> None:
    """A table's first lines."""
    print("| " + " | ".join(cells) + " |")
    print("|" + " --- |" * len(cells), flush=True)


def reasons(dashes: str, lost: list[str]) -> None:
    """Below a table: what its dashes mean, and a line for each race that came to nothing."""
    print(f"\nA dash ({NOTHING}): {dashes}")
    for why in lost:
        print(f"\nNot measured: {why}")
    sys.stdout.flush()


def factor(speedup: float) -> str:
    """A speed-up in three digits, or in all those before the point: "25.5", "367", "1,320"."""
    return f"{float(f'{speedup:.3g}'):,.0f}" if speedup >= 100 else f"{speedup:.3g}"


def text_of(entry: str, sizes: dict[str, object]) -> str:
    """A call as the tables show it."""
    return f"`{entry}({', '.join(f'{name}={value}' for name, value in sizes.items())})`"


def machine(children: Children, commit: str, tests: str) -> None:
    """What it was measured on."""
    gpu = children.gpu()
    state = gpu_state(children.runner, LIMITS)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numba", "numba-cuda", "numpy"))
    print("# Measurements\n")
    print("Printed by `python tests/gpu/measurements.py`. Times are medians, with the interval in which a median lies")
    print("with 95 % confidence; the GPU's cache is overwritten before each run. docs/speed.md says how races work.\n")
    head("", "")
    row("GPU", f"{gpu['name']}, {(state.total_bytes or 0) / 2**30:.0f} GiB")
    row("driver", gpu.get("driver") or "unknown")
    row("kernels can reach the host's memory", {True: "yes", False: "no", None: "unknown"}[state.reaches_host])
    row("versions", f"Python {platform.python_version()}, {versions}")
    row("CPU", f"{os.cpu_count()} cores; the CPU baseline runs on up to 4")
    row("commit", commit)
    row("date", datetime.datetime.now(datetime.UTC).date())
    row("`pytest tests/gpu`", tests)


def races(racer: Racer) -> None:
    """References, fast ones and beginner's kernels."""
    print("\n## Races\n")
    print("The fast and the readable reference run in turns. Speed-ups are over the CPU baseline of problem.py.\n")
    head("call", "kernels", "time", "runs", "speed-up", "of the GPU's limit", "launching", "compiling", "copying")
    lost: list[str] = []
    for number, entry, sizes, naive in RACES:
        for who, file in (
            ("fast", SOLUTIONS / number / "fast.py"),
            (naive, SOLUTIONS / number / "wrong" / f"{naive}.py"),
        ):
            if who is None:
                continue
            found = racer.race(number, entry, sizes, file, reference=who == "fast")
            call = text_of(entry, sizes)
            if isinstance(found, str):
                row(call, who, *[NOTHING] * 7)
                lost.append(f"{call}, {who}: {found}")
                continue
            limit = "memory" if found["limited_by_memory"] else "arithmetic"
            if "reference_ms" in found:
                at = found["of_limit"] * found["median_ms"] / found["reference_ms"]
                speed, runs = factor(found["reference_speedup"]), f"{found['reference_runs']:.0f}"
                row(call, "readable", times_of(found, "reference"), runs, speed, f"{at:.0%} ({limit})", *[NOTHING] * 3)
            other = (duration(found[f"{name}_ms"] * 1e6) for name in ("launching", "compiling", "copying"))
            of_limit = f"{found['of_limit']:.0%} ({limit})"
            row(call, who, times_of(found), f"{found['runs']:.0f}", factor(found["speedup"]), of_limit, *other)
    reasons("a race keeps this for the submission alone, not for the reference beside it.", lost)


def torch_too(racer: Racer) -> None:
    """Fast references beside PyTorch, in a process of its own: races want a GPU that nobody else holds."""
    print("\n## Fast references beside PyTorch\n")
    print("In one process, on the same arrays, float32 without TF32. Attention is held against the faster of")
    print(
        "`scaled_dot_product_attention` and its unfused form; its scratch memory is allocated before, as in a race.\n"
    )
    sys.stdout.flush()
    subprocess.run([sys.executable, "-W", "ignore", Path(__file__).with_name("beside_torch.py")], check=True)


def row_of_repeats(call: str, measured: Sequence[dict[str, float]]) -> None:
    """What the same race came to, several times."""
    medians, speedups, credits = ([one[name] for one in measured] for name in ("median_ms", "speedup", "credit"))
    spreads = [f"{max(values) / min(values) - 1:.2%}" for values in (medians, speedups, credits)]
    shown = f"{duration(min(medians) * 1e6)} to {duration(max(medians) * 1e6)}"
    now = [one["baseline_now_ms"] * 1e6 for one in measured]
    baseline = f"{duration(measured[-1]['baseline_ms'] * 1e6)} ({duration(min(now))} to {duration(max(now))})"
    row(call, shown, spreads[0], baseline, spreads[1], f"{min(credits):.3f} to {max(credits):.3f}", spreads[2])


def repeats(racer: Racer) -> None:
    """The same kernels, judged again and again."""
    print(
        f"\n## Ten repeats of a score\n\nThe readable reference, where full points begin at {FULL_AT:g} times its own"
    )
    print("speed. A spread is largest by smallest, less 1. In brackets: what the baseline took in these races.\n")
    head("call", "times", "spread", "CPU baseline", "spread of the speed-ups", "credits", "spread of the points")
    lost: list[str] = []
    for number, entry, sizes, _ in (RACES[0], RACES[7]):
        file = SOLUTIONS / number / "kernels.py"
        racer.race(number, entry, sizes, file, full_at=FULL_AT)  # finds the baseline's time, once for all
        found = [racer.race(number, entry, sizes, file, full_at=FULL_AT) for _ in range(REPEATS)]
        unmeasured = [one for one in found if isinstance(one, str)]
        measured = [one for one in found if not isinstance(one, str)]
        lost += [f"{text_of(entry, sizes)}, {count} of {REPEATS}: {why}" for why, count in Counter(unmeasured).items()]
        if not measured:
            row(text_of(entry, sizes), *[NOTHING] * 6)
            continue
        row_of_repeats(text_of(entry, sizes), measured)
    if lost:
        reasons("no race of the ten has a time.", lost)


def clocks(racer: Racer) -> None:
    """The events' clock against the host's, over a batch of runs."""
    print("\n## The events' clock against the host's\n")
    print(
        "Over a batch of runs: events of the flushes and of the kernels together, and the host's clock around them.\n"
    )
    head("call", "runs", "by events", "by the host", "events / host")
    for number, entry, sizes, _ in (RACES[0], RACES[5]):
        clocks = clocks_of(racer.children, number, entry, sizes)
        events = sum(clock.device_ns + clock.before_ns for clock in clocks)
        wall = sum(clock.wall_ns for clock in clocks)
        row(text_of(entry, sizes), len(clocks), duration(events), duration(wall), f"{events / wall:.1%}")


def clocks_of(children: Children, number, entry, sizes) -> list[Clock]:
    """The clocks of a batch of runs of a readable reference, without the first, which compiles."""
    source = read_submission(SOLUTIONS / number).source
    problem = open_folder(SOLUTIONS / number).problems[entry]
    rng = np.random.default_rng(3)
    made = [problem.make_inputs(rng, **sizes) for _ in range(2)]
    inputs = [made[run % 2] for run in range(9)]
    calls = [Call(entry, inputs[0])]
    (plan,) = record(children.recorder, source, calls, Settings("cuda", LIMITS).gpu, LIMITS, lambda _: None)
    done = time_runs(children.runner, source, plan, [(one, fills_for(one, rng)[0]) for one in inputs], LIMITS)
    return [one.clock for one in done.outcomes[1:]]


def faults(racer: Racer) -> None:
    """What the next race finds after a kernel that hangs, and one that reads an illegal address."""
    print("\n## Faults\n\nEach is judged, then the reference is raced on the same GPU.\n")
    head("kernel", "what its race says", "seconds", "the reference's time after it")
    number, entry, sizes, _ = RACES[0]
    file = SOLUTIONS / number / "kernels.py"
    before = racer.race(number, entry, sizes, file)
    row("none", NOTHING, NOTHING, before if isinstance(before, str) else times_of(before))
    short = Limits(cpu_seconds=10, wall_seconds=5, memory_bytes=4 << 30)
    for what, text in (("waits longer than the limit", HANGING), ("writes to an illegal address", ILLEGAL)):
        began = time.monotonic()
        said = racer.race(number, entry, {"n": 1 << 20}, file, text=text, limits=short)
        seconds = time.monotonic() - began
        after = racer.race(number, entry, sizes, file)
        row(what, said, f"{seconds:.1f}", after if isinstance(after, str) else times_of(after))
    reasons("the first row is of the reference alone, before the others.", [])


SECTIONS = {"torch": torch_too, "races": races, "repeats": repeats, "clocks": clocks, "faults": faults}


def main() -> None:
    """Print the sections that were asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    options.add_argument("--commit", default="unknown", help="of what is measured")
    options.add_argument("--tests", default="not run", help="what pytest tests/gpu said")
    options.add_argument("--no-head", action="store_true", help="without the machine's table")
    asked = options.parse_args()
    with Children() as children, tempfile.TemporaryDirectory(prefix="warpgrade-") as temporary:
        if children.gpu() is None:
            raise SystemExit("not run: no GPU")
        if not asked.no_head:
            machine(children, asked.commit, asked.tests)
        racer = Racer(children, Path(temporary))
        for name in asked.sections or SECTIONS:
            SECTIONS[name](racer)


if __name__ == "__main__":
    main()
