"""Prints the table of docs/security.md: ``PYTHONPATH=tests python tests/attacks/table.py``.

Each attack is judged at the strongest level that this machine has.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attacks.arena import Arena
from attacks.attack_files import Attack, attacks

from grader.judging import warm_children
from grader.records import Verdict

HEAD = ("| attack | what it tries | points, of 100 | what was seen |", "| --- | --- | --- | --- |")


def points(verdict: Verdict) -> str:
    """All points, without a fraction."""
    return f"{sum(part.earned for part in verdict.parts):g}"


def seen(verdict: Verdict) -> str:
    """Why the first check failed, or that the kernels are right."""
    failures = [check.failure for check in verdict.checks if check.failure is not None]
    if not failures:
        return "nothing: its kernels are right, and the trick has no effect"
    return " ".join(failures[0].what.split()).replace("|", "\\|")


def row(attack: Attack, verdict: Verdict) -> str:
    """One row of the table."""
    return f"| `{attack.name}` | {attack.tries} | {points(verdict)} | {seen(verdict)} |"


def main() -> None:
    """Judge all of them."""
    print(*HEAD, sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder), warm_children())
        for attack in attacks():
            print(row(attack, arena.judge(arena.submission(attack.text))), flush=True)


if __name__ == "__main__":
    main()
