"""Prints what earns what for speed, in docs/speed.md: from course.yml's numbers and the measured speed-ups.

``python tests/speed_table.py``, after either has changed. In: course.yml, the races in docs/measurements.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course import load_course
from grader.speed import credit_of, full_speedup

ROOT = Path(__file__).parents[1]
READABLE, FAST = "readable", "fast"
NOTHING = "–"
HEAD = ("", "call", "minimum", "full from", "a doubling", "kernels.py", "fast.py", "without the technique", "earns")
# As many as a table of measurements gives.
DIGITS = 3


@dataclass(frozen=True)
class Race:
    """One call: speed-ups over the CPU baseline by whose kernels they are; None where there is no time."""

    call: str
    speedups: dict[str, float | None]

    @property
    def entry(self) -> str:
        """The entry point that is called."""
        return self.call.partition("(")[0]

    @property
    def naive(self) -> str:
        """The wrong solution that lacks nothing but the technique, or "" where none was raced."""
        return next((who for who in self.speedups if who not in (READABLE, FAST)), "")


def races(measurements: str) -> list[Race]:
    """The races in docs/measurements.md, call by call. Raises ValueError where there are none."""
    table = measurements.partition("\n## Races\n")[2].partition("\n## ")[0]
    found: dict[str, dict[str, float | None]] = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            call, who, speedup = cells[0].strip("`"), cells[1], cells[4].replace(",", "")
            found.setdefault(call, {})[who] = float(speedup) if re.fullmatch(r"[\d.]+(e\+\d+)?", speedup) else None
    if not found:
        raise ValueError("docs/measurements.md: expected a table below '## Races', found none")
    return [Race(call, speedups) for call, speedups in found.items()]


def assignment_of(entry: str) -> str:
    """The assignment whose kernels.py has an entry point. Raises StopIteration for none."""
    return next(
        path.parent.name
        for path in sorted(ROOT.glob("solutions/*/kernels.py"))
        if re.search(rf"^def {entry}\(", path.read_text("utf-8"), re.MULTILINE)
    )


def rows(races: list[Race]) -> Iterator[tuple[str, ...]]:
    """A row for each call, as ``HEAD`` says. Raises ValueError where an assignment asks for no speed."""
    course = load_course(ROOT / "course.yml")
    for race in races:
        number = assignment_of(race.entry)
        speed = course.assignment(number).speed
        if speed is None or speed.min_speedup is None or speed.full_at is None:
            raise ValueError(f"course.yml: expected min_speedup and full_at of {number}")
        reference, naive = race.speedups.get(READABLE), race.speedups.get(race.naive)
        full = None if reference is None else full_speedup(speed.min_speedup, speed.full_at, reference)
        doubling = None if full is None else credit_of(2 * speed.min_speedup, speed.min_speedup, full)
        earned = None if full is None or naive is None else credit_of(naive, speed.min_speedup, full)
        name = race.naive.removeprefix(f"{race.entry}_").removeprefix(f"{race.entry.split('_')[-1]}_").replace("_", " ")
        yield (
            number,
            f"`{race.entry}`",
            f"{speed.min_speedup:g}",
            _number(full),
            _share(doubling),
            _number(reference),
            _number(race.speedups.get(FAST)),
            f"{_number(naive)} ({name})" if name else NOTHING,
            _share(earned),
        )


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{float(f'{value:.{DIGITS}g}'):,.0f}" if value >= 10 ** (DIGITS - 1) else f"{value:.{DIGITS}g}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0%}"


def measured() -> list[Race]:
    """The races in docs/measurements.md."""
    return races((ROOT / "docs/measurements.md").read_text("utf-8"))


def remarks(races: list[Race]) -> Iterator[str]:
    """What the docs say of the numbers beside the table, as pieces of sentences."""
    references = [race.speedups.get(READABLE) for race in races if assignment_of(race.entry) == "01"]
    known = [each for each in references if each is not None]
    yield f"in 01 from {_number(min(known))} to {_number(max(known))} times"
    first = races[0]
    speed = load_course(ROOT / "course.yml").assignment(assignment_of(first.entry)).speed
    reference, naive = first.speedups.get(READABLE), first.speedups.get(first.naive)
    if speed and speed.min_speedup and speed.full_at and reference and naive:
        now, then = (
            credit_of(
                naive / faster, speed.min_speedup, full_speedup(speed.min_speedup, speed.full_at, reference / faster)
            )
            for faster in (1, 2)
        )
        than = f"{first.entry}'s {_number(naive)} times would be {_number(naive / 2)}"
        yield f"Beside a CPU that is twice as fast, {than}, and earn {_share(then)} instead of {_share(now)}"


def table() -> list[str]:
    """The table's lines."""
    lines = [f"| {' | '.join(cells)} |" for cells in (HEAD, ("---",) * len(HEAD), *rows(measured()))]
    return [line.replace("|  |", "| |") for line in lines]


if __name__ == "__main__":
    print("\n".join([*table(), "", *remarks(measured())]))
